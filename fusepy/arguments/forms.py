"""`Form`: the parameters that the arguments of a call of a Python function fill. It is the same for all calls of such a form.

`inspect` needs 10 to 40 µs to bind arguments, so a call of a form that is known does not ask it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, NamedTuple, cast

from fusepy.errors import ArgumentError
from fusepy.ir.oracle import Param
from fusepy.symbolic import static_hint


class FilledParameter(NamedTuple):
    """A parameter with what fills it.

    Attributes:
        place: among the arguments by position and then those by name; -1 for the default.
        static: true if it is part of the program, whatever its class is.
    """

    name: str
    place: int
    default: Any
    static: bool


class Form(NamedTuple):
    """A number of arguments by position, and names of others.

    Attributes:
        filled: the parameters, in order.
        key: tells the form from others of a function that takes any number of arguments; else empty.
        parts: the attributes that the tracer of such a function has for calls of this form.
    """

    filled: tuple[FilledParameter, ...]
    key: tuple[object, ...] = ()
    parts: Mapping[str, Any] = {}

    @staticmethod
    def of(arguments: Mapping[str, Any], count: int, names: Sequence[str], static: Container[str]) -> Form:
        """Returns the form of a call.

        Args:
            arguments: the values of the parameters, in order, with the defaults of those that the call leaves out.
            count: the number of arguments by position; `names` are those of the others.
            static: the parameters that are part of the program.
        """
        places = {name: count + i for i, name in enumerate(names)}
        found = [(name, i if i < count else places.get(name, -1)) for i, name in enumerate(arguments)]
        return Form(tuple([FilledParameter(n, at, arguments[n] if at < 0 else None, n in static) for n, at in found]))

    def sorted(self, values: Sequence[Any], fixed: Container[type]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the static arguments of a call, and the others, by the names of the parameters; `fixed` classes are static."""
        static: dict[str, Any] = {}
        others: dict[str, Any] = {}
        for name, place, default, is_static in self.filled:
            value = default if place < 0 else values[place]
            (static if is_static or value.__class__ in fixed else others)[name] = value
        return static, others


Forms = dict[tuple[int | str, ...], Form]  # by the number of arguments by position, and the names of the others
OtherParts = dict[str, dict[str, Any]]  # attributes of a tracer for other parameters than its function has


def parameter_parts(signature: inspect.Signature, parameters: Sequence[inspect.Parameter]) -> dict[str, Any]:
    """Returns the attributes of a tracer that follow from its parameters."""
    params = {p.name: (i, Param(p.name, None)) for i, p in enumerate(parameters)}
    return {"signature": signature.replace(parameters=parameters), "params": params, "forms": Forms(), "others": OtherParts()}


def other_parts(
    known: OtherParts, word: str, signature: inspect.Signature, choose: Callable[[Sequence[inspect.Parameter]], Any]
) -> Mapping[str, Any]:
    """Returns these attributes for the parameters that `choose` makes of a function's own; `known` keeps them."""
    if word not in known:
        known[word] = parameter_parts(signature, choose(list(signature.parameters.values())))
    return known[word]


def static_keys(function: str, static: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Returns the keys of the static arguments of a function, with their names.

    Raises:
        ArgumentError: for one that cannot be hashed.
    """
    for name, value in static.items():
        try:
            hash(value)
        except TypeError:
            raise ArgumentError(
                f"{function}(): the static argument {name!r} cannot be hashed",
                saw=type(value).__name__,
                hint=static_hint([value], "pass a number, string or tuple: it is part of the program's identity"),
            ) from None
    return tuple([(name, _static_key(value)) for name, value in static.items()])


def _static_key(value: Any) -> Any:
    """Returns the key of a static argument: unlike the argument it tells 1, 1.0 and True apart, and 0.0 from -0.0."""
    if isinstance(value, tuple):
        return (tuple, *map(_static_key, cast("tuple[Any, ...]", value)))
    return value.__class__, value.hex() if isinstance(value, float) else value
