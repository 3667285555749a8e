"""`x *= 2` in a fused function and a graph: as call by call, or refused."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.symbolic import SIGNS
from tests.support.slang_functions import F32, same

X = np.arange(1, 7, dtype=F32).reshape(2, 3)
SOURCE = "struct Ray { float3 at; float t; }; float3 twice(float3 c) { return 2 * c; }"
Program = Callable[[Any], Any]


def graph(program: Program) -> Program:
    """The program as a graph of one input."""
    made = fp.Graph(inputs=["x"])
    made.set_outputs(program(*made.get_inputs()))
    return made


def written(view: Program) -> Program:
    """A program that writes to a view of its argument, and looks at the argument."""

    def program(x: Any) -> Any:
        seen = view(x)
        seen *= 10
        return fp.sum(x)

    return program


VIEWS: dict[str, Program] = {
    "itself": lambda x: x,
    "a row": lambda x: x[0],
    "the last row": lambda x: x[-1],
    "a slice": lambda x: x[:, 1:],
    "backwards": lambda x: x[::-1],
    "an axis more": lambda x: x[None, ..., None],
    "transposed": lambda x: x.T,
    "its axes exchanged": lambda x: x.transpose(1, 0),
    "swapaxes": lambda x: fp.swapaxes(x, 0, 1),
    "reshaped": lambda x: x.reshape(3, 2),
    "ravel": lambda x: x.ravel(),
    "flip": lambda x: fp.flip(x, 0),
    "a part": lambda x: fp.split(x, 3, axis=1)[1],
    "a view of a view": lambda x: x.T[1:][0],
}
COPIES: dict[str, Program] = {
    "a copy": lambda x: x.copy(),
    "a copy of a row": lambda x: x[1].copy(),
    "plus": lambda x: +x,
    "flatten": lambda x: x.flatten(),
    "rows at indices": lambda x: x[[1, 0]],
    "computed": lambda x: 1 * x,
}
MODES: dict[str, Callable[[Program], Program]] = {"fused": fp.fuse, "graph": graph}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("of", ["tensors", "arrays"])
def test_views_of_arguments_are_refused_and_copies_are_not(device: Any, mode: str, of: str) -> None:
    given = fp.Tensor.from_numpy(device, X) if of == "tensors" else X.copy()
    for name, view in VIEWS.items():
        with pytest.raises(fp.TraceError, match=r"\*= of (a view of )?the argument 'x'.*\n.*\n.*t = t \* x.*copy") as caught:
            MODES[mode](written(view))(given)
        assert ("a view of" in str(caught.value)) == (name != "itself"), name
    for view in COPIES.values():
        same(MODES[mode](written(view))(given), X.sum())
    same(np.asarray(given), X)


@pytest.mark.parametrize("name", SIGNS)
def test_every_operator_is_refused(device: Any, name: str) -> None:
    x, operate = np.ones((2, 2), F32 if name == "truediv" else np.int32), getattr(operator, f"__i{name}__")
    with pytest.raises(fp.TraceError, match="of the argument 'x'") as caught:
        fp.fuse(lambda x: operate(x, x))(x)
    assert caught.value.what.startswith(f"{SIGNS[name]}= of")
    same(fp.fuse(lambda x: operate(1 * x, x))(x), operate(1 * x, x))


def alias(x: Any) -> Any:
    y = x * 2
    z = y
    z += 1
    return y


def of_a_row(x: Any) -> Any:
    y = x * 2
    row = y[0]
    row += 1
    return fp.sum(y)


def row_twice(x: Any) -> Any:
    y = x * 2
    a, b = y[0], y[0]
    a += 1
    return a + b


def by_a_function(x: Any) -> Any:
    y = x * 2
    z = fp.fuse(increased)(y)
    return y + z


def increased(x: Any) -> Any:
    x += 1
    return x


@pytest.mark.parametrize("mode", ["fused", "graph"])
@pytest.mark.parametrize("program", [alias, of_a_row, row_twice])
def test_what_has_been_written_to_is_not_used(mode: str, program: Program) -> None:
    with pytest.raises(fp.TraceError, match=r"is used after \+= has written to it[^\n]*\n +saw: +\+= at test_aliases.py:\d+"):
        MODES[mode](program)(X)


def test_a_function_may_write_to_what_its_caller_uses_no_more() -> None:
    with pytest.raises(fp.TraceError, match="is used after"):
        fp.fuse(by_a_function)(X)
    same(fp.fuse(lambda x: fp.fuse(increased)(x * 2))(X), X * 2 + 1)


def total(x: Any) -> Any:
    found = 0.0
    for k in range(2):
        found += x[k]
    return found


def two_rows(x: Any) -> Any:
    y = x * 2
    a, b = y[0], y[1]
    a += 1
    b *= 3
    return a + b


def channels(x: Any) -> Any:
    y = x * 2
    a, b = y[..., 0], y[..., 0].copy()
    a -= 1
    return a + b


def after_its_last_use(x: Any) -> Any:
    y = x * 2
    found = fp.sum(y)
    y += found
    return y


@pytest.mark.parametrize("mode", ["fused", "graph"])
@pytest.mark.parametrize("program", [total, two_rows, after_its_last_use])
def test_what_nobody_else_sees_is_written_as_call_by_call(mode: str, program: Program) -> None:
    same(MODES[mode](program)(X), program(X.copy()))


def test_numbers_and_bodies_have_no_memory() -> None:
    def loop(x: Any, k: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            c *= k
            return c

        k += 1
        return fp.fori_loop(0, 2, body, x)

    same(fp.fuse(loop)(X, 2.0), 9 * X)
    assert fp.fuse(increased)(2) == 3

    def halves(at: Any) -> Any:
        x = at.x
        x *= 2
        return x + at.x

    same(np.asarray(fp.fuse(halves)(fp.grid((1, 3)))), np.int32([[0, 3, 6]]))


@pytest.mark.parametrize("by", [0.5, X[:, 0].astype(np.float64)])
def test_an_array_keeps_its_type_and_axes(by: Any) -> None:
    with pytest.raises(fp.TraceError, match="keeps its type"):
        fp.fuse(lambda n: increased_by(n * 1, by))(np.int32([1, 2]))
    with pytest.raises(fp.TraceError, match="its axes"):
        fp.fuse(lambda x: increased_by(fp.sum(x), x))(X)


def increased_by(x: Any, by: Any) -> Any:
    x += by
    return x


def test_arguments_of_functions_that_are_differentiated_and_in_containers() -> None:
    for program, given in [
        (fp.grad(lambda x: fp.sum(increased(x))), X),
        (fp.fuse(lambda p: increased(p["a"])), {"a": X}),
        (fp.fuse(lambda p: increased(p[1][0])), [1.0, X]),
    ]:
        with pytest.raises(fp.TraceError, match=r"\+= of (a view of )?the argument"):
            program(given)


def test_members_are_views(device: Any) -> None:
    m = fp.Module.load_from_source(device, "aliased", SOURCE)
    rays = fp.Tensor.zeros(device, (2,), m.Ray)
    for program in (lambda r: increased(r.t), lambda r: increased(r.at.y), lambda r: increased(r["t"])):
        with pytest.raises(fp.TraceError, match="of a view of the argument 'r'"):
            fp.fuse(program)(rays)

    def parted(c: Any) -> Any:
        made = m.twice(c)
        x, y = made.x, made.y
        x += 1
        y *= 2
        return x + y

    colours = fp.Tensor.from_numpy(device, X, m.float3)
    same(fp.fuse(parted)(colours).numpy(), 2 * X[:, 0] + 1 + 4 * X[:, 1])
