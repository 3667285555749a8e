"""Gradients of what has none, and gradients that do not fit: a named error each, and the next good call works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp

SOURCE = """
[Differentiable] float poly(float a, float x) { return a * x * x; }
[Differentiable] float repeated(float x, int n) { return x * n; }
float plain(float x) { return x * x; }
void scaled(float3 v, out float3 result) { result = v * 10; }
"""
X, IDS = np.float32([1, 2]), np.int32([3, 4])
PAIR = np.ones((2, 3), np.float32)


def loss(m: fp.Module) -> Any:
    return fp.fuse(lambda a, x: m.poly(a, x))


def graph(m: fp.Module, function: str = "poly") -> fp.Graph:
    made = fp.Graph(inputs=["a", "x"] if function == "poly" else ["x"])
    made.set_outputs({"y": getattr(m, function).node()(*made.get_inputs())})
    return made


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    return fp.Module.load_from_source(device, "misused_gradients", SOURCE)


def leaf(m: fp.Module, array: Any = X) -> fp.Tensor:
    return fp.Tensor.from_numpy(m.device, np.asarray(array)).with_grads()


def on_another_device(m: fp.Module) -> Any:
    other = fp.create_device(type=m.device.sgl.info.type)
    try:
        return fp.Tensor.from_numpy(m.device, X).with_grads(grad_out=fp.Tensor.from_numpy(other, X))
    finally:
        other.close()


def of_torch(m: fp.Module) -> Any:
    torch = pytest.importorskip("torch")
    return m.poly(2.0, torch.zeros(2, device="meta", requires_grad=True))


def of_torch_without_derivative(m: fp.Module) -> Any:
    torch = pytest.importorskip("torch")
    return m.plain(torch.from_numpy(X).requires_grad_()).sum().backward()


def bwds_of_torch(m: fp.Module) -> Any:
    torch = pytest.importorskip("torch")
    return m.poly.bwds(2.0, torch.from_numpy(X).requires_grad_())


def assigned(m: fp.Module) -> Any:
    leaf(m).grad = None


def torch_twice(m: fp.Module) -> Any:
    torch = pytest.importorskip("torch")
    loss = m.poly(2.0, torch.from_numpy(X).requires_grad_()).sum()
    loss.backward()
    loss.backward()


def on_a_closed_device(m: fp.Module) -> Any:
    other = fp.create_device(type=m.device.sgl.info.type)
    poly, x = fp.Module.load_from_source(other, "closed_gradients", SOURCE).poly, fp.Tensor.from_numpy(other, X).with_grads()
    poly.bwds(2.0, x)
    other.close()
    poly.bwds(2.0, x)


CASES: dict[str, tuple[Callable[[fp.Module], Any], type[Exception], str]] = {
    "a function that is not differentiable": (
        lambda m: fp.grad(m.plain)(X),
        fp.GradientError,
        r"(?s)cannot differentiate plain.*declare it \[Differentiable\]",
    ),
    "one called by a fused function": (
        lambda m: fp.fuse(lambda x: fp.sum(m.plain(x))).bwds(leaf(m)),
        fp.GradientError,
        r"(?s)test_gradients_misused.py:\d+.*cannot differentiate plain",
    ),
    "one in a graph": (
        lambda m: graph(m, "plain").backwards(leaf(m)),
        fp.GradientError,
        r"(?s)test_gradients_misused.py:\d+.*cannot differentiate plain",
    ),
    "one that torch goes back through": (of_torch_without_derivative, fp.GradientError, "cannot differentiate plain"),
    "a gradient of integers": (lambda m: fp.vjp(m.poly, 2.0, X)[1](IDS), fp.GradientError, r"(?s)another type.*int.*float"),
    "one of integers, fused": (
        lambda m: fp.vjp(loss(m), 2.0, X)[1](fp.Tensor.from_numpy(m.device, IDS)),
        fp.GradientError,
        r"(?s)test_gradients_misused.py:\d+: the gradient of a result has another type",
    ),
    "one of bools in a graph": (
        lambda m: fp.vjp(graph(m), 2.0, X)[1]({"y": X > 1}),
        fp.GradientError,
        r"(?s)another type.*bool.*x.astype\(np.float32\)",
    ),
    "one of doubles on the device": (
        lambda m: m.poly.bwds(2.0, leaf(m), _result=leaf(m, X.astype(float))),
        fp.GradientError,
        "(?s)another type.*double",
    ),
    "a tangent of integers": (
        lambda m: fp.jvp(m.poly, (2.0, X), (None, IDS)),
        fp.GradientError,
        "the tangent of 'x' has another type",
    ),
    "two gradients of one result": (lambda m: fp.vjp(m.poly, 2.0, X)[1](X, X), fp.ArgumentError, "takes one argument, 2 were"),
    "another structure": (lambda m: fp.vjp(graph(m), 2.0, X)[1](X), fp.GradientError, "(?s)another structure.*'y'"),
    "a string": (lambda m: fp.grad(m.poly)("a", X), fp.GradientError, "by which it differentiates is a string"),
    "a gradient that is assigned": (assigned, fp.ArgumentError, r"x.grad.clear\(\)"),
    "a backward pass of torch's tensors": (bwds_of_torch, fp.GradientError, r"backward\(\) of its result"),
    "an integer argument": (lambda m: fp.grad(m.repeated, 1)(X, IDS), fp.GradientError, "'n' holds int, which has no gradient"),
    "a tensor of integers": (lambda m: fp.differentiable(IDS), fp.GradientError, "int has no derivative"),
    "many results into one value": (
        lambda m: m.scaled(PAIR, np.zeros(3, np.float32)),
        fp.ShapeError,
        r"accumulate\(result='sum'\)",
    ),
    "another shape": (lambda m: leaf(m).with_grads(grad_out=leaf(m, [1.0])), fp.ShapeError, "grad_out does not fit"),
    "another type of a new gradient": (
        lambda m: leaf(m).with_grads(grad_in=leaf(m, X.astype(float))),
        fp.ShapeError,
        r"saw: +double\[2\]",
    ),
    "another device": (on_another_device, fp.ShapeError, "grad_out does not fit"),
    "no tensor": (lambda m: leaf(m).with_grads(grad_in=X), fp.ArgumentError, "grad_in is no tensor"),
    "a result of another shape": (
        lambda m: m.poly.bwds(2.0, leaf(m), _result=leaf(m, X[:1])),
        fp.GradientError,
        "another shape than the result",
    ),
    "a cotangent of another shape": (
        lambda m: fp.vjp(m.poly, 2.0, X)[1](np.ones(3, np.float32)),
        fp.ShapeError,
        "do not broadcast",
    ),
    "nothing to add to": (lambda m: m.poly.bwds(2.0, X), fp.GradientError, "no argument has a gradient"),
    "a torch tensor of another device": (of_torch, fp.ShapeError, "lies on another device"),
    "a backward pass of torch whose values are freed": (torch_twice, RuntimeError, "second time"),
    "tensors of a closed device": (on_a_closed_device, fp.FusepyError, "closed"),
}


@pytest.mark.parametrize("case", list(CASES))
def test_each_is_named_and_the_next_call_works(m: fp.Module, case: str) -> None:
    call, error, words = CASES[case]
    x = leaf(m)
    with pytest.raises(error, match=words):
        call(m)
    m.poly.bwds(2.0, x)  # no call before it: a backward pass computes what it needs
    assert x.grad.tolist() == [4, 8]


def test_a_pullback_reads_what_the_call_has_read(m: fp.Module) -> None:
    for make in (np.copy, lambda x: fp.Tensor.from_numpy(m.device, x), np.ndarray.tolist):
        x = make(X)
        _, pull = fp.vjp(m.poly, 2.0, x)
        x[:] = [0.0, 0.0] if isinstance(x, list) else X * 0
        assert fp.Tensor(pull(np.ones_like(X))[1]).tolist() == [4, 8]


@pytest.mark.req("B3")
def test_functions_that_slang_cannot_differentiate_have_no_backward_pass(m: fp.Module) -> None:
    assert (m.plain.bwds, m.plain.backward, m.plain.backwards) == (None, None, None)
    assert m.plain(X).tolist() == [1, 4]
