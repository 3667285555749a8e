"""Methods and operators of Slang types on traced values: ``ray.at(t)``, and ``a + b`` of structs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from fusepy.errors import NoMatchError, TraceError, UnknownNameError, did_you_mean
from fusepy.ir.names import is_identifier
from fusepy.ir.ops.structure import swizzle
from fusepy.ir.oracle import member_types
from fusepy.ir.types import Kind, Type
from fusepy.trace.open_trace import OpenTrace
from fusepy.trace.traced import BINARY, COMPARISONS, UNARY, Traced

# operators that users can define for their types in Slang
SLANG_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "bitand": "&", "bitor": "|", "bitxor": "^", "shl": "<<",
    "shr": ">>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "neg": "-", "invert": "~",
}  # fmt: skip


class BoundMethod:
    """A method of a traced value's type; calling it records the call.

    A ``[mutating]`` method changes nothing. Like every call in a trace, it returns the values that it writes: the new object
    follows the method's own result.
    """

    def __init__(self, trace: OpenTrace, alias: str, function: str, this: Traced):
        self._trace = trace
        self._alias = alias
        self._this = this
        self.__name__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Records the call.

        Raises:
            ArgumentError, ResolveError: if the arguments do not fit.
        """
        return self._trace.call(self._alias, self.__name__, (self._this, *args), kwargs)

    def __repr__(self) -> str:
        return f"<Slang method {self.__name__} of {self._this!r}>"


def _uncalled(self: BoundMethod, *others: Any) -> NoReturn:
    """Raises `TraceError`; every operator of a method is this, since Python would compare methods by identity."""
    name = self.__name__.rpartition("::")[2]
    raise TraceError(f"the method {name} is not called", saw=repr(self), hint=f"write .{name}(…)")


for _name in (*BINARY, *COMPARISONS, *UNARY, "bool"):
    setattr(BoundMethod, f"__{_name}__", _uncalled)
    if _name in BINARY:
        setattr(BoundMethod, f"__r{_name}__", _uncalled)


def has_member(trace: OpenTrace, value: Traced, name: str) -> bool:
    """True if the type of a traced value has a component, field or method of this name."""
    type = value.type
    if swizzle(type, name) is not None or name in (member_types(trace.oracle, type) or {}):
        return True
    return type.kind is not Kind.ARRAY and any(
        trace.oracle.has_function(alias, f"{type.name}::{name}") for alias in trace.sources
    )


def method_of(trace: OpenTrace, value: Traced, name: str) -> BoundMethod | None:
    """Returns the method `name` of a traced value; ``None`` if it is a field or component.

    Raises:
        UnknownNameError: if a struct has neither; names the nearest.
    """
    type = value.type
    if swizzle(type, name) is not None or not is_identifier(name) or type.kind is Kind.ARRAY:
        return None
    fields = member_types(trace.oracle, type) or {}
    if name in fields:
        return None
    for alias in trace.sources:
        if trace.oracle.has_function(alias, f"{type.name}::{name}"):
            return BoundMethod(trace, alias, f"{type.name}::{name}", value)
    if type.kind is not Kind.NAMED:
        return None
    methods = [m for alias in trace.sources for m in trace.oracle.symbols(alias)["members"].get(type.name, ())]
    raise UnknownNameError(f"{type} has no field or method {name!r}", saw=name, hint=did_you_mean(name, [*fields, *methods]))


def user_operator(trace: OpenTrace, op: str, operands: Sequence[Any], types: Sequence[Type]) -> Any:
    """Calls the ``operator`` function that the user's module declares for structs.

    Raises:
        TraceError: if no module declares it.
    """
    symbol = SLANG_OPERATORS[op]
    for alias in trace.sources:
        try:
            return trace.call(alias, f"operator{symbol}", operands, {})
        except NoMatchError:  # this module declares none for these types
            continue
    listed = ", ".join(map(str, types))
    example = f"{types[0]} operator{symbol}({', '.join(f'{t} {n}' for t, n in zip(types, 'ab'))})"
    raise TraceError(
        f"operator {symbol} has no meaning for {listed}",
        saw=f"operator{symbol}({listed})",
        hint=f"declare such an operator in Slang, e.g. {example}",
    )
