"""`EntryWriter`: the thread that writes entries of the disk cache."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable


class EntryWriter:
    """A thread that runs jobs in order, and that lives only while there are jobs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: deque[Callable[[], None]] = deque()
        self._thread: threading.Thread | None = None

    def submit(self, job: Callable[[], None]) -> None:
        with self._lock:
            self._jobs.append(job)
            if self._thread is not None and self._thread.is_alive():
                return
            # a daemon, because the interpreter joins other threads before it runs atexit functions
            thread = threading.Thread(target=self._run, name="fusepy-cache", daemon=True)
            try:
                thread.start()
                self._thread = thread
                return
            except RuntimeError:  # no thread can be started while the interpreter shuts down
                pass
        self._run()

    def drain(self) -> None:
        """Waits until all jobs submitted so far are done."""
        if (thread := self._thread) is not None:
            thread.join()
        self._run()  # jobs remain if an error or a fork has ended the thread

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    if self._thread is threading.current_thread():
                        self._thread = None
                    return
                job = self._jobs.popleft()
            job()
