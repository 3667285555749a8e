"""Programs after hints about tensors, mappings, generators and options: most are refused before anything is compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hint_programs import IMAGE, N, Program, X, filled, fused, rays, tensor
from tests.support.slang_functions import F32, ramp


def zeros(shape: Any, dtype: Any = "float") -> Any:
    return fp.Tensor.zeros(fp.default_device(), shape, dtype)


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


def pairs(m: Any) -> Any:
    return np.array([(1,), (2,)], m.V.dtype)


def changed(t: Any, change: Any) -> Any:
    change(t)
    return t


class Loop:
    """An object that holds itself."""

    def __init__(self, name: str):
        self.reach = 2.0
        self.position = [0.0, 2.0, 0.0]
        setattr(self, name, self)


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    # shapes and indices of tensors
    "a length of no axis": (
        lambda m: len(zeros(())),
        "read it with .to_numpy()",
        lambda m: zeros(()).to_numpy(),
        F32(0),
    ),
    "an index past the end": (lambda m: tensor(X)[3], "mind the extents", lambda m: tensor(X)[2], X[2]),
    "a shape of another size": (
        lambda m: tensor(X).reshape(4),
        "mind the extents",
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
        lambda m: tensor(X)[[0, 2]],
        "use integers, slices, None and ...; gather with a Slang function",
        lambda m: m.pick(tensor(X), np.array([0, 2], np.int32)),
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
        lambda m: tensor(np.ones(2, np.complex64)),
        "convert the array with .astype(np.float32)",
        lambda m: tensor(np.ones(2, np.complex64).real.astype(np.float32)),
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
        "leave shape= away",
        lambda m: fp.NDBuffer(ramp(3)).to_numpy(),
        X,
    ),
    "an array that does not fill a buffer": (
        lambda m: fp.NDBuffer(fp.default_device(), dtype=m.float, shape=(4,)).from_numpy(X),
        "mind the extents",
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
    # mappings
    "the length of a mapped value": (
        lambda m: len(fp.vmap(X, 0)),
        "ask the value itself, before vmap or vcast",
        lambda m: len(X),
        3,
    ),
    "an element of a mapped value": (
        lambda m: fp.vmap(X, 0)[1],
        "index the value before vmap or vcast",
        lambda m: m.add(fp.vmap(X[1:], 0), 1.0),
        X[1:] + 1,
    ),
    "the elements of a mapped value": (
        lambda m: list(fp.vmap(X, 0)),
        "take its elements before vmap or vcast",
        lambda m: list(X),
        X,
    ),
    "the float of a mapped value": (
        lambda m: float(fp.vmap(X[0], ())),
        "use the value itself, before vmap or vcast",
        lambda m: float(X[0]),
        X[0],
    ),
    "the hash of a mapped value": (
        lambda m: {fp.vmap(2.0, ())},
        "use the value itself; a mapping is for the call that it is passed to",
        lambda m: list({2.0}),
        [2.0],
    ),
    "two mappings": (lambda m: fp.vmap(fp.vmap(X, 0), 0), "write one vmap", lambda m: m.add(fp.vmap(X, 0), 1.0), X + 1),
    "one dimension twice": (
        lambda m: fp.vmap(ramp(2, 3), (1, 1)),
        "each axis needs a grid dimension of its own",
        lambda m: m.add(fp.vmap(ramp(2, 3), (1, 0)), 1.0),
        ramp(2, 3).T + 1,
    ),
    "a dimension from the end": (
        lambda m: fp.vmap(ramp(2, 3), (0, -1)),
        "grid dimensions are counted from 0",
        lambda m: m.add(fp.vmap(ramp(2, 3), (0, 1)), 1.0),
        ramp(2, 3) + 1,
    ),
    "a dimension of no sense": (
        lambda m: fp.vmap(ramp(2, 3), (0, 99)),
        "use fewer dimensions",
        lambda m: m.add(fp.vmap(ramp(2, 3), (0, 1)), 1.0),
        ramp(2, 3) + 1,
    ),
    "a dimension that is no integer": (
        lambda m: fp.vmap(ramp(2, 3), 0.5),
        "write vmap(value, (0, 1))",
        lambda m: m.add(fp.vmap(ramp(2, 3), (0, 1)), 1.0),
        ramp(2, 3) + 1,
    ),
    "more dimensions than axes": (
        lambda m: m.add(fp.vmap(X, (0, 1)), 1.0),
        "name one grid dimension per leading axis of the value",
        lambda m: m.add(fp.vmap(X, (0,)), 1.0),
        X + 1,
    ),
    "a dimension in declare()": (
        lambda m: m.add.declare(0, None),
        "write vmapping(0)",
        lambda m: m.add.declare(fp.vmapping(0), None)(X, 1.0),
        X + 1,
    ),
    "vectors cast to another length": (
        lambda m: m.luma(fp.vcast(tensor(ramp(2, 4), m.float4), m.float3)),
        "vcast takes trailing axes into a vector, or converts between scalars or vectors of one length",
        lambda m: m.luma(fp.vcast(tensor(ramp(2, 4))[:, :3], m.float3)),
        ramp(2, 4)[:, :3] @ [0.25, 0.5, 0.25],
    ),
    "traced vectors cast to another length": (
        lambda m: fused(lambda c: fp.vcast(c + 1, "float4"), fp.vcast(ramp(2, 3), "float3")),
        "vcast converts between scalars, or between vectors of one length",
        lambda m: fused(lambda c: fp.vcast(c * 8, "int3"), fp.vcast(ramp(2, 3), "float3")),
        (ramp(2, 3) * 8).astype(np.int32),
    ),
    # generators
    "five coordinates": (
        lambda m: fp.grid((1, 1, 1, 1, 3)),
        "a coordinate is an int up to an int4",
        lambda m: m.twice(fp.grid((3,)), _result="numpy"),
        2 * N,
    ),
    "offsets of another length": (
        lambda m: fp.grid((3,), offset=(1, 2)),
        "one number per dimension",
        lambda m: m.twice(fp.grid((3,), offset=(1,)), _result="numpy"),
        2 * N + 2,
    ),
    "a negative extent of a grid": (
        lambda m: fp.linspace(0.0, 1.0, -3),
        "extents are 0 or more",
        lambda m: m.add(fp.linspace(0.0, 1.0, 3), 1.0, _result="numpy"),
        np.array([1, 1.5, 2], F32),
    ),
    "a seed of more than 32 bits": (
        lambda m: fp.wang_hash(seed=2**32 + 5),
        "take it modulo 2**32",
        lambda m: (
            m.twice(fp.wang_hash(seed=(2**32 + 5) % 2**32), _result=fp.Tensor.empty(fp.default_device(), (3,), "int")).shape
        ),
        (3,),
    ),
    "many rounds of a generator": (
        lambda m: fp.wang_hash(warmup=5000),
        "a few rounds are plenty",
        lambda m: m.twice(fp.wang_hash(warmup=5), _result=fp.Tensor.empty(fp.default_device(), (3,), "int")).shape,
        (3,),
    ),
    "an infinite range": (
        lambda m: fp.rand_float(0.0, math.inf),
        "give two finite numbers",
        lambda m: m.add(fp.rand_float(1.0, 1.0), 1.0, _result=fp.Tensor.empty(fp.default_device(), (3,), "float")),
        np.full(3, 2, F32),
    ),
    "an offset along a traced value": (
        lambda m: fused(lambda x: m.twice(fp.grid(x, offset=(1,), stride=(2,))), X),
        "compute with the coordinates instead: grid(x) * 2 + 1",
        lambda m: fused(lambda x: m.twice(fp.grid(x) * 2 + 1), X),
        4 * N + 2,
    ),
    "coordinates of a traced number": (
        lambda m: fused(lambda x: fp.grid(x) + 0, 2.0),
        "pass an array of one to four axes",
        lambda m: fused(lambda x: fp.grid(x) + 0, X),
        N,
    ),
    "the extents of a traced value": (
        lambda m: fused(lambda x, n: m.add(fp.linspace(0.0, 1.0, n), x), X, 3),
        "pass linspace(…) as an argument",
        lambda m: fused(lambda x, at: m.add(at, x), X, fp.linspace(0.0, 1.0, 3)),
        X + np.linspace(0, 1, 3, dtype=F32),
    ),
    "the shape of a traced value": (
        lambda m: fused(lambda x: m.twice(fp.Shape(x)) + x, X),
        "or write grid(1) for coordinates in the grid of the other arguments",
        lambda m: fused(lambda x: m.twice(fp.grid(1)) + x, X),
        2 * N + X,
    ),
    "a range that no int holds": (
        lambda m: m.add(range(2**40, 2**40 + 2), 1.0),
        "pass an array with the dtype that is wanted, e.g. np.arange(…, dtype=np.int64)",
        lambda m: m.over(fp.vcast(np.arange(2**40, 2**40 + 2, dtype=np.int64), m.float)),
        np.full(2, 2.0**40, F32),
    ),
    "coordinates of one as two": (
        lambda m: m.where_am_i(fp.call_id(), _result=fp.Tensor.empty(fp.default_device(), (2, 3, 4), "float2")),
        "or pass thread_id(), which counts through",
        lambda m: m.twice(fp.thread_id(1), _result=fp.Tensor.empty(fp.default_device(), (2, 3), "int")),
        2 * np.arange(6).reshape(2, 3),
    ),
    # numbers
    "an infinite number for an integer": (
        lambda m: m.twice(fp.vcast(math.inf, m.int)),
        "check it with math.isfinite",
        lambda m: m.twice(fp.vcast(2.5, m.int)) if math.isfinite(2.5) else 0,
        4,
    ),
    "coordinates of five components": (
        lambda m: fp.thread_id(5),
        "leave dims away",
        lambda m: m.twice(fp.thread_id(), _result=fp.Tensor.empty(fp.default_device(), (3,), "int")),
        2 * N,
    ),
    "numbers that are multiplied as matrices": (
        lambda m: fused(lambda a, b: a @ b, ramp(3), ramp(3)),
        "write * for numbers",
        lambda m: fused(lambda a, b: a * b, ramp(3), ramp(3)),
        ramp(3) * ramp(3),
    ),
    "arrays that are multiplied as matrices": (
        lambda m: fused(lambda a, x: a @ fp.vcast(x, "float3"), ramp(2, 3, 3), ramp(2, 3)),
        "fp.vcast(x, 'float3x3')",
        lambda m: fused(lambda a, x: fp.vcast(a, "float3x3") @ fp.vcast(x, "float3"), ramp(2, 3, 3), ramp(2, 3)),
        np.einsum("nij,nj->ni", ramp(2, 3, 3), ramp(2, 3)),
    ),
    "a product of vectors": (
        lambda m: fused(lambda a, b: fp.vcast(a, "float3") @ fp.vcast(b, "float3"), ramp(2, 3), ramp(2, 3)),
        "write fp.dot(a, b) for two vectors",
        lambda m: fused(lambda a, b: fp.dot(fp.vcast(a, "float3"), fp.vcast(b, "float3")), ramp(2, 3), ramp(2, 3)),
        (ramp(2, 3) ** 2).sum(-1),
    ),
    "a product of matrices that do not fit": (
        lambda m: fused(lambda a, x: fp.vcast(a, "float2x3") @ fp.vcast(x, "float2"), ramp(2, 2, 3), ramp(2, 2)),
        "the second one needs 3 components",
        lambda m: fused(lambda a, x: fp.vcast(a, "float2x3") @ fp.vcast(x, "float3"), ramp(2, 2, 3), ramp(2, 3)),
        np.einsum("nij,nj->ni", ramp(2, 2, 3), ramp(2, 3)),
    ),
    "an operator of structs": (
        lambda m: fused(lambda r: r < r, tensor(rays(m), m.Ray)),
        "declare such an operator in Slang, e.g. Ray operator<(Ray a, Ray b)",
        lambda m: fused(lambda r: r + r, tensor(pairs(m), m.V)).to_numpy()["a"],
        np.array([2, 4], F32),
    ),
    "an operator of a struct and a number": (
        lambda m: fused(lambda r: r + 1, tensor(rays(m), m.Ray)),
        "declare such an operator in Slang, e.g. Ray operator+(Ray a, int b)",
        lambda m: fused(lambda r: r + r, tensor(pairs(m), m.V)).to_numpy()["a"],
        np.array([2, 4], F32),
    ),
    "a read-only array that is written whole": (
        lambda m: m.first_of(np.broadcast_to(np.zeros(3, F32), 3)),
        "pass an array that can be written, such as a copy of it",
        lambda m: changed(np.broadcast_to(np.zeros(3, F32), 3).copy(), m.first_of),
        np.array([5, 0, 0], F32),
    ),
    # batches
    "structs and numbers in one batch": (
        lambda m: fp.Batchable([1.0, {"reach": 2.0}]),
        "give every element one shape",
        lambda m: m.add(fp.Batchable([1.0, 2.0]), 1.0),
        np.array([2, 3], F32),
    ),
    "structs of two kinds in one batch": (
        lambda m: fp.Batchable([{"position": [0.0, 1.0, 0.0], "reach": 2.0}, {"reach": 2.0}]),
        "a batch holds structs of one kind",
        lambda m: m.at(fp.Batchable([{"position": [0.0, 1.0, 0.0], "reach": 2.0}] * 2)),
        np.array([2, 2], F32),
    ),
    "an object that holds itself": (
        lambda m: m.at(Loop("parent")),
        "give it a name that starts with '_', which is not read",
        lambda m: m.at(Loop("_parent")),
        4,
    ),
    "keys that are no names": (
        lambda m: m.at({1: 2.0}),
        "give its fields by name",
        lambda m: m.at({"position": [0.0, 2.0, 0.0], "reach": 2.0}),
        4,
    ),
    "a type that is no name": (
        lambda m: m.at({"_type": 3, "position": [0.0, 2.0, 0.0], "reach": 2.0}),
        "write '_type': 'Name'",
        lambda m: m.at({"_type": "Ray", "position": [0.0, 2.0, 0.0], "reach": 2.0}),
        4,
    ),
    "data of an instance tensor of another type": (
        lambda m: fp.InstanceTensor(m.Ray, data=zeros(2, "float3")),
        "make it with dtype=m.Name of that struct",
        lambda m: fp.InstanceTensor(m.Ray, data=zeros(2, dtype=m.Ray)).shape,
        (2,),
    ),
    "an instance list without arrays": (
        lambda m: fp.InstanceList(m.Ray).construct([0.0, 2.0, 0.0], 1.0),
        "set its fields to tensors first",
        lambda m: fp.InstanceList(m.Ray, {"position": zeros((2, 3)), "reach": zeros(2)}).construct([0.0, 2.0, 0.0], X[:2]).reach,
        X[:2],
    ),
    "a struct of no name": (
        lambda m: fp.struct(3),
        'write @struct("Ray"), or @struct',
        lambda m: m.at(made_by(m, fp.struct("Ray"))),
        4,
    ),
}


def made_by(m: Any, decorator: Any) -> Any:
    @decorator
    class Beam:
        def __init__(self) -> None:
            self.position = [0.0, 2.0, 0.0]
            self.reach = 2.0

    return Beam(m)
