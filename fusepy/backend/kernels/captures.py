"""`CaptureSink`: launches that are kept, with all their parameters, to run again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import slangpy as spy

from fusepy.backend.cuda.kernel import CudaKernel
from fusepy.backend.device.block import Block
from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Pipeline, Root, Sink, nothing
from fusepy.errors import ExportError


class CaptureSink(Sink):
    """Keeps launches instead of running them.

    Attributes:
        steps: what a replay does, in order.
        launches: kernels that the CUDA driver launches, with their groups; all steps if `whole`.
        kept: memory and parameters of the launches.
    """

    keeps = captures = immediate = True

    def __init__(self, device: Device):
        self._queue = device.queue
        self.steps: list[Callable[[], None]] = []
        self.launches: list[tuple[CudaKernel, Sequence[int]]] = []
        self.kept: list[Any] = []
        self.afterwards: list[Callable[[], None]] = []  # work of the host
        self._fresh: list[Block] = []  # what the pool has handed out inside

    @property
    def direct(self) -> CaptureSink | None:
        return None if self._queue.direct is None else self

    @property
    def whole(self) -> bool:
        """True if the driver launches everything, so that it can be one graph."""
        return len(self.launches) == len(self.steps)

    def launch(self, function: CudaKernel, groups: Sequence[int]) -> None:
        own = function.copy()
        self.launches.append((own, tuple(groups)))
        self.steps.append(partial(self._queue.launch, own, tuple(groups)))

    def dispatch(self, pipeline: Pipeline, root: Root, groups: Sequence[int], beside: bool = False, more: bool = False) -> None:
        self.steps.append(partial(self._queue.dispatch, pipeline, root, list(groups), beside, more))

    def record(self, work: Callable[[spy.CommandEncoder], None], *kept: object) -> None:
        self.kept += kept
        self.steps.append(partial(self._queue.record, work))

    def copy(self, target: spy.Buffer, to: int, source: spy.Buffer, at: int, nbytes: int) -> None:
        self.steps.append(partial(self._queue.copy, target, to, source, at, nbytes))

    def keep(self, *things: object) -> None:
        self.kept += things

    def after(self, work: Callable[[], None]) -> None:
        self.afterwards.append(work)

    def flush(self) -> None:
        """Does nothing: nothing runs yet."""

    def sink_on(self, device: Device, work: Any = None, args: Sequence[Any] = ()) -> Sink:
        return self if device.queue is self._queue else device.queue

    def replays(self, device: Device, launches: int) -> Callable[[], None]:
        return nothing

    def took(self, block: Block) -> None:
        self._fresh.append(block)
        self.keep(block)

    def refuse(self, written: int | None) -> None:
        if written is None:
            raise refused_read("a read on the host")
        if not any(block.address <= written < block.address + max(block.nbytes, 1) for block in self._fresh):
            raise refused_read("a write on the host to a tensor that was there before")


def refused_read(saw: str) -> ExportError:
    """Returns the error for work of the host inside a capture."""
    return ExportError(
        "a capture cannot read or write on the host: it runs again without Python",
        saw=saw,
        expected="functions that take and return Tensors, or torch tensors on the device",
        hint="pass Tensors, and read g.result after fusepy.capture",
    )
