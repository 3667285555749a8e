"""Elementwise operations by their names in the IR: recorded in a trace, else run at once; and the operators of mapped values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from fusepy.fuse import FusedFunction
from fusepy.mapping import Mapped
from fusepy.nodes import GraphValue, Use
from fusepy.place import user_line
from fusepy.trace import current_trace
from fusepy.traced import BINARY, COMPARISONS, UNARY, no_array, ufunc_name

_eager: dict[str, FusedFunction] = {}


def apply(op: str, names: str, *args: Any) -> Any:
    """The operation `op` of arguments, which messages and generated code call by `names`."""
    trace = current_trace()
    if trace is not None:
        return trace.record(op, args)
    found = _eager.get(op)
    if found is None:
        parameters = names.split()
        scope: dict[str, Any] = {"apply": apply}
        # a function with the right parameter names, so that messages and generated code speak of them
        exec(f"def {op}({', '.join(parameters)}): return apply({op!r}, {names!r}, {', '.join(parameters)})", scope)
        found = _eager[op] = FusedFunction(scope[op])
    return found(*args)


def _operate(op: str, function: Callable[..., Any], *args: Any) -> Any:
    """An operator of which an operand is mapped; with a value of a graph among them it becomes a node."""
    if any(isinstance(a.value if isinstance(a, Mapped) else a, GraphValue) for a in args):
        return Use(function, op, args, {}, user_line()).returning(0)
    return apply(op, "a b"[: 2 * len(args) - 1], *args)


def _forward(op: str, function: Callable[..., Any]) -> Callable[[Mapped, Any], Any]:
    return lambda self, other: _operate(op, function, self, other)


def _backward(op: str, function: Callable[..., Any]) -> Callable[[Mapped, Any], Any]:
    return lambda self, other: _operate(op, function, other, self)


def _unary(op: str, function: Callable[..., Any]) -> Callable[[Mapped], Any]:
    return lambda self: _operate(op, function, self)


def _array_ufunc(self: Mapped, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Operators between arrays and mapped values come this way."""
    return _operate(ufunc_name(ufunc, method, kwargs), ufunc, *inputs)


def _divmod(self: Mapped, other: Any) -> tuple[Any, Any]:
    return self // other, self % other  # type: ignore[operator]  # these are added below


def _rdivmod(self: Mapped, other: Any) -> tuple[Any, Any]:
    return other // self, other % self


setattr(Mapped, "__divmod__", _divmod)  # noqa: B010
setattr(Mapped, "__rdivmod__", _rdivmod)  # noqa: B010
for _name, _op in BINARY.items():
    _function = getattr(operator, f"__{_name}__")
    setattr(Mapped, f"__{_name}__", _forward(_op, _function))
    setattr(Mapped, f"__r{_name}__", _backward(_op, _function))
for _name in COMPARISONS:
    setattr(Mapped, f"__{_name}__", _forward(_name, getattr(operator, f"__{_name}__")))
for _name, _op in UNARY.items():
    setattr(Mapped, f"__{_name}__", _unary(_op, getattr(operator, f"__{_name}__")))
setattr(Mapped, "__array__", no_array)  # noqa: B010
setattr(Mapped, "__array_ufunc__", _array_ufunc)  # noqa: B010
