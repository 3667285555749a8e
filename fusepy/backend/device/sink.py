"""`Sink`: the destination of a call's launches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

import slangpy as spy

from fusepy.backend.cuda.kernel import CudaKernel

Pipeline = spy.ComputePipeline
Root = spy.ShaderObject  # the parameters of a pipeline


class Capturing(Protocol):
    """The taker of this thread's work whose caller names no sink: a capture, or a profile."""

    def sink_on(self, device: Any, work: Any = None, args: Sequence[Any] = ()) -> Sink:
        """Returns the sink for work on a device; see the function of this name."""
        ...

    def replays(self, device: Any, launches: int) -> Callable[[], None]:
        """Notes that the replay of a capture begins, and returns the function to call at its end. The device's lock is held."""
        ...

    def took(self, block: Any) -> None:
        """Keeps a block that the pool has handed out."""
        ...

    def refuse(self, written: int | None) -> None:
        """Raises an error for a read on the host, or for a write to an address that was there before the capture."""
        ...


# the capture or the profile that is open on this thread
CAPTURED: ContextVar[Capturing | None] = ContextVar("fusepy_captured", default=None)


def sink_on(device: Any, work: Any = None, args: Sequence[Any] = ()) -> Sink:
    """Returns the sink for work whose caller names none: the device's queue, or the sink of an open capture or profile.

    Args:
        work: what runs, for a profile: a `Program` on these `args`, or the name of a function.
    """
    captured = CAPTURED.get()
    return device.queue if captured is None else captured.sink_on(device, work, args)


class Enclosed:
    """The part of a capture or profile that passes on what it does not take: to the one around it, or to the device's queue.

    Args:
        outer: the capture or profile around it.
    """

    def __init__(self, outer: Capturing | None):
        self._outer = outer

    def sink_on(self, device: Any, work: Any = None, args: Sequence[Any] = ()) -> Sink:
        return device.queue if self._outer is None else self._outer.sink_on(device, work, args)

    def replays(self, device: Any, launches: int) -> Callable[[], None]:
        return nothing if self._outer is None else self._outer.replays(device, launches)

    def took(self, block: Any) -> None:
        if self._outer is not None:
            self._outer.took(block)

    def refuse(self, written: int | None) -> None:
        if self._outer is not None:
            self._outer.refuse(written)


def nothing() -> None:
    """Does nothing: nobody notes replays."""


class Launcher(Protocol):
    """Launches kernels at once.

    Attributes:
        immediate: true if every launch must go to the device at once; otherwise it may be recorded and submitted with later ones.
    """

    @property
    def immediate(self) -> bool: ...

    def launch(self, function: CudaKernel, groups: Sequence[int]) -> None:
        """Launches a kernel whose parameters are in `function`, after all earlier work."""
        ...


class Sink(Protocol):
    """The destination of launches: a queue that runs them, or an encoder that is submitted later.

    `fusepy.backend.execute` uses nothing else.

    Attributes:
        keeps: true if work runs later, so that its memory must be passed to `keep`. A queue needs none: it runs work in order.
        captures: true if work runs later and again: each launch needs parameters of its own, which nobody writes again.
    """

    captures: bool = False

    @property
    def direct(self) -> Launcher | None:
        """The part that launches kernels at once; None if work is recorded only."""
        return None

    keeps: bool

    def dispatch(self, pipeline: Pipeline, root: Root, groups: Sequence[int], beside: bool = False, more: bool = False) -> None:
        """Records one dispatch after all earlier ones; `beside` omits the barrier after the last one.

        Args:
            more: true if dispatches of the same program follow: this one need not be submitted.
        """
        ...

    def record(self, work: Callable[[spy.CommandEncoder], None], *kept: object) -> None:
        """Records a pass of another kind after all earlier work and before all later work: `work` gets the encoder.

        Args:
            kept: objects that the recorded work uses.
        """
        ...

    def copy(self, target: spy.Buffer, to: int, source: spy.Buffer, at: int, nbytes: int) -> None:
        """Records a copy between buffers."""
        ...

    def keep(self, *things: object) -> None:
        """Keeps objects alive that recorded work uses."""
        ...

    def flush(self) -> Any:
        """Submits the recorded work, unless the user does that."""
        ...

    def start(self) -> None:
        """Submits the recorded work if the device is idle; a sink whose work runs later does nothing."""

    def after(self, work: Callable[[], None]) -> None:
        """Runs work of the host after the launches so far; a capture runs it after each replay."""
        work()


class InOrder:
    """The part of a queue as a sink that follows from its order: all later work runs after the recorded work."""

    keeps: bool = False
    captures: bool = False

    def keep(self, *things: object) -> None:
        """Does nothing: memory of recorded work may be freed at once."""

    def after(self, work: Callable[[], None]) -> None:
        """Runs work of the host, which waits for the results that it reads."""
        work()


class StageSink(Sink):
    """A sink in which a dispatch is a pass of another stage: rays, a draw.

    Args:
        sink: where everything else goes.
        begin: records the pass there; gets the pipeline, the root and what `dispatch` gets as groups.
    """

    def __init__(self, sink: Sink, begin: Callable[[Any, spy.ShaderObject, Sequence[int]], None]):
        self._begin, self.keeps, self.captures = begin, sink.keeps, sink.captures
        self.copy, self.keep, self.flush, self.record = sink.copy, sink.keep, sink.flush, sink.record

    def dispatch(
        self, pipeline: Any, root: spy.ShaderObject, groups: Sequence[int], beside: bool = False, more: bool = False
    ) -> None:
        """Records the pass, after all earlier work and before all later work."""
        self._begin(pipeline, root, groups)
