"""`StudioWorker`: a `StudioEngine` in a process of its own. A crash or an endless loop of a kernel ends that process only."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from fusepy.errors import FusepyError, StudioError
from fusepy.studio.engine import StudioEngine

LONGEST_S = 30.0  # a call that takes longer is taken for endless
START_S = 180.0  # the first call, which opens the device
_FIELDS = ("what", "saw", "expected", "hint")


class StudioWorker:
    """A process with an engine, started when it is first asked, and again after it has ended.

    Args:
        folder: the folder of the studio; `modules` and `functions` as for `StudioEngine`.
        longest: seconds for one call.
    """

    def __init__(self, folder: str, modules: Sequence[str] = (), functions: Sequence[str] = (), longest: float = LONGEST_S):
        self.folder, self.functions, self.longest = folder, tuple(functions), longest
        self.modules = list(modules)
        self._process: Any = None
        self._pipe: Connection | None = None
        self._thread = ThreadPoolExecutor(1, "fusepy-studio")  # one call at a time, in order

    async def ask(self, method: str, *args: Any) -> Any:
        """Calls a method of the engine.

        Raises:
            StudioError: with the words of the error of the call; or if the process has ended, or takes too long and was ended.
                The next call starts another one.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self.call, method, *args)

    def call(self, method: str, *args: Any) -> Any:
        """Calls a method of the engine and waits; see `ask`."""
        longest = self.longest
        if self._pipe is None:
            self._pipe, longest = self._start(), START_S
        try:
            self._pipe.send((method, args))
            if not self._pipe.poll(longest):
                self._end()
                hint = "look for a loop that does not end in the Slang that was edited last"
                raise StudioError(f"no answer within {longest:g} s; the process was ended", hint=hint)
            kind, answer = self._pipe.recv()
        except (EOFError, ConnectionError):
            code = self._end()
            hint = "undo the last edit; the terminal of the studio shows more"
            raise StudioError(f"the process that computes has ended (exit code {code})", hint=hint) from None
        if kind == "error":
            raise StudioError(**answer)
        return answer

    def close(self) -> None:
        """Ends the process."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._end()

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")  # a device does not survive a fork
        mine, theirs = context.Pipe()
        arguments = (theirs, self.folder, tuple(self.modules), self.functions)
        self._process = context.Process(target=serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        return mine

    def _end(self) -> int | None:
        """Ends the process, and returns its exit code."""
        process, self._process = self._process, None
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            pipe.close()
        if process is None:
            return None
        process.join(0.5)  # it may be about to end by itself
        if process.is_alive():
            process.kill()
            process.join()
        return process.exitcode


def serve(pipe: Connection, folder: str, modules: tuple[str, ...], functions: tuple[str, ...]) -> None:
    """Answers calls of an engine until the other end is closed. An error that is not fusepy's ends the process."""
    engine: StudioEngine | None = None
    while True:
        try:
            method, args = pipe.recv()
        except (EOFError, ConnectionError, KeyboardInterrupt):
            return
        try:
            if engine is None:
                engine = StudioEngine(folder, modules, functions)
            answer = "ok", getattr(engine, method)(*args)
        except FusepyError as error:
            answer = "error", {name: _text(getattr(error, name)) for name in _FIELDS}
        try:
            pipe.send(answer)
        except ConnectionError:  # the other end was closed meanwhile
            return


def _text(value: object) -> str | None:
    return None if value is None else str(value)
