"""`BackwardTracer`: makes graphs of the backward pass of a function, which adds gradients to those of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from fusepy.arguments.gradient_key import gradient_key
from fusepy.arguments.mapped import unmapped
from fusepy.arguments.nested import is_nested, leaves_of, naming
from fusepy.backend.device.device import Device
from fusepy.backend.marshals.registry import device_of, gradients_of
from fusepy.errors import GradientError, GraphError, TraceError
from fusepy.functions.accumulators import checked
from fusepy.functions.gradient_request import CallGradients, GradientRequest, KnownRequest, without_gradients
from fusepy.functions.nodes import Use
from fusepy.functions.parts import Config, Tracer, needs_bind
from fusepy.ir.oracle import OUT, Param
from fusepy.pytree import Structure, several
from fusepy.trace.gradients import added
from fusepy.trace.inputs import argument
from fusepy.trace.prints.log import silenced
from fusepy.trace.recording import Recording
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced


class BackwardTracer:
    """A tracer of the backward pass of a function.

    `bind` adds the gradients to the arguments of a call: those of results, which are read, and those that are written.
    """

    positional: int | None = -1
    variadic = False

    def __init__(self, function: Tracer, known: dict[Hashable, KnownRequest] | None = None):
        self.__name__ = f"{function.__name__}.bwds"
        self.function = function
        self.request: GradientRequest | None = None
        self.known = {} if known is None else known  # requests of earlier calls
        self.accumulators: Mapping[str, str] = {}
        self.owners: list[list[Any]] = []  # the arguments that get new tensors as gradients

    @property
    def device(self) -> Device | None:
        return self.function.device

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any = None
    ) -> tuple[BackwardTracer, GradientRequest, tuple[Any, ...], Mapping[str, Any], None]:
        """Returns the tracer of the gradients that a call asks for, these, and the arguments with their gradients.

        Raises:
            GradientError: if no argument has a gradient.
        """
        tracer, static = self.function, ()
        if result is None and args and not kwargs and not tracer.takes(len(args)) and tracer.takes(len(args) - 1):
            args, result = args[:-1], args[-1]  # the result may follow the arguments
        if tracer.positional is None or needs_bind(tracer, args, kwargs):
            tracer, static, args, kwargs, _ = tracer.bind(args, kwargs, result)
        params = tracer.parameters(args, kwargs)
        values = (*args, *kwargs.values())
        form, leaves = gradient_key(values, result)
        key = None if form is None else (form, *kwargs, len(args), static)
        made, known = BackwardTracer(tracer), None if key is None else self.known.get(key)
        if known is not None and known.request.params == tuple(params):
            named = {name: leaves[i].grads[half] for name, i, half in known.grads}
            made.request, made.owners = known.request, [[leaves[i] for i in found] for found in known.owners]
            return made, known.request, args, {**kwargs, **named}, None
        asked, named, made.owners = self._asked(static, params, len(args), values, result)
        made.request = asked
        if len(self.known) >= 64:
            self.known.clear()
        if key is not None:
            self.known[key] = KnownRequest.of(asked, leaves, named, made.owners)
        return made, asked, args, {**kwargs, **named}, None

    def _asked(
        self, static: Hashable, params: Sequence[tuple[int, Param]], positional: int, values: Sequence[Any], result: Any
    ) -> tuple[GradientRequest, dict[str, Any], list[list[Any]]]:
        """Returns the gradients that a call asks for, these by name, and the arguments that get new ones."""
        with naming(self.__name__):
            found = CallGradients([p for _, p in params], values, result)
        if not found.written:
            raise without_gradients(self.__name__, values)
        paths = {k: found.paths[leaves[0]] for k, leaves in found.wanted.items()}
        kinds = found.kinds(self.__name__, {k: self.accumulators.get(path) for k, path in paths.items()})
        fresh = [k for k, kind in kinds.items() if kind == "push" or (kind is not None and found.written[k].size != 1)]
        asked = GradientRequest(
            static,
            tuple(params),
            positional,
            found.results,
            tuple(found.read),
            tuple(map(tuple, found.wanted.values())),
            frozenset(found.replaced),
            tuple(kinds.values()),
            frozenset(i for i, k in enumerate(kinds) if k in fresh),
        )
        written = {f"{path}.grad": found.written[k] for k, path in paths.items() if k not in fresh}
        read = {f"{path}.grad_in": grad for path, grad in found.read.items()}
        return asked, {**read, **written}, [found.owners[k] for k in fresh]

    @property
    def deliver(self) -> Callable[[Any], None] | None:
        """Attaches the gradients that are new tensors."""
        return self._attach if self.owners else None

    def _attach(self, made: Any) -> None:
        for owners, grad in zip(self.owners, [made] if len(self.owners) == 1 else made):
            for owner in owners:
                given, collected = owner.grads
                owner.attach(grad if given is collected else given, grad)

    def accumulating(self, kinds: Mapping[str, Any]) -> BackwardTracer:
        """Returns a tracer that accumulates gradients over the grid of a call, by names such as ``x.grad``."""
        for name in kinds:
            base = name.removesuffix(".grad").partition(".")[0]
            checked(self.__name__, {f"{base}.grad": kinds[name]}, [f"{n}.grad" for n in self.parameter_names()])
        made = BackwardTracer(self.function)
        made.accumulators = {**self.accumulators, **{name.removesuffix(".grad"): kind for name, kind in kinds.items()}}
        return made

    def record(self, args: Sequence[Any], kwargs: Mapping[str, Any], config: Config) -> Recording:
        """Traces the function, and then the gradients of its arguments."""
        asked, function = self.request, self.function
        assert asked is not None, "a call binds its gradients"
        values, count = [*args, *kwargs.values()], len(asked.params)
        names = [*(p.name for _, p in asked.params), *list(kwargs)[count - len(args) :]]
        with naming(self.__name__):
            leaves = [list(leaves_of(value, name)) for value, name in zip(values, names)]
        every = [leaf for found in leaves for leaf in found]
        trace = Trace(self.__name__, self.device or device_of(unmapped(leaf) for _, leaf in every))
        trace.strict, trace.options = config.strict, config.options.of_gradients
        passed: dict[int, Any] = {}
        inputs: list[int] = []
        first = 0
        with trace.recording():
            for i, (position, param) in enumerate(asked.params):
                if param.direction != OUT:
                    passed[i] = argument(trace, param.name, values[i], config.spec(position, param.name))
                    inputs += range(first, first + len(leaves[i]))
                first += len(leaves[i])
            grads = [argument(trace, name, unmapped(v)) for name, v in zip(names[count:], values[count:])]
            start = trace.moves.begin(trace.builder.nodes)
            with silenced(trace):
                results = function.results(trace, [p for _, p in asked.params], passed, asked.positional, config)
            _check_captures(trace, self.__name__)
            ends = asked.ends(trace, self.__name__, results, leaves, config, dict(zip(asked.seeds, zip(grads, values[count:]))))
            written = iter(grads[len(asked.seeds) :])
            to = [asked.target(trace, i, None if i in asked.fresh else next(written)) for i in range(len(asked.wanted))]
            graph = trace.finish(added(trace, start, ends, to, self.__name__))
        places = iter(range(first + len(asked.seeds), len(every)))
        return Recording(
            graph,
            trace,
            [leaf for _, leaf in every],
            [*inputs, *range(first, len(every))],
            several(len(asked.fresh)),
            [None if i in asked.fresh else next(places) for i in range(len(to))],
            [i in asked.fresh for i in range(len(to))],
            [path for path, _ in every],
            any(map(is_nested, values)),
        )

    def call(self, trace: Trace, args: Sequence[Any], kwargs: Mapping[str, Any], config: Config) -> Any:
        """Raises `TraceError`: a fused function computes values, and adds to none."""
        raise TraceError(
            f"{self.__name__}() inside a fused function",
            saw="a call that adds to the gradients of tensors",
            hint="write fp.grad(f)(x), which returns the gradient; or call it outside",
        )

    def node_results(self, use: Use, outputs: int | None) -> Structure:
        """Raises `GraphError`: a graph computes values, and adds to none."""
        raise GraphError(
            f"{self.__name__} is no node",
            place=use.loc,
            hint="write graph.bwds(…), or make a node of fp.grad(f): fp.grad(f).node()",
        )

    def parameters(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[tuple[int, Param]]:
        return self.function.parameters(args, kwargs)

    def parameter_names(self) -> list[str]:
        return self.function.parameter_names()

    def takes(self, count: int) -> bool:
        return self.function.takes(count)

    def results(
        self, trace: Trace, params: Sequence[Param], passed: Mapping[int, Any], positional: int, config: Config
    ) -> list[tuple[Traced, int | None]]:
        return []

    def differentiable(self) -> bool:
        """Returns False: it returns nothing."""
        return False

    def global_names(self) -> Sequence[str] | None:
        return self.function.global_names()

    def constant_types(self) -> Mapping[str, str] | None:
        return self.function.constant_types()


def _check_captures(trace: Trace, name: str) -> None:
    """Raises `GradientError` for a captured tensor with gradients that the function reads: only arguments get some."""
    first = len(trace.builder.inputs) - len(trace.captures)
    for value, captured in zip(trace.builder.inputs[first:], trace.captures):
        grads = gradients_of(captured)
        uses = [node for node in trace.builder.nodes if value in node.operands and node.op.name != "stop_gradient"]
        if grads is not None and grads[1] is not None and uses:
            raise GradientError(
                f"{name}(): the function reads a tensor with gradients from outside, which is no argument",
                place=uses[0].loc,
                saw=f"{captured.dtype}{list(captured.shape)}",
                hint="pass it as an argument, f.bwds(x, t); or read t.detach(), which has no gradients",
            )
