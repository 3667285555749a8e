"""Backward passes of known calls: calls in turn that differ by their gradients alone, each against a function of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.arguments.gradient_key import gradient_key
from fusepy.errors import GradientError
from fusepy.functions import backward

ROWS = np.arange(1, 7, dtype=np.float32).reshape(2, 3)


def tensor(scale: float, grads: bool = True) -> Any:
    made = fp.Tensor(ROWS * scale)
    return made.with_grads() if grads else made


def one(x: Any, y: Any) -> Any:
    return x * x * y


def of_dict(p: Any, y: Any) -> Any:
    return p["a"] * p["b"] * y


def shared() -> tuple[Any, ...]:
    """Two arguments that add to one gradient."""
    x, y = tensor(1.0), tensor(2.0, False)
    return x, y.with_grads(x.grad, x.grad)


def summed() -> tuple[Any, ...]:
    """An argument that asks for an accumulator."""
    x, y = tensor(1.0), tensor(2.0)
    x.accumulator = "max"
    return x, y


def twice() -> tuple[Any, ...]:
    x = tensor(3.0)
    return x, x


def broadcast() -> tuple[Any, ...]:
    return tensor(1.0), fp.Tensor(ROWS[:1]).with_grads()


Made = Callable[[], tuple[Any, ...]]
CALLS: dict[str, tuple[Callable[..., Any], list[Made]]] = {
    "pairs": (
        one,
        [
            lambda: (tensor(1.0), tensor(2.0)),
            lambda: (tensor(1.0), tensor(2.0, False)),
            lambda: (tensor(1.0, False), tensor(2.0)),
            shared,
            lambda: (tensor(1.0), tensor(2.0)),
            summed,
            twice,
            broadcast,
            lambda: (tensor(1.0), 2.0),
            lambda: (tensor(1.0), ROWS),
        ],
    ),
    "in a dict": (
        of_dict,
        [
            lambda: ({"a": tensor(1.0), "b": tensor(2.0)}, tensor(3.0)),
            lambda: ({"a": tensor(1.0, False), "b": tensor(2.0)}, tensor(3.0)),
            lambda: ({"b": tensor(1.0), "a": tensor(2.0)}, tensor(3.0, False)),
            lambda: ({"a": tensor(1.0), "b": 2.0}, tensor(3.0)),
        ],
    ),
}


def gradients(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> list[Any]:
    function.bwds(*args, **(kwargs or {}))
    leaves = [leaf for arg in args for leaf in (arg.values() if isinstance(arg, dict) else (arg,))]
    return [leaf.grad.tolist() for leaf in leaves if isinstance(leaf, fp.Tensor) and leaf.grads is not None]


@pytest.mark.parametrize("name", CALLS)
def test_calls_in_turn(name: str) -> None:
    function, makes = CALLS[name]
    fused = fp.fuse(function)
    for make in (*makes, *makes[::-1]):
        assert gradients(fused, make()) == gradients(fp.fuse(function), make())


def test_a_known_call_collects_no_gradients_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = fp.fuse(one)
    wanted = gradients(fused, (tensor(1.0), tensor(2.0)))
    monkeypatch.setattr(backward, "CallGradients", None)
    assert gradients(fused, (tensor(1.0), tensor(2.0))) == wanted
    with pytest.raises(TypeError):
        gradients(fused, (tensor(1.0), tensor(2.0, False)))


def test_without_gradients_after_a_known_call() -> None:
    fused = fp.fuse(one)
    for _ in range(2):
        gradients(fused, (tensor(1.0), tensor(2.0)))
        with pytest.raises(GradientError, match="no argument has a gradient"):
            fused.bwds(tensor(1.0, False), tensor(2.0, False))


def test_gradients_of_results_in_turn() -> None:
    fused, x = fp.fuse(one), tensor(1.0)
    for k, result in enumerate((None, 2.0, None, 3.0, 3.0)):
        given = None if result is None else fp.Tensor(ROWS).with_grads(fp.Tensor(np.full_like(ROWS, result)))
        before, y = x.grad.to_numpy(), fp.Tensor(ROWS)
        fused.bwds(x, y, _result=given)
        np.testing.assert_array_equal(x.grad.to_numpy() - before, 2 * ROWS * ROWS * (result or 1.0), err_msg=str(k))


def test_static_arguments_in_turn() -> None:
    powered = fp.fuse(lambda x, n: x**n, static=["n"])
    for n in (2, 3, 2, 3):
        x = tensor(1.0)
        powered.bwds(x, n)
        np.testing.assert_allclose(x.grad.to_numpy(), n * ROWS ** (n - 1), 1e-5)


def test_forms_in_turn() -> None:
    fused = fp.fuse(one)
    for _ in range(2):
        wanted = gradients(fused, (tensor(1.0), tensor(2.0)))
        x, y = tensor(1.0), tensor(2.0)
        fused.bwds(y=y, x=x)
        assert [x.grad.tolist(), y.grad.tolist()] == wanted


@pytest.mark.parametrize("kind", ["sum", "push"])
def test_one_argument_twice_and_two_with_one_gradient(kind: str) -> None:
    """An accumulator makes a new gradient, which each of the arguments gets."""

    def summing() -> Any:
        return fp.fuse(lambda x, y: x * y).bwds.accumulate({"x.grad": kind, "y.grad": kind})

    known = summing()
    for make in (twice, shared, twice):
        args, others = make(), make()
        known(*args)
        summing()(*others)
        assert [a.grad.tolist() for a in args] == [a.grad.tolist() for a in others]


def test_a_shape_of_a_gradient_decides() -> None:
    """A gradient of another shape, which an accumulator has made, is refused as at the first call."""
    x, y = tensor(1.0), tensor(2.0, False)
    key = gradient_key((x, y), None)[0]
    assert key == gradient_key((tensor(4.0), tensor(5.0, False)), None)[0] is not None
    x.attach(x.grads[0], fp.Tensor.zeros((3,)))
    assert gradient_key((x, y), None)[0] != key


def test_other_things_with_gradients_have_no_key() -> None:
    mapped = fp.vmap(tensor(1.0), (0, 1))
    assert gradient_key((mapped,), None)[0] is None
    assert gradient_key((tensor(1.0),), "numpy")[0] is None
    assert gradient_key((tensor(1.0), object()), None)[0] is None
