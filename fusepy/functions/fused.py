"""`fuse`: a Python function whose Slang calls become as few kernels as its data flow allows."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast, overload

import numpy as np

from fusepy.arguments.mapping import unmapped
from fusepy.arguments.nested import flat, is_nested, leaves_of, naming
from fusepy.backend.device.device import Device
from fusepy.backend.device.recorder import is_encoder, misplaced
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError, FusepyError, did_you_mean
from fusepy.functions.caller import Caller
from fusepy.functions.nodes import Use, several
from fusepy.functions.unrolled import warn_unrolled
from fusepy.ir.resolve.refusals import none_error
from fusepy.trace.recording import Recording
from fusepy.trace.structs import returned
from fusepy.trace.structure import flatten
from fusepy.trace.trace import Trace, current_trace, entered, user_line
from fusepy.trace.traced import Traced, misused

_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class FusedFunction(Caller):
    """A Python function that is traced, fused and run on the device; made by `fuse`.

    It is called, declared and inspected like a Slang function. Called while another fused function is traced, it becomes
    part of that one. Python numbers among its arguments are uniforms: another number is no new kernel. Those named in
    `static` are part of the program instead, and may steer Python control flow.
    """

    def __init__(self, function: Callable[..., Any], static: Sequence[str] = (), device: Device | None = None):
        super().__init__()
        functools.update_wrapper(self, function)
        self.__name__ = " ".join(str(getattr(function, "__name__", "fused")).split())  # a name is one line
        self._function = function
        try:
            if isinstance(function, np.ufunc):  # its signature has options of NumPy's
                raise TypeError
            self._parameters = inspect.signature(function)
        except (TypeError, ValueError):
            raise ArgumentError(
                f"fuse() cannot tell the parameters of {self.__name__}()",
                saw=repr(function)[:60],
                hint="wrap it: fuse(lambda x: f(x))",
            ) from None
        names = list(self._parameters.parameters)
        for name in static:
            if name not in names:
                raise ArgumentError(f"static: {self.__name__}() has no parameter {name!r}", hint=did_you_mean(name, names))
        self._static = frozenset(static)
        self._values: dict[str, Any] = {}  # of the static arguments, once they are known
        self._variants: dict[Any, FusedFunction] = {}  # by the values of the static arguments
        self._device = device
        plain = all(p.kind in _BY_PLACE and p.default is p.empty for p in self._parameters.parameters.values())
        self._plain_count = len(names) if plain and not static else -1

    def __call__(self, *args: Any, _result: Any = None, **kwargs: Any) -> Any:
        """Runs the function, in as few kernels as its data flow allows, compiled for the first arguments of their kind.

        Args:
            _result: as for a Slang function; a tuple for several results.

        Raises:
            TraceError: if the Python code needs the number behind a traced value.
            FusepyError: whatever the calls in it raise.
        """
        trace = current_trace()
        if trace is not None:
            trace.adopt(self._setup, self._options, self.__name__)
            with entered(self, self.__name__):
                return self._function(*args, **kwargs)
        if len(args) == self._plain_count and not kwargs:
            return self._run(args, kwargs, _result)
        target, given, named = self._prepare(args, kwargs)
        return target._run(given, named, _result)

    def _prepare(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[FusedFunction, tuple[Any, ...], Mapping[str, Any]]:
        """The function with its static arguments filled in, and the others by name."""
        bound = self._bind(args, kwargs)
        static = {k: v for k, v in bound.items() if k in self._static}
        dynamic = {k: v for k, v in bound.items() if k not in self._static}
        named = self._as_structs((), dynamic)[1] if self._structs else dynamic
        return (self._specialised(static) if static else self), (), named

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by name, defaults applied.

        Raises:
            ArgumentError: for too many, missing, unknown or doubled arguments.
        """
        try:
            bound = self._parameters.bind(*args, **kwargs)
        except TypeError as error:
            for value in filter(is_encoder, args):
                raise misplaced(value, self.__name__).at(user_line()) from None
            names = list(self._parameters.parameters)
            unknown = [k for k in kwargs if k not in names]
            what = f"{self.__name__}() has no parameter {unknown[0]!r}" if unknown else f"{self.__name__}(): {error}"
            hint = did_you_mean(unknown[0], names) if unknown else f"its parameters: {', '.join(names)}"
            raise ArgumentError(what, place=user_line(), hint=hint) from None
        bound.apply_defaults()
        flat: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            kind = self._parameters.parameters[name].kind
            if kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                raise ArgumentError(f"{self.__name__}() takes *args or **kwargs", hint="name the parameters of a fused function")
            flat[name] = value
        return flat

    def _specialised(self, static: Mapping[str, Any]) -> FusedFunction:
        """This function with its static arguments filled in; one per set of values."""
        for name, value in static.items():
            try:
                hash(value)
            except TypeError:
                raise ArgumentError(
                    f"{self.__name__}(): the static argument {name!r} cannot be hashed",
                    saw=type(value).__name__,
                    hint="pass a number, string or tuple; a static argument is part of the program's identity",
                ) from None
        # the type is part of the key, since 1 == 1.0 == True
        key: Any = tuple((k, cast("Any", type(v)), v) for k, v in static.items())
        found = self._variants.get(key)
        if found is None:
            found = self._variants[key] = self._configured(_values=dict(static), _variants={})
        if (
            found._setup is not self._setup or found._returns != self._returns
        ):  # what a call brings, and shares no program's identity
            programs = found._recorded if self._programs is self._recorded else found._programs
            found = found._apart(self._setup, _programs=programs, _returns=self._returns)
        return found

    def _record(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Recording:
        names = [n for n in self._parameters.parameters if n not in self._values]
        dynamic = {**dict(zip(names, args)), **kwargs}
        with naming(self.__name__):
            leaves = [leaf for name, value in dynamic.items() for _, leaf in leaves_of(value, name)]
        trace = Trace(self.__name__, self._device_of(leaves))
        trace.strict = self._exact
        with trace.recording(), entered(self, self.__name__):
            passed: dict[str, Any] = {}
            for position, name in enumerate(self._parameters.parameters):
                if name in dynamic:
                    if dynamic[name] is None:
                        raise none_error(f"{self.__name__}: argument {name!r}", user_line())
                    passed[name] = trace.argument(name, dynamic[name], self._spec(position, name))
            result = self._traced(passed)
            found: list[Any] = []
            rebuild = flatten(result, found, self.__name__, lambda v: id(v) in trace.named)
            outputs = [Traced(trace, returned(trace, v, self.__name__), None) for v in found]
            graph = trace.finish(outputs)
        warn_unrolled(graph)
        order = [*args, *kwargs.values()]
        counts = [len(flat([value])) for value in order]
        starts = [sum(counts[:i]) for i in range(len(order))]
        inputs = {n: range(s, s + count) for n, s, count in zip([*names[: len(args)], *kwargs], starts, counts)}
        positions = [i for n in passed for i in inputs[n]]
        return Recording(graph, trace, flat(order), positions, rebuild, nested=any(map(is_nested, order)))

    def _traced(self, passed: Mapping[str, Any]) -> Any:
        """What the Python function gives back for traced arguments."""
        named = {**passed, **self._values}
        first = [named.pop(n) for n, p in self._parameters.parameters.items() if p.kind is p.POSITIONAL_ONLY]
        try:
            return self._function(*first, **named)
        except (TypeError, ValueError, AttributeError) as error:
            found = None if isinstance(error, FusepyError) else misused(error)
            if found is None:
                raise
            raise found from error

    def _node_results(self, use: Use, outputs: int | None) -> Any:
        self._bind(use.args, use.kwargs)
        return several(1 if outputs is None else outputs)

    def _device_of(self, leaves: Sequence[Any]) -> Device | None:
        """The given device, else that of the first tensor among the arguments; ``None`` leaves it to the modules called."""
        tensors = map(unmapped, leaves)
        return self._device or next((t.device for t in tensors if isinstance(t, Tensor)), None)

    def _parameter_names(self) -> list[str]:
        return list(self._parameters.parameters)

    def __repr__(self) -> str:
        return f"<fused function {self.__name__}>"


@overload
def fuse(function: Callable[..., Any], *, static: Sequence[str] = ..., device: Device | None = ...) -> FusedFunction: ...
@overload
def fuse(
    function: None = ..., *, static: Sequence[str] = ..., device: Device | None = ...
) -> Callable[[Callable[..., Any]], FusedFunction]: ...
def fuse(function: Any = None, *, static: Sequence[str] = (), device: Device | None = None) -> Any:
    """Turns a Python function that calls Slang functions into one that runs in as few kernels as its data flow allows.

    Inside, Slang functions, operators and fusepy's math functions record what they do instead of doing it. The first call
    with arguments of a kind traces and compiles; later ones only pack and dispatch.

    Args:
        function: the function; without it, a decorator is returned.
        static: names of parameters that are part of the program: they are hashed, not recording.
        device: where to run; by default that of the first tensor among the arguments, else the default device.

    Raises:
        ArgumentError: if a static name is no parameter.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_fuse", "float twice(float x) { return 2 * x; }")
        >>> @fp.fuse
        ... def look(x, gain):
        ...     return m.twice(m.twice(x)) * gain
        >>> look([1.0, 2.0], 10.0)
        [40.0, 80.0]
    """
    if function is not None and not callable(function):
        raise ArgumentError("fuse() takes a function", saw=repr(function)[:60], hint="write @fuse above a def, or fuse(f)")
    if function is None:
        return functools.partial(FusedFunction, static=static, device=device)
    return FusedFunction(function, static, device)
