"""Programs after hints about arrays of other frameworks: torch, DLPack, slangpy's tensors, and what they cannot share."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from fusepy.functions.torch_graph import TENSOR, GraphCall, plan_in_graph
from tests.errors.hints.resources import second
from tests.errors.hints.support import Program, X, fused, load, rays, tensor
from tests.support.slang_functions import F32, ramp

ADD = "float add(float a, float b) { return a + b; }"
COMPLEX = (X + 1j * X[::-1]).astype(np.complex64)


def torch() -> Any:
    return pytest.importorskip("torch")


def t(array: Any = X, **options: Any) -> Any:
    return torch().tensor(np.asarray(array), **options)


class Far:
    """An array of another framework, in memory of a device by DLPack's number."""

    def __init__(self, place: int):
        self.place = place

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("not on the host")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.place, 0)

    def cpu(self) -> Any:
        return X


class Cuda(Far):
    """An array that says how it lies in CUDA memory."""

    shape = (3,)
    __cuda_array_interface__ = {"typestr": "<f4", "shape": (3,), "data": (4096, False), "version": 3}

    def __init__(self) -> None:
        super().__init__(2)


def slope_of(body: Any) -> Any:
    """The gradient of a tensor that a fused function has from outside."""
    w = t(requires_grad=True)
    fp.sum(fp.fuse(lambda x: body(x, w))(t())).backward()
    return w.grad


def without_torch(function: Any) -> Any:
    with mock.patch.dict(sys.modules, {"torch": None}):
        return function()


def negated() -> Any:
    """A view of the imaginary parts of a conjugate, which torch negates when it is read."""
    return torch().zeros(3, dtype=torch().complex64).conj().imag


class Pair(NamedTuple):
    first: Any
    second: Any


AS_A_TUPLE = fp.fuse(lambda x: (x, x + 1.0))


def with_outside(m: Any, leaf: Any) -> Any:
    return fp.fuse(lambda x: m.add(x, leaf))


def planned(function: Any, *tensors: Any) -> Any:
    """Plans a call as torch does, which shows its own errors in place of fusepy's."""
    return GraphCall(function, [TENSOR] * len(tensors), {}).plan(tensors, 0)


def compiled(function: Any) -> Any:
    return torch().compile(function, fullgraph=True, backend="eager")(t())


def filled(made: Any, m: Any) -> Any:
    m.add(X, 1.0, _result=made)
    return made


def slope_of_stacked(m: Any, x: Any) -> Any:
    m.squared(torch().stack([x, t(X)])).sum().backward()
    return x.grad


def without_gradient(m: Any, leaf: Any) -> Any:
    with torch().no_grad():
        return m.add(leaf, 1.0)


def shared(dtype: Any = None, array: Any = X) -> Any:
    """The host's memory as a tensor, where the device can use it in place."""
    if fp.default_device().target.kind != "software":
        pytest.skip("host memory is copied here")
    return fp.Tensor.from_dlpack(fp.default_device(), array, dtype)


def theirs(device: Any, array: Any = X) -> Any:
    return spy.Tensor.from_numpy(device.sgl, np.asarray(array))


def made(m: Any) -> Any:
    return fused(lambda x: m.Ray(m.float3(x, x, x), x), X)


def both(one: Any, other: Any) -> Any:
    return fused(lambda x, y: one.add(x, other.add(y, 1.0)), X, X)


def lacking(m: Any, call: Any) -> Any:
    """A call on the device without doubles."""
    device = fp.default_device()
    with mock.patch.object(device, "features", device.features - {"double"}):
        return call(load("hint_doubles", "double same(double x) { return x; } float same_float(float x) { return x; }"))


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    # torch
    "numbers of torch that Slang lacks": (
        lambda m: m.add(t().bfloat16(), 1.0),
        "convert the tensor with .float()",
        lambda m: m.add(t([1.0, 2.0]).bfloat16().float(), 1.0),
        F32([2, 3]),
    ),
    "numbers of another framework that NumPy lacks": (
        lambda m: fp.Tensor.from_dlpack(m.device, t().bfloat16()),
        "convert it before, to float32 for example",
        lambda m: fp.Tensor.from_dlpack(m.device, t([1.0, 2.0]).bfloat16().float()),
        F32([1, 2]),
    ),
    "complex numbers of torch": (
        lambda m: m.add(t(COMPLEX), 1.0),
        "pass t.real and t.imag as two tensors",
        lambda m: m.add(t(COMPLEX).real, t(COMPLEX).imag),
        X + X[::-1],
    ),
    "torch that is not there": (
        lambda m: without_torch(lambda: m.add.return_type("torch")),
        "install it with: pip install 'fusepy-slang[torch]'",
        lambda m: torch() and m.add.return_type("torch")(X, 1.0).numpy(),
        X + 1,
    ),
    "a tensor of torch elsewhere": (
        lambda m: m.add(t(device="meta"), 1.0),
        "move the tensor with .cpu()",
        lambda m: m.add(t().cpu(), 1.0),
        X + 1,
    ),
    "a backward pass of torch's tensors": (
        lambda m: m.squared.bwds(t(X, requires_grad=True)),
        "call the function itself with tensors that require gradients, and backward() of its result",
        lambda m: next([m.squared(x).sum().backward(), x.grad.numpy()] for x in [t(X, requires_grad=True)])[1],
        2 * X,
    ),
    "torch inside of a fused function": (
        lambda m: slope_of(lambda x, w: x * (w * 2.0)),
        "fp.multiply(w, 2.0) in place of w * 2.0",
        lambda m: slope_of(lambda x, w: x * fp.multiply(w, 2.0)),
        2 * X,
    ),
    "a call inside of torch.vmap": (
        lambda m: torch().vmap(lambda x: m.add(x, t(X)))(t(X)),
        "leave torch.vmap out: calls broadcast, m.f(w[:, None], x)",
        lambda m: m.add(t(X)[:, None], t(X)),
        X[:, None] + X,
    ),
    "a call inside of torch's forward mode": (
        lambda m: torch().func.jvp(lambda x: m.squared(x), (t(X),), (t(X),)),
        "write fp.jvp(f, args, tangents)",
        lambda m: fp.jvp(m.squared, (t(X),), (t(X),)).d,
        2 * X * X,
    ),
    "structs for torch": (
        lambda m: fused(lambda x: m.Ray(m.float3(x, x, x), x), t()),
        "return it as 'tensor' or 'numpy', and convert its fields one by one",
        lambda m: torch().from_numpy(made(m)["reach"].copy()),
        X,
    ),
    "a sparse tensor of torch": (
        lambda m: m.add(t().to_sparse(), 1.0),
        "write t.to_dense()",
        lambda m: m.add(t().to_sparse().to_dense(), 1.0),
        X + 1,
    ),
    "a lazily negated tensor for the result": (
        lambda m: filled(negated(), m),
        "t.resolve_neg()",
        lambda m: filled(negated().resolve_neg(), m),
        X + 1,
    ),
    "a tensor of torch with a gradient": (
        lambda m: fp.Tensor(t(requires_grad=True)),
        "pass t.detach(), or call under torch.no_grad()",
        lambda m: m.add(t(requires_grad=True).detach(), 1.0) + without_gradient(m, t(requires_grad=True)),
        2 * (X + 1),
    ),
    "a list of tensors of one shape with gradients": (
        lambda m: fp.Tensor([t(X, requires_grad=True), t(X)]),
        "pass torch.stack(tensors): a list of tensors of one shape is one array; or a dict, with a name for each of them",
        lambda m: slope_of_stacked(m, t(X, requires_grad=True)),
        2 * X,
    ),
    "results of a tensor with a gradient as NumPy arrays": (
        lambda m: m.squared(t(requires_grad=True), _result="numpy"),
        "return them as 'torch'",
        lambda m: m.squared(t(requires_grad=True), _result="torch").detach() + m.squared(t(requires_grad=True).detach()),
        2 * X * X,
    ),
    "a tensor with a gradient beside one that is written": (
        lambda m: m.halves(t(requires_grad=True), t(), t()),
        "omit it to get the result returned",
        lambda m: m.halves(t(requires_grad=True))[1].detach(),
        X / 2,
    ),
    # calls in graphs of torch.compile, whose own errors would stand around these
    "a graph of torch with a destination": (
        lambda m: plan_in_graph(m.add, 0, (), {}, t()),
        "use what the call returns",
        lambda m: compiled(lambda x: m.add(x, 1.0)),
        X + 1,
    ),
    "a graph of torch with arguments that are written": (
        lambda m: planned(m.halves, t(), t(), t()),
        "omit the arguments that are written, to get the results returned",
        lambda m: compiled(lambda x: m.halves(x)[1]),
        X / 2,
    ),
    "a graph of torch with a tensor from outside": (
        lambda m: planned(with_outside(m, t(requires_grad=True)), t()),
        "pass it as an argument",
        lambda m: compiled(lambda x: m.add(x, x)),
        2 * X,
    ),
    "a graph of torch with a result of a class": (
        lambda m: planned(fp.fuse(lambda x: Pair(x, x)), t()),
        "return tensors, or tuples, lists and dicts of them",
        lambda m: compiled(lambda x: AS_A_TUPLE(x)[1]),
        X + 1,
    ),
    # DLPack
    "a number for an array of DLPack": (
        lambda m: fp.Tensor.from_dlpack(fp.default_device(), 3.0),
        "convert it with numpy.asarray",
        lambda m: fp.Tensor.from_dlpack(fp.default_device(), np.asarray(3.0, F32)),
        F32(3),
    ),
    "memory of another type": (
        lambda m: shared(m.int),
        "convert the array first",
        lambda m: shared(m.int, (4 * X).astype(np.int32)),
        (4 * X).astype(np.int32),
    ),
    "memory with gaps in its vectors": (
        lambda m: shared(m.float3, ramp(2, 6)[:, ::2]),
        "make it contiguous first",
        lambda m: fp.Tensor.from_dlpack(fp.default_device(), np.ascontiguousarray(ramp(2, 6)[:, ::2]), m.float3),
        ramp(2, 6)[:, ::2],
    ),
    "memory that no one here reaches": (
        lambda m: fp.Tensor.from_dlpack(fp.default_device(), Far(3)),
        "copy it to the host, e.g. with .cpu()",
        lambda m: fp.Tensor.from_dlpack(fp.default_device(), Far(3).cpu()),
        X,
    ),
    "an argument in memory that no one here reaches": (
        lambda m: m.add(Far(3), 1.0),
        "copy it to the host",
        lambda m: m.add(Far(3).cpu(), 1.0),
        X + 1,
    ),
    "CUDA memory on another device": (
        lambda m: m.add(Cuda(), 1.0),
        "or copy the array to the host",
        lambda m: m.add(Cuda().cpu(), 1.0),
        X + 1,
    ),
    "structs for another framework": (
        lambda m: np.from_dlpack(tensor(rays(m), m.Ray)),
        "copy it with .to_numpy()",
        lambda m: tensor(rays(m), m.Ray).to_numpy()["reach"],
        F32([3, 5]),
    ),
    "the buffer of another framework's memory": (
        lambda m: shared().buffer,
        "use a copy of it: t.copy()",
        lambda m: shared().copy().buffer and shared().copy(),
        X,
    ),
    # slangpy's tensors, and two devices
    "a tensor of slangpy on another device": (
        lambda m: m.add(theirs(second()), 1.0),
        "load the module on the tensor's device: fusepy takes slangpy devices",
        lambda m: fp.Module.load_from_source(second().sgl, "hint_there", ADD).add(theirs(second()), 1.0).to_numpy(),
        X + 1,
    ),
    "no elements for slangpy": (
        lambda m: m.add(X[:0], 1.0, _result="slangpy"),
        "return it as a Tensor: _result='tensor'",
        lambda m: m.add(X[:0], 1.0, _result="tensor"),
        X[:0],
    ),
    "modules of two devices": (
        lambda m: both(m, fp.Module.load_from_source(second(), "hint_there", ADD)),
        "load the module on the device of the tensors",
        lambda m: both(m, load("hint_there", ADD)),
        2 * X + 1,
    ),
    "a number that the device lacks": (
        lambda m: lacking(m, lambda own: own.same(np.ones(3))),
        "convert to float or int",
        lambda m: lacking(m, lambda own: own.same_float(np.ones(3).astype(np.float32))),
        np.ones(3, F32),
    ),
    # NumPy
    "complex numbers": (
        lambda m: m.add(COMPLEX, 1.0),
        "pass a.real and a.imag as two arrays",
        lambda m: m.add(COMPLEX.real, COMPLEX.imag),
        X + X[::-1],
    ),
    "numbers in another order of bytes": (
        lambda m: m.add(X.astype(">f4"), 1.0),
        "convert it to this machine's byte order with a.astype(a.dtype.newbyteorder('='))",
        lambda m: m.add((a := X.astype(">f4")).astype(a.dtype.newbyteorder("=")), 1.0),
        X + 1,
    ),
}
