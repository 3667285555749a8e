"""`Function`: one Slang function (or constructor) as a Python callable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from fusepy.arguments.mapping import Mapped
from fusepy.arguments.nested import check_finite, is_nested, leaves_of, naming
from fusepy.backend.device.device import Device
from fusepy.backend.emit.options import NO_OPTIONS
from fusepy.backend.kernels.raw import RawKernel
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import ArgumentError, GraphError
from fusepy.functions.caller import Caller
from fusepy.functions.dispatch import Dispatch, dispatch, thread_count
from fusepy.functions.loaded import Loaded
from fusepy.functions.nodes import Use, several, wrong_count
from fusepy.functions.options import constants_of
from fusepy.inspect.resolution import Resolved, call_answer, resolved_call
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.oracle import INOUT, OUT, Param, Signature
from fusepy.ir.resolve.offers import fill
from fusepy.trace.arity import result_counts
from fusepy.trace.recording import Recording
from fusepy.trace.standin import stand_in
from fusepy.trace.structure import hand_back
from fusepy.trace.trace import Trace, current_trace
from fusepy.trace.traced import Traced
from fusepy.trace.writeback import Output, Written, written_back


class Function(Caller):
    """A Slang function. Calling it runs it over the broadcast shape of its arguments; under `fuse` the call is recorded.

    Immutable: `declare`, `return_type` and the like return a new one, which may be kept and reused.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_add", "float add(float a, float b) { return a + b; }")
        >>> m.add([10, 20, 30], 20)
        [30.0, 40.0, 50.0]
    """

    def __init__(self, device: Device, source: ModuleSource | Loaded, name: str):
        super().__init__()
        self._device = device
        self._loaded = source if isinstance(source, Loaded) else Loaded(source)
        self.__name__ = name

    @property
    def _source(self) -> ModuleSource:
        """The source of its module, which a reload replaces."""
        return self._loaded.source

    def __call__(self, *args: Any, _result: Any = None, **kwargs: Any) -> Any:
        """Calls the function, or records the call inside a fused one.

        Args:
            _result: a tensor or array to write the result to, or the container to return: ``"tensor"``, ``"numpy"``, ``"list"``.

        Raises:
            ArgumentError, ResolveError, ShapeError, RangeError: if the arguments do not fit.
            CompileError: if Slang rejects the module or the generated kernel.
        """
        trace = current_trace()
        if trace is None:
            return self._run(args, kwargs, _result)
        return self._call_in(trace, args, kwargs)

    def _call_in(self, trace: Trace, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Records this call inside a fused function."""
        alias, name = self._named_in(trace)
        if self._specs or self._named_specs:
            args, kwargs = self._with_specs(args, kwargs)
        return trace.call(alias, name, args, kwargs, strict=self._exact)

    def _named_in(self, trace: Trace) -> tuple[str, str]:
        """The module and name by which nodes of a trace call this function, which brings along what is set on it."""
        if self._setup is not None or self._options is not NO_OPTIONS:
            trace.adopt(self._setup, self._options, self.__name__)
        return trace.module(self._source, self._device), self.__name__

    def _with_specs(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Arguments under what `declare` said."""
        names = self._parameter_names()

        def under(value: Any, position: int, name: str) -> Any:
            spec = self._spec(position, name)
            if spec is None:
                spec = ArgMap(())
            return value if spec is UNSAID or isinstance(value, (Mapped, int, float)) else Mapped(value, spec)

        mapped = [under(a, i, names[i] if i < len(names) else "") for i, a in enumerate(args)]
        return mapped, {k: under(v, len(names), k) for k, v in kwargs.items()}

    def _record(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Recording:
        trace = Trace(self.__name__, self._device)
        alias = trace.module(self._source, self._device)
        declared = trace.oracle.declared(alias, self.__name__)
        slots = _slots(declared, args, kwargs)
        given = [*args, *kwargs.values()]
        with naming(self.__name__):
            leaves = [list(leaves_of(value, slot.name)) for value, slot in zip(given, slots)]
        starts = [sum(map(len, leaves[:i])) for i in range(len(given))]
        inputs = [i for i, p in enumerate(slots) if p.direction != OUT]
        dirs = _directions(declared, slots, len(args)) if len(inputs) < len(slots) else None
        with trace.recording():
            passed = {i: trace.argument(slots[i].name, given[i], self._spec(i, slots[i].name)) for i in inputs}
            positional = [t for i, t in passed.items() if i < len(args)]
            named = {slots[i].name: t for i, t in passed.items() if i >= len(args)}
            found = trace.call(alias, self.__name__, positional, named, inherit=False, dirs=dirs, strict=self._exact)
            several = cast("tuple[Traced, ...]", found if isinstance(found, tuple) else (found,))
            results = [] if found is None else list(several)
            written = [Written(p, given[i], self._spec(i, p.name), leaves[i], starts[i]) for i, p in enumerate(slots)]
            outputs = _outputs(trace, self.__name__, written, len(args), results)
        return Recording(
            trace.finish([o.value for o in outputs]),
            trace,
            [leaf for found in leaves for _, leaf in found],
            [starts[i] + k for i in inputs for k in range(len(leaves[i]))],
            hand_back,
            [o.target for o in outputs],
            [o.target is None for o in outputs],
            [path for found in leaves for path, _ in found],
            any(map(is_nested, given)),
            {j: o.said for j, o in enumerate(outputs) if o.said != UNSAID},
            [j for j, o in enumerate(outputs) if o.grad],
        )

    def _global_names(self) -> list[str]:
        loaded = self._loaded
        if loaded.globals is None:
            loaded.globals = list(self._device.oracle({"module": loaded.source}).globals("module"))
        return loaded.globals

    def _constant_types(self) -> dict[str, str]:
        return constants_of(self._source)

    def _parameter_names(self) -> list[str]:
        trace = Trace(self.__name__, self._device)
        alias = trace.module(self._source, self._device)
        return [p.name for s in trace.oracle.declared(alias, self.__name__) for p in s.params]

    def _node_results(self, use: Use, outputs: int | None) -> Any:
        trace = Trace(self.__name__, self._device)
        alias = trace.module(self._source, self._device)
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

    # ---- raw dispatch -------------------------------------------------------------------------------------------

    def dispatch(self, threads: Any = None, *args: Any, vars: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        """Runs a compute entry point as it is written, over so many threads, rounded up to whole groups.

        A function that is no entry point runs too: its first parameter gets the thread id, and nothing past `threads` runs.

        Args:
            threads: one to three numbers; sgl's spelling ``thread_count=`` is taken as well.
            args: uniform parameters in order; ``kwargs`` parameters and globals by name. Tensors go to pointers as they are; to
                structured buffers through a copy of their size, and back.
            vars: globals by name, nested dicts for structs and parameter blocks.

        Raises:
            ArgumentError, UnknownNameError: for missing and unknown names.
            UnsupportedArgumentError, RangeError, ShapeError: for a value that does not fit.
            CompileError: if Slang or the driver rejects the program.

        Example:
            >>> import fusepy as fp
            >>> source = "void count(uint tid, uint* to) { to[tid] = 2 * tid; }"
            >>> m = fp.Module.load_from_source(fp.default_device(), "doc_raw", source)
            >>> to = fp.Tensor.empty(m.device, 3, "uint")
            >>> m.count.dispatch(3, to=to)
            >>> to.to_numpy()
            array([0, 2, 4], dtype=uint32)
        """
        if threads is None:
            threads = kwargs.pop("thread_count", ())
        dispatch(self, thread_count([threads], self.__name__), args, kwargs, vars)

    def threads(self, *counts: Any) -> Dispatch:
        """This entry point over so many threads: ``m.main.threads(width, height).call()``; see `dispatch`.

        Raises:
            ArgumentError: unless one to three integers are given.
        """
        return Dispatch(self, thread_count(counts, self.__name__))

    def _raw_kernel(self) -> RawKernel:
        found = self._raw.get(self._source.closure)
        if found is None:
            existing = self._entry_points().get(self.__name__)
            if existing is not None and self._options.numthreads:
                raise ArgumentError(
                    f"{self.__name__} has its own [numthreads]",
                    saw=existing,
                    hint="change it in Slang, or make it a plain function",
                )
            found = RawKernel(self._device, self._source, self.__name__, existing, self._options)
            self._raw.clear()
            self._raw[self._source.closure] = found
        return found

    def _entry_points(self) -> dict[str, list[int]]:
        return self._device.oracle({"module": self._source}).entry_points("module")

    def resolve(self, *args: Any, **kwargs: Any) -> Resolved:
        """What Slang answers for a call like this one, with values or types in their place; see `fusepy.resolve`."""
        names = self._parameter_names()
        _, given, named = self._prepare(args, kwargs)
        with naming(self.__name__):
            for name, value in [*zip(names, given), *named.items()]:
                check_finite(value, name)
        return resolved_call(self._record([stand_in(a) for a in given], {k: stand_in(v) for k, v in named.items()}))

    def as_func(self) -> Function:
        """The function itself; slangpy's spelling of "this name is a function"."""
        return self

    def __repr__(self) -> str:
        return f"<Slang function {self.__name__} of {self._source.alias}>"


def _slots(declared: Sequence[Signature], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Param]:
    """The parameter that each argument fills: all of them where as many are given by position, else inputs; any by name."""
    for signature in declared:
        if not kwargs and len(args) == len(signature.params):
            return list(signature.params)
    inputs = [p for p in declared[0].params if p.direction != OUT]
    named = {p.name: p for s in declared for p in s.params}
    slots = [inputs[i] if i < len(inputs) else Param(f"arg{i}", None) for i in range(len(args))]
    return slots + [named.get(name, Param(name, None)) for name in kwargs]


def _directions(declared: Sequence[Signature], slots: Sequence[Param], positional: int) -> tuple[str, ...] | None:
    """The directions of the parameters of the overload that these outputs belong to, with the fewest beside them."""
    outputs = {p.name for p in slots if p.direction == OUT}
    every = any(p.direction == OUT for p in slots[:positional])
    for signature in sorted(declared, key=lambda s: sum(p.direction == OUT for p in s.params)):
        params = signature.params[:positional] if every else [p for p in signature.params if p.direction != OUT][:positional]
        if list(params) == list(slots[:positional]) and outputs <= {p.name for p in signature.params if p.direction == OUT}:
            taken = fill(signature, sum(p.direction != OUT for p in slots))
            return None if taken is None else tuple(p.direction for p in taken)
    return None


def _outputs(trace: Trace, function: str, slots: Sequence[Written], positional: int, results: Sequence[Traced]) -> list[Output]:
    """What the program computes: results to return, and those that are written back to arguments."""
    if all(w.param.direction not in (OUT, INOUT) for w in slots):
        return [Output(r) for r in results]
    answer = call_answer(trace.builder.nodes, trace.oracle)
    # which parameter an argument fills is known by place or name, not by the slot: Slang may have taken another overload
    places = [p.name for p in answer.params if p.direction != OUT or any(w.param.direction == OUT for w in slots[:positional])]
    targets = {places[i] if i < min(positional, len(places)) else w.param.name: w for i, w in enumerate(slots)}
    outputs: list[Output] = []
    for (name, _), result in zip(answer.results, results):
        slot = targets.get(name)
        outputs += [Output(result)] if slot is None else written_back(trace, function, slot, result)
    return outputs
