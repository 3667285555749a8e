"""What has no path to the result is named, with what cuts it off; other zeros are gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp

X = np.float32([1, 2, 3])


def steps(x: Any, body: Any) -> Any:
    return fp.fori_loop(0, 3, lambda i, c: body(c, x), {"a": 0.0, "n": 0})["a"]


CUT = {
    "unread": (lambda x, y: fp.sum(y * 2.0), "nothing reads it"),
    "dropped": (lambda x, y: [fp.sum(x * y), fp.sum(y)][1], "the result does not depend on it"),
    "an integer": (lambda x, y: fp.sum(fp.vcast(x, "int") * y), "'cast' at test_paths.py:.* makes an int of it"),
    "a comparison": (lambda x, y: fp.sum(fp.where(x > 1, y, 0.0)), "'>' at test_paths.py:.* makes a bool of it"),
    "an index": (lambda x, y: fp.argmax(x * 2) * fp.sum(y), "'argmax' at .* makes an int of it"),
    "stopped": (
        lambda x, y: fp.sum(fp.stop_gradient(x * x) * y),
        r"fp.stop_gradient\(\) at test_paths.py:.* makes it a constant",
    ),
    "a branch": (
        lambda x, y: fp.sum(fp.cond(y > 1, lambda: y * fp.vcast(x, "int"), lambda: y)),
        "'cond' at .* takes it for integers only",
    ),
    "a loop": (
        lambda x, y: fp.sum(steps(x, lambda c, x: {"a": c["a"] + c["n"] * y, "n": c["n"] + fp.vcast(x, "int")})),
        "'fori_loop' at .* takes it for integers only",
    ),
}


@pytest.mark.parametrize(("loss", "why"), CUT.values(), ids=CUT)
def test_what_cuts_an_argument_off_is_named(loss: Any, why: str) -> None:
    with pytest.raises(fp.GradientError, match=f"grad.*: the gradient of x is zero by construction: {why}"):
        fp.grad(loss)(X, X)
    with pytest.raises(fp.GradientError, match=rf"training_step\(\): the gradient of p\['x'\] is zero by construction: {why}"):
        fp.training_step(lambda p, y: loss(p["x"], y), fp.nn.SGD())(fp.nn.parameters({"x": X}), X)
    assert np.array_equal(fp.grad(lambda x, y: loss(x, y) + fp.sum(x))(X, X), np.ones(3, np.float32))


def test_parts_may_be_unused_or_stopped_but_not_lost() -> None:
    def loss(p: Any) -> Any:
        return fp.sum(p["a"] * fp.stop_gradient(p["b"]))

    made = fp.grad(loss)({"a": X, "b": X, "c": X})
    assert [made[name].tolist() for name in "abc"] == [X.tolist(), [0, 0, 0], [0, 0, 0]]
    with pytest.raises(fp.GradientError, match=r"p\['c'\] is zero"):
        fp.grad(lambda p: fp.sum(fp.where(p["a"] > p["c"], p["a"], 0.0)))({"a": X, "c": X})


def test_zeros_on_a_path_are_gradients() -> None:
    assert fp.grad(lambda x: fp.sum(fp.floor(x) + 0 * x))(X).tolist() == [0, 0, 0]
    assert fp.grad(lambda x, y: fp.sum(fp.grad(lambda x, y: fp.sum(x * x + y), 1)(x, y)))(X, X).tolist() == [0, 0, 0]
    assert fp.grad(lambda x: fp.fori_loop(0, 3, lambda i, c: (c[1], c[1] + x), (x, x))[0])(X).tolist() == [3, 3, 3]


def test_stop_gradient_keeps_values_and_stops_every_derivative(device: fp.Device) -> None:
    def half(x: Any) -> Any:
        return fp.sum(x * fp.stop_gradient({"x": x})["x"])

    assert float(fp.fuse(half)(X)) == 14
    assert fp.grad(half)(X).tolist() == X.tolist()
    assert float(fp.jvp(half, (X,), (np.ones_like(X),)).d) == 6
    image = fp.Tensor.from_numpy(device, np.ones((2, 3), np.float32)).with_grads()
    assert fp.stop_gradient([image, 2.0])[0].grad is None
    made = fp.grad(lambda i: fp.sum(fp.dot(fp.stop_gradient(fp.vcast(i, "float3")), fp.vcast(i, "float3"))))(image)
    assert made.to_numpy().tolist() == np.ones((2, 3)).tolist()


@pytest.mark.parametrize("mode", ["eager", "fused"])
def test_extents_of_what_the_gradient_does_not_read_are_compared(mode: str) -> None:
    """The gradient of what is linear in x reads no x."""
    x, other = np.ones((4, 3), np.float32), np.ones((5, 3), np.float32)

    def slope(x: Any, y: Any) -> Any:
        return fp.grad(lambda x: fp.sum(x * 2 * y))(x)

    call = fp.fuse(slope) if mode == "fused" else slope
    assert call(x, other[:4]).tolist() == (2 * x).tolist()
    assert call(x, other[:1]).shape == (4, 3)
    with pytest.raises(fp.ShapeError, match="do not broadcast"):
        call(x, other)
    assert call(x, 3 * other[:4]).tolist() == (6 * x).tolist()
