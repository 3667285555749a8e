# ruff: noqa: E501  (a Slang module is one line)
"""Gradients through any-hit and intersection functions, hit functions that trace rays, and Python stages, against differences."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.rays import need_rays

HELPERS = """
float3 forwards(float3 way) { return normalize(way); }
bool is_hole(float2 at) { return at.x < 0.3f; }
void leave(bool hole) { if (hole) IgnoreHit(); }
"""
SOURCE = """
import fusepy;
import fusepy_rays;
%s
struct Payload : IDifferentiable { float3 color; float gain; no_diff bool seen; };
struct Light : IDifferentiable { float power; };
struct Shadow { float lit; int candidates; };
struct Ball { float3 normal; float height; };
struct Point : IDifferentiable { float3 place; };
RaytracingAccelerationStructure world;
[Differentiable] void missed(inout Payload p) { p.color = sin(p.gain) * abs(WorldRayDirection()); }
void unshadowed(inout Shadow s) { s.lit = 1; }
[Differentiable] void matte(inout Payload p, BuiltInTriangleIntersectionAttributes at)
{
    p.color = p.gain * p.gain * float3(at.barycentrics, InstanceIndex() + 1);
}

void cut(inout Payload p, BuiltInTriangleIntersectionAttributes at)
{
    if (is_hole(at.barycentrics) || p.gain < -1000)
        IgnoreHit();
}
void cut_elsewhere(inout Payload p, BuiltInTriangleIntersectionAttributes at) { leave(at.barycentrics.x < 0.3f); }
void hollow(inout Payload p, Ball at)  // lets one side through
{
    if (at.normal.x * (at.normal.z > 0 ? 1 : -1) > 0 || RayTCurrent() > 100)
        IgnoreHit();
}
void marks(inout Payload p, BuiltInTriangleIntersectionAttributes at) { p.seen = true; }
void first(inout Shadow s, BuiltInTriangleIntersectionAttributes at)
{
    s.candidates++;
    if (is_hole(at.barycentrics))
        IgnoreHit();
    s.lit = 0.25f / s.candidates;
    AcceptHitAndEndSearch();
}

[Differentiable] void round(inout Payload p, Ball at)
{
    p.color = p.gain * sin(p.gain) * at.normal * at.height * RayTCurrent() + HitKind();
}
[Differentiable] void placed(inout Payload p, Point at) { p.color = p.gain * p.gain * at.place; }
float2 distances(float3 origin, float3 way)
{
    float a = dot(way, way), b = dot(origin, way), q = b * b - a * (dot(origin, origin) - 0.64f);
    return q < 0 ? float2(-1) : float2(-b - sqrt(q), -b + sqrt(q)) / a;
}
void ball()
{
    float3 origin = ObjectRayOrigin(), way = ObjectRayDirection();
    float2 t = distances(origin, way);
    for (int i = 0; i < 2; i++)
    {
        Ball hit = { normalize(origin + t[i] * way), PrimitiveIndex() + 1.5f };
        if (t[i] > 0 && ReportHit(t[i], 3, hit))
            return;
    }
}
void point()
{
    float t = distances(ObjectRayOrigin(), ObjectRayDirection()).x;
    Point hit = { ObjectRayOrigin() + t * ObjectRayDirection() };
    ReportHit<Point>(t, 0, hit);
}

[Differentiable] float3 traced(no_diff float3 way, float gain, int depth)
{
    Payload next = {};
    next.gain = gain;
    TraceRay(world, 0, 0xff, 0, 0, 0, ray_from(WorldRayOrigin() + RayTCurrent() * WorldRayDirection(), way, 1e-3f), next);
    return next.color;
}
[Differentiable] float traced(no_diff float3 way)
{
    Shadow s = {};
    s.lit = 1;
    TraceRay(world, RAY_FLAG_SKIP_CLOSEST_HIT_SHADER, 0xff, 1, 1, 1, ray_from(WorldRayOrigin(), way), s);
    return s.lit;
}
[Differentiable] void mirror(inout Payload p, BuiltInTriangleIntersectionAttributes at)
{
    if (abs(p.gain) < 1.5f)  // after some reflections
    {
        p.color = float3(p.gain);
        return;
    }
    float gain = p.gain;
    uint index = InstanceIndex();  // lavapipe forgets it in the next line
    float3 color = traced(forwards(float3(0.1f, 0.2f, 1)), gain * 0.7f, 0) * gain;
    p.color = color + index * gain + traced(float3(0, 0.1f, -1)) * gain * gain;
}
[Differentiable]
float3 look(no_diff float3 from, float gain)
{
    Payload p = {};
    p.gain = gain;
    TraceRay(world, 0, 0xff, 0, 1, 0, ray_from(from, float3(0, 0, -1)), p);
    float3 color = p.color;
    p.gain = 3 * gain;
    TraceRay(world, 0, 0xff, 0, 1, 0, ray_from(from + float3(0.1f, 0.3f, 0), float3(0, 0, -1)), p);
    return color * p.color + color;
}
[Differentiable] void squared(inout Light l) { l.power = l.power * l.power; }
[Differentiable] void risen(inout Light l) { l.power = sin(l.power); }
[Differentiable] void lit(inout Payload p, BuiltInTriangleIntersectionAttributes at)
{
    Light l = { p.gain + at.barycentrics.x };
    CallShader(PrimitiveIndex() & 1, l);
    p.color = l.power * float3(1, 2, 3);
    CallShader(2, l);
    p.color += l.power;
}
[Differentiable] float3 tone(float3 x) { return x / (1 + x * x); }
struct Tracer { [Differentiable] float3 once(no_diff float3 way, float gain) { return traced(way, gain, 0); } };
[Differentiable] void by_method(inout Payload p, BuiltInTriangleIntersectionAttributes at)
{
    Tracer t;
    p.color = t.once(float3(0, 0, 1), p.gain);
}
"""
RNG = np.random.default_rng(8)
CORNERS = RNG.uniform(-1, 1, (60, 3)).astype(np.float32)
ORIGINS = np.concatenate([RNG.uniform(-1, 1, (200, 2)), np.full((200, 1), 3)], axis=1).astype(np.float32)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    need_rays(device)
    return fp.Module.load_from_source(device, "deeper_slopes", SOURCE % HELPERS)


@pytest.fixture(scope="module")
def scenes(m: Any) -> dict[str, Any]:
    apart = np.eye(3, 4, dtype=np.float32)
    apart[2, 3] = -2.5
    boxes = fp.Boxes(np.float32([[-1, -1, -1], [-1, 0, -3]]), np.float32([[1, 1, 1], [1, 1, -2]]), opaque=False, device=m.device)
    solid, holes = fp.Mesh(CORNERS, device=m.device), fp.Mesh(CORNERS, opaque=False, device=m.device)
    return {
        "solid": fp.Scene([solid, fp.Instance(solid, apart)]),
        "holes": fp.Scene([holes, fp.Instance(holes, apart)]),
        "flat": fp.Scene(fp.Mesh(CORNERS * np.float32([1, 1, 0]), opaque=False, device=m.device)),  # no ray comes back to it
        "boxes": fp.Scene(boxes),
        "balls": fp.Scene([boxes, fp.Instance(holes, apart, hit_group=1)]),
    }


def loss_of(m: Any, f: Any) -> Any:
    return lambda gain: fp.mean(fp.dot(m.tone(f(fp.vcast(ORIGINS, "float3"), gain)), np.float32([1, 0.5, 0.25])))


def check(loss: Any, at: float = 0.7) -> None:
    """The gradient by reverse and by forward mode, and that of a fused program with the value, against differences."""
    value, slope = fp.value_and_grad(loss)(at)
    apart = (float(loss(at + 3e-3)) - float(loss(at - 3e-3))) / 6e-3
    assert abs(apart) > 1e-2
    assert value == pytest.approx(float(loss(at)), rel=1e-4)
    assert slope == pytest.approx(apart, rel=2e-2)
    assert fp.jvp(loss, (at,), (1.0,))[1] == pytest.approx(slope, rel=1e-3)
    assert fp.fuse(lambda x: fp.grad(loss)(x) * loss(x))(at) == pytest.approx(slope * value, rel=1e-3)


@pytest.mark.req("R5", "R1")
@pytest.mark.parametrize(
    ("scene", "stages"),
    [
        ("holes", {"closesthit": "matte", "anyhit": "cut"}),
        ("balls", {"closesthit": {"a": "round", "b": "matte"}, "intersection": {"a": "ball"}, "anyhit": {"b": "cut"}}),
        ("balls", {"closesthit": {"a": "round", "b": "matte"}, "intersection": {"a": "ball"}, "anyhit": {"a": "hollow"}}),
        ("balls", {"closesthit": {"a": "placed", "b": "matte"}, "intersection": {"a": "point"}}),
    ],
    ids=["any-hit", "intersection beside any-hit", "any-hit of a shape", "attributes with a derivative"],
)
def test_functions_that_decide_about_hits(m: Any, scenes: Any, scene: str, stages: Any) -> None:
    look = fp.ray_gen(m, "look", miss="missed", **stages).set(world=scenes[scene])
    check(loss_of(m, look))


@pytest.mark.req("R5", "R1")
@pytest.mark.parametrize("anyhit", [None, {"b": "first"}], ids=["solid", "any-hit"])
def test_hit_functions_that_trace_rays(m: Any, scenes: Any, anyhit: Any) -> None:
    look = fp.ray_gen(m, "look", miss=["missed", "unshadowed"], closesthit={"a": "mirror", "b": None}, anyhit=anyhit)
    look = look.set(world=scenes["holes" if anyhit else "solid"]).options(hit_groups=["a", "b"], max_recursion=3)
    check(loss_of(m, look), at=0.8)


@pytest.mark.rest
@pytest.mark.req("R5", "R1")
def test_callable_functions(m: Any, scenes: Any) -> None:
    halved = fp.fuse(lambda power: {"power": 0.5 * power * power})
    look = fp.ray_gen(m, "look", miss="missed", closesthit="lit", callable=["squared", "risen", halved]).set(
        world=scenes["solid"]
    )
    check(loss_of(m, look))


@pytest.mark.rest
@pytest.mark.req("R5", "R1")
def test_rays_that_are_too_deep_are_an_error_in_gradients(m: Any, scenes: Any) -> None:
    look = fp.ray_gen(m, "look", miss=["missed", "unshadowed"], closesthit={"a": "mirror", "b": None})
    loss = loss_of(m, look.set(world=scenes["solid"]).options(hit_groups=["a", "b"], max_recursion=2))
    for f in (fp.grad(loss), fp.fuse(lambda x: fp.grad(loss)(x) * loss(x)), lambda x: fp.jvp(loss, (x,), (1.0,))):
        with pytest.raises(fp.ArgumentError, match="past the recursion of this pipeline"):
            f(4.0)


@pytest.mark.req("R5", "R1")
@pytest.mark.parametrize("deeper", [False, True], ids=["shading", "rays"])
def test_python_stages(m: Any, scenes: Any, deeper: bool) -> None:
    @fp.fuse
    def shade(gain: Any, barycentrics: Any, instance_index: Any, ray_t_current: Any) -> Any:
        color = fp.float3(gain * fp.sin(fp.tanh(gain)), gain * barycentrics.x, fp.where(instance_index > 0, gain, ray_t_current))
        return {"color": m.tone(color)}

    @fp.fuse
    def mirrored(payload: "Payload", instance_index: Any) -> Any:  # type: ignore[name-defined]  # noqa: F821, UP037
        return {"color": m.traced(fp.float3(0.1, 0.2, 1), payload.gain * 0.7, 0) * payload.gain + instance_index * payload.gain}

    @fp.fuse
    def missed(gain: Any, world_ray_direction: Any) -> Any:
        return {"color": gain * world_ray_direction, "gain": 0.0}

    keep = fp.fuse(lambda barycentrics: barycentrics.x >= 0.3)
    look = fp.ray_gen(m, "look", miss=missed, closesthit=mirrored if deeper else shade, anyhit=keep)
    scene, recursion = ("flat", 2) if deeper else ("holes", 1)
    check(loss_of(m, look.set(world=scenes[scene]).options(max_recursion=recursion)))


@pytest.mark.req("R5")
@pytest.mark.parametrize(
    ("stages", "words"),
    [
        ({"anyhit": "marks"}, "the any-hit function marks changes its payload, which has a derivative"),
        ({"anyhit": "cut_elsewhere"}, "cut_elsewhere decides about a hit in a function that it calls"),
        ({"closesthit": "by_method"}, "by_method traces rays in a method, a namespace, a macro"),
        ({"miss": fp.fuse(lambda gain: {"gain": fp.fori_loop(0, 3, lambda i, c: c * 2, gain)})}, "with a loop or a branch"),
    ],
)
def test_what_has_no_derivative_is_named(m: Any, scenes: Any, stages: Any, words: str) -> None:
    given = {"miss": "missed", "closesthit": "matte", **stages}
    look = fp.ray_gen(m, "look", **given).set(world=scenes["holes"]).options(max_recursion=3)
    with pytest.raises(fp.GradientError, match=words) as caught:
        fp.grad(loss_of(m, look))(0.7)
    assert caught.value.hint


SMALL = """
import fusepy;
import fusepy_rays;
struct Payload : IDifferentiable { float3 color; float gain; no_diff float seen; };
RaytracingAccelerationStructure world;
%s
[Differentiable] float3 look(no_diff float3 from, float gain)
{
    Payload p = {};
    p.gain = gain;
    TraceRay(world, FLAGS, 0xff, 0, 1, 0, ray_from(from, float3(0, 0, -1)), p);
    return p.color * p.gain;
}
[Differentiable] float3 tone(float3 x) { return x / (1 + x * x); }
"""
CUT = "void cut(inout Payload p, BuiltInTriangleIntersectionAttributes at)"
HIT = "[Differentiable] void hit(inout Payload p, BuiltInTriangleIntersectionAttributes at)"
MATTE = HIT + " { p.color = p.gain * p.gain * float3(at.barycentrics, 1); }"
DEEPER = """
[Differentiable] void missed(inout Payload p) { p.color = p.gain; }
[Differentiable] float3 shade(float gain)
{
    Payload q = {};
    q.gain = gain;
#ifdef NEVER
    q.gain *= 3;
#else
    q.gain *= 2;
#endif
    TraceRay(world, 0, 0xff, 0, 1, 0, ray_from(WorldRayOrigin() + RayTCurrent() * WorldRayDirection(), float3(0, 0, 1), 1e-3f), q);
    return q.color;
}
"""


def small(m: Any, text: str, scene: Any, flags: int = 0, **stages: Any) -> Any:
    module = fp.Module.load_from_source(m.device, f"small_{abs(hash(text)) % 10**8}", SMALL.replace("FLAGS", str(flags)) % text)
    look = fp.ray_gen(module, "look", **{"closesthit": "hit", **stages}).set(world=scene)
    return loss_of(module, look.options(max_recursion=2 if "shade" in text else 1))


@pytest.mark.rest
@pytest.mark.req("R5")
@pytest.mark.parametrize(
    ("text", "scene", "stages"),
    [
        (f"#if 0\n{CUT} {{ IgnoreHit(); }}\n#else\n{CUT} {{ if (at.barycentrics.x < 0.3f) return IgnoreHit(); }}\n#endif\n{MATTE}", "holes", "cut"),
        (f"#define K 0.3f\n{CUT} {{ if (at.barycentrics.x < K) IgnoreHit(); }}\n#undef K\n#define K 0.9f\n{MATTE}", "holes", "cut"),
        (f"{DEEPER} {HIT} {{ p.color = shade(p.gain) * p.gain; }}", "flat", "missed"),
        (
            "[Differentiable] void hit(inout Payload p, BuiltInTriangleIntersectionAttributes at)"
            " { p.color = p.gain * p.gain * (1 + RayTCurrent() + HitKind() + at.barycentrics.x); }"
            "void box() { BuiltInTriangleIntersectionAttributes at; at.barycentrics = ObjectRayOrigin().xy;"
            " if (ObjectRayOrigin().x > 0) ReportHit(2.5f, 2, at); else ReportHit(3.0f, 1, at); }",
            "boxes",
            "box",
        ),
    ],
    ids=["branches of the preprocessor", "macros that change", "branches in functions that trace", "barycentrics of shapes"],
)  # fmt: skip
def test_copies_are_what_their_originals_are(m: Any, scenes: Any, text: str, scene: str, stages: str) -> None:
    kinds = {"cut": "anyhit", "missed": "miss", "box": "intersection"}
    check(small(m, text, scenes[scene], **{kinds[stages]: stages}))


@pytest.mark.rest
@pytest.mark.req("R5")
def test_a_ray_that_accepts_the_first_hit_takes_the_first_report(m: Any, scenes: Any) -> None:
    text = """
    struct A { float x; };
    [Differentiable] void hit(inout Payload p, A at) { p.color = p.gain * p.gain * (RayTCurrent() + 10 * HitKind()); }
    void box() { A a = { 1 }; ReportHit(3.0f, 1, a); ReportHit(2.5f, 2, a); }
    """
    check(small(m, text, scenes["boxes"], flags=4, intersection="box"))


@pytest.mark.rest
@pytest.mark.req("R1", "R5")
def test_groups_share_an_intersection_function_and_not_what_decides(m: Any) -> None:
    """lavapipe ran the any-hit function of the first group for both, here none."""
    text = """
    struct A { float x; };
    [Differentiable] void missed(inout Payload p) { p.color = p.gain; }
    [Differentiable] void hit(inout Payload p, A at) { p.color = p.gain * p.gain * 3; }
    void none(inout Payload p, A at) { IgnoreHit(); }
    void box() { A a = { 1 }; ReportHit(3.0f, 1, a); }
    """
    boxes, apart = fp.Boxes([[-1, -1, -1]], [[0, 1, 1]], opaque=False, device=m.device), np.eye(3, 4, dtype=np.float32)
    apart[0, 3] = 1
    scene = fp.Scene([boxes, fp.Instance(boxes, apart, hit_group=1)])
    module = fp.Module.load_from_source(m.device, "small_shared", SMALL.replace("FLAGS", "0") % text)
    groups = [fp.HitGroup(closesthit="hit", intersection="box"), fp.HitGroup(closesthit="hit", anyhit="none", intersection="box")]
    look = fp.ray_gen(module, "look", miss="missed").options(hit_groups=groups).set(world=scene)
    wanted = np.where(ORIGINS[:, 0] < 0, 3 * 0.7**3, 0.7**2)
    np.testing.assert_allclose(np.asarray(look(fp.vcast(ORIGINS, "float3"), 0.7))[:, 0], wanted, rtol=1e-5)
    check(loss_of(module, look))


@pytest.mark.rest
@pytest.mark.req("R5")
def test_operations_of_python_stages(m: Any, scenes: Any) -> None:
    """A constant stays one, and functions that keep NaN have a derivative here, too."""

    @fp.fuse
    def hit(gain: Any) -> Any:
        bent = fp.smoothstep(0.0, 1.0, gain) * fp.maximum(gain, 0.1) + fp.clip(gain, 0.0, 0.9)
        return {"color": fp.float3(1, 2, 3) * bent * fp.stop_gradient(gain)}

    loss = small(m, "", scenes["solid"], closesthit=hit)
    plain = fp.fuse(lambda x: (fp.smoothstep(0.0, 1.0, x) * x + x) * fp.stop_gradient(x) * x)
    ratio = float(loss(0.7)) / float(plain(0.7))
    hits = fp.grad(
        small(m, "", scenes["solid"], closesthit=fp.fuse(lambda gain: {"color": fp.stop_gradient(fp.float3(1, 1, 1) * gain)}))
    )
    assert 0.1 < ratio < 2
    assert float(hits(0.7)) != 0  # by the ray generation only
    text = f"[Differentiable] float3 bent(float x) {{ float t = clamp(x, 0, 1); return float3(1, 2, 3) * (t * t * (3 - 2 * t) * x + min(x, 0.9f)) * detach(x); }} {HIT} {{ p.color = bent(p.gain); }}"
    assert float(fp.grad(loss)(0.7)) == pytest.approx(float(fp.grad(small(m, text, scenes["solid"]))(0.7)), rel=1e-4)


@pytest.mark.rest
@pytest.mark.req("R5")
@pytest.mark.parametrize(
    ("text", "stages", "words"),
    [
        (f"{CUT} {{ static uint n = 0; if (n++ < 2) IgnoreHit(); }} {MATTE}", {"anyhit": "cut"}, "uses the static variable n"),
        (f"static uint seed; uint next() {{ return seed++; }}\n#define NEXT next()\n{HIT} {{ p.color = p.gain * NEXT; }}", {}, "the static variable seed"),
        (f"#define PAYLOAD inout Payload p\nvoid cut(PAYLOAD, BuiltInTriangleIntersectionAttributes at) {{ p.seen += 1; }} {MATTE}", {"anyhit": "cut"}, "do not show an inout payload"),
        (f"{DEEPER} namespace n {{ [Differentiable] float3 shade(int k) {{ return k; }} }} using namespace n; {HIT} {{ p.color = shade(p.gain) + shade(3); }}", {"miss": "missed"}, "is also declared in another file, a namespace"),
        (f"{DEEPER}\n#define COLOR(g) shade(g)\n{HIT} {{ p.color = COLOR(p.gain); }}", {"miss": "missed"}, "hit traces rays in a method, a namespace, a macro"),
        ("struct A { float3 n; }; struct B { float3 n; }; void box() { A a = { float3(1) }; ReportHit(2.5f, 2, a); } [Differentiable] void hit(inout Payload p, B at) { p.color = p.gain * at.n; }", {"intersection": "box"}, "box reports attributes of another type"),
        (f"{HIT} {{ p.color = float3(1); p.color.x = smoothstep(0.0f, 1.0f, p.gain); }}", {}, "calls smoothstep, which has no derivative in Slang"),
        ("", {"closesthit": fp.fuse(lambda gain: {"color": fp.float3(1, 1, 1) * fp.expm1(gain)})}, "Python functions call fz0_expm1"),
    ],
)  # fmt: skip
def test_what_a_copy_could_not_keep_is_refused(m: Any, scenes: Any, text: str, stages: Any, words: str) -> None:
    scene = scenes["boxes"] if "intersection" in stages else scenes["holes"]
    with pytest.raises(fp.GradientError, match=words) as caught:
        fp.grad(small(m, text, scene, **stages))(0.7)
    assert caught.value.hint
    assert "fz_p" not in str(caught.value)


@pytest.mark.rest
@pytest.mark.req("R5")
def test_functions_in_other_files(m: Any, scenes: Any, tmp_path: Path) -> None:
    """Helpers may be anywhere; the decision about a hit stands in the module itself. Entry points in imports are functions."""
    payload = SMALL.partition("RaytracingAccelerationStructure")[0]
    (tmp_path / "stages.slang").write_text(f'{payload} [shader("closesthit")] {MATTE}')
    (tmp_path / "look.slang").write_text(
        SMALL.replace(payload, "import stages;\nimport fusepy_rays;\n").replace("FLAGS", "0") % ""
    )
    marked = fp.Module.load_from_file(m.device, str(tmp_path / "look.slang"))
    check(loss_of(marked, fp.ray_gen(marked, "look", closesthit="hit").set(world=scenes["solid"])))
    (tmp_path / "helpers.slang").write_text(HELPERS)
    (tmp_path / "main.slang").write_text(SOURCE % "import helpers;")
    split = fp.Module.load_from_file(m.device, str(tmp_path / "main.slang"))
    wanted = None
    for module in (m, split):
        look = fp.ray_gen(module, "look", miss="missed", closesthit="matte", anyhit="cut").set(world=scenes["holes"])
        found = float(fp.grad(partial(loss_of(module, look)))(0.7))
        wanted = found if wanted is None else wanted
        assert found == pytest.approx(wanted, rel=1e-5)
