"""Results that inherit a vmap inside of a fused function: where they fit in two ways, the program says which, in every mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp, same

RETURNS = fp.fuse(lambda x: {"of": (x,)})  # its argument, as it is
X, M, WIDE = np.arange(3, dtype=F32), ramp(3, 3), ramp(3, 4)
RESULTS: dict[str, Callable[[Any, Any], Any]] = {  # of a row that runs down the rows of a matrix
    "a call": lambda m, x: m.twice(fp.vmap(x, (0,))),
    "an operator": lambda m, x: fp.vmap(x, 0) * 2,
    "a function": lambda m, x: fp.sqrt(fp.vmap(4 * x * x, 0)),
    "of a result": lambda m, x: m.twice(fp.vmap(x, 0) * 1.0),
    "a conversion": lambda m, x: fp.vcast(fp.vmap(2 * x, 0), "int"),
    "a choice": lambda m, x: fp.where(fp.vmap(x, 0) >= 0, fp.vmap(2 * x, 0), 0.0),
    "a loop": lambda m, x: fp.fori_loop(0, 1, lambda i, c: c * 2, fp.vmap(x, 0)),
    "a reduction": lambda m, x: fp.sum(fp.vmap(fp.stack([x, x], 1), (0, 1)), 1),
    "an argument": lambda m, x: RETURNS(fp.vmap(2 * x, 0))["of"][0],
    "an argument of a mapped function": lambda m, x: RETURNS.map(0)(2 * x)["of"][0],
    "a field of an argument": lambda m, x: fp.fuse(lambda s: RETURNS(s))(fp.vmap({"a": 2 * x, "b": x}, 0))["of"][0]["a"],
}


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "alike", "float twice(float x) { return 2 * x; }")


def in_a_graph(f: Any, *args: Any) -> Any:
    graph = fp.Graph(inputs=["x", "y"])
    graph.set_outputs(fp.fuse(f).node()(*graph.get_inputs()))
    return graph(*args)


def lazily(f: Any, *args: Any) -> Any:
    with fp.lazy():
        return f(*args)


@pytest.mark.req("V14")
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_that_fits_in_two_ways_says_which(m: fp.Module, name: str) -> None:
    """Silently its axis ran along the first dimension in a fused function, and along the last one call by call."""
    x, y = fp.Tensor(X), fp.Tensor(M)

    def result(x: Any) -> Any:
        made = RESULTS[name](m, x)
        return made + 0.0 if name == "a conversion" else made

    for way in (lambda f, *args: fp.fuse(f)(*args), in_a_graph):
        with pytest.raises(fp.ShapeError, match="fits in two ways") as caught:
            way(lambda x, y: result(x) + y, x, y)
        assert caught.value.hint == "fp.vmap(x, (1,)) is as call by call, fp.vmap(x, (0,)) is what it inherits"
    for way in (lambda f, *args: f(*args), lazily, lambda f, *args: fp.fuse(f)(*args), in_a_graph):
        same(way(lambda x, y: fp.vmap(result(x), (0,)) + y, x, y), 2 * X[:, None] + M)
        same(way(lambda x, y: fp.vmap(result(x), (1,)) + y, x, y), 2 * X + M)


@pytest.mark.req("V14")
def test_what_fits_in_one_way_inherits(m: fp.Module) -> None:
    """So does what a vmap of an argument says, which is that of the fused function as a whole."""
    fused = fp.fuse(lambda x, y: m.twice(fp.vmap(x, (0,))) + y)
    same(fused(X, WIDE), 2 * X[:, None] + WIDE)
    with pytest.raises(fp.ShapeError, match="fits in two ways"):
        fused(X, M)
    same(fused(X, WIDE), 2 * X[:, None] + WIDE)
    same(fp.fuse(lambda x, y: m.twice(fp.vmap(x, (1,))) + y)(X, M), 2 * X + M)
    outer = fp.fuse(lambda a, b: a * 2 - b)
    for made in (outer(fp.vmap(X, 0), fp.vmap(X, 1)), outer.declare(fp.vmapping(0), fp.vmapping(1))(X, X)):
        same(made, np.subtract.outer(2 * X, X))
    both = fp.fuse(lambda x, y: (fp.vmap(x, 0) * 2) * (fp.vmap(y, 1) * 3))
    same(both(X, ramp(4)), np.multiply.outer(2 * X, 3 * ramp(4)))
    with pytest.raises(fp.ShapeError, match="fits in two ways"):  # call by call these are two rows
        both(X, X)


@pytest.mark.req("V14")
@pytest.mark.parametrize("shape", [(1, 4), (1, 1), (3, 1), (3, 3), (2, 1, 3)])
def test_an_axis_of_extent_1_runs_along_any_dimension(m: fp.Module, shape: tuple[int, ...]) -> None:
    """A batch of one was refused where a batch of five ran, though both meanings are one."""
    x, y = X[1:2], ramp(*shape)

    def f(x: Any, y: Any) -> Any:
        return m.twice(fp.vmap(x, 0)) + y

    for way in (lambda f, *args: f(*args), lazily, lambda f, *args: fp.fuse(f)(*args), in_a_graph):
        same(way(f, fp.Tensor(x), fp.Tensor(y)), 2 + y)


@pytest.mark.req("V14")
@pytest.mark.parametrize("shape", [(4, 3), (4, 1), (2, 3, 3)])
def test_what_fits_call_by_call_only_names_the_line_to_write(m: fp.Module, shape: tuple[int, ...]) -> None:
    """The error said that the inherited dimensions fit, and offered them."""
    y, last = ramp(*shape), len(shape) - 1
    for way in (lambda f, *args: fp.fuse(f)(*args), in_a_graph):
        with pytest.raises(fp.ShapeError, match="does not fit along the dimensions that it inherits") as caught:
            way(lambda x, y: m.twice(fp.vmap(x, 0)) + y, fp.Tensor(X), fp.Tensor(y))
        assert caught.value.hint == f"call by call it runs along the last dimensions: write fp.vmap(x, ({last},))"
        same(way(lambda x, y: fp.vmap(m.twice(fp.vmap(x, 0)), (last,)) + y, fp.Tensor(X), fp.Tensor(y)), 2 * X + y)
    same(m.twice(fp.vmap(fp.Tensor(X), 0)) + fp.Tensor(y), 2 * X + y)
    fused = fp.fuse(lambda x, y: m.twice(fp.vmap(x, 0)) + y)
    with pytest.raises(fp.ShapeError, match="do not broadcast"):  # in no way
        fused(X, ramp(5, 4))


def mapped_inside(inner: Any, x: Any, y: Any) -> Any:
    return fp.fuse(lambda x, y: inner(fp.vmap(x, 0), y))(x, y)


def declared_inside(inner: Any, x: Any, y: Any) -> Any:
    said = inner.declare(fp.vmapping(0), fp.vmapping(0, 1))
    return fp.fuse(lambda x, y: said(x, y))(x, y)


def mapped_twice_inside(inner: Any, x: Any, y: Any) -> Any:
    """The mapping is said of the middle function, and of the inner one, which gets it."""
    middle = fp.fuse(lambda x, y: inner(x, y))
    return fp.fuse(lambda x, y: middle(fp.vmap(x, 0), y))(x, y)


def mapped_in_a_dict(inner: Any, x: Any, y: Any) -> Any:
    middle = fp.fuse(lambda p, y: inner(p["x"], y))
    return fp.fuse(lambda x, y: middle({"x": fp.vmap(x, 0)}, y))(x, y)


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {  # of a row that its function gets mapped
    "a call": lambda m, x: m.twice(x),
    "an operator": lambda m, x: x * 2,
    "a function": lambda m, x: fp.sqrt(x * 2 * x * 2),
    "a conversion": lambda m, x: fp.vcast(x, "int") * 2.0,
    "a choice": lambda m, x: fp.where(x >= 0, x * 2, 0.0),
    "a loop": lambda m, x: fp.fori_loop(0, 1, lambda i, c: c * 2, x),
}


@pytest.mark.req("V14")
@pytest.mark.parametrize("name", OPERATIONS)
def test_what_is_said_of_an_inner_functions_argument_is_said_of_it_as_a_whole(m: fp.Module, name: str) -> None:
    """Called by itself it ran; called inside of another fused function it was refused."""
    inner, x, y = fp.fuse(lambda x, y: OPERATIONS[name](m, x) + y), fp.Tensor(X), fp.Tensor(M)
    ways = (mapped_inside, declared_inside, mapped_twice_inside, mapped_in_a_dict)
    for made in (inner(fp.vmap(x, 0), y), *(way(inner, x, y) for way in ways)):
        same(made, 2 * X[:, None] + M)


@pytest.mark.req("V14")
def test_the_result_of_an_inner_function_inherits_outside_of_it(m: fp.Module) -> None:
    """So does a vmap inside of it; and gradients take what is said as the call does."""
    twice, x, y = fp.fuse(lambda x: m.twice(x)), fp.Tensor(X), fp.Tensor(M)
    within = fp.fuse(lambda x, y: m.twice(fp.vmap(x * 1, 0)) + y)
    for f in (lambda x, y: twice(fp.vmap(x, 0)) + y, lambda x, y: within(x, y), lambda x, y: within(x, y) + twice(fp.vmap(x, 0))):
        with pytest.raises(fp.ShapeError, match="fits in two ways"):
            fp.fuse(f)(x, y)
    same(fp.fuse(lambda x, y: fp.vmap(twice(fp.vmap(x, 0)), 0) + y)(x, y), 2 * X[:, None] + M)
    again = fp.fuse(lambda x, y: x * 2 + y)
    same(fp.fuse(lambda x, y: again(fp.vmap(m.twice(fp.vmap(x, 0)), 0), y))(x, y), 4 * X[:, None] + M)
    with pytest.raises(fp.ShapeError, match="fits in two ways"):  # of an array, call by call
        fp.fuse(lambda x, y: again(m.twice(fp.vmap(x, 0)), y))(x, y)
    same(fp.fuse(lambda x, y: twice(x) + y)(fp.vmap(x, 0), y), 2 * X[:, None] + M)  # said of the outermost one
    inner = fp.fuse(lambda x, y: x * 2 * y)
    same(fp.grad(lambda x, y: fp.sum(inner(fp.vmap(x, 0), y)))(x, y), 2 * M.sum(1))
