"""`SlangTracer`: makes a graph of one call from a Slang function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fusepy.arguments.mapped import Mapped
from fusepy.arguments.nested import is_nested, leaves_of, naming
from fusepy.backend.device.device import Device
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import GraphError
from fusepy.functions.nodes import Use, wrong_count
from fusepy.functions.options import constants_of
from fusepy.functions.parts import Config
from fusepy.inspect.resolution import call_answer
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.oracle import INOUT, OUT, Param, Signature
from fusepy.pytree import Structure, several
from fusepy.trace.arity import result_counts
from fusepy.trace.inputs import argument
from fusepy.trace.recording import Recording
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced
from fusepy.trace.writeback import Output, Written, written_back


class Loaded:
    """The current source of a module. A reload replaces it; functions read it when they are compiled."""

    __slots__ = ("globals", "source")

    def __init__(self, source: ModuleSource):
        self.replace(source)

    def replace(self, source: ModuleSource) -> None:
        """Replaces the source."""
        self.source = source
        self.globals: list[str] | None = None  # the names; ``None`` until they are needed


class SlangTracer:
    """A tracer of a Slang function or constructor."""

    positional: int | None = None

    def __init__(self, device: Device, loaded: Loaded, name: str):
        self.__name__ = name
        self.device = device
        self.loaded = loaded

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[SlangTracer, tuple[()], tuple[Any, ...], Mapping[str, Any]]:
        """Returns the arguments as they are: there are no static arguments, and Slang knows the defaults."""
        return self, (), args, kwargs

    def call(self, trace: Trace, args: Sequence[Any], kwargs: Mapping[str, Any], config: Config) -> Any:
        """Records a call inside a fused function."""
        alias = self.module_in(trace)
        if config.specs or config.named_specs:
            args, kwargs = self._with_specs(args, kwargs, config)
        return trace.call(alias, self.__name__, args, kwargs, strict=config.strict)

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
        slots = _slots(declared, args, kwargs)
        given = [*args, *kwargs.values()]
        with naming(self.__name__):
            leaves = [list(leaves_of(value, slot.name)) for value, slot in zip(given, slots)]
        starts = [sum(map(len, leaves[:i])) for i in range(len(given))]
        inputs = [i for i, p in enumerate(slots) if p.direction != OUT]
        dirs = _directions(declared, slots, len(args)) if len(inputs) < len(slots) else None
        specs = [config.spec(i, p.name) for i, p in enumerate(slots)]
        with trace.recording():
            passed = {i: argument(trace, slots[i].name, given[i], specs[i]) for i in inputs}
            positional = [t for i, t in passed.items() if i < len(args)]
            named = {slots[i].name: t for i, t in passed.items() if i >= len(args)}
            found = trace.call(alias, self.__name__, positional, named, inherit=False, dirs=dirs, strict=config.strict)
            results: list[Traced] = [] if found is None else [found] if isinstance(found, Traced) else list(found)
            written = [Written(p, given[i], specs[i], leaves[i], starts[i]) for i, p in enumerate(slots)]
            outputs = _outputs(trace, self.__name__, written, len(args), results)
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

    def parameter_names(self) -> list[str]:
        trace, alias = self._trace()
        return [p.name for s in trace.oracle.declared(alias, self.__name__) for p in s.params]

    def global_names(self) -> list[str]:
        loaded = self.loaded
        if loaded.globals is None:
            loaded.globals = list(self.device.oracle({"module": loaded.source}).globals("module"))
        return loaded.globals

    def constant_types(self) -> dict[str, str]:
        return constants_of(self.loaded.source)


def _slots(declared: Sequence[Signature], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Param]:
    """Returns the parameter of each argument: all parameters if the count matches, else the inputs; keywords by name."""
    for signature in declared:
        if not kwargs and len(args) == len(signature.params):
            return list(signature.params)
    inputs = [p for p in declared[0].params if p.direction != OUT]
    named = {p.name: p for s in declared for p in s.params}
    slots = [inputs[i] if i < len(inputs) else Param(f"arg{i}", None) for i in range(len(args))]
    return slots + [named.get(name, Param(name, None)) for name in kwargs]


def _directions(declared: Sequence[Signature], slots: Sequence[Param], positional: int) -> tuple[str, ...] | None:
    """Returns the directions of the parameters of the smallest overload that has these outputs."""
    outputs = {p.name for p in slots if p.direction == OUT}
    every = any(p.direction == OUT for p in slots[:positional])
    for signature in sorted(declared, key=lambda s: sum(p.direction == OUT for p in s.params)):
        params = signature.params[:positional] if every else [p for p in signature.params if p.direction != OUT][:positional]
        if list(params) == list(slots[:positional]) and outputs <= {p.name for p in signature.params if p.direction == OUT}:
            taken = signature.filled(sum(p.direction != OUT for p in slots))
            return None if taken is None else tuple(p.direction for p in taken)
    return None


def _outputs(trace: Trace, function: str, slots: Sequence[Written], positional: int, results: Sequence[Traced]) -> list[Output]:
    """Returns what the program computes: results to return, and results that are written back to arguments."""
    if all(w.param.direction not in (OUT, INOUT) for w in slots):
        return [Output(r) for r in results]
    answer = call_answer(trace.builder.nodes, trace.oracle)
    # arguments are matched to parameters by position or name: Slang may have chosen another overload than the slots'
    places = [p.name for p in answer.params if p.direction != OUT or any(w.param.direction == OUT for w in slots[:positional])]
    targets = {places[i] if i < min(positional, len(places)) else w.param.name: w for i, w in enumerate(slots)}
    outputs: list[Output] = []
    for (name, _), result in zip(answer.results, results):
        slot = targets.get(name)
        outputs += [Output(result)] if slot is None else written_back(trace, function, slot, result)
    return outputs
