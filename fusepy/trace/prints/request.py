"""`request_print`: one call of `fusepy.debug.print` in a traced function, and the check of its format."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.errors import TraceError
from fusepy.pytree import flatten
from fusepy.symbolic import Symbolic, misplaced
from fusepy.trace.open_trace import OpenTrace
from fusepy.trace.prints.log import OF_SPECIFICATIONS, PrintRequest, Shown, unfit
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
        ArgumentError: for an invalid format, and for one that names other values or leaves one out.
    """
    if not isinstance(text, str):
        saw = f"a {type(text).__name__}"
        raise unfit("the first argument is the format", saw, 'begin with it: fp.debug.print("x = {}", x)')
    try:
        fields = list(_fields(text))
    except ValueError as error:
        raise unfit(f"the format {text!r} is invalid", error, "write {{ and }} for braces of the text") from None
    parts = next((name for name, *_ in fields if "." in name or "[" in name), None)
    if parts is not None:
        raise unfit(f"the field {parts!r} takes a part of a value", None, 'pass the part: fp.debug.print("{}", x[0])')
    _check_fields(fields, text)
    names = _numbered([name for name, *_ in fields])
    wanted, given = set(names), {*map(str, range(len(args))), *kwargs}
    if wanted != given:
        raise unfit(
            f"the format {text!r} does not fit its values",
            f"no value for {_listed(wanted - given)}" if wanted - given else f"no field for {_listed(given - wanted)}",
            'give a value for each field, and a field for each: fp.debug.print("{} and {y}", x, y=y)',
        )
    for name, (_, spec, conversion) in zip(names, fields):
        value = "" if conversion else args[int(name)] if name.isdigit() else kwargs[name]  # a conversion makes text
        if spec and "{" not in spec:
            _check_specification(spec, value, text)


def _check_fields(fields: Sequence[tuple[str, str, str]], text: str) -> None:
    """Raises `ArgumentError` for fields of which only some are numbered, and for a conversion that Python lacks."""
    places = {name != "" for name, *_ in fields if not name or name.isdigit()}
    if len(places) > 1:
        hint = 'number all fields or none: fp.debug.print("{} {}", x, y)'
        raise unfit(f"the format {text!r} has fields with a number and fields without one", None, hint)
    conversion = next((c for *_, c in fields if c not in ("", "r", "s", "a")), None)
    if conversion is not None:
        raise unfit(f"the format {text!r} has the conversion {conversion!r}", None, "write {!r}, {!s} or {!a}, or leave it out")


def _fields(text: str) -> Iterator[tuple[str, str, str]]:
    """Returns the names, specifications and conversions of the fields in a format, also of those inside of specifications."""
    for _, name, spec, conversion in FORMATTER.parse(text):
        if name is not None:
            yield name, spec or "", conversion or ""
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
        raise unfit(f"a value of the format {text!r} does not take {spec!r}", error, OF_SPECIFICATIONS) from None
