"""Programs after hints about assignments, and about attributes that are called."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hints.support import IMAGE, Program, X, fused, tensor
from tests.support.slang_functions import F32, ramp


def assigned(t: Any, name: str, value: Any) -> Any:
    setattr(t, name, value)
    return t


def flat(t: Any) -> Any:
    t.shape = (-1,)
    return t


def doubled(t: Any) -> Any:
    t *= 2
    return t


def doubled_alias(x: Any) -> Any:
    y = 1 * x
    t = y
    t *= 2
    return t + y


def doubled_copy(x: Any) -> Any:
    y = 1 * x
    t = y.copy()
    t *= 2
    return t + y


def halved(x: Any) -> Any:
    t = x * 3
    t /= 2
    return t


def written(t: Any, write: Callable[[Any], Any]) -> Any:
    write(t)
    return t.numpy()


def without(made: Any, name: str) -> Any:
    delattr(made, name)
    return made


def tagged(first: bool) -> Any:
    class Tagged(fp.Tensor):
        def __init__(self, values: Any):
            if not first:
                self.tag = "seen"
            super().__init__(values)
            self.tag = "seen"

    return Tagged(X)


def added_in_steps(x: Any) -> Any:
    y = x * 1

    def body(i: Any, c: Any) -> Any:
        nonlocal y
        y += 1
        return c + y

    return fp.fori_loop(0, 2, body, x)


def added_in_a_body(x: Any) -> Any:
    y = x * 1

    def body(i: Any, c: Any) -> Any:
        t = y
        t = t + 1
        return c + t

    return fp.fori_loop(0, 2, body, x)


def vectors() -> Any:
    return fp.Tensor.from_numpy(fp.default_device(), ramp(2, 3), "float3")


def full(m: Any) -> Any:
    return fp.Tensor.zeros(m.device, (2,), m.Sized)


def each(t: Any) -> None:
    t.x = 5
    t.y = 5


N = np.int32([1, 2])
PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "a fraction as a flag": (
        lambda m: fp.Tensor(np.zeros(3, bool)).__setitem__(0, 0.5),
        "write x != 0",
        lambda m: fp.Tensor(np.zeros(3, bool)).__setitem__(0, 0.5 != 0) or X,
        X,
    ),
    "fractions that are added to integers": (
        lambda m: operator.iadd(fp.Tensor(np.arange(3, dtype=np.int32)), 0.5),
        "write t = t + x, which makes another tensor",
        lambda m: fp.Tensor(np.arange(3, dtype=np.int32)) + 0.5,
        np.arange(3) + np.float32(0.5),
    ),
    "extents that are assigned": (
        lambda m: flat(tensor(IMAGE)),
        "write t = t.reshape(2, -1), a view with other extents",
        lambda m: tensor(IMAGE).reshape(2, -1),
        IMAGE.reshape(2, -1),
    ),
    "a dtype that is assigned": (
        lambda m: assigned(tensor(X), "dtype", int),
        "write t = t.astype(float), or t.view(shape, dtype) for the same bytes as another type",
        lambda m: tensor(N).astype(float),
        N.astype(F32),
    ),
    "a device that is assigned": (
        lambda m: assigned(tensor(X), "device", m.device),
        "write t = fp.asarray(t, device=device)",
        lambda m: fp.asarray(tensor(X), device=m.device),
        X,
    ),
    "strides that are assigned": (
        lambda m: assigned(tensor(X), "strides", (0,)),
        "write t = t.view(shape, strides=strides), another view of the memory",
        lambda m: tensor(X).view((3,), strides=(0,)),
        X[[0, 0, 0]],
    ),
    "a transpose that is assigned": (
        lambda m: assigned(tensor(ramp(2, 2)), "T", ramp(2, 2)),
        "write t[...] = x.T",
        lambda m: written(tensor(0 * ramp(2, 2)), lambda t: t.__setitem__(..., ramp(2, 2).T)),
        ramp(2, 2).T,
    ),
    "gradients that are asked for by an attribute": (
        lambda m: assigned(tensor(X), "requires_grad", True),
        "write t = t.with_grads()",
        lambda m: tensor(X).with_grads().grad,
        0 * X,
    ),
    "the contents as an attribute": (
        lambda m: assigned(tensor(X), "data", 2 * X),
        "tensors change by their elements: write t[...] = x",
        lambda m: written(tensor(X), lambda t: t.__setitem__(..., 2 * X)),
        2 * X,
    ),
    "a field with the name of an attribute": (
        lambda m: assigned(full(m), "size", 2),
        "write t['size'] = x for the field of Sized",
        lambda m: written(full(m), lambda t: t.__setitem__("size", 2))["size"],
        np.int32([2, 2]),
    ),
    "two components that are assigned": (
        lambda m: assigned(vectors(), "xy", 5.0),
        "write to one component after the other: t.x = x, t.y = x",
        lambda m: written(vectors(), each),
        np.stack([*np.full((2, 2), 5, F32), ramp(2, 3)[:, 2]], -1),
    ),
    "an argument that is written in place": (
        lambda m: fused(doubled, X),
        "write t = t * x, which changes no argument, or begin with t = t.copy()",
        lambda m: fused(lambda t: doubled(t.copy()), X),
        2 * X,
    ),
    "a value that is written through another name": (
        lambda m: fused(doubled_alias, X),
        "write t = t * x, which changes nothing else, or begin with t = t.copy()",
        lambda m: fused(doubled_copy, X),
        3 * X,
    ),
    "a quotient in place of integers": (
        lambda m: fused(halved, N),
        "write t = t / x, which is a new value",
        lambda m: fused(lambda t: t * 3 / 2, N),
        N.astype(F32) * 1.5,
    ),
    "a size that is called": (
        lambda m: tensor(X).size(),
        "write t.size, or t.shape[0] for the extent of one axis",
        lambda m: tensor(IMAGE).size + tensor(IMAGE).shape[0],
        IMAGE.size + 2,
    ),
    "a shape that is called": (
        lambda m: tensor(X).shape(0),
        "write t.shape, or t.shape[0] for the extent of one axis",
        lambda m: tensor(IMAGE).shape,
        (2, 4, 3),
    ),
    "a float as an index": (
        lambda m: [1, 2, 3][tensor(X)[0]],
        "write int(t), or t[0] for the first of several",
        lambda m: [1, 2, 3][int(tensor(4 * X)[2])] + [1, 2, 3][tensor(N)[0]],
        5,
    ),
    "tangents without a tuple": (
        lambda m: fp.jvp(lambda x: x * x, X, X),
        "write fp.jvp(f, (x,), (dx,))",
        lambda m: fp.jvp(lambda x: x * x, (X,), (X,))[1],
        2 * X * X,
    ),
    "a pixel of nothing": (
        lambda m: fp.inspect_pixel(lambda x: None, X, at=0),
        "return the value to look at",
        lambda m: fp.inspect_pixel(fp.abs, -X, at=2)["%0"],
        X[2],
    ),
    "an attribute that is deleted": (
        lambda m: without(tensor(X), "shape"),
        "leave out the del",
        lambda m: tensor(X),
        X,
    ),
    "an attribute before the tensor is made": (
        lambda m: tagged(first=False),
        "call super().__init__(…) first",
        lambda m: tagged(first=True),
        X,
    ),
    "a write in a body to a value from outside": (
        lambda m: fp.fuse(added_in_steps)(tensor(X)),
        "write t = t + x, which is a value of the body",
        lambda m: fp.fuse(added_in_a_body)(tensor(X)),
        3 * X + 2,
    ),
}
