"""`request_print`: one call of `fusepy.debug.print` in a traced function, and the check of its format."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.errors import ArgumentError, TraceError
from fusepy.location import user_line
from fusepy.pytree import flatten
from fusepy.symbolic import Symbolic, misplaced
from fusepy.trace.open_trace import OpenTrace
from fusepy.trace.prints.log import PrintRequest, Shown
from fusepy.trace.structure import returned
from fusepy.trace.traced import Traced

FORMATTER = string.Formatter()


def request_print(trace: OpenTrace, text: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Adds a request to a trace.

    Raises:
        TraceError: in the body of a loop, a branch or a stage, whose values are of one element.
        ArgumentError: for a format that does not fit the values.
    """
    check_format(text, args, kwargs)
    if trace.prints is None:
        raise TraceError(
            f"debug.print() inside the body of {trace.body or trace.builder.name}, which runs for each element by itself",
            place=user_line(),
            hint="return the value from the body and print it afterwards, or write a Python loop, which prints each step",
        )
    leaves, structure = flatten((args, dict(kwargs)), lambda value: isinstance(value, Mapped))
    trace.prints.append(PrintRequest(text, [_stored(trace, leaf) for leaf in leaves], structure))


def _stored(trace: OpenTrace, leaf: Any) -> Any:
    """Returns a traced leaf as the value that is stored, and any other leaf as it is."""
    inner = unmapped(leaf)
    if isinstance(inner, Symbolic) and not isinstance(inner, Traced):
        raise misplaced(inner)
    return returned(trace, leaf, "debug.print") if isinstance(inner, Traced) else leaf


# ---- formats ----------------------------------------------------------------------------------------------------------


def check_format(text: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Checks a format against its values.

    Raises:
        ArgumentError: for a format that is none, that names other values, or that leaves one out.
    """
    if not isinstance(text, str):
        saw = f"a {type(text).__name__}"
        raise _unfit("the first argument is the format", saw, 'begin with it: fp.debug.print("x = {}", x)')
    try:
        fields = list(_fields(text))
    except ValueError as error:
        raise _unfit(f"the format {text!r} is none", error, "write {{ and }} for braces of the text") from None
    parts = next((name for name, _ in fields if "." in name or "[" in name), None)
    if parts is not None:
        raise _unfit(f"the field {parts!r} takes a part of a value", None, 'pass the part: fp.debug.print("{}", x[0])')
    names = _numbered([name for name, _ in fields])
    wanted, given = set(names), {*map(str, range(len(args))), *kwargs}
    if wanted != given:
        raise _unfit(
            f"the format {text!r} does not fit its values",
            f"no value for {_listed(wanted - given)}" if wanted - given else f"no field for {_listed(given - wanted)}",
            'give a value for each field, and a field for each: fp.debug.print("{} and {y}", x, y=y)',
        )
    for name, (_, spec) in zip(names, fields):
        value = args[int(name)] if name.isdigit() else kwargs[name]
        if spec and "{" not in spec:
            _check_specification(spec, value, text)


def _fields(text: str) -> Iterator[tuple[str, str]]:
    """Returns the names and specifications of the fields in a format, also those inside of specifications."""
    for _, name, spec, _ in FORMATTER.parse(text):
        if name is not None:
            yield name, spec or ""
            yield from _fields(spec or "")


def _numbered(names: Sequence[str]) -> list[str]:
    """Returns names of fields with numbers for the empty ones."""
    count = iter(range(len(names)))
    return [name or str(next(count)) for name in names]


def _listed(names: set[str]) -> str:
    return ", ".join(f"position {name}" if name.isdigit() else repr(name) for name in sorted(names))


def _check_specification(spec: str, value: Any, text: str) -> None:
    """Raises `ArgumentError` for a specification that a value does not take, such as ``d`` for a float."""
    inner = unmapped(value)
    if isinstance(inner, Traced):
        dtype = None if inner.type.scalar is None else inner.type.scalar.dtype
        sample: Any = object() if dtype is None else dtype.type(1)
    else:
        sample = Shown(inner)
    try:
        format(sample, spec)
    except (TypeError, ValueError) as error:
        hint = "write .3f or the like for floats, d for integers, and nothing for structs"
        raise _unfit(f"a value of the format {text!r} does not take {spec!r}", error, hint) from None


def _unfit(what: str, saw: object, hint: str) -> ArgumentError:
    return ArgumentError(f"debug.print(): {what}", place=user_line(), saw=saw, hint=hint)
