"""Ray-tracing pipelines: called in every way, with several groups and ray types, and refused where they cannot work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.rays import moved, nearest, need_rays

SEED = """
struct Payload { float3 color; };
RaytracingAccelerationStructure tlas;

void missed(inout Payload payload)
{
    payload.color = float3(0, 0, 0);
}

void hit(inout Payload payload, BuiltInTriangleIntersectionAttributes attribs)
{
    payload.color = float3(attribs.barycentrics, 0);
}

void ray_gen(uint2 pixel, out float4 color)
{
    uint2 dim = DispatchRaysDimensions().xy;
    float2 uv = float2(pixel) / float2(dim);

    RayDesc ray;
    ray.Origin = float3(uv * 2 - 1, 1);
    ray.Direction = float3(0, 0, -1);
    ray.TMin = 0;
    ray.TMax = 2;

    Payload payload = {};
    TraceRay(tlas,0,0xff,0,0,0,ray,payload);
    color = float4(payload.color, 1.f);
}
"""
SOURCE = """
import fusepy_rays;
struct Payload { float3 color; float t; };
struct Shadow { float lit; };
struct Sphere { float3 normal; };
struct Data { float x; };
RaytracingAccelerationStructure tlas;
uniform float3 sky;
StructuredBuffer<float3> albedo;
[shader("miss")] void missed(inout Payload payload) { payload.color = sky; payload.t = -1; }
void unshadowed(inout Shadow shadow) { shadow.lit = 1; }
[shader("closesthit")]
void matte(inout Payload payload, in BuiltInTriangleIntersectionAttributes at)
{ payload.color = albedo[InstanceID()]; payload.t = RayTCurrent(); }
void numbered(inout Payload payload, BuiltInTriangleIntersectionAttributes at)
{ payload.color = float3(PrimitiveIndex(), InstanceIndex(), 7); payload.t = RayTCurrent(); }
void holes(inout Payload payload, BuiltInTriangleIntersectionAttributes at) { if ((PrimitiveIndex() & 1) != 0) IgnoreHit(); }
void dark(inout Shadow shadow, BuiltInTriangleIntersectionAttributes at) { shadow.lit = 0.25; }
void mirror(inout Payload payload, BuiltInTriangleIntersectionAttributes at)
{
    Payload next = {};
    float3 here = WorldRayOrigin() + RayTCurrent() * WorldRayDirection();
    TraceRay(tlas, 0, 0xff, 0, 0, 0, ray_from(here, float3(0, 0, 1), 0.01), next);
    payload.color = next.color + 1;
    payload.t = RayTCurrent();
}
void sphere()
{
    float3 o = ObjectRayOrigin(), d = ObjectRayDirection();
    float a = dot(d, d), b = dot(o, d), root = b * b - a * (dot(o, o) - 1);
    Sphere found = { o + (-b - sqrt(root)) / a * d };
    if (root >= 0)
        ReportHit((-b - sqrt(root)) / a, 0, found);
}
void on_sphere(inout Payload payload, Sphere at) { payload.color = at.normal; payload.t = RayTCurrent(); }
void twice(inout Data data) { data.x *= 2; }
void thrice(inout Data data) { data.x *= 3; }
float4 look(float3 from, float3 way)
{
    Payload payload = {};
    TraceRay(tlas, 0, 0xff, 0, 0, 0, ray_from(from, way), payload);
    return float4(payload.color, payload.t);
}
float2 both(float3 from)
{
    Payload payload = {};
    Shadow shadow = {};
    TraceRay(tlas, 0, 0xff, 0, 0, 0, ray_from(from, float3(0, 0, -1)), payload);
    TraceRay(tlas, 0, 0xff, 1, 0, 1, ray_from(from, float3(0, 0, -1)), shadow);
    return float2(payload.t, shadow.lit);
}
float called(float x, int which) { Data data = { x }; CallShader(which, data); return data.x; }
float3 tone(float3 c) { return c / (1 + c); }
void untyped(Payload payload) {}
float number(inout Payload payload) { return 1; }
"""
DOWN = np.float32([0, 0, -1])


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    need_rays(device)
    return fp.Module.load_from_source(device, "pipelines", SOURCE)


@pytest.fixture(scope="module")
def world(m: Any) -> Any:
    """Two instances of a soup, the origins of rays, and what the rays meet: distance, instance and triangle."""
    rng = np.random.default_rng(8)
    triangles = rng.uniform(-1, 1, (30, 3, 3)).astype(np.float32)
    places = np.float32([np.eye(3, 4), np.eye(3, 4)])
    places[1, 0, 3] = 2
    mesh = fp.Mesh(triangles.reshape(-1, 3), device=m.device)
    scene = fp.Scene([fp.Instance(mesh, place, id=1 - i) for i, place in enumerate(places)])
    origins = np.float32(np.concatenate([rng.uniform((-1, -1), (3, 1), (400, 2)), np.full((400, 1), 3)], axis=1))
    parts = [nearest(moved(triangles, p), origins, DOWN) for p in places]
    t = np.stack([part[0] for part in parts])
    instance = np.where(t.min(axis=0) < 1e29, t.argmin(axis=0), -1)
    return scene, origins, t.min(axis=0), instance, np.where(instance == 1, parts[1][1], parts[0][1])


@pytest.fixture(scope="module")
def look(m: Any, world: Any) -> Any:
    colors = np.float32([[1, 2, 3], [4, 5, 6]])
    made = fp.ray_gen(m, "look", miss="missed", closesthit="matte")
    return made.set(tlas=world[0], sky=[0.25, 0.5, 0.75], albedo=colors)


def looked(world: Any) -> Any:
    _, _, t, instance, _ = world
    colors = np.float32([[4, 5, 6], [1, 2, 3], [0.25, 0.5, 0.75]])[instance]
    return np.concatenate([colors, np.where(instance < 0, -1, t)[:, None]], axis=1)


def same(got: Any, wanted: Any) -> bool:
    """True but for rays on edges."""
    close = np.isclose(np.asarray(got), wanted, rtol=1e-3, atol=1e-4)
    return bool(close.reshape(len(close), -1).all(axis=1).mean() > 0.99)


@pytest.mark.req("R1")
def test_the_program_of_the_seed_runs_as_it_is_written(device: Any) -> None:
    need_rays(device)
    module = fp.Module.load_from_source(device, "raytrace", SEED)
    my_tlas = fp.Scene(fp.Mesh([[-1, -1, 0], [1, -1, 0], [-1, 1, 0]], device=device))
    usage = spy.TextureUsage.unordered_access | spy.TextureUsage.shader_resource
    texture = device.sgl.create_texture(width=8, height=4, format=spy.Format.rgba32_float, usage=usage)
    ray_gen = fp.get_ray_gen(module, "ray_gen", miss="missed", closesthit="hit")
    ray_gen = ray_gen.set({"tlas": my_tlas}).options(hit_groups=["hit"], max_recursion=1, max_payload_size=12)
    ray_gen.call(pixel=fp.grid((4, 8)), color=texture)
    v, u = np.mgrid[0:4, 0:8] / np.reshape([4, 8], (2, 1, 1))
    inside = u + v <= 1
    wanted = np.stack([u * inside, v * inside, 0 * u, 0 * u + 1], axis=-1)
    edge = np.isclose(u + v, 1)
    assert np.allclose(texture.to_numpy()[~edge], wanted[~edge], atol=1e-6)
    tensor = ray_gen(fp.grid((4, 8)))
    assert tensor.shape == (4, 8)
    assert np.array_equal(tensor.to_numpy(), texture.to_numpy())


@pytest.mark.req("R1", "V1")
def test_a_ray_generation_is_called_like_any_function(m: Any, world: Any, look: Any) -> None:
    """With arrays, tensors, dicts and mapped arguments; results as arrays, tensors, textures; over grids of any rank."""
    origins, wanted = world[1], looked(world)
    assert same(look(origins, DOWN), wanted)
    tensor = fp.Tensor.from_numpy(m.device, origins, "float3")
    assert same(look(tensor, DOWN).to_numpy(), wanted)
    grid = look(origins.reshape(2, 1, 20, 10, 3), DOWN)
    assert grid.shape == (2, 1, 20, 10, 4)
    assert same(grid.reshape(400, 4), wanted)
    ways = np.float32([DOWN, [0, 0, 1]])
    crossed = look(fp.vmap(tensor, 1), fp.vmap(fp.Tensor.from_numpy(m.device, ways, "float3"), 0)).to_numpy()
    assert same(crossed[0], wanted)
    assert (crossed[1, :, 3] == -1).all()
    into = fp.Tensor.empty(m.device, 400, "float4")
    look(tensor, DOWN, _result=into)
    assert same(into.to_numpy(), wanted)
    usage = spy.TextureUsage.unordered_access | spy.TextureUsage.shader_resource
    image = m.device.sgl.create_texture(width=20, height=20, format=spy.Format.rgba32_float, usage=usage)
    look(origins.reshape(20, 20, 3), DOWN, _result=image)
    assert same(image.to_numpy().reshape(400, 4), wanted)
    assert same(look([float(x) for x in origins[0]], DOWN)[None], wanted[:1]) or world[3][0] < 0
    assert look(np.zeros((0, 3), np.float32), DOWN).shape == (0, 4)


@pytest.mark.req("R1", "F1")
def test_what_follows_element_by_element_runs_in_the_kernel_of_the_rays(m: Any, world: Any, look: Any) -> None:
    origins, wanted = world[1], looked(world)
    toned = fp.fuse(lambda o: m.tone(look(o + 0.0, DOWN).xyz) * 2)
    assert same(toned(origins), 2 * wanted[:, :3] / (1 + wanted[:, :3]))
    assert toned.explain(origins).kernels == 1
    mean = fp.fuse(lambda o: fp.mean(look(o, DOWN) * 2.0, axis=0) + 1.0)
    assert np.allclose(mean(origins), wanted.mean(axis=0) * 2 + 1, rtol=0.02)
    assert mean.explain(origins).kernels == 2
    assert "traces rays" in str(mean.explain(origins))
    behind = fp.fuse(lambda o: look(look(o, DOWN).xyz * 0.0 + o, DOWN) - look(o, DOWN))  # three, of which one needs another
    assert np.abs(behind(origins)).max() == 0
    beside = fp.fuse(lambda o, x: (look(o, DOWN).w, fp.sqrt(x)))
    rays, roots = beside(origins, np.float32([4, 9]))
    assert same(rays, wanted[:, 3])
    assert roots.tolist() == [2, 3]
    steps = fp.fuse(lambda o: fp.fori_loop(0, 3, lambda i, t: t + look(o, DOWN).w, 0.0 * o[:, 0]))
    assert same(steps(origins), 3 * wanted[:, 3])


@pytest.mark.req("R1", "G1")
def test_rays_run_lazily_in_graphs_and_in_encoders(m: Any, world: Any, look: Any) -> None:
    origins, wanted = world[1], looked(world)
    with fp.lazy():
        doubled = look(origins, DOWN) * 2.0
    assert same(doubled, 2 * wanted)
    graph = fp.Graph(inputs=["eye", "way"])
    graph.set_outputs(look.node()(*graph.get_inputs()) * 2.0)
    assert same(graph(origins, DOWN), 2 * wanted)
    encoder = m.device.sgl.create_command_encoder()
    recorded = look.append_to(encoder, origins, DOWN)
    m.device.sgl.submit_command_buffer(encoder.finish())
    assert same(recorded.to_numpy(), wanted)
    called, encoder = fp.ray_gen(m, "called", callable="twice"), m.device.sgl.create_command_encoder()
    opened = encoder.begin_compute_pass()
    with pytest.raises(fp.ArgumentError, match="needs a pass of another kind"):
        called.append_to(opened, 1.0, 0)
    opened.end()


@pytest.mark.req("R1")
def test_instances_choose_hit_groups_and_rays_choose_types(m: Any, world: Any) -> None:
    scene, origins, t, instance, triangle = world
    mesh = scene.instances[0].geometry
    groups = {"matte": "matte", "numbered": "numbered"}
    shown = [fp.Instance(i.geometry, i.transform, hit_group=n) for n, i in enumerate(scene.instances)]
    make = fp.ray_gen(m, "look", miss="missed", closesthit=groups)
    several = make.set(tlas=fp.Scene(shown), sky=[0, 0, 0], albedo=np.float32([[9, 9, 9]] * 2))
    got = several(origins, DOWN)[instance >= 0]
    wanted = np.where(instance == 1, triangle, 9)[instance >= 0]
    assert same(got[:, :1], wanted[:, None])
    swapped = several.options(hit_groups=["numbered", "matte"])(origins, DOWN)[instance >= 0]
    assert same(swapped[:, :1], np.where(instance == 0, triangle, 9)[instance >= 0][:, None])
    rows = [fp.HitGroup(closesthit="matte"), fp.HitGroup(closesthit=m.dark)]
    types = fp.ray_gen(m, "both", miss=["missed", "unshadowed"], hit_groups=rows)
    types = types.set(tlas=scene, sky=[0, 0, 0], albedo=np.float32([[9, 9, 9]] * 2))
    assert same(types(origins), np.stack([np.where(instance < 0, -1, t), np.where(instance < 0, 1, 0.25)], axis=1))
    with pytest.raises(fp.ArgumentError, match="names a hit group that does not exist"):
        fp.ray_gen(m, "look", miss="missed", closesthit="numbered").set(tlas=fp.Scene(shown), sky=[0, 0, 0])(origins, DOWN)
    glass = fp.Mesh(np.repeat(np.float32([[-1, -1, 0], [3, -1, 0], [-1, 3, 0]])[None], 2, 0).reshape(-1, 3), opaque=False)
    open_ = fp.ray_gen(m, "look", miss="missed", closesthit="numbered", anyhit="holes").set(tlas=fp.Scene(glass), sky=[0, 0, 0])
    assert open_([0.1, 0.1, 1.0], DOWN)[0] == 0  # triangle 1 is ignored wherever it comes first
    assert mesh.device is m.device


@pytest.mark.req("R1")
def test_instances_choose_hit_groups_by_name(m: Any, world: Any) -> None:
    scene, origins, _, instance, triangle = world
    shown = [fp.Instance(i.geometry, i.transform, hit_group=("matte", "numbered")[n]) for n, i in enumerate(scene.instances)]
    named, albedo = fp.Scene(shown), np.float32([[9, 9, 9]] * 2)
    here = fp.ray_gen(m, "look", miss="missed", closesthit={"matte": "matte", "numbered": "numbered"})
    there = here.options(hit_groups=["numbered", "numbered", "matte"])
    wanted = np.where(instance == 1, triangle, 9)[instance >= 0][:, None]
    for make in (here, there, here):  # each pipeline has its own rows
        found = make.set(tlas=named, sky=[0, 0, 0], albedo=albedo)(origins, DOWN)
        assert same(found[instance >= 0][:, :1], wanted)
    with pytest.raises(fp.ArgumentError, match=r"names a hit group that does not exist[\s\S]*did you mean 'mate'"):
        fp.ray_gen(m, "look", miss="missed", closesthit={"mate": "numbered"}).set(tlas=named, sky=[0, 0, 0])(origins, DOWN)


@pytest.mark.req("R1")
def test_boxes_callables_and_mirrors(m: Any) -> None:
    ball = fp.Scene(fp.Boxes([[-1, -1, -1]], [[1, 1, 1]], device=m.device))
    round_ = fp.ray_gen(m, "look", miss="missed", closesthit="on_sphere", intersection="sphere").set(tlas=ball, sky=[0, 0, 5])
    assert np.allclose(round_([[0.0, 0, 3], [0.6, 0, 3], [0.9, 0.9, 3]], DOWN), [[0, 0, 1, 2], [0.6, 0, 0.8, 2.2], [0, 0, 5, -1]])
    called = fp.ray_gen(m, "called", callable=["twice", m.thrice])
    assert called([1.0, 2.0, 3.0], [0, 1, 0]) == [2.0, 6.0, 6.0]
    floor = fp.Scene(fp.Mesh([[-9, -9, 0], [9, -9, 0], [0, 9, 0], [-9, -9, 4], [9, -9, 4], [0, 9, 4]], device=m.device))
    facing = fp.ray_gen(m, "look", miss="missed", closesthit="mirror").set(tlas=floor, sky=[0, 0, 5])
    # up again, from the floor at 0 through the lid at 4: each adds 1
    assert np.allclose(facing.options(max_recursion=3)([0.0, 0, 3], DOWN), [2, 2, 7, 3])
    with pytest.raises(fp.ArgumentError, match=r"mirror traces rays, past the recursion[\s\S]*max_recursion=2"):
        facing.options(max_recursion=1)


@pytest.mark.req("R1")
def test_rays_past_the_recursion_are_an_error_and_end_nothing(m: Any, tmp_path: Any) -> None:
    """On lavapipe, rays that do not stop end the process. They come from hit and miss functions, macros, and other files."""
    floor = fp.Scene(fp.Mesh([[-9, -9, 0], [9, -9, 0], [0, 9, 0]], device=m.device))
    (tmp_path / "again.slangh").write_text("#define AGAIN(ray, p) TraceRay(solid, 0, 0xff, 0, 0, 0, ray, p)")
    (tmp_path / "deep.slang").write_text("""#include "again.slangh"
    RaytracingAccelerationStructure solid;
    uniform int most;
    RayDesc ahead() { return { WorldRayOrigin(), 0, WorldRayDirection(), 100 }; }
    void met(inout int2 p, BuiltInTriangleIntersectionAttributes at) { if (++p.x < most) AGAIN(ahead(), p); ++p.y; }
    [shader("miss")] void lost(inout int2 p) { if (++p.x < most) AGAIN(ahead(), p); }
    int2 go(float3 from) { int2 p = 0; RayDesc ray = { from, 0, float3(0, 0, -1), 100 }; AGAIN(ray, p); return p; }
    """)
    deep = fp.Module.load_from_file(m.device, tmp_path / "deep.slang")
    go = fp.ray_gen(deep, "go", miss="lost", closesthit="met").set(solid=floor).options(max_recursion=3)
    inside, outside = [[0.0, 0, 3]], [[99.0, 0, 3]]
    assert go.set(most=3)(inside + outside) == [[3, 3], [3, 0]]
    words = r"past the recursion of this pipeline[\s\S]*max_recursion=3[\s\S]*options\(max_recursion=6\)"
    for origins in (inside, outside):
        with pytest.raises(fp.ArgumentError, match=words):
            go.set(most=10_000)(origins)
    with pytest.raises(fp.ArgumentError, match=words):
        fp.fuse(lambda o: fp.sum(go.set(most=4)(o).x))(np.float32(inside * 2))
    with pytest.raises(fp.ArgumentError, match="trace the path in a loop of the ray generation"):
        go.options(max_recursion=31).set(most=10_000)(inside)
    encoder = m.device.sgl.create_command_encoder()  # nobody waits for it: the last ray of each path is not traced
    recorded = go.set(most=10_000).append_to(encoder, inside)
    m.device.sgl.submit_command_buffer(encoder.finish())
    assert recorded.to_numpy().tolist() == [[3, 3]]
    assert go.options(max_recursion=None).set(most=2)(inside) == [[2, 2]]  # a macro traces: 2 without an option


@pytest.mark.req("R1")
def test_stages_come_from_other_modules(m: Any, world: Any) -> None:
    """Also beside calls into a third, which has wrappers for the names that two modules have."""
    scene, origins, t, instance, _ = world
    other = fp.Module.load_from_source(
        m.device,
        "other_stages",
        """uniform float far;
        void lost(inout float2 payload) { payload = float2(far, 0); }
        void met(inout float2 payload, BuiltInTriangleIntersectionAttributes at) { payload = float2(RayTCurrent(), 1); }""",
    )
    source = """RaytracingAccelerationStructure solid;
    float2 go(float3 from)
    {
        float2 payload = 0;
        RayDesc ray = { from, 0, float3(0, 0, -1), 100 };
        TraceRay(solid, 0, 0xff, 0, 0, 0, ray, payload);
        return payload;
    }"""
    third = fp.Module.load_from_source(m.device, "third", source)
    go = fp.ray_gen(third, "go", miss=other.lost, closesthit=other.met).set(solid=scene, far=50)
    wanted = np.stack([np.where(instance < 0, 50, t), instance >= 0], axis=1)
    assert same(go(origins), wanted)
    mixed = fp.fuse(lambda o: go(o) + m.tone(o).xy)
    assert same(mixed(origins), wanted + (origins / (1 + origins))[:, :2])


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda m: fp.ray_gen(m, "look", miss="mised"), fp.UnknownNameError, "did you mean 'missed'"),
        (lambda m: fp.ray_gen(m, 3), fp.ArgumentError, "takes the name of a Slang function"),
        (lambda m: fp.ray_gen(m, "look", miss=7), fp.ArgumentError, "miss names no function"),
        (lambda m: fp.ray_gen(m, "look", miss="untyped"), fp.ArgumentError, r"does not fit the stage miss[\s\S]*inout Payload"),
        (lambda m: fp.ray_gen(m, "look", miss="number"), fp.ArgumentError, "does not fit the stage miss"),
        (lambda m: fp.ray_gen(m, "look", closesthit="missed"), fp.ArgumentError, "does not fit the stage closesthit"),
        (lambda m: fp.ray_gen(m, "look", closesthit={"a": "matte"}, anyhit="holes"), fp.ArgumentError, r"write anyhit=\{\"a\""),
        (lambda m: fp.ray_gen(m, "look", closesthit={"a b": "matte"}), fp.ArgumentError, "has no name"),
        (lambda m: fp.ray_gen(m, "look", closesthit="matte", hit_groups=["mate"]), fp.ArgumentError, "names no hit group"),
        (lambda m: fp.ray_gen(m, "look", closesthit="matte", hit_groups="hit"), fp.ArgumentError, "hit_groups is a list"),
        (lambda m: fp.ray_gen(m, "look", miss="unshadowed", closesthit="matte"), fp.ArgumentError, "payloads of miss and hit"),
        (lambda m: fp.ray_gen(m, "look", miss="unshadowed"), fp.ArgumentError, "look traces a ray with Payload, and unshadowed"),
        (lambda m: fp.ray_gen(m, "look", closesthit="dark", anyhit="holes"), fp.ArgumentError, "payloads of hit group 'hit'"),
        (lambda m: fp.ray_gen(m, "look", closesthit="on_sphere", anyhit="holes"), fp.ArgumentError, "attributes of hit group"),
        (lambda m: fp.ray_gen(m, "look", miss="missed", max_recursion=32), fp.ArgumentError, "1 to 31"),
        (lambda m: fp.ray_gen(m, "look", miss="missed", max_payload_size=12), fp.ArgumentError, "16 bytes or more"),
        (lambda m: fp.ray_gen(m, "look", miss="missed", max_payload_size="16"), fp.ArgumentError, "a number of bytes"),
        (lambda m: fp.ray_gen(m, "look").options(numthreads=[8]), fp.ArgumentError, "no thread groups"),
        (lambda m: fp.ray_gen(m, "look").options(max_depth=8), fp.ArgumentError, "there is no option 'max_depth'"),
        (lambda m: fp.ray_gen(m, "look").dispatch(8), fp.ArgumentError, "is no compute kernel"),
        (lambda m: fp.ray_gen(m, "look", miss="missed")([0.0, 0, 0], DOWN), fp.ArgumentError, "reads the global 'tlas'"),
        (lambda m: fp.ray_gen(m, "look").set(tlas=3)([0.0, 0, 0], DOWN), fp.UnsupportedArgumentError, "give a Scene"),
        (lambda m: m.look([0.0, 0, 0], DOWN), fp.CompileError, "make a pipeline of the function: fp.ray_gen"),
    ],
)
def test_pipelines_that_cannot_work_are_refused(m: Any, build: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        build(m)
    assert caught.value.hint


@pytest.mark.req("R1")
def test_bare_devices_have_no_rays(m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = fp.Module.load_from_source(m.device, "plain", "float f(float x) { return x; }")
    monkeypatch.setattr(m.device, "features", m.device.features - {"ray_tracing", "ray_query"})
    with pytest.raises(fp.DeviceError, match=r"no ray-tracing pipelines[\s\S]*init_device\(\"vulkan\"\)"):
        fp.ray_gen(plain, "f")
