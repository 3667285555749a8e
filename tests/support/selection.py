"""Which cases of a parametrised test `make test` runs; the others are marked `rest`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def daily(cases: Iterable[Any], *kept: object, one: bool = False) -> list[Any]:
    """All cases, of which `make test` runs those named in ``kept``.

    A case is named by its id, its ``__name__``, its text, or, where it is a tuple of arguments, by the first of them.
    A tuple holds all arguments of the case; ``one=True`` passes it as one argument.

    >>> [len(case.marks) for case in daily(["float", "int", "half"], "float", "int")]
    [0, 0, 1]
    >>> daily([("rows", 1), ("columns", 2)], "rows")[1].values
    ('columns', 2)
    >>> daily(["float"], "flaot")
    Traceback (most recent call last):
    ValueError: no case is named 'flaot': the cases are 'float'
    """
    named = [(name_of(case), case) for case in cases]
    names = [str(k) for k in kept]
    if unknown := [n for n in names if n not in [name for name, _ in named]]:
        raise ValueError(f"no case is named {unknown[0]!r}: the cases are {', '.join(repr(name) for name, _ in named)}")
    return [_param(case, one, rest=name not in names) for name, case in named]


def seldom(cases: Iterable[Any], *left_out: object, one: bool = False) -> list[Any]:
    """All cases, of which `make test` leaves out those named; like :func:`daily` otherwise.

    >>> [len(case.marks) for case in seldom(["float", "int", "half"], "half")]
    [0, 0, 1]
    """
    cases, names = list(cases), [str(k) for k in left_out]
    daily(cases, *names)  # which refuses names that no case has
    return daily(cases, *(name for name in map(name_of, cases) if name not in names), one=one)


def name_of(case: Any) -> str:
    """What a case is called in :func:`daily`."""
    if hasattr(case, "marks"):  # pytest.param
        return str(case.id) if case.id else name_of(tuple(case.values))
    if isinstance(case, tuple) and case:
        return name_of(case[0])
    return str(getattr(case, "__name__", case))


def _param(case: Any, one: bool, *, rest: bool) -> Any:
    marks, identity = [pytest.mark.rest] * rest, None
    if hasattr(case, "marks"):
        case, marks, identity, one = case.values, [*case.marks, *marks], case.id, False
    return pytest.param(*(case if isinstance(case, tuple) and not one else (case,)), marks=marks, id=identity)
