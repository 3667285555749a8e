"""`DeviceFunction`: the base of Slang functions and fused functions."""

from __future__ import annotations

from typing import Any, TypeVar

from fusepy.backend.device.recorder import check_encoder
from fusepy.backend.emit.options import NO_OPTIONS
from fusepy.elsewhere import no_member
from fusepy.errors import ArgumentError
from fusepy.functions import accumulators, configure
from fusepy.functions.backward import BackwardTracer
from fusepy.functions.call import bound, run
from fusepy.functions.lower import lower
from fusepy.functions.nodes import Node, Use
from fusepy.functions.parts import DEFAULT, STATIC, Config, ProgramTable, Tracer
from fusepy.functions.python_tracer import PythonTracer
from fusepy.functions.torch_graph import in_graph, plan_in_graph
from fusepy.inspect.lowered import Inspectable, Lowered
from fusepy.program.slangpy_calls import with_settings
from fusepy.pytree import Structure
from fusepy.trace.setup import NO_SETUP, Setup
from fusepy.trace.trace import current_trace

Self = TypeVar("Self", bound="DeviceFunction")


class DeviceFunction(Inspectable):
    """A function that runs on the device, compiled once for each kind of arguments. It is immutable.

    Attributes:
        tracer: makes graphs of the function.
        config: everything beside the arguments that its programs depend on.
        setup: globals and hooks for each call; ``None`` without any.
        programs: the compiled programs. Functions that differ only in their setup share them.
    """

    # `__dict__` has what Python's own tools read (`__name__`, `__doc__`, `__wrapped__`); all variants share it
    __slots__ = ("__dict__", "__weakref__", "config", "programs", "setup", "tracer")
    __name__: str
    tracer: Tracer
    config: Config
    setup: Setup | None
    programs: ProgramTable

    def __init__(self, tracer: Tracer):
        self.tracer = tracer
        self.config = DEFAULT
        self.setup = None
        self.programs = ProgramTable()
        self.__name__ = tracer.__name__

    def variant(
        self: Self,
        setup: Setup | None,
        config: Config | None = None,
        tracer: Tracer | None = None,
        programs: ProgramTable | None = None,
    ) -> Self:
        """Returns this function with other parts; a new configuration begins without programs."""
        made, put = object.__new__(self.__class__), object.__setattr__  # each call of a method makes one
        put(made, "__dict__", self.__dict__)
        put(made, "setup", setup)
        put(made, "config", self.config if config is None else config)
        put(made, "tracer", self.tracer if tracer is None else tracer)
        put(made, "programs", programs if programs is not None else self.programs if config is None else ProgramTable())
        return made

    set = configure.set
    hook = configure.hook
    options = configure.options
    call_group_shape = configure.call_group_shape
    constants = configure.constants
    type_conformances = typeconformance = configure.type_conformances
    accumulate = accumulators.accumulate
    declare = configure.declare
    map = configure.map
    return_type = configure.return_type
    torch = configure.torch
    strict_broadcasting = configure.strict_broadcasting
    strict = configure.strict

    def __call__(self, /, *args: Any, _result: Any = None, **kwargs: Any) -> Any:
        """Runs the function; inside a fused function, records the call. The first call with arguments of a kind compiles.

        Args:
            _result: a tensor or array to write the result to, a tuple of them for several results, or the container to return:
                ``"tensor"``, ``"numpy"``, ``"list"``.

        Raises:
            ArgumentError, ResolveError, ShapeError, RangeError: if the arguments do not fit.
            TraceError: if Python code needs the number behind a traced value.
            CompileError: if Slang rejects the module or the generated kernel.
        """
        trace = current_trace()
        if trace is not None:
            if self.setup is not None or self.config.options is not NO_OPTIONS:
                trace.adopt(self.setup, self.config.options, self.__name__)
            return self.tracer.call(trace, args, kwargs, self.config)
        for fast in self.programs.fast.calls:
            if not kwargs and self.setup is None and (found := fast(args, _result)) is not None:
                return found
        positional = self.tracer.positional
        if positional is not None and (len(args) != positional or kwargs or not STATIC.isdisjoint(map(type, args))):
            callee, args, named, _result = bound(self, args, kwargs, _result)
            made = None if named or callee.setup is not None else callee.programs.fast.again(args, _result)
            made, deliver = run(callee, args, named, _result) if made is None else made, callee.tracer.deliver
            return made if deliver is None else deliver(made)
        return run(self, args, kwargs, _result)

    __call__._torchdynamo_inline = in_graph  # type: ignore[attr-defined]  # what TorchDynamo traces in its place
    _plan_in_graph = plan_in_graph
    _run = run

    def _traced(self, function: Any) -> DeviceFunction:
        """Returns a Python function as a fused function, without the parts of this one."""
        return DeviceFunction(PythonTracer(function))

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function; slangpy's spelling."""
        return self(*args, **kwargs)

    @property
    def bwds(self) -> Any:
        """The backward pass of this function: a function with the same configuration, which can be configured further.

        A call of it takes the arguments of a call of this function, before that wrote to them, and returns nothing. Each tensor
        among them that has a gradient (``x.with_grads()``, ``needs_grads=True``) gets its gradient added to ``x.grad``, summed
        over the axes along which it is broadcast; nothing is computed for others. ``_result=`` takes the result, or a tuple of
        them: its ``.grad`` is the gradient of the result. Without one it is 1 for each component. An `out` argument is read in
        the same way. The gradient of an `inout` argument is replaced, unless it has one for each direction: ``x.with_grads(after,
        before)``.

        ``None`` for a Slang function that cannot be differentiated: it has neither ``[Differentiable]`` nor a derivative of its
        own, and reads no textures, buffers or pointers. `backward` and `backwards` are the same.

        Raises:
            GradientError: when called, if no argument has a gradient, if an operation has none, or Slang cannot differentiate
                a function; for a gradient of a result that has another shape.
            TraceError: when called inside a fused function; `fusepy.grad` is for these.

        Example:
            >>> import fusepy as fp
            >>> source = "[Differentiable] float poly(float a, float x) { return a * x * x; }"
            >>> m = fp.Module.load_from_source(fp.default_device(), "doc_bwds", source)
            >>> a, x = fp.differentiable(3.0), fp.differentiable([1.0, 2.0])
            >>> m.poly.bwds(a, x)
            >>> float(a.grad), x.grad.tolist()
            (5.0, [6.0, 12.0])
            >>> y = m.poly(a, x).with_grads(grad_in=fp.Tensor([0, 10]))
            >>> m.poly.bwds(a, x, _result=y)
            >>> float(a.grad), x.grad.tolist()
            (45.0, [6.0, 132.0])
        """
        if not self.tracer.differentiable():
            return None
        programs = self.programs.variant("bwds")
        made = DeviceFunction(BackwardTracer(self.tracer, programs.requests))
        for name, part in (("programs", programs), ("setup", self.setup), ("config", self.config.of_tensors)):
            object.__setattr__(made, name, part)
        return made

    backward = backwards = bwds
    __getattr__ = no_member

    def append_to(self, encoder: Any, *args: Any, _result: Any = None, **kwargs: Any) -> Any:
        """Records a call into your slangpy command encoder, which you submit. Results are Tensors.

        Barriers stand before and after it. Arrays among the arguments are uploaded at once. The memory that the recorded work
        uses lives as long as `encoder`: keep the encoder until you have submitted its command buffer.

        Args:
            encoder: a ``slangpy.CommandEncoder`` of the same device, outside of any pass.
            _result: Tensors to write to.

        Raises:
            ArgumentError: if `encoder` is no command encoder or is finished, or if a result would go to an array.

        Example:
            >>> import fusepy as fp
            >>> m = fp.Module.load_from_source(fp.default_device(), "doc_append", "float twice(float x) { return 2 * x; }")
            >>> encoder = m.device.sgl.create_command_encoder()
            >>> result = m.twice.append_to(encoder, [1.0, 2.0])
            >>> _ = m.device.sgl.submit_command_buffer(encoder.finish())
            >>> result.to_numpy()
            array([2., 4.], dtype=float32)
        """
        check_encoder(encoder, self.__name__)
        if current_trace() is not None:
            raise ArgumentError(f"{self.__name__}.append_to() inside a fused function", hint="append the fused function itself")
        return self._into(encoder)(*args, _result=_result, **kwargs)

    def _into(self: Self, encoder: Any) -> Self:
        """Returns this function with calls that are recorded into an encoder."""
        before = self.setup or NO_SETUP
        setup, programs = Setup(before.values, before.hooks, encoder), self.programs.variant("append_to")
        return self.variant(setup, self.config.of_tensors, programs=programs)

    def lower(self, *args: Any, _result: Any = None, **kwargs: Any) -> Lowered:
        """Traces a call without running it. The result shows it as IR, as Slang, as reasons or as a page.

        Raises:
            FusepyError: the error of such a call, if tracing it fails.
        """
        return with_settings(lower, self, args, kwargs, _result)

    def node(self, outputs: int | None = None) -> Node:
        """Returns this function as a node of a `Graph`. Called with values of the graph, the node records the call.

        Args:
            outputs: the number of results. Slang functions and graphs know it. For a fused function it is 1 by default;
                that one result may be a structure, whose parts are taken by index.

        Raises:
            GraphError: for anything but a number.
        """
        return Node(self, outputs)

    def _node_results(self, use: Use, outputs: int | None) -> Structure:
        return self.tracer.node_results(use, outputs)
