"""`PrintRequest`: what `fusepy.debug.print` prints in a traced function, as results that nobody gets and as text afterwards."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.backend.memory.host_arrays import contents_of
from fusepy.errors import ArgumentError
from fusepy.ir.ranges import check_range
from fusepy.ir.types import Type
from fusepy.ir.value import Value
from fusepy.pytree import Structure, flatten

OF_SPECIFICATIONS = "write .3f or the like for floats, d for integers, and nothing for structs"


class PrintRequest(NamedTuple):
    """One call of `fusepy.debug.print` in a traced function.

    Attributes:
        text: the format.
        leaves: what it prints: the value of a result, or something that is known already.
        structure: the arguments by position and by name that these leaves fill.
    """

    text: str
    leaves: Sequence[Any]
    structure: Structure

    @property
    def values(self) -> list[Value]:
        """The values that the kernels store for it."""
        return [leaf for leaf in self.leaves if isinstance(leaf, Value)]

    def run(self, results: Iterator[Any]) -> None:
        """Prints the text, with the next of `results` for each value."""
        args, kwargs = self.structure.fill([next(results) if isinstance(leaf, Value) else leaf for leaf in self.leaves])
        print(rendered(self.text, args, kwargs))


class RangeRequest(NamedTuple):
    """The check that an integer which kernels compute fits its type.

    Attributes:
        values: the integer, or the operands of the operation that makes it: the values that the kernels store for it.
        type: the type.
        place: the user's line.
        meaning: the operation with Python's integers, which do not wrap.
    """

    values: Sequence[Value]
    type: Type
    place: str | None
    meaning: Callable[..., int] | None = None

    def run(self, results: Iterator[Any]) -> None:
        """Raises `RangeError` if the integer does not fit."""
        found = [contents_of(next(results)) for _ in self.values]
        number = found[0] if self.meaning is None else self.meaning(*(int(n) for n in found if n is not None))
        check_range(number, self.type, "a number that a kernel computes", self.place)


class Request(Protocol):
    """A print or a check of further results of the kernels, once a call has run."""

    @property
    def values(self) -> Sequence[Value]: ...

    def run(self, results: Iterator[Any]) -> None: ...


def run_requests(requests: Sequence[Request], results: Sequence[Any]) -> None:
    """Prints and checks in the order of the program; `results` are the values of the requests."""
    rest = iter(results)
    for request in requests:
        request.run(rest)


def too_early(name: str, request: Request) -> ArgumentError:
    """Returns the error for a print, or a check of a number, in a call that runs when the user submits it."""
    does = "debug.print() prints" if isinstance(request, PrintRequest) else "an integer that kernels compute is checked"
    return ArgumentError(
        f"{name}.append_to(): {does} when a call has run, and this one runs when you submit it",
        hint="call the function itself, or return the value and read it after you have submitted the encoder",
    )


class Printing(Protocol):
    """The part of a trace that holds the requests; ``None`` where nothing can be printed."""

    prints: list[Request] | None


@contextmanager
def silenced(trace: Printing) -> Generator[None, None, None]:
    """Drops what is printed inside of the block: a gradient calls a function again that has printed before."""
    before, trace.prints = trace.prints, []
    try:
        yield
    finally:
        trace.prints = before


class Shown:
    """A value as `fusepy.debug.print` shows it: an array as NumPy does, long ones in short, and specifications per number."""

    def __init__(self, value: Any):
        inner = unmapped(value)
        self.array = contents_of(inner)
        self.value = inner if self.array is None else self.array[()] if not self.array.ndim else self.array

    def __format__(self, spec: str) -> str:
        if self.array is None or not self.array.ndim:
            return format(self.value, spec)
        return np.array2string(self.array, formatter={"all": partial(_formatted, spec)}) if spec else str(self.array)

    def __str__(self) -> str:
        return format(self, "")

    def __repr__(self) -> str:
        return repr(self.value) if isinstance(self.value, str) else str(self)


def rendered(text: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Returns a format with its values.

    Raises:
        ArgumentError: for a specification that a value does not take, found now since it is made of values: ``{:{}}``.
    """
    leaves, structure = flatten((tuple(args), dict(kwargs)), lambda value: isinstance(value, Mapped))
    args, kwargs = structure.fill([Shown(leaf) for leaf in leaves])
    try:
        return text.format(*args, **kwargs)
    except (TypeError, ValueError) as error:
        raise unfit(f"a value of the format {text!r} does not take its specification", error, OF_SPECIFICATIONS) from None


def unfit(what: str, saw: object, hint: str) -> ArgumentError:
    """Returns the error of a format that does not fit."""
    return ArgumentError(f"debug.print(): {what}", saw=saw, hint=hint)


def _formatted(spec: str, number: Any) -> str:
    return format(number, spec)
