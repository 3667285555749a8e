"""Recording of calls into a command encoder of the user, instead of running them.

Memory that recorded work uses must stay alive until the work is submitted, and fusepy is not told when. sgl's encoders and
command buffers take neither references nor attributes. The memory is therefore kept as long as the encoder object.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, cast, runtime_checkable

import slangpy as spy

from fusepy.backend.device.bound import Bound
from fusepy.backend.device.queue import Queue
from fusepy.backend.device.sink import Pipeline, Root, Sink
from fusepy.backend.slang.stage import COMPUTE
from fusepy.errors import ArgumentError

Entry = tuple[Any, list[Any]]
ENCODERS = (spy.CommandEncoder, spy.ComputePassEncoder, spy.RenderPassEncoder, spy.RayTracingPassEncoder, spy.CommandBuffer)


class RecordingDevice(Protocol):
    """The parts of a device that recording into an encoder needs."""

    queue: Queue
    recorded: list[Entry]

    @property
    def raw(self) -> spy.Device:
        """The sgl device. Recorded work is not submitted."""
        ...


def is_encoder(value: Any) -> bool:
    """True if `value` is an encoder or a pass."""
    return isinstance(value, ENCODERS)


def check_encoder(value: Any, what: str, device: RecordingDevice | None = None) -> None:
    """Raises `ArgumentError` unless dispatches can be recorded into `value`."""
    if not isinstance(value, (spy.CommandEncoder, spy.ComputePassEncoder)):
        raise ArgumentError(
            f"{what}.append_to() takes a command encoder, or a compute pass",
            saw=type(value).__name__,
            expected="slangpy.CommandEncoder or slangpy.ComputePassEncoder",
            hint="end the pass, and give its command encoder"
            if is_encoder(value)
            else "make one with device.sgl.create_command_encoder()",
        )
    if device is not None and isinstance(value, spy.CommandEncoder) and value.device is not device.raw:
        raise ArgumentError(
            f"{what}.append_to(): the encoder is of another device", hint="make it on the device of the arguments"
        )


def misplaced(value: Any, what: str) -> ArgumentError:
    """Returns the error for an encoder among the arguments of a call."""
    return ArgumentError(
        f"{what}() got a {type(value).__name__}", hint=f"a call runs at once; to record it, write {what}.append_to(encoder, …)"
    )


@runtime_checkable
class Located(Protocol):
    """An object in memory with addresses: a tensor."""

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The start and end addresses, one pair for each of its pieces of memory."""
        ...


class EncoderSink(Sink):
    """A `Sink` that records into a command encoder."""

    keeps: bool = True

    def __init__(self, encoder: spy.CommandEncoder):
        self._encoder = encoder
        self.kept: list[Any] = []

    def dispatch(self, pipeline: Pipeline, root: Root, groups: Sequence[int], beside: bool = False, more: bool = False) -> None:
        """Records one dispatch, with barriers before and after it."""
        self.kept += (pipeline, root)
        self._encoder.global_barrier()
        compute = COMPUTE.begin(self._encoder)
        compute.bind_pipeline(pipeline, root)
        compute.dispatch_compute(groups)
        compute.end()
        self._encoder.global_barrier()

    def record(self, work: Callable[[spy.CommandEncoder], None], *kept: object) -> None:
        """Records a pass of another kind, with barriers before and after it."""
        self.kept += kept
        self._encoder.global_barrier()
        work(self._encoder)
        self._encoder.global_barrier()

    def keep(self, *things: object) -> None:
        """Keeps objects alive that recorded work uses."""
        self.kept += things

    def copy(self, target: spy.Buffer, to: int, source: spy.Buffer, at: int, nbytes: int) -> None:
        """Records a copy between buffers."""
        self.kept += (target, source)
        self._encoder.global_barrier()
        self._encoder.copy_buffer(target, to, source, at, nbytes)

    def flush(self) -> None:
        """Does nothing: the user submits."""

    def finish(self) -> None:
        """Does nothing: everything is recorded already."""


class PassSink(EncoderSink):
    """A sink for a compute pass that the user has opened. There can be no barrier in it.

    A call is recorded once two things are known: it is one dispatch, and it does not touch memory that other calls of the pass
    write.
    """

    def __init__(self, encoder: Any, name: str, others: Sequence[Sequence[Any]]):
        super().__init__(encoder)
        self._pass = encoder
        self._name = name
        self._others = [one for kept in others for one in kept if isinstance(one, Touched)]
        self._dispatches: list[tuple[spy.ComputePipeline, spy.ShaderObject, tuple[int, ...]]] = []

    def dispatch(self, pipeline: Pipeline, root: Root, groups: Sequence[int], beside: bool = False, more: bool = False) -> None:
        """Notes a dispatch, for `finish`."""
        if self._dispatches:
            raise self._error("runs more than one kernel, with barriers between them")
        self._dispatches.append((pipeline, root, tuple(groups)))

    def copy(self, target: spy.Buffer, to: int, source: spy.Buffer, at: int, nbytes: int) -> None:
        """Refuses a copy: a pass cannot contain one."""
        raise self._error("copies memory on the device")

    def record(self, work: Callable[[spy.CommandEncoder], None], *kept: object) -> None:
        """Refuses a pass: passes do not nest."""
        raise self._error("needs a pass of another kind")

    def finish(self) -> None:
        """Records the dispatch.

        Raises:
            ArgumentError: if it reads memory that another call of the pass writes, or the other way round.
        """
        touched = Touched.of(self.kept)
        for other in self._others:
            if touched.meets(other):
                raise self._error("shares memory with another call of the same pass, and one of them writes it")
        self.kept.append(touched)
        for pipeline, root, groups in self._dispatches:
            self.kept += (pipeline, root)
            self._pass.bind_pipeline(pipeline, root)
            self._pass.dispatch_compute(groups)

    def _error(self, why: str) -> ArgumentError:
        return ArgumentError(
            f"{self._name}.append_to(): inside a compute pass there are no barriers, and this call {why}",
            saw="slangpy.ComputePassEncoder",
            expected="one kernel for each call, and no memory in common",
            hint="end the pass, and give its command encoder",
        )


class Written(tuple[Any, ...]):
    """The memory that a call writes, among the objects kept for it. All other kept memory is only read."""

    __slots__ = ()


class Touched:
    """The memory that one call reads and writes through pointers, as ranges of addresses. sgl tracks bound resources itself."""

    def __init__(self, read: list[tuple[int, int]], written: list[tuple[int, int]]):
        self._read = read
        self._written = written

    @staticmethod
    def of(kept: Sequence[Any]) -> Touched:
        """Returns the memory of a call for which these objects were kept."""
        written = [range for one in kept if isinstance(one, Written) for range in _ranges(one)]
        return Touched(_ranges([one for one in kept if not isinstance(one, Written)]), written)

    def meets(self, other: Touched) -> bool:
        """True if one writes memory that the other reads or writes."""
        return _meet(self._written, other._written + other._read) or _meet(self._read, other._written)


def _meet(some: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]) -> bool:
    return any(low < end and start < high for low, high in some for start, end in others)


def _ranges(value: Any) -> list[tuple[int, int]]:
    """Returns the addresses of all tensors and buffers in a kept object."""
    if isinstance(value, Located):
        return value.spans
    if isinstance(value, spy.Buffer):
        return [(value.device_address, value.device_address + value.size)]
    if isinstance(value, Bound):
        return _ranges(value.value)
    if isinstance(value, Mapping):
        return _ranges([*cast("Mapping[str, Any]", value).values()])
    return [range for one in cast("list[Any]", value) for range in _ranges(one)] if isinstance(value, (list, tuple)) else []


@contextmanager
def recording_into(device: RecordingDevice, encoder: Any, name: str) -> Generator[EncoderSink, None, None]:
    """Yields the sink that records a call of a function `name` into `encoder`. The device's lock must be held.

    Memory that the call writes is to be kept as `Written`.

    Raises:
        ArgumentError: if the encoder is finished, or a pass that cannot take the call.
    """
    check_encoder(encoder, name, device)
    queue = device.queue
    queue.expect_others()
    queue.flush()  # earlier calls must be on the queue before the user submits this encoder
    release(device.recorded)
    if isinstance(encoder, spy.CommandEncoder):
        try:
            encoder.global_barrier()
        except RuntimeError:
            raise ArgumentError("Command encoder is finished", hint="record before encoder.finish()") from None
        sink = EncoderSink(encoder)
    else:
        sink = PassSink(encoder, name, [kept for other, kept in device.recorded if other is encoder])
    try:
        yield sink
        sink.finish()
    finally:
        device.recorded.append((encoder, sink.kept))


def _counts(entries: Sequence[Entry]) -> list[int]:
    """Returns the number of references to each entry's encoder, counted in this very expression."""
    return [sys.getrefcount(entry[0]) for entry in entries]


_ALONE = _counts([(object(), [])])[0]  # the count if the entry holds the only reference


def release(recorded: list[Entry]) -> None:
    """Drops the objects kept for encoders that have no other reference."""
    entries = Counter(id(entry[0]) for entry in recorded)
    held = [count - _ALONE + 1 > entries[id(e[0])] for count, e in zip(_counts(recorded), recorded)]
    recorded[:] = [entry for entry, keep in zip(recorded, held) if keep]


_outliving: list[Entry] = []


def outlive(recorded: list[Entry]) -> None:
    """Takes over the objects kept for encoders of a closed device, until the encoders have no other reference."""
    release(_outliving)
    while recorded:
        _outliving.append(recorded.pop())
    release(_outliving)
