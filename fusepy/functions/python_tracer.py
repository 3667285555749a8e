"""`PythonTracer`: makes a graph of a Python function by calling it with traced values."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from fusepy.arguments.declared import as_declared
from fusepy.arguments.forms import Form, Forms, OtherParts, parameter_parts, static_keys
from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.arguments.nested import flat, is_nested, leaves_of, naming, opened
from fusepy.backend.device.device import Device
from fusepy.backend.device.recorder import is_encoder, misplaced
from fusepy.backend.marshals.registry import device_of
from fusepy.errors import ArgumentError, FusepyError, UnrollWarning, did_you_mean
from fusepy.functions.accumulators import Kept, accumulated, checked
from fusepy.functions.nodes import Use
from fusepy.functions.parts import STATIC, Config
from fusepy.ir.graph import Graph, Node
from fusepy.ir.oracle import Param
from fusepy.pytree import Structure, several
from fusepy.trace.arity import apply_defaults, bound_arguments, is_variadic, of_count, signature_of
from fusepy.trace.components.annotations import annotations_of, honoured
from fusepy.trace.components.said import said_of_call
from fusepy.trace.inputs import argument
from fusepy.trace.moves.shapes import held_to
from fusepy.trace.recording import Recording, entered
from fusepy.trace.structure import called, flatten_values, returned
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced, misused

_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
Named = tuple["PythonTracer", tuple[object, ...], dict[str, Any], Any]  # tracer, key, arguments, destination
LIMIT = 1000  # operations that one line of a program may record without a warning


class PythonTracer:
    """A tracer of a Python function, with the values of its static arguments if they are known."""

    deliver = None
    accumulator: str | None = None  # of all results
    params: dict[str, tuple[int, Param]]
    forms: Forms
    others: OtherParts
    kept: Kept | None = None  # what the destination of the accumulator keeps of the grid

    def __init__(self, function: Callable[..., Any], static: Sequence[str] = (), device: Device | None = None):
        self.__name__ = " ".join(str(getattr(function, "__name__", "fused")).split())  # a name is one line
        self.function = function
        self.device = device
        if not isinstance(static, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            hint = 'write fp.fuse(f, static=["x"]), with the names of static parameters'
            raise ArgumentError("static takes names of parameters", saw=repr(static)[:60], hint=hint)
        self.static = frozenset(static)
        self.values: Mapping[str, Any] = {}
        self.signature = signature_of(function, self.__name__)
        self.annotations = annotations_of(function, self.signature)
        self.variadic = is_variadic(self.signature)
        names = self.parameter_names()
        for name in static:
            if name not in names:
                raise ArgumentError(f"static: {self.__name__}() has no parameter {name!r}", hint=did_you_mean(str(name), names))
        plain = all(p.kind in _BY_PLACE and p.default is p.empty for p in self.signature.parameters.values())
        vars(self).update(parameter_parts(self.signature, list(self.signature.parameters.values())))
        self.positional: int | None = len(names) if plain and not static else -1

    def bind(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any = None
    ) -> tuple[PythonTracer, tuple[object, ...], tuple[Any, ...], dict[str, Any], Any]:
        """Binds static arguments: returns the tracer with their values, their key, and the other arguments.

        These are by name beside static ones; else they are by position, so that all forms of a call have one program.

        Raises:
            ArgumentError: for too many, missing, unknown or doubled arguments, and for static ones that cannot be hashed.
        """
        made, key, named, result = self.named(args, kwargs, result)
        return (made, key, (), named, result) if made.values else (made, key, tuple(named.values()), {}, result)

    def named(self, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any = None) -> Named:
        """Does the same; the arguments are by name, in the order of the parameters."""
        form = self.forms.get((len(args), *kwargs))
        if form is None:
            form = self.forms[(len(args), *kwargs)] = self._form(args, kwargs)
        static, others = form.sorted((*args, *kwargs.values()), STATIC)
        kept = None if self.accumulator is None else Kept.of(result)
        if not (static or form.parts) and kept is None:
            return self, (), others, result
        made = object.__new__(self.__class__)
        made.__dict__.update(self.__dict__, values=static, kept=kept, **form.parts)
        key = (*form.key, *static_keys(self.__name__, static))
        return made, key if kept is None else (*key, kept), others, result

    def _form(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Form:
        """Returns the form of a call whose form is new."""
        if self.variadic:
            more = [name for name in kwargs if name not in self.signature.parameters]
            own, signature = copy.copy(self), of_count(self.signature, len(args), more)
            vars(own).update(parts := {"variadic": False, **parameter_parts(signature, list(signature.parameters.values()))})
            return own._form(args, kwargs)._replace(key=("*", len(args), *more), parts=parts)
        try:
            bound = bound_arguments(self.signature, args, kwargs, self.__name__)
        except ArgumentError:
            for value in filter(is_encoder, args):
                raise misplaced(value, self.__name__) from None
            raise
        constants = apply_defaults(bound, [n for n, type in self.annotations.items() if type not in (int, bool)])
        return Form.of(bound.arguments, len(args), [*kwargs], self.static | constants)

    def call(self, trace: Trace, args: Sequence[Any], kwargs: Mapping[str, Any], config: Config) -> Any:
        """Calls the function inside a trace, so that it becomes part of the trace. A pullback calls a bound one, by keyword."""
        if config.specs or config.named_specs:
            args, kwargs = as_declared(config.spec, self.parameter_names(), args, kwargs)
        if Mapped in map(type, (*args, *kwargs.values())):
            args, kwargs = [opened(a) for a in args], {k: opened(v) for k, v in kwargs.items()}
        own, _, named, _ = self.named(args, kwargs) if self.annotations and not self.values else (self, (), kwargs, None)
        held = held_to(trace, config.strict, config.strict_broadcasting)
        with entered(self, self.__name__), held, said_of_call(trace, (*args, *kwargs.values())):
            found = own._called(named, trace) if own.annotations or own.values or not args else self.function(*args, **kwargs)
        if self.accumulator is None:
            return found if found.__class__ is Traced else called(trace, found, self.__name__)
        leaves, structure = flatten_values(found, self.__name__)
        return structure.fill([self._output(trace, leaf) for leaf in leaves])

    def accumulating(self, kinds: Mapping[str, Any]) -> PythonTracer:
        """Returns a tracer of the same function that accumulates its results: ``result="sum"``."""
        made = copy.copy(self)
        made.positional, made.accumulator = -1, checked(self.__name__, kinds, ["result"]).get("result", self.accumulator)
        return made

    def record(self, args: Sequence[Any], kwargs: Mapping[str, Any], config: Config) -> Recording:
        """Traces the function for arguments like these."""
        dynamic = {**dict(zip([n for n in self.signature.parameters if n not in self.values], args)), **kwargs}
        with naming(self.__name__):
            leaves = [leaf for name, value in dynamic.items() for _, leaf in leaves_of(value, name)]
        trace = Trace(self.__name__, self.device or device_of(map(unmapped, leaves)))
        trace.strict, trace.moves.compares = config.strict, config.strict_broadcasting
        trace.options, trace.prints = config.options.of_gradients, []
        with trace.recording():
            passed: dict[str, Any] = {}
            for position, name in enumerate(self.signature.parameters):
                if name in dynamic:
                    passed[name] = argument(trace, name, dynamic[name], config.spec(position, name))
            outputs, structure = self._traced(trace, passed)
            graph = trace.finish(outputs)
        _warn_unrolled(graph, {node for loop in trace.step_loops for node in loop.again})
        counts = {name: len(flat([value])) for name, value in dynamic.items()}
        starts = dict(zip(counts, accumulate(counts.values(), initial=0)))
        positions = [starts[n] + i for n in passed for i in range(counts[n])]
        order = list(dynamic.values())
        told: Any = {"nested": any(map(is_nested, order)), "prints": trace.prints, "printed": len(graph.outputs) - len(outputs)}
        return Recording(graph, trace, flat(order), positions, structure, **told)

    def parameters(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[int, Param]]:
        return [self.params[name] for name in kwargs or self.params]  # after `bind`, all are by position or all by name

    def takes(self, count: int) -> bool:
        return count <= len(self.params)

    def results(
        self, trace: Trace, params: Sequence[Param], passed: Mapping[int, Any], positional: int, config: Config
    ) -> list[tuple[Traced, int | None]]:
        """Calls the Python function with traced arguments, and returns the leaves of what it returns."""
        return [(output, None) for output in self._traced(trace, {params[i].name: v for i, v in passed.items()})[0]]

    def differentiable(self) -> bool:
        return True  # operations decide

    def _traced(self, trace: Trace, passed: Mapping[str, Any]) -> tuple[list[Traced], Structure]:
        """Calls the Python function with traced arguments, and returns the leaves of its result with their structure."""
        with entered(self, self.__name__):
            result = self._called(passed, trace)
            found, structure = flatten_values(result, self.__name__, lambda v: id(v) in trace.named)
            return [self._output(trace, leaf) for leaf in found], structure

    def _output(self, trace: Trace, leaf: Any) -> Traced:
        return accumulated(trace, Traced(trace, returned(trace, leaf, self.__name__), None), self.accumulator, self.kept)

    def _called(self, passed: Mapping[str, Any], trace: Trace) -> Any:
        named = {**honoured(trace.innermost(), self.__name__, passed, self.annotations), **self.values}
        first = [named.pop(n) for n, p in self.signature.parameters.items() if p.kind is p.POSITIONAL_ONLY]
        try:
            return self.function(*first, **named)
        except (TypeError, ValueError, AttributeError) as error:
            found = None if isinstance(error, FusepyError) else misused(error)
            if found is None:
                raise
            raise found from error

    def node_results(self, use: Use, outputs: int | None) -> Structure:
        """Returns the structure of a node's results: one result, unless another number is declared."""
        self.bind(use.args, use.kwargs)
        return several(1 if outputs is None else outputs)

    def parameter_names(self) -> list[str]:
        return list(self.signature.parameters)

    def global_names(self) -> None:
        """Returns ``None``: unknown until the function is traced."""

    def constant_types(self) -> None:
        """Returns ``None``: unknown until the function is traced."""


def _warn_unrolled(graph: Graph, repeated: Collection[Node]) -> None:
    """Warns if one line of the user's program has recorded a very large number of operations, besides the `repeated` ones."""
    counts = Counter(n.loc for n in graph.walk() if n.loc is not None and n.op.name != "const" and n not in repeated)
    line, count = max(counts.items(), key=lambda item: item[1], default=("", 0))
    if count > LIMIT:
        warnings.warn(
            f"{line}: {graph.name}: this line has recorded {count} operations: a Python loop is unrolled while it is traced, and"
            " long programs take long to compile; fusepy.fori_loop records its body once",
            UnrollWarning,
            stacklevel=2,
        )
