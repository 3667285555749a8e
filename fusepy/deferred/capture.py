"""`capture`: the launches of a function, recorded once and run again without the work of its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from fusepy.arguments.mapped import unmapped
from fusepy.arguments.nested import flat
from fusepy.backend.cuda.graphs import CudaGraph
from fusepy.backend.device.device import Device
from fusepy.backend.device.recorder import Written
from fusepy.backend.device.sink import CAPTURED, Enclosed, Sink
from fusepy.backend.kernels.captures import CaptureSink, refused_read
from fusepy.backend.marshals.registry import host_array, kind_of_value
from fusepy.backend.marshals.result_kinds import stream_of
from fusepy.backend.memory.pending import PENDING, RECORDER
from fusepy.backend.memory.storage import overlap
from fusepy.backend.memory.tensor import Tensor, computed
from fusepy.backend.sealed import Sealed
from fusepy.errors import ArgumentError
from fusepy.program.bound import after_hooks, check_names
from fusepy.program.destinations import destinations
from fusepy.program.program import Program


class Capture(Sealed):
    """The launches of a function's calls, made by `capture`.

    Attributes:
        result: what the function has returned. Each replay writes into the same memory.
        launches: the number of launches and copies of a replay.
    """

    def __init__(self, device: Device, sink: CaptureSink, arguments: Sequence[Any], result: Any):
        self.result, self.launches = result, len(sink.steps)
        self._device, self._sink, self._arguments = device, sink, arguments
        self._follows = None if device.cuda is None else stream_of([unmapped(a) for a in arguments])
        self._graph: CudaGraph | None = None

    def replay(self, *args: Any) -> Any:
        """Runs the launches again, after all earlier work, and returns `result`, which they overwrite.

        Args:
            args: none, to compute with what the arguments of `capture` hold now; or as many as `capture` got, whose contents
                are copied into those first. Numbers and settings stay as they were.

        Raises:
            ArgumentError: for other arguments than those of the capture, in number or kind.
            ShapeError: for a tensor of another shape.
            DeviceLostError: if the device is closed.
        """
        device = self._device
        device.check()
        with device.lock:
            queue = device.queue
            if self._follows is not None:
                queue.follow(self._follows())
            if args:
                self._exchange(flat(args))
            profile = CAPTURED.get()
            ended = None if profile is None else profile.replays(device, self.launches)
            if queue.driver is not None and self._sink.whole:
                stream = queue.settled()
                if self._graph is None:
                    self._graph = CudaGraph(queue.driver, self._sink.launches)
                self._graph.launch(stream)
            else:
                for step in self._sink.steps:
                    step()
            device.counters.dispatches += self.launches
            if ended is not None:
                ended()
            if self._follows is not None:
                queue.rejoin()
        for work in self._sink.afterwards:
            work()
        return self.result

    def _exchange(self, values: Sequence[Any]) -> None:
        """Copies the contents of new arguments into the memory of those of the capture."""
        if len(values) != len(self._arguments):
            raise ArgumentError(
                "replay() takes as many arguments as the capture had",
                saw=f"{len(values)} values",
                expected=f"none, or {len(self._arguments)}",
                hint="call replay() without arguments after writing into those of the capture",
            )
        values = [new if new is held else self._apart(new) for held, new in zip(self._arguments, values)]
        for i, (held, new) in enumerate(zip(self._arguments, values)):
            if new is held:
                continue
            kind = kind_of_value(held)
            ours = kind.returns.word == "tensor" and hasattr(held, "copy_from")
            if ours and host_array(new) is not None:
                held.copy_from_numpy(np.asarray(new))
                continue
            if ours and kind_of_value(new) is kind:
                held.copy_from(new)
                continue
            if kind.follows is not None and type(new) is type(held):
                held.copy_(new)
                continue
            if kind.returns.number and type(new) is type(held) and new == held:
                continue
            raise ArgumentError(
                f"replay(): value {i} cannot take the place of that of the capture",
                saw=f"a {type(new).__name__} for a {type(held).__name__}",
                expected="the same value, or a tensor for a tensor",
                hint="pass what changes as a Tensor, also a single number",
            )

    def _apart(self, new: Any) -> Any:
        """Returns a copy of a value that lies in the memory of an argument, which is overwritten perhaps before it is read."""
        if any(overlap(new, held) for held in self._arguments):
            return new.copy()
        if not hasattr(new, "untyped_storage"):  # torch's tensors have it
            return new
        others = [held.untyped_storage().data_ptr() for held in self._arguments if type(held) is type(new)]
        return new.clone() if new.untyped_storage().data_ptr() in others else new

    def __repr__(self) -> str:
        return f"Capture({self.launches} launches on {self._device.name})"


def capture(f: Callable[..., Any], *args: Any) -> Capture:
    """Records the launches of all calls of Slang functions and fused functions in ``f(*args)``, and runs them once.

    Copies of tensors are recorded as well. A replay launches the same kernels on the same memory: on CUDA as one graph of the
    driver, elsewhere from a list with all parameters bound. Python code of `f` runs once, so that numbers, arrays of NumPy,
    globals, hooks and shapes are those of the capture.

    Args:
        f: a function that takes and returns tensors; it may call several functions.
        args: its arguments, whose memory the replays read.

    Raises:
        ExportError: if `f` reads a result on the host, or returns something else than tensors.
        ArgumentError: if `f` is no function, launches nothing, or launches on several devices.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_capture", "float twice(float x) { return 2 * x; }")
        >>> x = fp.Tensor([1, 2, 3])
        >>> g = fp.capture(lambda x: m.twice(m.twice(x)), x)
        >>> g.result.tolist(), g.replay(fp.Tensor([0, 5, 1])).tolist()
        ([4.0, 8.0, 12.0], [0.0, 20.0, 4.0])
    """
    if not callable(f):
        raise ArgumentError("capture() takes a function", saw=repr(f)[:60], hint="write fp.capture(f, x): it calls f(x) once")
    leaves = flat(args)
    with _Recorder(next((leaf.device for leaf in leaves if leaf.__class__ is Tensor), None)) as recorder:
        result = f(*args)
        for leaf in flat((result,)):
            computed(leaf)  # calls that wait under `lazy` run here, or in no replay
    device, sink = recorder.device, recorder.sink
    if device is None or sink is None or not sink.steps:
        raise ArgumentError(
            "capture() has recorded nothing", saw=f, hint="call functions of a module or fused functions inside, on tensors"
        )
    made = Capture(device, sink, leaves, result)
    made.replay()
    return made


class _Recorder(Enclosed):
    """Records the calls of one thread, and holds the lock of the device meanwhile; the first call decides about the device."""

    def __init__(self, device: Device | None):
        super().__init__(CAPTURED.get())
        self.device: Device | None = None
        self.sink: CaptureSink | None = None
        self._first = device

    def __enter__(self) -> _Recorder:
        self._ends = ExitStack()
        self._ends.callback(CAPTURED.reset, CAPTURED.set(self))
        if self._first is not None:
            self._sink_of(self._first)
        self._ends.callback(RECORDER.reset, RECORDER.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        self._ends.close()

    def __call__(self, callee: Any, program: Program, args: Sequence[Any], kwargs: Mapping[str, Any], asked: Any) -> Any:
        """Records a call. `args` end with the values of `kwargs`."""
        device, result = program.device, None if asked is None else destinations(asked, args)[1]
        sink = self._sink_of(device)
        if PENDING and (result is not None or program.writes):
            program.before(args, result)
        kind = program.result_kind
        if kind.word != "tensor" and program.maker is None and not program.destinations.outs:
            raise refused_read(f"{program.graph.name}() returns {kind.word}")
        bindings = None
        if callee.setup is not None:
            bindings = after_hooks(callee.setup, callee, device, args[: len(args) - len(kwargs)], kwargs)
            check_names(bindings, program)
            sink.keep(Written(bindings.values.values()))
        return program(flat(args) if program.nested else args, result, sink, bindings)

    def sink_on(self, device: Device, work: Any = None, args: Sequence[Any] = ()) -> Sink:
        """Decides about the device at the first launch that does not come as a call: a dispatch, a draw of mesh shaders."""
        return super().sink_on(device) if work is None else self._sink_of(device)

    def _sink_of(self, device: Device) -> CaptureSink:
        if self.device is None:
            device.check()
            self._ends.enter_context(device.lock)  # until the end: other threads wait, and what they run is not recorded
            self.device, self.sink = device, CaptureSink(device)
            self._ends.callback(CAPTURED.reset, CAPTURED.set(self.sink))
        elif self.device is not device:
            raise ArgumentError(
                "a capture is of one device", saw=device.name, expected=self.device.name, hint="make one capture for each device"
            )
        assert self.sink is not None
        return self.sink
