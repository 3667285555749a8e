"""Every formula against central differences, in double."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.derivatives.elementwise import FORMULAS, STEPS
from fusepy.derivatives.parts import RULES
from fusepy.ir.graph import Graph
from fusepy.ir.interpret import interpret
from fusepy.ir.parse import parse_graph
from fusepy.language.elementwise import apply
from tests.support.differences import differences
from tests.support.selection import daily

Array = np.ndarray[Any, np.dtype[Any]]
X = np.array([0.3, 0.8, 1.7])
Y = np.array([1.2, 0.4, -0.6])
V, W = np.array([[0.3, -0.8, 1.7], [0.5, 0.2, -0.9]]), np.array([[1.1, 0.4, -0.7], [0.6, 1.3, 0.2]])
M, N = np.linspace(-1, 1, 9).reshape(1, 3, 3) ** 3 + 0.2, np.cos(np.arange(9.0)).reshape(1, 3, 3)
NAMES = [
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "exp2",
    "log",
    "log2",
    "log10",
    "log1p",
    "expm1",
    "sqrt",
    "rsqrt",
    "atan",
    "abs",
    "fract",
]
BY_NAME: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "add": (lambda x, y: x + y, (X, Y)),
    "sub": (lambda x, y: x - y, (X, Y)),
    "mul": (lambda x, y: x * y, (X, Y)),
    "div": (lambda x, y: x / y, (X, Y)),
    "mod": (lambda x, y: (5 * x + 0.1) % y, (X, Y)),
    "fmod": (lambda x, y: fp.fmod(-5 * x + 0.13, y), (X, Y)),
    "copysign": (lambda x, y: fp.copysign(x, -y * fp.stop_gradient(x)) * y, (Y, X)),
    "neg": (lambda x: -x, (X,)),
    "pow": (lambda x, y: x**y, (X, Y)),
    "power": (lambda x: x**3 + x**-1.5 + x**2 + x**0.5, (X,)),
    **{n: (getattr(fp, n), (X,)) for n in NAMES},
    "abs": (fp.abs, (Y,)),
    "asin": (lambda x: fp.asin(x * 0.5), (X,)),
    "acos": (lambda x: fp.acos(x * 0.5), (X,)),
    "atan2": (fp.atan2, (X, Y)),
    "saturate": (fp.saturate, (X,)),
    "relu": (fp.nn.relu, (X,)),
    "gate": (lambda x, y: apply("gate", "x y", x * x, y - 0.5), (X, Y)),
    "minimum": (fp.minimum, (X, Y)),
    "maximum": (fp.maximum, (X, Y)),
    "clip": (fp.clip, (X, np.array([0.5, 0.5, 0.5]), np.array([0.9, 1.0, 1.1]))),
    "lerp": (fp.lerp, (X, Y, np.array([0.1, 0.5, 0.7]))),
    "smoothstep": (fp.smoothstep, (np.array([0.1, 0.2, 0.1]), np.array([0.9, 2.0, 1.5]), X)),
    "select": (lambda x, y: fp.where(x > 0.5, x * y, y), (X, Y)),
    "cast": (lambda x: fp.vcast(fp.vcast(x, "float3"), "double3") * 1.0, (V,)),
    "construct": (lambda x, y: fp.double3(y * x, x, 1.0) * fp.double3(x, fp.double2(y, x)), (X, Y)),
    "member": (lambda v: fp.vcast(v, "double3").zxz * fp.vcast(v, "double3").y, (V,)),
    "index": (lambda v: fp.vcast(v, "double3")[fp.vcast(fp.abs(fp.vcast(v, "double3").x * 3), "int")] ** 2, (V,)),
    "dot": (lambda v, w: fp.dot(fp.vcast(v, "double3"), fp.vcast(w, "double3")), (V, W)),
    "cross": (lambda v, w: fp.cross(fp.vcast(v, "double3"), fp.vcast(w, "double3")), (V, W)),
    "length": (lambda v: fp.length(fp.vcast(v, "double3")), (V,)),
    "normalize": (lambda v: fp.normalize(fp.vcast(v, "double3")), (V,)),
    "reflect": (lambda v, w: fp.reflect(fp.vcast(v, "double3"), fp.vcast(w, "double3")), (V, W)),
    "matmul": (
        lambda a, b, v: fp.vcast(a, "double3x3") @ fp.vcast(b, "double3x3") @ (fp.vcast(v, "double3") @ fp.vcast(b, "double3x3")),
        (M, N, V),
    ),
}


def weights_of(result: Array) -> Array:
    return np.cos(1.0 + np.arange(result.size)).reshape(result.shape)


def check(name: str, run: Callable[..., Any], weights: Array, slopes: Any) -> None:
    """Compares slopes with differences of a function that runs; the one in floats has fewer digits."""
    rough = name == "cast"
    want = differences(run, [np.asarray(a) for a in BY_NAME[name][1]], weights, 1e-3 if rough else 1e-5)
    for mine, right in zip(slopes, want, strict=True):
        np.testing.assert_allclose(mine, right, rtol=2e-4 if rough else 1e-7, atol=1e-4 if rough else 1e-8)


@pytest.mark.parametrize("name", daily(BY_NAME, "pow", "index", "cross", "matmul"))
def test_a_formula_agrees_with_differences(name: str) -> None:
    function, args = BY_NAME[name]
    fused = fp.FusedFunction(_named(function, len(args)))
    result = np.asarray(fused(*args))
    weights = weights_of(result)
    values, pull = fp.vjp(fused, *args)
    np.testing.assert_array_equal(values, result)
    check(name, fused, weights, pull(weights))


@pytest.mark.parametrize("name", BY_NAME)
def test_the_meaning_of_a_formula_agrees_with_differences(name: str) -> None:
    """The same by the reference evaluator, without kernels, which take most of the time."""
    function, args = BY_NAME[name]
    function = _named(function, len(args))
    value = graph_of(function, *args)

    def run(*args: Any) -> Array:
        return interpret(value, args)[0]

    weights = weights_of(run(*args))
    slope = graph_of(_named(lambda *given: fp.vjp(function, *given[:-1])[1](given[-1]), len(args) + 1), *args, weights)
    components = [np.arange(3)] * (len(slope.inputs) - len(args) - 1)
    check(name, run, weights, interpret(slope, [*args, weights, *components]))


@pytest.mark.parametrize("given", [True, False], ids=["argument", "literal"])
def test_squares_of_large_integers_do_not_wrap(given: bool) -> None:
    def angle(x: Any, y: Any) -> Any:
        return fp.atan2(y if given else 100_000, x)

    assert fp.grad(angle)(np.float64(3), 100_000) == pytest.approx(-100_000 / (1e10 + 9), rel=1e-12)


def test_every_formula_is_in_the_table() -> None:
    assert set(BY_NAME) - {"power"} == (set(FORMULAS) | set(RULES)) - {"struct", "add_gradients", "field_gradient"}
    assert not STEPS & set(BY_NAME)


def _named(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The function with as many parameters as it gets."""
    functions: list[Callable[..., Any]] = [
        lambda x: function(x),
        lambda x, y: function(x, y),
        lambda x, y, z: function(x, y, z),
        lambda x, y, z, w: function(x, y, z, w),
    ]
    return functions[count - 1]


def graph_of(function: Callable[..., Any], *args: Any) -> Graph:
    return parse_graph(fp.fuse(function).ir(*args, after="resolve_maps"))
