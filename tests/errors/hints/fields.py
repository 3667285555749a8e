"""Programs after hints about structs: arguments given by fields, lists of leaves, interfaces, constructors, reloaded types."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hints.support import IMAGE, Program, X, fused, tensor
from tests.support.slang_functions import F32, ramp

SOURCE = """
struct K { float x; float y; };
struct Ray { float3 position; float3 direction; };
struct Flags { bool a; float b; };
interface IShape { float area(); };
struct Square : IShape { float side; float area() { return side * side; } };
struct Scene { float gain; IShape shape; };
struct SquareScene { float gain; Square shape; };
struct Pair { Ray rays[2]; };
struct Generic { float x; __init<T : IFloat>(T a) { x = 1; } static Generic of(float a) { Generic g; g.x = a; return g; } };
float scaled(float x, K k) { return x * k.x + k.y; }
float flagged(Flags f) { return f.a ? f.b : 0; }
void make(float3 p, out Ray ray) { ray.position = p; ray.direction = 2 * p; }
void change(inout Scene s) { s.gain *= 2 * s.shape.area(); }
Scene brighter(Scene s, float k) { s.gain *= k; return s; }
SquareScene brighter_square(SquareScene s, float k) { s.gain *= k; return s; }
float two(float2 c) { return c.x + 10 * c.y; }
float two(float w[2]) { return w[0]; }
float three(float w[2]) { return w[0] + w[1]; }
float three(int w[2]) { return w[0]; }
float row(float1x3 c) { return c[0][1]; }
float vector(float3 c) { return c.y; }
float either(Ray r) { return r.position.x; }
float either(Ray r[2]) { return r[1].position.x; }
float first(Pair p) { return p.rays[0].position.x + p.rays[1].position.y; }
float add(float a, float b) { return a + b; }
float any_of<T : IShape>(T s) { return s.area(); }
float luma(float3 c) { return dot(c, float3(0.25, 0.5, 0.25)); }
"""
HOT = "struct Ray { float a; float b; }; float of(Ray r) { return r.a; }"
TURNED = "struct Ray { float b; float a; }; float of(Ray r) { return r.a; }"


@functools.cache
def on(device: Any) -> Any:
    return fp.Module.load_from_source(device, "hint_fields", SOURCE)


def s(m: Any) -> Any:
    return on(m.device)


def written(function: Any, *args: Any) -> Any:
    function(*args)
    return args[-1]


def square(side: Any) -> Any:
    return {"_type": "Square", "side": side}


def ray(position: Any, direction: Any, **more: Any) -> Any:
    return {"position": position, "direction": direction, **more}


def zeros(*shape: int) -> Any:
    return np.zeros(shape, F32)


def reloaded(dtype_of: Any) -> Any:
    """The function of a module that is reloaded, called with a tensor of the type that it had before, or has after."""
    path = Path(tempfile.mkdtemp()) / "hot.slang"
    path.write_text(HOT)
    module = fp.Module.load_from_file(fp.default_device(), path)
    before = module.Ray
    path.write_text(TURNED)
    given = [before]
    rays = tensor(np.array([(7, 1)], before.dtype), before)
    module.reload()
    if dtype_of == "after":
        rays = fp.Tensor.from_numpy(module.device, np.array([(1, 7)], module.Ray.dtype), dtype=module.Ray)
    del given
    return module.of(rays)


def gone(use: Any) -> Any:
    """A module whose file is removed before it is reloaded."""
    path = Path(tempfile.mkdtemp()) / "hot.slang"
    path.write_text(HOT)
    module = fp.Module.load_from_file(fp.default_device(), path)
    path.unlink()
    return use(module)


def try_reload(module: Any) -> Any:
    try:
        module.reload()
    except fp.CompileError:
        return module.of({"a": X, "b": 0.0})
    return None


P = ramp(4, 3)
PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "a field that is not mapped beside one that is": (
        lambda m: s(m).scaled(fp.vmap(ramp(2, 4), (0, 1)), {"x": fp.vmap(ramp(2), 0), "y": ramp(2)}),
        "map k.y with vmap as well",
        lambda m: s(m).scaled(fp.vmap(ramp(2, 4), (0, 1)), {"x": fp.vmap(ramp(2), 0), "y": fp.vmap(ramp(2), 0)}),
        ramp(2, 4) * ramp(2)[:, None] + ramp(2)[:, None],
    ),
    "numbers for a struct of several types": (
        lambda m: s(m).flagged(fp.vcast(zeros(4, 2), s(m).Flags)),
        "pass a structured array with dtype=m.Name.dtype",
        lambda m: s(m).flagged(np.array([(True, 3), (False, 4)], dtype=s(m).Flags.dtype)),
        F32([3, 0]),
    ),
    "another struct to write into": (
        lambda m: s(m).make(P, {"_type": "A", "position": zeros(4, 3)}),
        "remove '_type', or write 'Ray'",
        lambda m: (
            written(s(m).make, P, {"position": zeros(4, 3)})["position"]
            + written(s(m).make, P, {"_type": "Ray", "position": zeros(4, 3)})["position"]
        ),
        2 * P,
    ),
    "a field for one thread, which all write": (
        lambda m: s(m).make(P, ray(zeros(4, 3), zeros(3))),
        "give it an element per thread",
        lambda m: written(s(m).make, P, ray(zeros(4, 3), zeros(4, 3)))["direction"],
        2 * P,
    ),
    "a member of an interface that is written back": (
        lambda m: s(m).change({"gain": np.ones(2, F32), "shape": square(np.ones(2, F32))}),
        "pass what is only read as a broadcast number",
        lambda m: written(s(m).change, {"gain": np.ones(2, F32), "shape": square(3.0)})["gain"],
        F32([18, 18]),
    ),
    "a struct with an interface that is returned": (
        lambda m: s(m).brighter({"gain": 1.0, "shape": square(1.0)}, 2.0),
        "for an interface, name the concrete struct",
        lambda m: s(m).brighter_square({"gain": X, "shape": {"side": 1.0}}, 2.0)["gain"],
        2 * X,
    ),
    "a list for a vector or an array": (
        lambda m: fused(lambda x: s(m).two([x, 2.0]), X),
        'fp.vcast(w, "float[2]") or fp.vcast(w, "float2")',
        lambda m: fused(lambda x: s(m).two(fp.vcast([x, 2.0], "float2")), X),
        X + 20,
    ),
    "a list for one of two arrays": (
        lambda m: fused(lambda x: s(m).three([x, 2.0]), X),
        'fp.vcast(w, "int[2]") or fp.vcast(w, "float[2]")',
        lambda m: fused(lambda x: s(m).three(fp.vcast([x, 2.0], "float[2]")), X),
        X + 2,
    ),
    "a matrix of one row": (
        lambda m: s(m).row(np.ones((2, 1, 3), F32)),
        "use vectors in the place of matrices of one row or column",
        lambda m: s(m).vector(np.ones((2, 3), F32)),
        np.ones(2, F32),
    ),
    "a list of structs for one struct or an array": (
        lambda m: s(m).either([ray((1, 2, 3), (0, 0, 0)), ray((4, 5, 6), (0, 0, 0))]),
        'fp.vcast(r, "Ray[2]") or fp.Batchable(r)',
        lambda m: s(m).either(fp.vcast([ray((1, 2, 3), (0, 0, 0)), ray((4, 5, 6), (0, 0, 0))], "Ray[2]")),
        4,
    ),
    "a list of structs for one struct or an array, each by itself": (
        lambda m: s(m).either([ray((1, 2, 3), (0, 0, 0)), ray((4, 5, 6), (0, 0, 0))]),
        "or fp.Batchable(r)",
        lambda m: s(m).either(fp.Batchable([ray((1, 2, 3), (0, 0, 0)), ray((4, 5, 6), (0, 0, 0))])),
        [1, 4],
    ),
    "one struct for an array of two": (
        lambda m: s(m).first({"rays": ray((1, 2, 3), (0, 0, 0))}),
        "pass a list of 2 of them",
        lambda m: s(m).first({"rays": [ray((1, 2, 3), (0, 0, 0)), ray((4, 5, 6), (0, 0, 0))]}),
        6,
    ),
    "fields for a number": (
        lambda m: s(m).add({"x": 1.0}, 1.0),
        "pass a value instead of fields",
        lambda m: s(m).add(1.0, 1.0),
        2,
    ),
    "fields for a number by its name": (
        lambda m: s(m).add({"_type": "float", "x": 1.0}, 1.0),
        "pass a value instead of fields",
        lambda m: s(m).add(1.0, 1.0),
        2,
    ),
    "fields of no struct in particular": (
        lambda m: s(m).any_of({"side": 3.0}),
        "say which struct it is: {'_type': '",
        lambda m: s(m).any_of({"_type": "Square", "side": 3.0}),
        9,
    ),
    "a constructor that Slang does not show": (
        lambda m: s(m).Generic(1.0),
        "write a static method that returns the object",
        lambda m: fused(lambda x: s(m).Generic.of(x).x, X),
        X,
    ),
    "a struct as it was": (
        lambda m: reloaded("before"),
        "make it again with dtype=hot.Ray",
        lambda m: reloaded("after"),
        F32([7]),
    ),
    "a file that is gone": (
        lambda m: gone(lambda module: module.reload()),
        "the old source keeps working",
        lambda m: gone(try_reload),
        X,
    ),
    "a member of a number": (
        lambda m: fused(lambda x: x.keys, X),
        "there are none",
        lambda m: fused(lambda x: x, X),
        X,
    ),
    # mappings
    "two axes for a vector": (
        lambda m: s(m).luma(fp.vmap(IMAGE, (0,))),
        "name a grid dimension for each leading axis, and none for those that the type takes in",
        lambda m: s(m).luma(fp.vmap(IMAGE, (0, 1))),
        IMAGE @ F32([0.25, 0.5, 0.25]),
    ),
    "an axis for a number": (
        lambda m: s(m).add(fp.vmap(ramp(2, 3), (0,)), 1.0),
        "name a grid dimension for each leading axis, and none for those that the type takes in",
        lambda m: s(m).add(fp.vmap(ramp(2, 3), (0, 1)), 1.0),
        ramp(2, 3) + 1,
    ),
    "coordinates for a number": (
        lambda m: s(m).add(fp.vcast(fp.grid((3,)), m.int), 1.0),
        "coordinates are integers: say fp.vcast(value, m.float)",
        lambda m: s(m).add(fp.vcast(fp.grid((3,)), m.float), 1.0),
        F32([1, 2, 3]),
    ),
    "five numbers for a vector": (
        lambda m: fused(lambda i: fp.dot(i, i), ramp(1, 2, 5)),
        "slice or reshape it before the call",
        lambda m: fused(lambda i: fp.dot(fp.vcast(i, "float3"), fp.vcast(i, "float3")), ramp(2, 5)[:, :3]),
        (ramp(2, 5)[:, :3] ** 2).sum(1),
    ),
}
