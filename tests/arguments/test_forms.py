"""Forms of calls: what a later call of a known form does without `inspect`, and that it does the same."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.arguments.forms import Form
from fusepy.errors import ArgumentError


def values(*numbers: float) -> list[Any]:
    return [fp.Tensor([n, n + 1]) for n in numbers]


def plain(a: Any, b: Any, c: Any) -> Any:
    return a + b * 10 + c * 100


def defaults(a: Any, b: Any = 2.0, *, c: Any = 3) -> Any:
    return a + b * 10 + c * 100


def several(*args: Any) -> Any:
    return sum((x * 10**i for i, x in enumerate(args)), args[0] * 0)


def named(first: Any, /, *others: Any, k: Any = 1.0, **more: Any) -> Any:
    return several(first, *others) + k * 1000 + sum((x * (i + 7) for i, x in enumerate(more.values())), first * 0)


def open_ended(a: Any, b: Any = 2.0, *others: Any, **more: Any) -> Any:
    return several(a, b, *others) + sum((x * (i + 7) for i, x in enumerate(more.values())), a * 0)


A, B, C, D = range(1, 5)
CALLS: list[tuple[Callable[..., Any], list[tuple[tuple[int, ...], dict[str, int]]]]] = [
    (
        plain,
        [((A, B, C), {}), ((A, B), {"c": C}), ((), {"c": A, "a": B, "b": C}), ((), {"b": A, "c": B, "a": C}), ((C, B, A), {})],
    ),
    (defaults, [((A,), {}), ((A, B), {}), ((A,), {"c": B}), ((B,), {}), ((A,), {"c": C, "b": B}), ((A, C), {"c": D})]),
    (several, [((A, B, C), {}), ((A,), {}), ((C, B, A), {}), ((A, B, C, D), {}), ((B, A), {})]),
    (named, [((A,), {}), ((A, B), {"k": C}), ((A,), {"p": B, "q": C}), ((A,), {"q": B, "p": C}), ((A, B, C), {"p": D, "k": A})]),
    (
        open_ended,
        [((A,), {}), ((A, B), {}), ((A,), {"b": B}), ((), {"b": A, "p": C, "a": B}), ((A, B, C), {}), ((A, B, C, D), {"p": A})],
    ),
]


@pytest.mark.parametrize(("function", "calls"), CALLS, ids=lambda v: getattr(v, "__name__", ""))
def test_each_form_of_a_call_twice(function: Callable[..., Any], calls: list[Any]) -> None:
    """Forms of one function in turn: none may take the arguments of another one."""
    fused, times = fp.fuse(function), 2
    for i in range(times * len(calls)):
        args, kwargs = calls[i % len(calls)]
        given, more = values(*args), dict(zip(kwargs, values(*kwargs.values())))
        wanted = function(*(t.to_numpy() for t in given), **{k: t.to_numpy() for k, t in more.items()})
        np.testing.assert_array_equal(fused(*given, **more).to_numpy(), wanted)


def test_forms_share_programs() -> None:
    fused, (a, b, c) = fp.fuse(plain), values(A, B, C)
    for _ in range(2):
        fused(a, b, c)
        fused(a, b, c=c)
        fused(c=c, b=b, a=a)
    assert len(fused.programs) == 1


def test_a_known_form_asks_inspect_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [(fp.fuse(f), *each) for f, found in CALLS for each in found]
    for fused, args, kwargs in calls:
        fused(*values(*args), **dict(zip(kwargs, values(*kwargs.values()))))
    monkeypatch.setattr(inspect.Signature, "bind", None)
    monkeypatch.setattr(inspect.Signature, "replace", None)
    for fused, args, kwargs in calls:
        fused(*values(*args), **dict(zip(kwargs, values(*kwargs.values()))))


def test_static_arguments_of_a_known_form() -> None:
    """A value that is static by its class in one call and an array in the next; and others, that numbers must not meet."""

    @fp.fuse
    def chosen(x: Any, how: Any = None, by: Any = 2) -> Any:
        if how is None:
            return x * by
        return x + by if isinstance(how, str) else x * how

    (x,) = values(1.0)
    for _ in range(2):
        assert chosen(x).tolist() == [2.0, 4.0]
        assert chosen(x, "add").tolist() == [3.0, 4.0]
        assert chosen(x, x).tolist() == [1.0, 4.0]
        assert chosen(x, None, 3.0).tolist() == [3.0, 6.0]
        assert chosen(x, None, 4.0).tolist() == [4.0, 8.0]
        assert chosen(x, by=5.0).tolist() == [5.0, 10.0]


def test_numbers_of_static_arguments_stay_apart() -> None:
    @fp.fuse(static=["n"])
    def times(x: Any, n: Any) -> Any:
        return x * n if isinstance(n, bool) else x + n

    (x,) = values(1.0)
    for _ in range(2):
        assert times(x, 1).tolist() == [2.0, 3.0]
        assert times(x, True).tolist() == [1.0, 2.0]
        assert times(x, n=2).tolist() == [3.0, 4.0]


def test_wrong_calls_of_a_function_with_known_forms() -> None:
    fused, (a, b, c) = fp.fuse(plain), values(A, B, C)
    fused(a, b, c)
    fused(a, b=b, c=c)
    for _ in range(2):
        with pytest.raises(ArgumentError, match="missing a required argument: 'c'"):
            fused(a, b)
        with pytest.raises(ArgumentError, match="no parameter 'd'"):
            fused(a, b, d=c)
        with pytest.raises(ArgumentError, match="multiple values for argument 'a'"):
            fused(a, b, a=c)


def test_methods_of_two_objects_with_one_form() -> None:
    class Scaled:
        def __init__(self, by: float):
            self.by = by

        @fp.fuse
        def sum(self, *args: Any) -> Any:
            return several(*args) * self.by

    one, other = Scaled(2.0), Scaled(3.0)
    for _ in range(2):
        assert one.sum(*values(A, B)).tolist() == [42.0, 64.0]
        assert other.sum(*values(A, B)).tolist() == [63.0, 96.0]
        assert other.sum(*values(A)).tolist() == [3.0, 6.0]


def test_the_parameters_of_a_form() -> None:
    form = Form.of({"a": 1, "b": 2, "c": 3}, 1, ["c"], {"c"})
    assert [tuple(filled) for filled in form.filled] == [("a", 0, None, False), ("b", -1, 2, False), ("c", 1, None, True)]
    assert form.sorted(("first", "second"), {int}) == ({"b": 2, "c": "second"}, {"a": "first"})
