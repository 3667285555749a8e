"""`SlangTracer`: makes a graph of one call from a Slang function."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fusepy.arguments.mapped import Mapped
from fusepy.arguments.nested import is_nested, leaves_of, naming
from fusepy.backend.device.device import Device
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import GraphError
from fusepy.functions.accumulators import Kept, accumulated, checked, kept_by, left_of
from fusepy.functions.nodes import Use, wrong_count
from fusepy.functions.options import constants_of
from fusepy.functions.parts import Config
from fusepy.functions.slots import directions_of, is_differentiable, slots_of
from fusepy.inspect.resolution import call_answer, last_call
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.oracle import IN, INOUT, OUT, Param, Signature
from fusepy.pytree import Structure, several
from fusepy.trace.arity import result_counts
from fusepy.trace.inputs import argument
from fusepy.trace.moves.shapes import check_unstretched
from fusepy.trace.recording import Recording
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced
from fusepy.trace.writes.writeback import Output, WrittenArgument, written_back


class Loaded:
    """The current source of a module. A reload replaces it; functions read it when they are compiled."""

    __slots__ = ("declared", "differentiable", "globals", "source")

    def __init__(self, source: ModuleSource):
        self.replace(source)

    def replace(self, source: ModuleSource) -> None:
        """Replaces the source."""
        self.source = source
        self.globals: list[str] | None = None  # the names; ``None`` until they are needed
        self.declared: dict[str, Sequence[Signature]] = {}  # the overloads of functions, as they are needed
        self.differentiable: dict[str, bool] = {}  # for functions, if Slang can differentiate an overload; as they are needed


class SlangTracer:
    """A tracer of a Slang function or constructor."""

    positional: int | None = None
    variadic = False
    deliver = None
    accumulators: Mapping[str, str] = {}
    kept: Mapping[str, Kept] = {}  # what the destinations of accumulators keep of the grid, by parameter; else ``result``

    def __init__(self, device: Device, loaded: Loaded, name: str):
        self.__name__ = name
        self.device = device
        self.loaded = loaded

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any = None
    ) -> tuple[SlangTracer, tuple[object, ...], tuple[Any, ...], Mapping[str, Any], Any]:
        """Returns the arguments as they are: there are no static arguments, and Slang knows the defaults.

        With accumulators it returns the tracer for the axes that destinations have.
        """
        if not self.accumulators:
            return self, (), args, kwargs, result
        slots = slots_of(self.declared(), args, kwargs)
        given = {p.name: value for p, value in zip(slots, (*args, *kwargs.values())) if p.direction != IN}
        made = copy.copy(self)
        made.kept = kept_by({"result": result, **given})
        return made, tuple(made.kept.items()), args, kwargs, result

    def call(self, trace: Trace, args: Sequence[Any], kwargs: Mapping[str, Any], config: Config) -> Any:
        """Records a call inside a fused function."""
        alias = self.module_in(trace)
        if config.specs or config.named_specs:
            args, kwargs = self._with_specs(args, kwargs, config)
        found = trace.call(alias, self.__name__, args, kwargs, strict=config.strict)
        if config.strict_broadcasting:
            check_unstretched(trace, last_call(trace.builder.nodes))
        if config.returns is not None:
            trace.plain.hold(last_call(trace.builder.nodes).results, config.returns)
        if not self.accumulators or found is None:
            return found
        results: tuple[Traced, ...] = (found,) if isinstance(found, Traced) else found
        names = [name for name, _ in call_answer(trace.builder.nodes, trace.oracle).results]
        made = tuple([self._accumulated(trace, r, name) for r, name in zip(results, names)])
        return made[0] if isinstance(found, Traced) else made

    def accumulating(self, kinds: Mapping[str, Any]) -> SlangTracer:
        """Returns a tracer of the same function that accumulates results, by the names of parameters; else ``result``."""
        outputs = [p.name for s in self.declared() for p in s.params if p.direction != IN]
        made = copy.copy(self)
        made.positional = -1
        made.accumulators = {**self.accumulators, **checked(self.__name__, kinds, [*outputs, "result"])}
        return made

    def _accumulated(self, trace: Trace, result: Traced, name: str, said: ArgMap = UNSAID) -> Traced:
        name = "result" if name == "return" else name
        kept = self.kept.get(name)
        if kept is not None and said.dims is not None:
            kept = replace(kept, dims=said.dims)
        return accumulated(trace, result, self.accumulators.get(name), kept)

    def _with_specs(self, args: Sequence[Any], kwargs: Mapping[str, Any], config: Config) -> tuple[list[Any], dict[str, Any]]:
        """Applies the specs of `declare` to arguments."""
        names = self.parameter_names()

        def under(value: Any, position: int, name: str) -> Any:
            spec = config.spec(position, name)
            if spec is None:
                spec = ArgMap(())
            return value if spec is UNSAID or isinstance(value, (Mapped, int, float)) else Mapped(value, spec)

        mapped = [under(a, i, names[i] if i < len(names) else "") for i, a in enumerate(args)]
        return mapped, {k: under(v, len(names), k) for k, v in kwargs.items()}

    def record(self, args: Sequence[Any], kwargs: Mapping[str, Any], config: Config) -> Recording:
        """Traces a call with arguments like these."""
        trace, alias = self._trace()
        declared = trace.oracle.declared(alias, self.__name__)
        slots = slots_of(declared, args, kwargs)
        given = [*args, *kwargs.values()]
        with naming(self.__name__):
            leaves = [list(leaves_of(value, slot.name)) for value, slot in zip(given, slots)]
        starts = [sum(map(len, leaves[:i])) for i in range(len(given))]
        inputs = [i for i, p in enumerate(slots) if p.direction != OUT]
        specs = [config.spec(i, p.name) for i, p in enumerate(slots)]
        with trace.recording():
            passed = {i: argument(trace, slots[i].name, given[i], specs[i]) for i in inputs}
            written = [WrittenArgument(p, given[i], specs[i], leaves[i], starts[i]) for i, p in enumerate(slots)]
            outputs: list[Output] = []
            for result, place in self.results(trace, slots, passed, len(args), config):
                back = [Output(result)] if place is None else written_back(trace, self.__name__, written[place], result)
                kind = None if place is None else self.accumulators.get(slots[place].name)
                outputs += [replace(o, said=left_of(o.said, kind)) for o in back]
        return Recording(
            trace.finish([o.value for o in outputs]),
            trace,
            [leaf for found in leaves for _, leaf in found],
            [starts[i] + k for i in inputs for k in range(len(leaves[i]))],
            several(sum(o.target is None for o in outputs)),
            [o.target for o in outputs],
            [o.target is None for o in outputs],
            [path for found in leaves for path, _ in found],
            any(map(is_nested, given)),
            {j: o.said for j, o in enumerate(outputs) if o.said != UNSAID},
            [j for j, o in enumerate(outputs) if o.grad],
        )

    def results(
        self, trace: Trace, params: Sequence[Param], passed: Mapping[int, Any], positional: int, config: Config
    ) -> list[tuple[Traced, int | None]]:
        """Records a call with traced arguments, and returns its results.

        Args:
            params: the parameters of all arguments, outputs included.
            passed: the traced arguments by their places.
            positional: the number of arguments by position, outputs included.

        Returns:
            each result with the place of the argument that it is written to, ``None`` for a result that is returned.
        """
        alias = self.module_in(trace)
        dirs = (
            directions_of(trace.oracle.declared(alias, self.__name__), params, positional) if len(passed) < len(params) else None
        )
        given = [t for i, t in passed.items() if i < positional]
        named = {params[i].name: t for i, t in passed.items() if i >= positional}
        found = trace.call(alias, self.__name__, given, named, inherits=False, dirs=dirs, strict=config.strict)
        results: list[Traced] = [] if found is None else [found] if isinstance(found, Traced) else list(found)
        if not self.accumulators and all(p.direction not in (OUT, INOUT) for p in params):
            return [(r, None) for r in results]
        answer = call_answer(trace.builder.nodes, trace.oracle)
        # arguments are matched to parameters by position or name: Slang may have chosen another overload than `params`
        outputs = any(p.direction == OUT for p in params[:positional])
        names = [p.name for p in answer.params if p.direction != OUT or outputs]
        places = {names[i] if i < min(positional, len(names)) else p.name: i for i, p in enumerate(params)}
        made: list[tuple[Traced, int | None]] = []
        for (name, _), result in zip(answer.results, results):
            place = places.get(name)
            said = UNSAID if place is None else config.spec(place, params[place].name) or UNSAID
            made.append((self._accumulated(trace, result, name, said), place))
        return made

    def _trace(self) -> tuple[Trace, str]:
        """Makes a trace, and returns it with the name of the module in it."""
        trace = Trace(self.__name__, self.device)
        return trace, self.module_in(trace)

    def module_in(self, trace: Trace) -> str:
        """Returns the name of the module in a trace."""
        return trace.module(self.loaded.source, self.device)

    def node_results(self, use: Use, outputs: int | None) -> Structure:
        """Returns the structure of the results of a call as a node."""
        trace, alias = self._trace()
        counts = result_counts(trace.oracle, alias, use)
        if outputs is None and len(counts) > 1:
            raise GraphError(
                f"{use.name} has overloads with {' and '.join(map(str, counts))} results",
                place=use.loc,
                hint=f"say which: {use.name}.node(outputs={counts[0]})",
            )
        if outputs is not None and outputs not in counts:
            raise wrong_count(use, outputs, f"{' or '.join(map(str, counts))} result{'s' * (counts != [1])}")
        return several(counts[0] if outputs is None else outputs)

    def declared(self) -> Sequence[Signature]:
        """Returns the overloads as written."""
        known = self.loaded.declared.get(self.__name__)
        if known is None:
            trace, alias = self._trace()
            known = self.loaded.declared[self.__name__] = trace.oracle.declared(alias, self.__name__)
        return known

    def parameters(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[int, Param]]:
        return list(enumerate(slots_of(self.declared(), args, kwargs)))

    def takes(self, count: int) -> bool:
        return any(count <= len(s.params) for s in self.declared())

    def differentiable(self) -> bool:
        """False if Slang can differentiate none of the overloads. A call decides about those of which more must be known."""
        known = self.loaded.differentiable.get(self.__name__)
        if known is None:
            trace, alias = self._trace()
            source = self.loaded.source
            found = any(is_differentiable(trace.oracle, alias, self.__name__, s, source) for s in self.declared())
            known = self.loaded.differentiable[self.__name__] = found
        return known

    def parameter_names(self) -> list[str]:
        return [p.name for s in self.declared() for p in s.params]

    def global_names(self) -> list[str]:
        loaded = self.loaded
        if loaded.globals is None:
            loaded.globals = list(self.device.oracle({"module": loaded.source}).globals("module"))
        return loaded.globals

    def constant_types(self) -> dict[str, str]:
        return constants_of(self.loaded.source)
