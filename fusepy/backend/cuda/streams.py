"""`Streams`: the part of a queue that launches kernels through the CUDA driver, on the stream that it follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from fusepy.backend.cuda.driver import NULL_STREAM, CudaDriver
from fusepy.backend.cuda.kernel import CudaKernel

Self = TypeVar("Self", bound="Streams")


class Streams:
    """Keeps all work of a queue in one order, though it runs on several CUDA streams.

    sgl's own work is on the null stream, and kernels on the stream that `follow` has named. Whenever the stream changes, the new
    one waits on the device for the last one.

    Attributes:
        driver: the CUDA driver; None on other devices.
        stream: the stream of the last work.
        immediate: true while another framework waits for its own stream only, and if each call is submitted by itself.
    """

    def __init__(self, driver: CudaDriver | None):
        self.driver = driver
        self.stream = self._followed = NULL_STREAM
        self.immediate = self._single = False

    def _submit(self) -> None:
        """Submits the work that is recorded."""
        raise NotImplementedError

    def _enter(self) -> None:
        """Makes the device's context current."""
        raise NotImplementedError

    def _check(self) -> None:
        """Raises an error if nothing can be recorded any more."""
        raise NotImplementedError

    @property
    def direct(self: Self) -> Self | None:
        """The queue itself on CUDA."""
        return None if self.driver is None else self

    def launch(self, function: CudaKernel, groups: Sequence[int]) -> None:
        """Launches a kernel, after all earlier work."""
        self._submit()
        self._enter()
        function.launch(groups, self.stream)

    def settled(self) -> int:
        """Submits the recorded work, and returns the stream of the last work, with the context current on this thread."""
        self._check()
        self._submit()
        self._enter()
        return self.stream

    def follow(self, stream: int) -> None:
        """Submits the recorded work, and launches kernels on this CUDA stream from now on, after all earlier work."""
        self._followed = stream
        self.immediate = True
        self._move(stream)

    def rejoin(self) -> None:
        """Orders the stream that `follow` has named after what sgl has submitted since then, or has recorded."""
        self._move(self._followed)
        self.immediate = self._single

    def _move(self, stream: int) -> None:
        """Submits the recorded work; the next work is on this stream, after all earlier work."""
        self._submit()
        if stream != self.stream:
            assert self.driver is not None
            self._enter()
            self.driver.order(self.stream, stream)
            self.stream = stream
