"""A table of operations and kinds of arguments: each mode gives the values, shapes, types and containers of the eager call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.functions.test_modes_random import REASONS, differs, plain
from tests.support.selection import daily

SOURCE = """
float twice(float x) { return 2 * x; }
float3 unit(float k) { return float3(k, 1, 2); }
float2 swap(float2 v) { return v.yx; }
float2 pair(float k) { return float2(k, 1); }
float three() { return 3; }
int whole(float x) { return int(x); }
double precise(double x) { return x / 4; }
uint8_t byte(uint8_t x) { return x; }
uint natural(uint x) { return x; }
double first(double3 v) { return v.x; }
struct Thing { float mass; int count; };
Thing thing(float mass) { Thing t = {mass, 2}; return t; }
float weight(Thing t) { return t.mass * t.count; }
void split(float x, out float whole, out float rest) { whole = floor(x); rest = x - whole; }
"""
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    **{name: lambda m, x, name=name: getattr(m, name)(x) for name in ("twice", "unit", "split")},
    **{name: lambda m, x, name=name: getattr(fp, name)(x) for name in ("sqrt", "square", "cumsum", "cumprod", "diff", "median")},
    **{
        name: lambda m, x, name=name: getattr(fp, name)(x) for name in ("sum", "max", "argmax", "any", "softmax", "sort", "ravel")
    },
    "add": lambda m, x: fp.add(x, 1),
    "where": lambda m, x: fp.where(fp.greater(x, 1.5), x, 0.0),
    "equal": lambda m, x: fp.equal(x, x),
    "stack": lambda m, x: fp.stack([x, x]),
    "nested": lambda m, x: fp.sum(m.twice(m.twice(x))),
}
KINDS: dict[str, Callable[[], Any]] = {
    "number": lambda: 3.5,
    "list": lambda: [1.5, 2.5, 0.25],
    "lists": lambda: [[1.5, 2.0], [2.5, 0.25]],
    "numpy": lambda: np.float32([[1.5, 2.0], [2.5, 0.25]]),
    "tensor": lambda: fp.Tensor([[1.5, 2.0], [2.5, 0.25]]),
    "tensor of one": lambda: fp.asarray(3.5),
}


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "table_of_modes", SOURCE)


def outcome(run: Callable[[], Any]) -> Any:
    """What a call gives, or the kind of its error."""
    try:
        made = run()
    except REASONS as error:
        return type(error)
    return made if isinstance(made, tuple) else (made,)


def findings(name: str, operation: Callable[[Any], Any], given: Any) -> list[str]:
    """What each mode does otherwise than the eager call of an operation."""

    def late() -> Any:
        with fp.lazy():
            return operation(given)

    def graph() -> Any:
        made = fp.Graph(inputs=["x"])
        found = fp.fuse(operation).node()(*made.get_inputs())
        made.set_outputs(*(found if isinstance(found, tuple) else (found,)))
        return made(given)

    found: list[str] = []
    eager = outcome(lambda: operation(given))
    for mode, run in {"fused": lambda: fp.fuse(operation)(given), "lazy": late, "graph": graph}.items():
        made = outcome(run)
        if isinstance(eager, type) or isinstance(made, type):
            found += [] if made is eager else [f"{name}, {mode}: {made}, not {eager}"]
            continue
        waits = mode == "lazy" and isinstance(eager[0], (np.ndarray, fp.Tensor))  # what waits is a tensor
        words = [differs(a, b, waits) for a, b in zip(made, eager, strict=True)]
        found += [f"{name}, {mode}: {w}" for w in words if w]
    return found


@pytest.mark.req("V1")
@pytest.mark.parametrize("kind", daily(KINDS, "list", "numpy"))
def test_every_mode_gives_what_the_eager_call_gives(m: Any, kind: str) -> None:
    found = [w for name, of in OPERATIONS.items() for w in findings(name, functools.partial(of, m), KINDS[kind]())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_folds_without_an_axis_are_of_all_elements(device: Any, name: str) -> None:
    function, like = getattr(fp, name), getattr(np, name)
    for shape in ((), (3,), (2, 3), (2, 1, 2), (0, 2)):
        x = np.arange(1, 1 + np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
        for made in (function(x), fp.fuse(lambda x: function(x))(x), function(fp.Tensor.from_numpy(device, x)), like(x)):
            np.testing.assert_allclose(plain(made), like(x))
        for axis in range(x.ndim):
            np.testing.assert_allclose(function(x, axis), like(x, axis))


OF_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "beside halfs": lambda m, x: x * m.twice(2),
    "a double beside floats": lambda m, x: x * m.precise(2.5),
    "an integer beside floats": lambda m, x: x * m.whole(2.5),
    "no arguments": lambda m, x: x * m.three(),
    "outputs": lambda m, x: x * m.split(2.5)[1],
    "a struct": lambda m, x: x * m.weight({"mass": 2, "count": 3}),
    "a field": lambda m, x: x * m.thing(2)["mass"],
    "a list": lambda m, x: x * m.twice(fp.argmax([1, 3])),
    "a float for a double": lambda m, x: x * 0.5 + m.precise(m.twice(0.5)),
    "an integer for a float": lambda m, x: x * 0.5 + m.twice(m.whole(2.5)),
    "a flag for a float": lambda m, x: x * 0.5 + m.twice(fp.isnan(1.5)),
    "a vector for a vector of doubles": lambda m, x: x * 0.5 + m.first(m.unit(2.5)),
    "a vector is a list": lambda m, x: x * 0.5 + fp.sum(m.unit(2.5)),
    "a vector beside it": lambda m, x: x * m.pair(2.5),
    "a vector beside a view": lambda m, x: fp.sum(x[::-1] * m.pair(2.5)),
    "a vector beside a number": lambda m, x: fp.sum(x) * m.pair(2.5),
    "a vector beside vectors": lambda m, x: m.swap(fp.stack([x * 0.5, x * 2.0])) * m.pair(2.5),
    "a sum of a list": lambda m, x: x * fp.sum([m.whole(2.5), 1]),
    "a list beside it": lambda m, x: x + fp.sort([m.twice(2), 1]),
    "a list moved": lambda m, x: x * fp.cumsum(fp.ravel([m.whole(2.5), 1])) + fp.take([m.twice(2), 1], 1),
    "an outer product of lists": lambda m, x: x * fp.outer([m.twice(2), 1], [1, 2]),
    "a list joined to it": lambda m, x: fp.concatenate([x, [m.twice(2), 1]]),
    "a choice of an array": lambda m, x: fp.where(x > 1, m.byte(1), m.byte(2)),
    "a loop": lambda m, x: x * 0.5 + m.precise(fp.fori_loop(0, 3, lambda i, c: m.twice(c), 1)),
    "a branch": lambda m, x: x * 0.5 + m.precise(fp.cond(m.whole(2.5) > 1, lambda: m.twice(1), lambda: 2)),
    "a branch of an array": lambda m, x: x * fp.cond(x > 1, lambda: 1, lambda: 0.5),
    "small integers": lambda m, x: x * 0.5 + m.byte(200) + m.byte(100),
    "a generator is an array": lambda m, x: x * fp.sqrt(fp.linspace(0, 1, 2)),
}  # fmt: skip


PARTS = pytest.mark.parametrize("part", daily(range(3), 0))  # of a table, every third line


def part_of(table: dict[str, Any], part: int) -> dict[str, Any]:
    return dict([*table.items()][part::3])


@pytest.mark.req("V1", "C13")
@pytest.mark.parametrize("dtype", daily(["half", "float", "int"], "float"))
@PARTS
def test_calls_of_numbers_alone_give_numbers(m: Any, device: Any, dtype: str, part: int) -> None:
    given, operations = fp.Tensor.zeros(device, (2,), dtype) + 1, part_of(OF_NUMBERS, part)
    found = findings(dtype, lambda x: tuple(of(m, x) for of in operations.values()), given)
    assert not found, "\n".join([*found, str([*operations])])


MOVED: dict[str, Callable[[Any, Any], Any]] = {
    "of a view": lambda m, x: m.swap(x[::-1]) * 2,
    "of a roll": lambda m, x: m.swap(fp.roll(x, 1, 0)),
    "of joined ones": lambda m, x: m.swap(fp.concatenate([x, x])),
    "of sorted ones": lambda m, x: m.swap(fp.sort(x, 0)),
}


MOVED |= {f"sum {name}": lambda m, x, of=of: fp.sum(of(m, x)) for name, of in MOVED.items()}
MOVED["a list in a product"] = lambda m, x: fp.dot(x, m.pair(2.5))


@pytest.mark.req("V1")
@pytest.mark.parametrize("name", daily(MOVED, "of a view", "sum of a roll", "sum of sorted ones", "a list in a product"))
@pytest.mark.parametrize("kind", daily(["numpy", "tensor"], "numpy"))
def test_vectors_of_moved_elements_are_numbers_where_an_eager_call_gives_numbers(m: Any, name: str, kind: str) -> None:
    found = [w for w in findings(name, functools.partial(MOVED[name], m), KINDS[kind]()) if "lazy" not in w]
    assert not found, "\n".join(found)  # lazy vectors stay vectors


@pytest.mark.req("V1")
def test_a_vcast_is_not_converted_again(m: Any) -> None:
    operations: dict[str, Callable[[Any], Any]] = {
        "whole": lambda x: m.twice(fp.vcast(x, "int64_t")),
        "long": lambda x: m.twice(fp.vcast(x, "double")),
        "computed": lambda x: m.twice(fp.vcast(x, "double") + 1),
        "astype": lambda x: m.twice(fp.astype(x, "double")),
    }
    given = [np.float32([1, 2]), np.int64([1, 2])]
    found = [w for name, of in operations.items() for x in given for w in findings(f"{name} {x.dtype}", of, x)]
    assert not found, "\n".join(found)
