"""`CudaReads`: a few bytes of device memory for the host.

A copy and a wait of the driver take a fraction of the time of sgl's submission with a copy, its wait, and a read of its buffer;
for single numbers a kernel that copies takes less still. A kernel can also write to memory of the host, such as the number that a
call returns: then there is nothing to copy.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from fusepy.backend.cuda import small_copy
from fusepy.backend.cuda.small_copy import SmallCopy
from fusepy.backend.cuda.streams import Streams

FETCHED = 128 << 10  # bytes; more are copied in pieces, while the host copies the piece before


class CudaReads:
    """Reads memory through pinned memory of the host.

    Args:
        queue: its work so far comes first.
        lock: the lock of the device, which other threads get while this one waits.
    """

    def __init__(self, queue: Streams, lock: Any):
        self._queue, self._lock = queue, lock
        self._one = threading.Lock()
        self._host = 0
        self._small: SmallCopy | None = None

    def seen(self, nbytes: int) -> tuple[int, Callable[[], bytes]]:
        """Returns the address of new host memory that kernels can write, and a function that returns it after all work so far.

        That function raises the errors of `__call__`.
        """
        queue = self._queue
        driver = queue.driver
        assert driver is not None
        with self._lock:
            queue.settled()
            address = driver.host_memory(nbytes)

        def read() -> bytes:
            with self._lock:
                stream = queue.settled()
            driver.wait_soon(stream)
            return ctypes.string_at(address, nbytes)

        return address, read

    def __call__(self, address: int, nbytes: int) -> bytes:
        """Returns at most `FETCHED` bytes of device memory.

        Raises:
            ExportError: while the stream is captured.
            DeviceLostError: if an earlier kernel has broken the context.
        """
        queue = self._queue
        driver = queue.driver
        assert driver is not None
        with self._one:
            with self._lock:
                stream = queue.settled()
                if nbytes <= small_copy.LIMIT:
                    small = self._small = self._small or SmallCopy(driver)
                    small.start(address, nbytes, stream)
                else:
                    small = None
                    if not self._host:
                        self._host = driver.host_memory(FETCHED)
                    driver.copy_out(self._host, address, nbytes, stream)
            if small is not None:
                return small.receive(nbytes, stream)
            driver.wait(stream)
            return ctypes.string_at(self._host, nbytes)
