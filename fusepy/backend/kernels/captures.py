"""`CaptureSink`: launches that are kept, with all their parameters, to run again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import slangpy as spy

from fusepy.backend.cuda.kernel import CudaKernel
from fusepy.backend.device.sink import Sink
from fusepy.errors import ExportError

if TYPE_CHECKING:
    from fusepy.backend.device.device import Device


class CaptureSink(Sink):
    """Keeps launches instead of running them.

    Attributes:
        steps: what a replay does, in order.
        launches: kernels that the CUDA driver launches, with their groups; all steps if `whole`.
        kept: memory and parameters of the launches.
    """

    keeps = captures = hurries = True

    def __init__(self, device: Device):
        queue = self._queue = device.queue
        self._run = queue.launch, queue.dispatch, queue.record, queue.copy
        self.steps: list[Callable[[], None]] = []
        self.launches: list[tuple[CudaKernel, Sequence[int]]] = []
        self.kept: list[Any] = []

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
        self.steps.append(partial(self._run[0], own, tuple(groups)))

    def dispatch(
        self,
        pipeline: spy.ComputePipeline,
        root: spy.ShaderObject,
        groups: Sequence[int],
        beside: bool = False,
        more: bool = False,
    ) -> None:
        self.steps.append(partial(self._run[1], pipeline, root, list(groups), beside, more))

    def record(self, work: Callable[[spy.CommandEncoder], None], *kept: object) -> None:
        self.kept += kept
        self.steps.append(partial(self._run[2], work))

    def copy(self, target: spy.Buffer, to: int, source: spy.Buffer, at: int, nbytes: int) -> None:
        self.steps.append(partial(self._run[3], target, to, source, at, nbytes))

    def keep(self, *things: object) -> None:
        self.kept += things

    def flush(self) -> None:
        """Does nothing: nothing runs yet."""

    def divert(self, device: Device) -> Callable[[], None]:
        """Takes what tensors do by themselves, such as copies, and keeps all memory; returns what ends this.

        Nobody else uses the queue meanwhile, since the caller holds the device's lock.
        """
        queue, pool = vars(device.queue), vars(device.pool)
        fresh: list[tuple[int, int]] = []

        def refuse(written: int | None) -> None:
            if written is None or not any(low <= written < high for low, high in fresh):
                raise refused_read(
                    "a read on the host" if written is None else "a write on the host to a tensor that was there before"
                )

        def keeping(allocate: Callable[[int], Any]) -> Callable[[int], Any]:
            def kept(nbytes: int) -> Any:
                block = allocate(nbytes)
                if block is not None:
                    self.keep(block)
                    fresh.append((block.address, block.address + max(nbytes, 1)))
                return block

            return kept

        own = {
            "captures": True,
            "hurries": True,
            "dispatch": self.dispatch,
            "record": self.record,
            "copy": self.copy,
            "launch": self.launch,
        }
        kept = {name: keeping(getattr(device.pool, name)) for name in ("allocate", "allocate_idle")}
        queue.update(own)
        pool.update(kept)
        device.transfer.refuse = refuse

        def restore() -> None:
            device.transfer.refuse = None
            for names, attributes in ((own, queue), (kept, pool)):
                for name in names:
                    del attributes[name]

        return restore


def refused_read(saw: str) -> ExportError:
    """Returns the error for work of the host inside a capture."""
    return ExportError(
        "a capture cannot read or write on the host: it runs again without Python",
        saw=saw,
        expected="functions that take and return Tensors, or torch tensors on the device",
        hint="pass Tensors, and read g.result after fusepy.capture",
    )
