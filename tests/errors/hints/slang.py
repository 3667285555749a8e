"""Programs after hints about Slang's own words: sources, kernels, generics, globals, raw entry points, types of the driver."""

from __future__ import annotations

import copy
import functools
from typing import Any
from unittest import mock

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from fusepy.backend.slang.entry_points import _parameters
from fusepy.backend.slang.session import Session
from fusepy.ir.resolve import questions
from fusepy.testing import Example, check_marshal
from tests.backend.marshals.test_resource import scene
from tests.errors.hints import devices
from tests.errors.hints.devices import sampler
from tests.errors.hints.modules import load_file, written
from tests.errors.hints.resources import texture
from tests.errors.hints.support import Program, X, fused, load, tensor
from tests.support.slang_functions import F32, ramp

SOURCE = """
import fusepy;
float three<T>(T x) { static_assert(sizeof(T) == 3, "odd"); return 0; }
float four<T>(T x) { static_assert(sizeof(T) == 4, "odd"); return 1; }
void made<T : IFloat>(float x, out T y) { y = T(x); }
float several<T : IFloat, U : IFloat>(T a, U b) { return 1; }
float half(float x) { return x / 2; }
namespace ns { float half(float x) { return x / 2; } }
interface IShape { float area(); };
struct Square : IShape { float side; float area() { return side * side; } };
struct Look { Texture2D<float4> image; float gain; };
struct Ray { float3 position; float reach; };
uniform Look look;
uniform Square square;
uniform Texture2D<float4> two[2];
uniform RaytracingAccelerationStructure world;
uniform Tensor<Ray, 1> rays;
float looked(float x) { return look.image.Load(int3(1, 0, 0)).x + look.gain * x; }
float squared(float x) { return square.area() * x; }
float area(IShape s) { return s.area(); }
float of_two(float x) { return two[1].Load(int3(1, 0, 0)).x + x; }
float reach(int i) { return rays[i].reach; }
int hit(float3 from)
{
    RayDesc ray = { from, 0, float3(0, 0, 1), 10 };
    RayQuery<RAY_FLAG_NONE> query;
    query.TraceRayInline(world, RAY_FLAG_NONE, 255, ray);
    query.Proceed();
    return query.CommittedStatus() == COMMITTED_TRIANGLE_HIT ? 1 : 0;
}
float add(float a, float b) { return a + b; }
"""
INTERFACE = "interface IShape { float area(); }; uniform IShape shape; float f(float x) { return shape.area() * x; }"
SINPI = "import fusepy_double;\ndouble f(double x) { return sin(x * 3.141592653589793L); }"
TRUTH = "int f(double x) {{ return {} ? 1 : 2; }}"
OWN_TENSOR = "struct Tensor { float x; };\nfloat at(NDBuffer<float, 1> a, int i) { return a[i]; }"
UNSIZED = "uniform Texture2D<float4> many[{}]; float f(float x) {{ return x; }}"
K = "uniform float k; float %s(float x) { return k * x; }"
TWO_K = "uniform float other; float %s(float x) { return other * x; }"
LIBRARY = "public float g(float x) { return x; } public static const float One = 1;"


@functools.cache
def on(device: Any) -> Any:
    return fp.Module.load_from_source(device, "hint_slang", SOURCE)


def s(m: Any) -> Any:
    return on(m.device)


def one_question(call: Any) -> Any:
    """A call for which Slang is asked at most two questions, in the place of 4096."""
    with mock.patch.object(questions, "MAX_QUESTIONS", 2):
        return call()


def two_globals(m: Any, other: str) -> Any:
    a, b = load("hint_k_a", K % "f"), load("hint_k_b", other % "g")
    return fp.fuse(lambda x: a.f(b.g(x)))


def taken_as_bool(m: Any) -> Any:
    if m.device.raw.info.type.name != "vulkan":
        pytest.skip("other targets have it")
    return load("hint_truth", TRUTH.format("x")).f(np.array([0.5, 0.0]))


def imported(**files: str) -> Any:
    return load_file(written(**files) / "outer.slang").f(X)


class Polar:
    """A point of a user's own class."""

    def __init__(self, radius: float, angle: float):
        self.radius, self.angle = radius, angle


class PolarMarshal:
    """How it is passed: as a vector."""

    returns = "numpy"

    def key(self, value: Polar) -> Any:
        return ("hint_polar",)

    def describe(self, value: Polar) -> Any:
        return fp.Description(fp.Type.parse("float2"), (), "Tensor")

    def place(self, value: Polar, type: Any, device: Any) -> Any:
        at = value.radius * np.cos(value.angle), value.radius * np.sin(value.angle)
        return fp.Tensor.from_numpy(device, F32(at), type)


def registered(m: Any) -> Any:
    fp.register(Polar, PolarMarshal())
    check_marshal(PolarMarshal(), [Example(Polar(2, 0), "float2", [2, 0])])
    return m.where_am_i(Polar(3, 0))


def differentiated(body: str) -> Any:
    source = f"float plain(float x) {{ return x; }} [Differentiable] float f(float x) {{ return {body}; }}"
    x = np.full(2, 0.5, np.float32)
    return fp.grad(lambda x: fp.sum(load("hint_derivative", source).f(x)))(x)


def slope_of(head: str) -> Any:
    """The gradient of a line at 3 by its two numbers, where `height` has this head."""
    m = load("hint_curve", CURVE.replace("$", head))
    return fp.grad(m.height)(np.array([([2, 1],)], m.Line.dtype), 3.0)["k"][0]


def long_name(m: Any) -> Any:
    """A module in a file whose name the system refuses."""
    load = mock.patch.object(Session, "load", lambda self, name, text: self.sgl.load_module_from_source(name, text, "x" * 5000))
    with load:
        return fp.Module.load_from_source(m.device, "hint_long", "float f(float x) { return x; } // long")


def in_pass(m: Any, inside: bool) -> Any:
    """Two calls of which the second reads what the first writes, in one compute pass or behind one another."""
    encoder, device = m.device.sgl.create_command_encoder(), m.device.sgl
    if inside:
        with encoder.begin_compute_pass() as open_pass:
            first = m.add.append_to(open_pass, tensor(X), 1.0)
            m.add.append_to(open_pass, first, 1.0)
    last = m.add.append_to(encoder, m.add.append_to(encoder, tensor(X), 1.0), 1.0)
    device.submit_command_buffer(encoder.finish())
    return last


def renamed(name: str) -> Any:
    """The parameters of ``main`` in the text of an entry point, as CUDA's copy of it declares them."""
    return bool(_parameters(f'[shader("compute")] [numthreads(1, 1, 1)] {name}(uint3 tid : SV_DispatchThreadID) {{}}'))


def other_rays(m: Any, padded: bool) -> Any:
    other = load("hint_other_ray", "struct Ray { float3 position; float reach; float more; };") if padded else s(m)
    rays = np.zeros(3, other.Ray.dtype)
    rays["reach"] = X
    return s(m).reach.set(rays=fp.Tensor.from_numpy(m.device, rays, dtype=other.Ray))(fp.grid((3,)), _result="numpy")


def groups(m: Any, first: int, second: int) -> Any:
    one, other = (m.add.options(numthreads=[n]) for n in (first, second))
    return fused(lambda x: one(other(x, 1.0), 1.0), X)


def moved_block(m: Any) -> Any:
    """A copy of a block of device memory: a second one, with the contents."""
    transfer, block, second = m.device.transfer, m.device.pool.allocate(12), m.device.pool.allocate(12)
    transfer.upload(block.buffer, block.offset, X)
    transfer.upload(second.buffer, second.offset, transfer.download(block.buffer, block.offset, 12).copy())
    return transfer.download(second.buffer, second.offset, 12).view(F32)


def rays_hit(m: Any) -> Any:
    if spy.Feature.ray_query not in m.device.sgl.features:
        pytest.skip("the device traces no rays")
    built = scene(m.device)
    return s(m).hit.set(world=built[0])(fp.vcast(F32([[0.2, 0.2, 0], [9, 9, 0]]), "float3"))


def narrow_sum() -> Any:
    if fp.default_device().target.kind != "software":
        pytest.skip("a GPU adds these few by themselves, without a kernel of such sums")
    return fused(lambda x: fp.sum(fp.vcast(x, "matrix<int16_t,2,2>")), NARROW)


STEP = np.arange(5, dtype=np.int32)
STEPS = "int f(int x) { int c = 0; for (int i = 0; i < 3; i++) c = i + i; return x / $; }"
CURVE = """
interface ICurve : IDifferentiable { [Differentiable] float at(float x); }
struct Line : ICurve { float2 k; [Differentiable] float at(float x) { return k.x * x + k.y; } };
[Differentiable] float height$, float x) { return c.at(x); }
"""
NARROW = np.arange(12, dtype=np.int16).reshape(3, 2, 2)
PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    # components
    "nine numbers for a matrix": (
        lambda m: fp.float3x3(*range(9)),
        "pass the components as one list",
        lambda m: fp.float3x3(list(range(9))).to_numpy(),
        np.arange(9, dtype=F32).reshape(3, 3),
    ),
    "numbers for bools": (
        lambda m: fp.bool2(1, 0),
        "give True or False for each component",
        lambda m: [fp.bool2(True, False).x, fp.bool2(True, False).y],
        [True, False],
    ),
    # sources and kernels
    "an assertion of the user's": (
        lambda m: s(m).three(1.0),
        "mend the Slang source and load it again",
        lambda m: s(m).four(1.0),
        1,
    ),
    "a function of doubles that no module has": (
        lambda m: load("hint_sinpi", "double f(double x) { return sinpi(x); }").f(np.array([0.5])),
        "fusepy_double has no sinpi either: write it by sin, cos or tan of that module, or convert to float first",
        lambda m: load("hint_sinpi", SINPI).f(np.array([0.5, 0.0])),
        np.array([1.0, 0.0]),
    ),
    "a double as a bool": (
        taken_as_bool,
        "write x != 0 for bool(x), in `if (x)`, `!x`, `x && y` and `x ? a : b` too",
        lambda m: load("hint_truth", TRUTH.format("x != 0")).f(np.array([0.5, 0.0])),
        np.array([1, 2], np.int32),
    ),
    "a whole array without the library": (
        lambda m: load("hint_array", OWN_TENSOR).at(X, STEP[1:3]),
        "whole arrays are types of fusepy's Slang library: write import fusepy; in the first line of the module",
        lambda m: load("hint_array", f"import fusepy;\n{OWN_TENSOR}").at(X, STEP[1:3]),
        X[1:3],
    ),
    "a divisor that is 0 before the first step of a loop": (
        lambda m: load("hint_steps", STEPS.replace("$", "c")).f(STEP),
        "if this divisor is 0 only before the first step of a loop, Slang is mistaken: divide by max(d, d) in its place",
        lambda m: load("hint_steps", STEPS.replace("$", "max(c, c)")).f(STEP),
        STEP // 4,
    ),
    "a name of a file that no system takes": (
        long_name,
        "see Slang's message above; other modules still work",
        lambda m: load("hint_short", "float f(float x) { return x; }").f(X),
        X,
    ),
    "the gradient of an interface value with vectors": (
        lambda m: slope_of("(ICurve c"),
        "Slang cannot differentiate an interface value with vectors in it: make the parameter generic, f<T : IFace>(T x)",
        lambda m: slope_of("<C : ICurve>(C c"),
        [3, 1],
    ),
    "the gradient of a function without derivative": (
        lambda m: differentiated("smoothstep(0.0, 1.0, x) * x"),
        "Slang has no derivative of smoothstep: write float t = saturate((x - a) / (b - a)); then t * t * (3 - 2 * t)",
        lambda m: differentiated("x * x * (3 - 2 * x)"),
        1.5 * np.ones(2),
    ),
    "the gradient of floor": (
        lambda m: differentiated("floor(x) + x"),
        "the derivative of floor is 0: write no_diff floor(…)",
        lambda m: differentiated("no_diff floor(x) + x"),
        np.ones(2),
    ),
    "the gradient of a function without the attribute": (
        lambda m: differentiated("plain(x)"),
        "write [Differentiable] before plain, or no_diff plain(…) if the derivative does not depend on it",
        lambda m: differentiated("x + no_diff plain(x)"),
        np.ones(2),
    ),
    "the gradient of a remainder": (
        lambda m: differentiated("x % 0.3"),
        "Slang cannot differentiate % of floats: write fmod(x, y)",
        lambda m: differentiated("fmod(x, 0.3)"),
        np.ones(2),
    ),
    "a name of two libraries": (
        lambda m: imported(outer="import a; import b; public float f(float x) { return One * x; }", a=LIBRARY, b=LIBRARY),
        "two modules declare this name, and a kernel can use one of them; let both import it from a third, or rename it",
        lambda m: (
            imported(
                outer="import a; import b; public float f(float x) { return g(x); }",
                a="__exported import c;",
                b="__exported import c;",
                c=LIBRARY,
            )
            + imported(
                outer="import a; import b; public float f(float x) { return h(x); }",
                a=LIBRARY,
                b=LIBRARY.replace("g(", "h(").replace("One", "Two"),
            )
        ),
        2 * X,
    ),
    "a function that a type hides": (
        lambda m: s(m).half(X),
        "put it into a namespace: m.ns.half; fp.vcast(x, m.half) converts",
        lambda m: s(m).ns.half(X) + np.asarray(fused(lambda x: fp.vcast(fp.vcast(x, s(m).half), m.float), X)),
        X / 2 + X.astype(np.float16),
    ),
    "an output of any type": (
        lambda m: s(m).made(1.0),
        "call a specialisation, e.g. find_function('f<float>')",
        lambda m: s(m).find_function("made<float>")(X),
        X,
    ),
    "too many ways": (
        lambda m: one_question(lambda: s(m).several(ramp(2, 3), ramp(2, 3))),
        "say the types with vcast",
        lambda m: one_question(lambda: s(m).several(fp.vcast(ramp(2, 3), "float"), fp.vcast(ramp(2, 3), "float"))),
        np.ones((2, 3), F32),
    ),
    "a sum of narrow matrices": (
        lambda m: narrow_sum(),
        "take its rows m[0], m[1] by themselves; or convert with vcast to a matrix of int or float",
        lambda m: fused(lambda x: fp.sum(fp.vcast(fp.vcast(x, "matrix<int16_t,2,2>"), "int2x2")), NARROW),
        NARROW.sum(0, dtype=np.int32),
    ),
    "two groups of one kernel": (
        lambda m: groups(m, 32, 64),
        "give both the same, or run them in kernels of their own",
        lambda m: groups(m, 32, 32),
        X + 2,
    ),
    "an entry point that is not found": (
        lambda m: renamed("void  Main"),
        "give it another name: Slang renames it",
        lambda m: renamed("void main"),
        True,
    ),
    # globals
    "two modules with one global": (
        lambda m: two_globals(m, K).set(k=2.0)(X),
        "rename one of them, or let both import it from a third module; a kernel cannot tell them apart",
        lambda m: two_globals(m, TWO_K).set(k=2.0, other=3.0)(X),
        6 * X,
    ),
    "a number for a struct with a texture": (
        lambda m: s(m).looked.set(look=3.0)(X),
        "give a dict or an object",
        lambda m: s(m).looked.set(look={"image": texture(), "gain": 2.0})(X),
        2 * X + ramp(2, 4, 4)[0, 1, 0],
    ),
    "an interface as a global": (
        lambda m: load("hint_interface", INTERFACE).f(X),
        "declare it as a struct that implements IShape, or pass it as an argument",
        lambda m: s(m).squared.set(square={"side": 3.0})(X) + s(m).area({"_type": "Square", "side": X}),
        9 * X + X * X,
    ),
    "an array of textures without a size": (
        lambda m: load("hint_unsized", UNSIZED.format("")).f.set(many=[texture()])(X),
        "declare it with a size, such as [4]",
        lambda m: s(m).of_two.set(two=[texture(), texture()])(X),
        X + ramp(2, 4, 4)[0, 1, 0],
    ),
    "an array of very many textures": (
        lambda m: load("hint_unsized", UNSIZED.format(1 << 17)).f.set(many=3.0)(X),
        "set plain data or resources",
        lambda m: s(m).of_two.set(two=[texture(), texture()])(X),
        X + ramp(2, 4, 4)[0, 1, 0],
    ),
    "a number for a scene": (
        lambda m: s(m).hit.set(world=3.0)(fp.vcast(ramp(2, 3), "float3")),
        "give a Scene",
        rays_hit,
        np.array([1, 0], np.int32),
    ),
    "structs of another module in a global": (
        lambda m: other_rays(m, True),
        "of a struct, the one of this module",
        lambda m: other_rays(m, False),
        X,
    ),
    # classes of users, encoders, blocks
    "what is no marshal": (
        lambda m: fp.register(Polar, 3),
        "see docs/marshals.md, and test it with fusepy.testing.check_marshal",
        registered,
        F32([3, 0]),
    ),
    "a call that reads what another of its pass writes": (
        lambda m: in_pass(m, True),
        "end the pass, and give its command encoder",
        lambda m: in_pass(m, False),
        X + 2,
    ),
    "a sampler that is carried": (
        lambda m: fused(lambda x, t: fp.fori_loop(0, 2, lambda i, c: (c[0] + 1, c[1]), (x, t))[0], X, sampler()),
        "use it in the body without carrying it",
        lambda m: fused(lambda x, t: fp.fori_loop(0, 2, lambda i, c: c + devices.d(m).object(t), x), X, sampler()),
        X + 2,
    ),
    "a copy of a block": (
        lambda m: copy.copy(m.device.pool.allocate(16)),
        "allocate a second block and copy the contents",
        moved_block,
        X,
    ),
    "a copy past the end of a buffer": (
        lambda m: m.device.transfer.upload((b := m.device.pool.allocate(12).buffer), b.size, X),
        "check the extents and the offset of the block",
        moved_block,
        X,
    ),
}
