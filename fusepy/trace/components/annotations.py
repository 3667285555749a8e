"""Annotations of the parameters of traced functions: ``def look(image: m.float3, stops: float)`` says what an argument holds.

A Slang type groups an array of numbers at the entrance, as `vcast` does. It never turns a float into an integer. Python's
``float``, ``int`` and ``bool`` take numbers of that kind, of any width. Annotations that name no Slang type (``np.ndarray``) say
nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from fusepy.arguments.mapping import AS_A_WHOLE
from fusepy.arguments.nested import is_nested
from fusepy.arguments.spelled import type_of
from fusepy.errors import FusepyError, UnsupportedArgumentError
from fusepy.ir.resolve.offers import describe
from fusepy.ir.types import Kind, Type
from fusepy.location import user_line
from fusepy.symbolic import Symbolic
from fusepy.trace.open_trace import OpenTrace
from fusepy.trace.traced import Traced

_PLAIN = {float: "f", int: "iu", bool: "b"}  # Python's types, and the kinds of the dtypes that they take
_WORDS = {float: "a float", int: "an integer", bool: "a bool"}
_HOLDERS = (Kind.SCALAR, Kind.VECTOR, Kind.MATRIX, Kind.ARRAY)


def annotations_of(function: Callable[..., Any], signature: inspect.Signature) -> dict[str, Any]:
    """Returns the annotations of parameters that say what an argument holds: Slang types, their names, and Python's numbers.

    Names are looked up where the function was defined, for all annotations of a file with
    ``from __future__ import annotations`` are text.
    """
    found: dict[str, Any] = {}
    if "__signature__" in getattr(function, "__dict__", {}):  # it calls the annotated function, with arguments like these
        return found
    for name, parameter in signature.parameters.items():
        given = parameter.annotation
        if given is parameter.empty or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        spec = _looked_up(given, function) if isinstance(given, str) else given
        if spec in _PLAIN or isinstance(spec, Type) or isinstance(getattr(spec, "type", None), Type):
            found[name] = spec
    return found


def _looked_up(text: str, function: Callable[..., Any]) -> Any:
    """Returns what a text names: something that the function sees, or a type of Slang."""
    code = getattr(function, "__code__", None)
    cells = getattr(function, "__closure__", None) or ()
    scope: dict[str, Any] = dict(getattr(function, "__globals__", {}))
    for name, cell in zip(getattr(code, "co_freevars", ()), cells):
        try:
            scope[name] = cell.cell_contents
        except ValueError:  # assigned later
            continue
    try:
        found = eval(text, scope)
    except (NameError, AttributeError, SyntaxError, TypeError):  # a name of type checkers, or a type such as float[4]
        found = text
    return (_slang(found) or _slang(found.rpartition(".")[2])) if isinstance(found, str) else found


def _slang(text: str) -> Type | None:
    """Returns the type of Slang that a text names; ``None`` for a name that only a module may know."""
    try:
        found = Type.parse(text)
    except FusepyError:
        return None
    return found if found.kind in _HOLDERS and found.scalar is not None else None


def honoured(trace: OpenTrace, function: str, given: Mapping[str, Any], annotations: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a traced function, as their annotations say.

    Raises:
        UnsupportedArgumentError: for an argument that cannot be what its annotation says.
    """
    return {n: _as_said(trace, function, n, v, annotations[n]) if n in annotations else v for n, v in given.items()}


def _as_said(trace: OpenTrace, function: str, name: str, value: Any, spec: Any) -> Any:
    type = None if spec in _PLAIN else type_of(spec)
    if is_nested(value) and type is not None and type.kind is Kind.NAMED:
        trace.named[id(value)] = (value, type)
        return value
    if not isinstance(value, Traced):
        if isinstance(value, (str, Symbolic)) or value is None or type is None or is_nested(value):
            return value
        value = Traced(trace, trace.lift(value, name), user_line())  # pyright: ignore[reportArgumentType]
    have = value.type
    if type is None:
        if have.dtype is not None and have.kind is Kind.SCALAR and _fits(have, _PLAIN[spec]):
            exact = have.dtype.kind in _PLAIN[spec]
            return value if exact or value.is_weak else value._fusepy_cast(Type.parse("float"))  # pyright: ignore[reportPrivateUsage]
        raise _refused(trace, function, name, value, spec.__name__, f"pass {_WORDS[spec]}, or an array of such")
    if have is type or type.kind in AS_A_WHOLE:
        return value
    if type.kind is Kind.NAMED:
        return value._fusepy_cast(type, spec) if have.kind is not Kind.NAMED else value  # pyright: ignore[reportPrivateUsage]
    if not _holds(trace, value, type):
        raise _refused(trace, function, name, value, type.name, _hint(value, type))
    return value._fusepy_cast(type, spec)  # pyright: ignore[reportPrivateUsage]


def _fits(have: Type, kinds: str) -> bool:
    """True if numbers of this type become numbers of such kinds without losing a fraction."""
    kind = have.dtype.kind if have.dtype is not None else ""
    return kind in kinds or (kinds == "f" and kind in "iu")


def _holds(trace: OpenTrace, value: Traced, type: Type) -> bool:
    """True if a value holds elements of a numeric type, in its elements or in its last axes."""
    have, dtype = value.type, type.dtype
    if dtype is None or not have.is_numeric or not _fits(have, "iu" if dtype.kind in "iu" else dtype.kind):
        return False
    if have.shape == type.shape:
        return True
    inner = trace.lift(value)
    if have.kind is not Kind.SCALAR:
        return False
    return not inner.rank or trace.grouping.holds(inner, type.shape)


def _hint(value: Traced, type: Type) -> str:
    dtype, have = type.dtype, value.type.dtype
    if dtype is not None and have is not None and not _fits(value.type, "iu" if dtype.kind in "iu" else dtype.kind):
        return (
            f"conversions are never silent: convert it before the call, or annotate the parameter as what it holds, {value.type}"
        )
    if type.shape:
        return (
            f"pass an array whose last extents are {', '.join(map(str, type.shape))}, or annotate the parameter as what it holds"
        )
    return "annotate the parameter as what it holds"


def _refused(trace: OpenTrace, function: str, name: str, value: Traced, wanted: str, hint: str) -> UnsupportedArgumentError:
    return UnsupportedArgumentError(
        f"{function}: argument {name!r} does not hold what its annotation says",
        saw=describe(trace.lift(value)),
        expected=wanted,
        hint=hint,
    )
