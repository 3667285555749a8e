"""What shares memory call by call is a view in a fused function: functions by NumPy's names, components, and bodies of loops."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.methods import FUNCTIONS
from tests.support.selection import daily
from tests.support.slang_functions import F32, same

X = np.arange(1, 7, dtype=F32).reshape(2, 3)
SOURCE = "struct Part { float r; float x; }; float4 wide(float a) { return a; } Part part(float a) { return { a, a }; }"
OF_OTHERS = {"einsum", "empty", "eye", "indices", "ones", "tri", "where", "zeros"}  # they take no single array
OF_EXTENTS = {"ndim", "shape", "size"}
OF_INTEGERS = {"bitwise_not", "invert"}


def takes_one(function: Callable[..., Any]) -> bool:
    given = [p for p in inspect.signature(function).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [p.default is p.empty for p in given].count(True) == 1


ONES: dict[str, Callable[[Any], Any]] = {
    **{name: f for name, f in FUNCTIONS.items() if takes_one(f) and name not in OF_OTHERS | OF_EXTENTS},
    "stop_gradient": fp.stop_gradient,
    "stop_gradient of a list": lambda x: fp.stop_gradient([x])[0],
    "array": fp.array,
    "asarray of the same type": lambda x: fp.asarray(x, x.dtype),
    "asarray of another type": lambda x: fp.asarray(x, "half"),
}


def overwritten(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A program that writes to the result of a function, and returns its argument, which is computed."""

    def program(x: Any) -> Any:
        y = x * 1
        z = function(y)
        z = z[0] if isinstance(z, (tuple, list)) else z
        if str(z.dtype) == "bool":
            z ^= z
        else:
            z -= z
        return y

    return program


@pytest.mark.parametrize("name", daily(ONES, "asarray", "stop_gradient", "squeeze", "flip", "exp", "sort"))
def test_functions_share_memory_as_call_by_call(device: Any, name: str) -> None:
    x = fp.Tensor.from_numpy(device, X.astype(np.int32) if name in OF_INTEGERS else X)
    program = overwritten(ONES[name])
    if (program(x).numpy() == X).all():
        same(fp.fuse(program)(x).numpy(), x.numpy())
    else:
        with pytest.raises(fp.TraceError, match="is used after -= has written to it"):
            fp.fuse(program)(x)


MODES: dict[str, Callable[[Any], Any]] = {"fused": fp.fuse, "graph": lambda program: as_graph(program)}


def as_graph(program: Callable[[Any], Any]) -> Any:
    made = fp.Graph(inputs=["x"])
    made.set_outputs(program(*made.get_inputs()))
    return made


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["asarray", "stop_gradient", "stop_gradient of a list"])
def test_what_is_returned_as_it_is_of_an_argument(device: Any, name: str, mode: str) -> None:
    def program(x: Any) -> Any:
        z = ONES[name](x)
        z += 1
        return z

    eager, given = fp.Tensor.from_numpy(device, X), fp.Tensor.from_numpy(device, X)
    program(eager)
    same(eager.numpy(), X + 1)
    with pytest.raises(fp.TraceError, match=r"\+= of a view of the argument"):
        MODES[mode](program)(given)
    same(given.numpy(), X)
    same(MODES[mode](lambda x: ONES[name](x) * 2)(given).numpy(), 2 * X)


@pytest.mark.parametrize(
    ("made", "first", "other", "shared"),
    [
        ("wide", "x", "r", True), ("wide", "g", "y", True), ("wide", "a", "w", True), ("wide", "x", "g", False),
        ("wide", "b", "a", False), ("part", "r", "x", False), ("part", "x", "x", True),
    ],
)  # fmt: skip
def test_components_are_places_and_fields_are_names(device: Any, made: str, first: str, other: str, shared: bool) -> None:
    m = fp.Module.load_from_source(device, "viewed", SOURCE)

    def program(a: Any) -> Any:
        y = getattr(m, made)(a)
        c, d = getattr(y, first), getattr(y, other)
        c += 100
        return fp.sum(d)

    given = fp.Tensor.from_numpy(device, F32([1, 2, 3]))
    same(program(given).numpy(), F32(306 if shared else 6))
    if shared:
        with pytest.raises(fp.TraceError, match="is used after"):
            fp.fuse(program)(given)
    else:
        same(fp.fuse(program)(given).numpy(), F32(6))


def looped(y: Any, x: Any) -> Any:
    def body(i: Any, c: Any) -> Any:
        nonlocal y
        y += 1
        return c + y

    return fp.fori_loop(0, 3, body, x)


def branched(y: Any, x: Any) -> Any:
    def body(c: Any) -> Any:
        nonlocal y
        y += 1
        return c + y

    return fp.cond(fp.sum(x) > 0, body, lambda c: c, x)


def repeated(y: Any, x: Any) -> Any:
    def body(c: Any) -> Any:
        nonlocal y
        y += 1
        return c + y

    return fp.while_loop(lambda c: c < 9, body, x)


OUTSIDE: dict[str, Callable[[Any], Any]] = {
    "computed": lambda x: x * 1.0,
    "a sum": lambda x: fp.sum(x),
    "a copy": lambda x: x.copy(),
    "a row": lambda x: (x * 1.0)[0],
}


@pytest.mark.parametrize("loop", [looped, branched, repeated])
def test_bodies_do_not_write_to_arrays_outside(device: Any, loop: Callable[[Any, Any], Any]) -> None:
    """The write would count once, however often the body runs; call by call the tensor refuses it, too."""
    x = fp.Tensor.from_numpy(device, X)
    for outside in OUTSIDE.values():
        for run, words in ((lambda f: f, "of a tensor"), (fp.fuse, "of a value from outside of the")):
            with pytest.raises(fp.TraceError, match=rf"\+= {words}"):
                run(lambda x, outside=outside: loop(outside(x), x))(x)
    number = fp.fuse(lambda x, k: loop(k, x))(x, 2.0)  # numbers are new values, as Python's are
    same(number.numpy(), loop(2.0, x).numpy())


@pytest.mark.parametrize("copy", [lambda y: +y, lambda y: y.copy()])
def test_bodies_write_to_their_own_copies(device: Any, copy: Callable[[Any], Any]) -> None:
    def program(x: Any) -> Any:
        y = x * 1.0

        def body(i: Any, c: Any) -> Any:
            own = copy(y)
            own += 1
            return c + own

        return fp.fori_loop(0, 3, body, x)

    same(fp.fuse(program)(fp.Tensor.from_numpy(device, X)).numpy(), 4 * X + 3)
