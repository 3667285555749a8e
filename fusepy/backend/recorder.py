"""Recording calls into a command encoder of the user's instead of running them.

What recorded work uses must stay alive until it is submitted, which nobody tells us: sgl's encoders and command buffers neither
take references nor attributes. It is therefore kept as long as the encoder object itself is.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import slangpy as spy

from fusepy.errors import ArgumentError

if TYPE_CHECKING:
    from fusepy.backend.queue import Queue
    from fusepy.backend.runtime import Device

Entry = tuple[Any, list[Any]]
ENCODERS = (spy.CommandEncoder, spy.ComputePassEncoder, spy.RenderPassEncoder, spy.RayTracingPassEncoder, spy.CommandBuffer)


def is_encoder(value: Any) -> bool:
    """Whether `value` is something that commands are recorded into."""
    return isinstance(value, ENCODERS)


def check_encoder(value: Any, what: str, device: Device | None = None) -> None:
    """Raises `ArgumentError` unless dispatches, with barriers between them, can be recorded into `value`."""
    if not isinstance(value, spy.CommandEncoder):
        raise ArgumentError(
            f"{what}.append_to() takes a command encoder",
            saw=type(value).__name__,
            expected="slangpy.CommandEncoder",
            hint="inside a pass there can be no barrier between dependent dispatches: end the pass, and pass its encoder"
            if is_encoder(value)
            else "make one with device.sgl.create_command_encoder()",
        )
    if device is not None and value.device is not device.raw:
        raise ArgumentError(
            f"{what}.append_to(): the encoder is of another device", hint="make it on the device of the arguments"
        )


def misplaced(value: Any, what: str) -> ArgumentError:
    """The error for an encoder among the arguments of a call."""
    return ArgumentError(
        f"{what}() got a {type(value).__name__}", hint=f"a call runs at once; to record it, write {what}.append_to(encoder, …)"
    )


class Recorder:
    """Stands in for the `Queue` of a device while a call is recorded; everything but recording goes on to the real one."""

    def __init__(self, queue: Queue, encoder: spy.CommandEncoder):
        self._queue = queue
        self._encoder = encoder
        self.kept: list[Any] = []

    def dispatch(self, pipeline: spy.ComputePipeline, root: spy.ShaderObject, groups: Sequence[int]) -> None:
        """Records one dispatch, with barriers against whatever stands before and comes after."""
        self.kept += (pipeline, root)
        self._encoder.global_barrier()
        compute = self._encoder.begin_compute_pass()
        compute.bind_pipeline(pipeline, root)
        compute.dispatch_compute(groups)
        compute.end()
        self._encoder.global_barrier()

    keeps = True

    def keep(self, *things: object) -> None:
        """Holds what recorded work uses."""
        self.kept += things

    def copy(self, target: spy.Buffer, to: int, source: spy.Buffer, at: int, nbytes: int) -> None:
        """Records a copy between buffers."""
        self.kept += (target, source)
        self._encoder.global_barrier()
        self._encoder.copy_buffer(target, to, source, at, nbytes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)


@contextmanager
def recording_into(device: Device, encoder: spy.CommandEncoder) -> Generator[list[Any], None, None]:
    """Within, calls are recorded into `encoder`; the device's lock must be held. What is appended to the list stays alive.

    Raises:
        ArgumentError: if the encoder is finished.
    """
    check_encoder(encoder, "function", device)
    queue = device.queue
    queue.expect_others()
    queue.flush()  # what was called before must be on the queue before the user submits this
    try:
        encoder.global_barrier()
    except RuntimeError:
        raise ArgumentError("the command encoder is finished", hint="record before encoder.finish()") from None
    recorder = Recorder(queue, encoder)
    device.queue = recorder  # type: ignore[assignment]
    try:
        yield recorder.kept
    finally:
        device.queue = queue
        release(device.recorded)
        device.recorded.append((encoder, recorder.kept))


def _counts(entries: Sequence[Entry]) -> list[int]:
    """The references to the encoder of each entry, as CPython counts them in this very expression."""
    return [sys.getrefcount(entry[0]) for entry in entries]


_ALONE = _counts([(object(), [])])[0]  # what is counted where one entry holds the only reference


def release(recorded: list[Entry]) -> None:
    """Forgets what was kept for encoders that nobody else holds any more."""
    entries = Counter(id(entry[0]) for entry in recorded)
    held = [count - _ALONE + 1 > entries[id(e[0])] for count, e in zip(_counts(recorded), recorded)]
    recorded[:] = [entry for entry, keep in zip(recorded, held) if keep]


_outliving: list[Entry] = []


def outlive(recorded: list[Entry]) -> None:
    """Takes over what was kept for encoders of a device that is closed, until nobody holds these any more."""
    release(_outliving)
    while recorded:
        _outliving.append(recorded.pop())
    release(_outliving)
