"""Programs after hints about shapes, indices, elements and cursors of tensors: most are refused before anything is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hints.support import (
    IMAGE,
    Program,
    X,
    changed,
    filled,
    rays,
    tensor,
    zeros,
)
from tests.support.slang_functions import F32, ramp


def cursor_with(m: Any, write: Any) -> Any:
    pixels = tensor(rays(m), m.Ray)
    cursor = pixels.cursor()
    write(cursor)
    cursor.apply()
    return pixels.to_numpy()["reach"]


def numbers_with(write: Any) -> Any:
    numbers = zeros(3, "int")
    cursor = numbers.cursor()
    write(cursor)
    cursor.apply()
    return numbers


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    # shapes and indices of tensors
    "a length of no axis": (
        lambda m: len(zeros(())),
        "read it with .to_numpy()",
        lambda m: zeros(()).to_numpy(),
        F32(0),
    ),
    "an index past the end": (lambda m: tensor(X)[3], "check the extents", lambda m: tensor(X)[2], X[2]),
    "a shape of another size": (
        lambda m: tensor(X).reshape(4),
        "check the extents",
        lambda m: tensor(X).reshape(3, 1),
        X[:, None],
    ),
    "a negative extent": (lambda m: zeros((2, -1)), "extents are 0 or more", lambda m: zeros((2, 0)), np.zeros((2, 0), F32)),
    "too many indices": (lambda m: tensor(X)[0, 0], "index each axis once", lambda m: tensor(X)[0], X[0]),
    "two ellipses": (lambda m: tensor(IMAGE)[..., 0, ...], "write ... once", lambda m: tensor(IMAGE)[..., 0], IMAGE[..., 0]),
    "axes without end": (
        lambda m: zeros((1,) * 70),
        "reshape it: axes that lie behind one another can be one",
        lambda m: zeros((1,)),
        np.zeros(1, F32),
    ),
    "an index of another kind": (
        lambda m: tensor(X)["x"],
        "use integers, slices, None and ..., or arrays of integers",
        lambda m: tensor(X)[[0, 2]],
        X[[0, 2]],
    ),
    "a transposition that leaves an axis out": (
        lambda m: tensor(ramp(2, 3)).transpose((0,)),
        "name every axis of shape (2, 3) once",
        lambda m: tensor(ramp(2, 3)).transpose((1, 0)),
        ramp(2, 3).T,
    ),
    "a broadcast that does not fit": (
        lambda m: tensor(X).broadcast_to((3, 2)),
        "extents must agree from the right, or be 1",
        lambda m: tensor(X).broadcast_to((2, 3)),
        np.stack([X, X]),
    ),
    "a broadcast that is written": (
        lambda m: tensor(X).broadcast_to((2, 3)).copy_from_numpy(ramp(2, 3)),
        "write to the tensor that was broadcast, or to a copy",
        lambda m: filled(tensor(X).broadcast_to((2, 3)).copy(), ramp(2, 3)),
        ramp(2, 3),
    ),
    "one number of several": (lambda m: tensor(X).item(), "index it, or reduce it", lambda m: tensor(X)[1].item(), X[1]),
    "the float of several": (lambda m: float(tensor(X)), "index it, or reduce it", lambda m: float(fp.sum(tensor(X))), X.sum()),
    "a copy of another shape": (
        lambda m: tensor(X).copy_from_numpy(ramp(2)),
        "reshape the array",
        lambda m: filled(tensor(X), ramp(3, 1).reshape(3)),
        X,
    ),
    "a copy of another type": (
        lambda m: zeros(3, "int").copy_from(tensor(X)),
        "make the target with Tensor.empty(device, shape, dtype)",
        lambda m: changed(fp.Tensor.empty(fp.default_device(), (3,), "float"), lambda t: t.copy_from(tensor(X))),
        X,
    ),
    "numbers for structs": (
        lambda m: tensor(rays(m), m.Ray).copy_from_numpy(np.zeros(2, [("a", "f4")])),
        "use the dtype of the struct",
        lambda m: filled(tensor(rays(m), m.Ray), np.zeros(2, m.Ray.dtype)).to_numpy()["reach"],
        np.zeros(2, F32),
    ),
    "a number that no element holds": (
        lambda m: fp.Tensor.full(fp.default_device(), 2, 300, "uint8_t"),
        "widen dtype",
        lambda m: fp.Tensor.full(fp.default_device(), 2, 300, "uint16_t"),
        np.array([300, 300], np.uint16),
    ),
    "an array that does not hold vectors": (
        lambda m: tensor(ramp(4), m.float3),
        "reshape the array so that its last axes are the components",
        lambda m: tensor(ramp(6).reshape(2, 3), m.float3),
        ramp(6).reshape(2, 3),
    ),
    "other scalars in the same bytes": (
        lambda m: tensor(X).view(3, dtype="int"),
        "use a type of the same scalars",
        lambda m: tensor(ramp(3)).view(1, dtype="float3"),
        ramp(3)[None],
    ),
    "structs as numbers": (
        lambda m: tensor(rays(m), m.Ray).view(8, dtype="float"),
        "read structs with .to_numpy(), whose fields are arrays",
        lambda m: tensor(rays(m), m.Ray).to_numpy()["reach"],
        np.array([3, 5], F32),
    ),
    "a dtype of NumPy's that Slang lacks": (
        lambda m: tensor(np.ones(2, np.longdouble)),
        "convert the array with .astype(np.float32)",
        lambda m: tensor(np.ones(2, np.longdouble).astype(np.float32)),
        np.ones(2, F32),
    ),
    "a type that no tensor holds": (
        lambda m: zeros(2, "Sampler"),
        "use a scalar, vector, matrix, or a struct as module.Name, e.g. dtype=m.Ray",
        lambda m: zeros(2, m.Ray).to_numpy()["reach"],
        np.zeros(2, F32),
    ),
    "a list of lists of two lengths": (
        lambda m: m.add([[1.0, 2.0], [3.0]], 1.0),
        "give every row the same length",
        lambda m: m.add([[1.0, 2.0], [3.0, 4.0]], 1.0),
        np.array([[2, 3], [4, 5]], F32),
    ),
    "what is no Slang type": (
        lambda m: fp.vcast(X, 3),
        "pass a type of a module, e.g. m.float3, or its name",
        lambda m: m.luma(fp.vcast(X, m.float3)),
        X @ [0.25, 0.5, 0.25],
    ),
    "a type that is spelled otherwise": (
        lambda m: fp.vcast(X, "float[3"),
        "write it as Slang would, e.g. float3, float[4], ns::Pair<float>",
        lambda m: m.luma(fp.vcast(X, "float3")),
        X @ [0.25, 0.5, 0.25],
    ),
    "an array that holds half a vector": (
        lambda m: m.luma(fp.vcast(ramp(4), "float3")),
        "give the array the extents of its parameter",
        lambda m: m.luma(fp.vcast(ramp(6).reshape(2, 3), "float3")),
        ramp(6).reshape(2, 3) @ [0.25, 0.5, 0.25],
    ),
    "an array that holds half a vector, in a later call": (
        lambda m: [m.luma(fp.vcast(ramp(n, n), "float3")) for n in (3, 2)],
        "reshape the array so that its last axes are the components, or vcast to another type",
        lambda m: m.luma(fp.vcast(ramp(2, 3), "float3")),
        ramp(2, 3) @ [0.25, 0.5, 0.25],
    ),
    "bytes that hold no struct": (
        lambda m: m.at(fp.vcast(ramp(5), m.Ray)),
        "reshape it to (…, components of one struct)",
        lambda m: m.at(fp.vcast(ramp(8).reshape(2, 4), m.Ray)),
        ramp(8).reshape(2, 4)[:, 1] * ramp(8).reshape(2, 4)[:, 3],
    ),
    "a buffer of no array": (
        lambda m: fp.NDBuffer(ramp(3), shape=(3,)),
        "omit shape=",
        lambda m: fp.NDBuffer(ramp(3)).to_numpy(),
        X,
    ),
    "an array that does not fill a buffer": (
        lambda m: fp.NDBuffer(fp.default_device(), dtype=m.float, shape=(4,)).from_numpy(X),
        "check the extents",
        lambda m: filled(fp.NDBuffer(fp.default_device(), dtype=m.float, shape=(4,)), ramp(4)).to_numpy(),
        ramp(4),
    ),
    # cursors
    "a cursor past the end": (
        lambda m: tensor(X).cursor(2, 4),
        "see t.size",
        lambda m: tensor(X).cursor(2, tensor(X).size - 2)[0].read(),
        X[2],
    ),
    "an element past the end": (
        lambda m: tensor(X).cursor()[3],
        "see element_count",
        lambda m: tensor(X).cursor()[tensor(X).cursor().element_count - 1].read(),
        X[2],
    ),
    "a component past the end": (
        lambda m: tensor(IMAGE, m.float3).cursor()[0][3],
        "see .read()",
        lambda m: tensor(IMAGE, m.float3).cursor()[0].read(),
        IMAGE[0, 0],
    ),
    "a float for an integer's element": (
        lambda m: numbers_with(lambda c: c[1].write(2.5)),
        "round floats first",
        lambda m: numbers_with(lambda c: c[1].write(round(2.5))),
        np.array([0, 2, 0], np.int32),
    ),
    "too few components of an element": (
        lambda m: cursor_with(m, lambda c: c[0].position.write([1.0, 2.0])),
        "give every component",
        lambda m: cursor_with(m, lambda c: c[0].position.write([1.0, 2.0, 3.0])),
        np.array([3, 5], F32),
    ),
    "a fraction for an integer": (
        lambda m: changed(fp.Tensor(np.int32([1, 2])), lambda t: t.__setitem__(0, 2.75)),
        "round it first, round(x)",
        lambda m: changed(fp.Tensor(np.int32([1, 2])), lambda t: t.__setitem__(0, round(2.75))),
        np.int32([3, 2]),
    ),
    "a number for a struct's element": (
        lambda m: cursor_with(m, lambda c: c[0].write(1.0)),
        "write a dict",
        lambda m: cursor_with(m, lambda c: c[0].write({"position": [1.0, 2.0, 3.0], "reach": 7.0})),
        np.array([7, 5], F32),
    ),
    "a struct's element without a field": (
        lambda m: cursor_with(m, lambda c: c[0].write({"reach": 7.0})),
        "write single fields",
        lambda m: cursor_with(m, lambda c: c[0].reach.write(7.0)),
        np.array([7, 5], F32),
    ),
    "a word in every element": (
        lambda m: fp.Tensor.full(m.device, 2, "a"),
        "give one number, or one number per component",
        lambda m: fp.Tensor.full(m.device, 2, [1, 2, 3], "float3").to_numpy() - fp.Tensor.full(m.device, (2, 3), 1).to_numpy(),
        np.array([[0, 1, 2]] * 2, F32),
    ),
    "distances between vectors of a field": (
        lambda m: tensor(rays(m), m.Ray).position.strides,
        "copy it first with t.copy()",
        lambda m: tensor(rays(m), m.Ray).position.copy().strides,
        (1,),
    ),
    "a write at indices": (
        lambda m: changed(tensor(ramp(3)), lambda t: t.__setitem__([0, 2], 7.0)),
        "write fp.where(mask, value, t)",
        lambda m: fp.where(np.array([True, False, True]), 7.0, tensor(ramp(3))),
        F32([7, ramp(3)[1], 7]),
    ),
}
