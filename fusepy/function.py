"""`Function`: one Slang function (or constructor) as a Python callable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from fusepy.backend.runtime import Device
from fusepy.backend.source import ModuleSource
from fusepy.caller import Caller
from fusepy.compile import Recording
from fusepy.errors import ArgumentError, ShapeError, UnsupportedArgumentError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.oracle import INOUT, OUT, Param, Signature
from fusepy.mapping import Mapped
from fusepy.resolution import Resolved, resolved_call
from fusepy.results import hand_back
from fusepy.tensor import Tensor
from fusepy.trace import Trace, current_trace
from fusepy.traced import Traced


class Function(Caller):
    """A Slang function. Calling it runs it over the broadcast shape of its arguments; under `fuse` the call is recorded.

    Immutable: `declare`, `return_type` and the like return a new one, which may be kept and reused.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_add", "float add(float a, float b) { return a + b; }")
        >>> m.add([10, 20, 30], 20)
        [30.0, 40.0, 50.0]
    """

    def __init__(self, device: Device, source: ModuleSource, name: str):
        super().__init__()
        self._device = device
        self._source = source
        self.__name__ = name

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
        if self._specs or self._named_specs:
            args, kwargs = self._with_specs(args, kwargs)
        return trace.call(trace.module(self._source, self._device), self.__name__, args, kwargs)

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
        slots = _slots(trace.oracle.declared(alias, self.__name__), args, kwargs)
        given = [*args, *kwargs.values()]
        inputs = [i for i, p in enumerate(slots) if p.direction != OUT]
        with trace.recording():
            passed: list[Traced] = []
            for i in inputs:
                value, said = given[i], self._spec(i, slots[i].name)
                inner, said = (value.value, value.map) if isinstance(value, Mapped) else (value, said)
                passed.append(trace.argument(slots[i].name, inner, said))
            cut = sum(i < len(args) for i in inputs)
            found = trace.call(alias, self.__name__, passed[:cut], dict(zip(kwargs, passed[cut:])), inherit=False)
        several = cast("tuple[Traced, ...]", found if isinstance(found, tuple) else (found,))
        results = [] if found is None else list(several)
        outs, keep = self._destinations(slots, given, len(results))
        return Recording(trace.finish(results), trace, given, inputs, hand_back, outs, keep, [p.name for p in slots])

    def _destinations(self, slots: Sequence[Param], given: Sequence[Any], count: int) -> tuple[list[int | None], list[bool]]:
        """For each result the argument that it is written back to, if any, and whether it is returned."""
        written = [i for i, p in enumerate(slots) if p.direction in (OUT, INOUT)]
        if not any(p.direction == OUT for p in slots) and count > len(written) + 1:
            return [], []  # out arguments were left away among the inputs: everything is returned
        outs: list[int | None] = [None] * (count - len(written))
        for i in written:
            inner, said = given[i], self._spec(i, slots[i].name)
            if isinstance(inner, Mapped):
                inner, said = inner.value, inner.map
            if said is not None and said.dims is not None and said.dims != tuple(range(len(said.dims))):
                raise ShapeError(
                    f"{self.__name__}: argument {slots[i].name!r} is written to, in the order of the grid",
                    saw=said,
                    expected=f"vmap{tuple(range(len(said.dims)))}",
                    hint="leave it away and transpose what is returned",
                )
            writable = isinstance(inner, (Tensor, np.ndarray))
            if not writable and slots[i].direction == OUT:
                raise UnsupportedArgumentError(
                    f"{self.__name__}: out argument {slots[i].name!r} cannot be written to a {type(inner).__name__}",
                    saw=repr(inner)[:60],
                    expected="a Tensor or a NumPy array",
                    hint="leave the argument away to have it returned",
                )
            outs.append(i if writable else None)
        return outs, [o is None for o in outs]

    def _parameter_names(self) -> list[str]:
        trace = Trace(self.__name__, self._device)
        alias = trace.module(self._source, self._device)
        return [p.name for s in trace.oracle.declared(alias, self.__name__) for p in s.params]

    def resolve(self, *args: Any, **kwargs: Any) -> Resolved:
        """What Slang answers for a call like this one; see `fusepy.resolve`."""
        return resolved_call(self._record(args, kwargs))

    def __repr__(self) -> str:
        return f"<Slang function {self.__name__} of {self._source.alias}>"


def _slots(declared: Sequence[Signature], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Param]:
    """The parameter that each argument fills: all of them where as many are given by position, else only inputs.

    Raises:
        ArgumentError: where an ``out`` argument is given by name.
    """
    for signature in declared:
        if not kwargs and len(args) == len(signature.params):
            return list(signature.params)
    inputs = [p for p in declared[0].params if p.direction != OUT]
    named = {p.name: p for s in declared for p in s.params}
    slots = [inputs[i] if i < len(inputs) else Param(f"arg{i}", None) for i in range(len(args))]
    for name in kwargs:
        param = named.get(name, Param(name, None))
        if param.direction == OUT:
            raise ArgumentError(
                f"the out argument {name!r} is given by name",
                hint="pass all arguments by position to have it written back, or leave it away to have it returned",
            )
        slots.append(param)
    return slots
