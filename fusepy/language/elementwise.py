"""Elementwise operations by their names in the IR, and the operators of tensors, mapped values and generators.

In a trace they are recorded, else they run at once.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.backend.marshals.generators import Generator, Grid, Linspace
from fusepy.backend.marshals.registry import device_of, kind_of_value
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError, GraphError, ShapeError, TraceError, UnsupportedArgumentError
from fusepy.functions.fused import FusedFunction
from fusepy.functions.nodes import GraphValue, Use
from fusepy.ir.ops import OPS
from fusepy.language.movement.graph_calls import or_node
from fusepy.language.reductions import any as some
from fusepy.location import user_line
from fusepy.methods import FUNCTIONS, no_modulus, ufunc_function
from fusepy.pytree import LEAF
from fusepy.symbolic import SIGNS, Symbolic, holds, no_array
from fusepy.trace.moves.indexing import is_listed
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import BINARY, COMPARISONS, UNARY

_F = TypeVar("_F", bound=Callable[..., Any])
_eager: dict[str, FusedFunction] = {}
_PLAIN = {Tensor, int, float}  # classes of operands beside a tensor that every operator takes


def apply(op: str, names: str, *args: Any, _result: Any = None) -> Any:
    """Applies the operation `op`; messages and generated code call its arguments by `names`.

    `_result` is the destination if the operation runs at once.
    """
    trace = current_trace()
    if trace is not None:
        try:
            return trace.record(op, args)
        except UnsupportedArgumentError as error:
            raise _naming(error, op, names, args) from None
    found = _eager.get(op)
    if found is None:
        parameters = names.split()
        scope: dict[str, Any] = {"apply": apply, "__file__": __file__}  # a file's text is no line of the user
        # messages and generated code show the names of these parameters
        exec(f"def {op}({', '.join(parameters)}): return apply({op!r}, {names!r}, {', '.join(parameters)})", scope)
        found = _eager[op] = FusedFunction(scope[op])
    try:
        return found(*args) if _result is None else found(*args, _result=_result)
    except GraphError as error:
        return or_node(error, functools.partial(apply, op, names), op, *args)


def _naming(error: UnsupportedArgumentError, op: str, names: str, args: Sequence[Any]) -> UnsupportedArgumentError:
    """Returns the error with the name of the parameter that got what is no value, such as a string."""
    for name, value in zip(names.split(), args):
        try:
            kind_of_value(0 if isinstance(unmapped(value), Symbolic) else unmapped(value))
        except UnsupportedArgumentError:
            of = "" if error.what.startswith(f"{op}:") else f"{op}: "
            error.what = error.what.replace("argument 'captured'", f"{of}argument {name!r}")
            break
    return error


def composed(*static: str) -> Callable[[_F], _F]:
    """Returns a decorator for a function of arrays that is written with operators and functions of fusepy.

    In a trace it is recorded as they are, else it runs as one fused function.

    Args:
        static: the parameters that are no arrays, such as ``"axis"``: they are part of the program. A list is a tuple there.
    """

    def decorate(function: _F) -> _F:
        of_arrays = _of_arrays(function)
        fused = FusedFunction(of_arrays, static)
        places = [i for i, name in enumerate(inspect.signature(function).parameters) if name in static]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = [_hashable(value) if i in places else value for i, value in enumerate(args)]
            named = {name: _hashable(value) if name in static else value for name, value in kwargs.items()}
            try:
                return fused(*given, **named)
            except GraphError as error:
                return or_node(error, of_arrays, function.__name__, *args, **kwargs)

        return cast("_F", call)

    return decorate


def _of_arrays(function: _F) -> _F:
    """Makes a function lift lists and arrays into the trace that runs: Python and NumPy would compute with them themselves."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_lifted, args), **{name: _lifted(value) for name, value in kwargs.items()})

    return cast("_F", call)


def _lifted(value: Any) -> Any:
    trace = current_trace()
    assert trace is not None, "a composed function runs in a trace"
    return trace.captured(value, "x") if is_listed(value) or holds(value) else value


def _hashable(value: Any) -> Any:
    return tuple(cast("list[Any]", value)) if value.__class__ is list else value


def _symbol(op: str) -> str:
    return str(getattr(OPS[op], "symbol", op))


def _operate(op: str, function: Callable[..., Any], *args: Any) -> Any:
    """Applies an operator to a mapped value, tensor or generator; with a graph value among the operands, it becomes a node."""
    if any(isinstance(a.value if isinstance(a, Mapped) else a, GraphValue) for a in args):
        return Use(function, op, args, {}, user_line()).returning(LEAF)
    if any(a is None for a in args):
        raise ArgumentError(f"operator {_symbol(op)} with None", hint="ask `x is None`; operators take values")
    return apply(op, "a b"[: 2 * len(args) - 1], *args)


def _known(op: str, first: Any) -> FusedFunction | None:
    """Returns the function of an operator that has run before, if it runs at once for a tensor: the quick way of most calls."""
    return _eager.get(op) if first.__class__ is Tensor and current_trace() is None else None


def _forward(op: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def operate(self: Any, other: Any, modulus: Any = None) -> Any:
        if other.__class__ in _PLAIN and modulus is None and (known := _known(op, self)) is not None:
            return known(self, other)
        if modulus is not None:
            raise no_modulus(self)
        if getattr(other, "__array_ufunc__", self) is None:  # NumPy's protocol: the other operand wants to decide
            return NotImplemented
        return _operate(op, function, self, other)

    return operate


def _backward(op: str, function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        if other.__class__ in _PLAIN and (known := _known(op, self)) is not None:
            return known(other, self)
        return _operate(op, function, other, self)

    return operate


def _unary(op: str, function: Callable[..., Any]) -> Callable[[Any], Any]:
    def operate(self: Any) -> Any:
        known = _known(op, self)
        return _operate(op, function, self) if known is None else known(self)

    return operate


def _in_place(op: str, symbol: str) -> Callable[[Tensor, Any], Any]:
    """Returns the method for ``t += x``: it writes into the memory of the tensor, which views see, as in NumPy."""

    def write(self: Tensor, other: Any) -> Tensor:
        if current_trace() is not None or isinstance(unmapped(other), GraphValue):
            raise TraceError(
                f"{symbol}= of a tensor in a program that is recorded",
                saw=f"{self.dtype}{list(self.shape)}",
                hint=f"write t = t {symbol} x, return it, and pass the tensor as _result= to the call",
            )
        try:
            apply(op, "a b", self, other, _result=self)
        except ShapeError as error:
            if "_result does not fit the result" in error.what:
                error.what = f"{symbol}= writes into the tensor, which has another type or shape than the result"
                error.hint = f"write t = t {symbol} x, which makes another tensor"
            raise
        return self

    return write


def _array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Runs NumPy's functions and operators of mapped values; with values of graphs they are nodes. NumPy calls it."""
    return _called(ufunc_function(ufunc, method, kwargs), ufunc, inputs)


def _called(function: Callable[..., Any], ufunc: Any, inputs: tuple[Any, ...]) -> Any:
    if any(isinstance(unmapped(i), GraphValue) for i in inputs):
        return Use(ufunc, ufunc.__name__, inputs, {}, user_line()).returning(LEAF)
    return function(*inputs)


def _tensor_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Runs fusepy's function of the name, also operators between arrays and tensors; NumPy calls it. Others run on the host."""
    if ufunc is np.divmod and method == "__call__" and not kwargs:
        return tuple(_operate(op, getattr(operator, op), *inputs) for op in ("floordiv", "mod"))
    known = method == "__call__" and not kwargs and ufunc.__name__ in FUNCTIONS
    if known or current_trace() is not None or any(isinstance(i, GraphValue) for i in inputs):
        return _called(ufunc_function(ufunc, method, kwargs), ufunc, inputs)
    if device_of([*kwargs.get("out", ()), *inputs[: method == "at"]]) is not None:
        raise ArgumentError(
            f"numpy.{ufunc.__name__}() cannot write to a tensor", hint="write t.copy_from_numpy(…) with its result"
        )
    return getattr(ufunc, method)(*(i.to_numpy() if isinstance(i, Tensor) else i for i in inputs), **kwargs)


@FusedFunction
def _positive(a: Any) -> Any:
    return a


def _copy_mapped(self: Mapped) -> Any:
    """Returns ``+vmap(a, …)``: in a trace the mapped value itself, else its copy."""
    return self if current_trace() is not None or isinstance(unmapped(self), GraphValue) else _positive(self)


def _copy(self: Tensor) -> Any:
    """Returns ``+t``, a copy as in NumPy."""
    trace = current_trace()
    return self.copy() if trace is None else trace.captured(self, "captured")


def _contains(self: Tensor, item: Any) -> bool:
    """True if any element equals `x` (``x in t``), as in NumPy."""
    return bool(some(self == item))


def _no_truth(self: Any) -> bool:
    raise ShapeError(f"the truth of {self!r}", hint="it has a value for each thread: compare and use fp.where")


for _class in (Mapped, Tensor, Grid, Linspace, Generator):
    for _name, _op in BINARY.items():
        _function = getattr(operator, f"__{_name}__")
        setattr(_class, f"__{_name}__", _forward(_op, _function))
        setattr(_class, f"__r{_name}__", _backward(_op, _function))
    for _name in COMPARISONS:
        setattr(_class, f"__{_name}__", _forward(_name, getattr(operator, f"__{_name}__")))
    for _name, _op in UNARY.items():
        setattr(_class, f"__{_name}__", _unary(_op, getattr(operator, f"__{_name}__")))
    for _name in ("__divmod__", "__rdivmod__", "__pos__"):
        setattr(_class, _name, vars(Symbolic)[_name])
for _name, _op in BINARY.items():
    setattr(Tensor, f"__i{_name}__", _in_place(_op, SIGNS[_name]))
setattr(Tensor, "__array_ufunc__", _tensor_ufunc)  # noqa: B010
setattr(Tensor, "__pos__", _copy)  # noqa: B010
setattr(Tensor, "__contains__", _contains)  # noqa: B010
for _class in (Grid, Linspace, Generator):
    setattr(_class, "__bool__", _no_truth)  # noqa: B010
    setattr(_class, "__array__", no_array)  # noqa: B010
    setattr(_class, "__array_ufunc__", _array_ufunc)  # noqa: B010
setattr(GraphValue, "__array_ufunc__", _array_ufunc)  # noqa: B010
setattr(Mapped, "__pos__", _copy_mapped)  # noqa: B010
setattr(Mapped, "__array__", no_array)  # noqa: B010
setattr(Mapped, "__array_ufunc__", _array_ufunc)  # noqa: B010
