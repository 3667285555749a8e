"""What `fp.sum` and its kin record: axes, kept dimensions, declared dimensions, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp

X = np.ones((2, 3, 4), np.float32)
SOURCE = "public float most(float a, float b) { return max(a, b); } public float3 add3(float3 a, float3 b) { return a + b; }"


@pytest.fixture(scope="module")
def m() -> fp.Module:
    return fp.Module.load_from_source(fp.default_device(), "reductions_traced", SOURCE)


def nodes(function: Callable[..., Any], *args: Any) -> list[str]:
    """The lines of the nodes that `function` records."""
    return [
        line.split("  //")[0].strip() for line in fp.fuse(function).ir(*args).splitlines() if " = " in line and "@" not in line
    ]


@pytest.mark.parametrize(
    ("axis", "axes", "rank"),
    [
        (None, '"d0", "d1", "d2"', 0),
        (1, '"d1"', 2),
        (-1, '"d2"', 2),
        ((2, 0), '"d0", "d2"', 1),
        ([-3], '"d0"', 2),
        (np.int64(1), '"d1"', 2),
    ],
)
def test_axes_are_counted_as_numpy_does(axis: Any, axes: str, rank: int) -> None:
    (line,) = nodes(lambda x: fp.sum(x, axis), X)
    result = f"Tensor<float>[{','.join('?' * rank)}]" if rank else "float"
    assert line == f'%0 = reduce(%x vmap(d0,d1,d2)) {{axes = [{axes}], kind = "sum"}} : {result}'


def test_kept_dimensions_are_expanded() -> None:
    assert nodes(lambda x: fp.max(x, (0, 2), keepdims=True), X) == [
        '%0 = reduce(%x vmap(d0,d1,d2)) {axes = ["d0", "d2"], kind = "max"} : Tensor<float>[?]',
        '%1 = expand(%0 vmap(d1)) {axes = ["d0", "d2"]} : Tensor<float>[?,?,?]',
    ]


def test_a_slang_function_and_its_identity(m: fp.Module) -> None:
    text = fp.fuse(lambda x: fp.reduce(m.most, -1)(x, axis=0)).ir(X)
    assert 'reduce(%x vmap(d0,d1,d2)) {axes = ["d0"], function = "most", identity = ["-1"], kind = "call", module =' in text
    text = fp.fuse(lambda x: fp.scan(m.add3, [0, 0.5, 0])(fp.vcast(x, "float3"))).ir(X[..., :3].copy())
    assert '{axis = "d0", exclusive = false, function = "add3", identity = ["0.0", "0.5", "0.0"], kind = "call", module =' in text


def test_scans_by_word() -> None:
    (line,) = nodes(lambda x: fp.scan("prod", x, axis=-2, exclusive=True), X)
    assert line == '%0 = scan(%x vmap(d0,d1,d2)) {axis = "d1", exclusive = true, kind = "prod"} : Tensor<float>[?,?,?]'


def test_a_declared_argument_is_reduced_over_its_own_axes() -> None:
    def f(x: Any, y: Any) -> Any:
        return fp.sum(x, 0) + y, fp.sum(x, 0, keepdims=True) + y

    text = fp.fuse(f).declare(fp.vmapping((0, 2)), fp.vmapping((0, 1, 2))).ir(X[0], X)
    assert "add(%0 vmap(d2), %y vmap(d0,d1,d2))" in text
    assert "add(%3 vmap(d0,d2), %y vmap(d0,d1,d2))" in text


def test_one_value_is_its_own_reduction() -> None:
    assert nodes(lambda k: fp.max(k), 2) == []
    assert nodes(lambda k: fp.any(k), 2.5)[-1] == "%1 = ne(%k, %0) : weak bool"
    assert nodes(lambda k: fp.argmin(k), 2.5) == ['%0 = const() {type = "int", value = 0} : weak int']


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m: fp.sum(X, 3), ValueError, "axis 3 is out of range for an array of rank 3"),
        (lambda m: fp.mean(X, -4), ValueError, "axis -4 is out of range for an array of rank 3"),
        (lambda m: fp.argmax(X, (0, -3)), ValueError, "axis -3 is named twice, for an array of rank 3"),
        (lambda m: fp.scan("sum", X, axis=5), ValueError, "axis 5 is out of range for an array of rank 3"),
        (lambda m: fp.sum(2.0, 0), ValueError, "axis 0 is out of range for an array of rank 0"),
        (lambda m: fp.sum(fp.call_id()), ValueError, "without extents of its own"),
        (lambda m: fp.sum(X, 1.0), TypeError, "axis 1.0 is not an integer"),
        (lambda m: fp.sum(X, True), TypeError, "axis True is not an integer"),
        (lambda m: fp.scan("sum", X, axis=None), TypeError, "runs along one axis"),
        (lambda m: fp.scan("mean", X), TypeError, "'mean'"),
        (lambda m: fp.scan("sum", 0.0, X), TypeError, "'sum'"),
        (lambda m: fp.reduce(max, 0.0, X), TypeError, "only a Slang function combines elements"),
        (lambda m: fp.reduce(m.most, "0", X), TypeError, "the identity of most is no number"),
        (lambda m: fp.reduce(m.most, [0, 1], X), ValueError, "the identity of most has 2 components"),
    ],
)
def test_what_is_refused(m: fp.Module, call: Callable[[fp.Module], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(fp.FusepyError) as caught:
        call(m)
    assert isinstance(caught.value, error)
    assert words in str(caught.value)
    assert caught.value.hint
    assert "test_reductions_traced.py" in str(caught.value) or "identity" in words
