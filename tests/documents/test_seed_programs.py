"""The programs of the five documents that fusepy grew from, as they are written there, by document and in their order.

Programs keep their own names and layout, `kf` and `spy` for the package included. What differs is said beside each: bodies that
the documents leave out, values behind "bla", slips of their Python (``'g_scene' = bla`` in a dict), and ``import fusepy;`` where
Slang code names fusepy's types. Results of arithmetic slips are the corrected ones. Gradients, torch, ray tracing and raster
pipelines are not here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy as numpy
import pytest
import slangpy as sgl

import fusepy as kf
import fusepy as spy
from fusepy import NDBuffer, Shape, Tensor, float2, float3, fuse, vcast, vmap, vmapping
from tests.support import child
from tests.support.slang_functions import F32, close, ramp, same

BOTH = kf.TextureUsage.shader_resource | kf.TextureUsage.unordered_access


def load(device: Any, name: str, source: str) -> Any:
    return kf.Module.load_from_source(device, name, source)


def make_texture(device: Any, shape: tuple[int, int], data: Any = None) -> Any:
    format = kf.Format.rgba32_float
    return device.create_texture(width=shape[1], height=shape[0], format=format, usage=BOTH, data=data)


# ---- kernelfunctions (000, and 004, its older draft) ----------------------------------------------------------------

ADD = "float add(float x, float y) { return x+y; }"


@pytest.mark.req("C1", "C2", "C4", "C5", "C13")
def test_000_calling_kernels_and_batching(device: Any) -> None:
    add = load(device, "seed_add", ADD).add
    x = 10
    y = 20
    z = add(x, y)
    assert z == 30
    x = [10, 20, 30]
    y = 20
    z = add(x, y)
    assert z == [30, 40, 50]
    x = [10, 20, 30]
    y = [40, 50, 60]
    z = add(x, y)
    assert z == [50, 70, 90]
    x = [10, 20, 30]
    y = [40, 50, 60, 70]
    with pytest.raises(kf.ShapeError, match=r"(?s)3.*4"):
        z = add(x, y)
    x = [[10, 20, 30], [40, 50, 60]]
    y = 20
    z = add(x, y)
    assert z == [[30, 40, 50], [60, 70, 80]]
    x = [[10, 20, 30], [40, 50, 60]]
    y = [1, 2, 3]
    z = add(x, y)
    assert z == [[11, 22, 33], [41, 52, 63]]


@pytest.mark.req("C8", "T21")
def test_000_a_whole_array_parameter(device: Any) -> None:
    """`float2[] source` is spelled `Tensor<float2,1>`: Slang passes arrays of unknown extent by value."""
    sample = load(
        device, "seed_sample", "import fusepy; float2 sample(int position, Tensor<float2,1> source) { return source[position]; }"
    ).sample
    source = [[1, 2], [3, 4], [5, 6]]
    for given in (source, np.array(source, F32), Tensor(source), Tensor(source, dtype="float2")):
        assert np.asarray(sample([2, 0], given)).tolist() == [[5, 6], [1, 2]]


@pytest.mark.req("F1", "F2", "F4", "F5", "F6", "F18", "F19")
def test_000_core_api_structure(device: Any, tmp_path: Path) -> None:
    (tmp_path / "xx.slang").write_text(ADD)
    my_module = device.sgl.load_module(str(tmp_path / "xx.slang"))  # loadModule is load_module in sgl
    add_func = kf.get_function(my_module, "add")
    args1, args2 = (1, 2), ([10, 20], 5)
    assert add_func.set({}).options({}).typeconformance({}).call(*args1) == 3
    configured_add_func = add_func.set({}).options({}).typeconformance({})
    assert configured_add_func.call(*args1) == 3
    assert configured_add_func.call(*args2) == [15, 25]
    assert configured_add_func(*args1) == 3
    assert configured_add_func(*args2) == [15, 25]


@pytest.mark.req("F8", "F19")
def test_000_append_to_an_open_compute_pass(device: Any) -> None:
    """sgl 0.43 says create_command_encoder and begin_compute_pass, and the device submits."""
    configured_add_func = load(device, "seed_add", ADD).add
    args = (Tensor([1, 2, 3], device=device), 10)
    command_buffer = device.sgl.create_command_encoder()
    with command_buffer.begin_compute_pass() as encoder:
        z = configured_add_func.append_to(encoder, *args)
        with pytest.raises(kf.ArgumentError, match="append_to"):
            configured_add_func.call(encoder, *args)
    device.sgl.submit_command_buffer(command_buffer.finish())
    assert z.tolist() == [11, 12, 13]


@pytest.mark.req("C14")
def test_000_explicit_batched_types(device: Any) -> None:
    add = load(device, "seed_add", ADD).add
    a = 10
    b: Any = kf.Batchable([1, 2, 3])
    result = add(a, b)
    assert np.asarray(result).tolist() == [11, 12, 13]
    torch = pytest.importorskip("torch")
    b = torch.Tensor([1, 2, 3])
    result = add(a, b)
    assert result.tolist() == [11, 12, 13]


FILL = """
void fill(int2 pixel, float3 color, RWTexture2D<float3> texture) { texture[pixel] = color; }
void fill4(int2 pixel, float3 color, RWTexture2D<float4> texture) { texture[pixel] = float4(color, 1); }
"""


@pytest.mark.req("C16", "T19")
def test_000_remembering_the_basics(device: Any) -> None:
    """No device has textures of three channels to write, so the texture is declared with four."""
    fill = load(device, "seed_fill", FILL).fill4
    for extents in (Shape(256, 256), None):
        mytex = make_texture(device, (256, 256))
        pixel = mytex.shape if extents is None else extents
        fill.call(pixel=pixel, color=float3(1, 0, 0), texture=mytex)
        assert mytex.to_numpy().reshape(-1, 4).tolist() == [[1, 0, 0, 1]] * 256 * 256


COMPUTE = """
uniform RWTexture2D<float4> target;
uniform float3 color;
[shader("compute")]
[numthreads(16, 16, 1)]
void main(uint3 tid: SV_DispatchThreadID)
{
    uint2 pixel = tid.xy;
    uint2 dim;
    target.GetDimensions(dim.x, dim.y);
    if (any(pixel >= dim))
        return;
    target[pixel] = float4(color, 1);
}
"""


@pytest.mark.req("F2", "F10")
def test_000_a_prewritten_compute_kernel(device: Any) -> None:
    """`out` is a keyword of Slang, and the Python program says `texture`: here both say `target`, of four channels."""
    main = load(device, "seed_main", COMPUTE).main
    mytex = make_texture(device, (20, 30))
    main.set(color=float3(1, 0, 0), target=mytex).threads(mytex.width, mytex.height).call()
    assert mytex.to_numpy().reshape(-1, 4).tolist() == [[1, 0, 0, 1]] * 600


PATH = """
struct Ray { float3 pos; float3 dir; };
struct Camera { float3 eye; float zoom; Ray get_ray(float2 uv) { return Ray(eye, float3(uv, zoom)); } };
struct Scene { Camera camera; float3 sky; };
struct RNG { uint state; float2 next_2d() { return float2(0.5); } };
ParameterBlock<Scene> g_scene;
RWTexture2D<float4> g_output;
uniform uint g_frame;

float3 shade(uint2 pixel, uint2 dim, uint frame)
{
    float3 L = float3(0);
    for (uint i = 0; i < 4; i++) {
        RNG rng = RNG(frame * 4 + i);
        float2 uv = float2(pixel + rng.next_2d()) / float2(dim);
        uv.y = 1 - uv.y;
        Ray ray = g_scene.camera.get_ray(uv);
        L += ray.dir * g_scene.sky + frame;
    }
    return L / 4;
}

[shader("compute")]
[numthreads(16, 16, 1)]
void main(uint3 tid: SV_DispatchThreadID)
{
    uint2 pixel = tid.xy;
    uint2 dim;
    g_output.GetDimensions(dim.x, dim.y);
    if (any(pixel >= dim))
        return;
    g_output[pixel] = float4(shade(pixel, dim, g_frame), 1);
}
void raytrace(uint frame, uint2 pixel, out float4 res) { res = float4(shade(pixel, uint2(30, 20), frame), 1); }
"""


@pytest.mark.req("F2", "F3", "F10", "F17", "C16", "C10", "T19")
def test_000_simple_path_tracer(device: Any) -> None:
    """The tracing itself is left out in the document; `frame: uint` is written `uint frame`, as Slang has it."""
    m = load(device, "seed_path", PATH)
    main, raytrace = m.main, m.raytrace
    bla = {"camera": {"eye": [0, 0, 0], "zoom": 2.0}, "sky": [1, 2, 3]}
    pixel = np.stack(np.meshgrid(np.arange(30), np.arange(20)), -1) + 0.5
    uv = np.stack([pixel[..., 0] / 30, 1 - pixel[..., 1] / 20], -1)
    wanted = np.concatenate([uv * [1, 2] + 10, np.full((20, 30, 1), 16), np.ones((20, 30, 1))], -1)
    MyTexture = make_texture(device, (20, 30))  # noqa: N806  # the document's name
    main.set({"g_scene": bla, "g_output": MyTexture, "g_frame": 10}).threads(MyTexture.width, MyTexture.height).call()
    close(MyTexture.to_numpy(), wanted.astype(F32))
    for options in ({}, {"numthreads": [16, 16]}):
        MyTexture = make_texture(device, (20, 30))  # noqa: N806
        raytrace.set(g_scene=bla).options(**options).call(frame=10, pixel=MyTexture.shape, res=MyTexture)
        close(MyTexture.to_numpy(), wanted.astype(F32))
    main.set(g_scene={**bla, "sky": [0, 0, 0]}, g_output=MyTexture, g_frame=3).threads(30, 20).call()
    assert (MyTexture.to_numpy()[..., :3] == 3).all()


@pytest.mark.req("F10")
def test_000_nested_dicts_of_variables(device: Any) -> None:
    source = """
    struct Processor { StructuredBuffer<float> a; StructuredBuffer<float> b; RWStructuredBuffer<float> c; };
    ParameterBlock<Processor> processor;
    [shader("compute")] [numthreads(32, 1, 1)]
    void computekernel(uint3 tid : SV_DispatchThreadID) { processor.c[tid.x] = processor.a[tid.x] + processor.b[tid.x]; }
    """
    computekernel = load(device, "seed_vars", source).computekernel
    N = 32  # noqa: N806  # the document's name
    buffer_a, buffer_b, buffer_c = Tensor(ramp(N)), Tensor(ramp(N, start=7)), Tensor((N,))
    computekernel.dispatch(
        thread_count=[N, 1, 1],
        vars={"processor": {"a": buffer_a, "b": buffer_b, "c": buffer_c}},
    )
    same(buffer_c.to_numpy(), ramp(N) + ramp(N, start=7))


RAY = """
struct Ray { float3 pos; float3 dir; };
float3 raytrace(in Ray ray) { return ray.pos + 2 * ray.dir; }
void raytrace_to(in Ray rays, out float3 colors) { colors = raytrace(rays); }
"""
POS, DIR = ramp(4, 3), ramp(4, 3, start=40)
COLORS = POS + 2 * DIR


@pytest.mark.req("T4", "T6", "T8", "T9", "C14", "C18")
def test_000_simple_structures_and_batching(device: Any) -> None:
    m = load(device, "seed_ray", RAY)
    raytrace = m.raytrace
    color = raytrace.call({"pos": sgl.float3(10, 10, 0), "dir": sgl.float3(0, 0, 1)})  # `pos =` in a dict is a slip
    assert np.asarray(color).tolist() == [10, 10, 2]
    rays: Any = kf.Batchable([{"pos": p.tolist(), "dir": d.tolist()} for p, d in zip(POS, DIR)])
    color = raytrace.call(rays)
    same(np.asarray(color, F32), COLORS)
    raytrace = m.raytrace_to
    array = np.concatenate([POS, DIR], -1)
    rays, colors = Tensor(array, dtype=m.Ray), Tensor(shape=4, dtype=m.float3)
    raytrace.call(rays, colors)
    same(colors.to_numpy(), COLORS)


@pytest.mark.req("T8", "T9", "T23")
def test_000_tensors_aos_soa(device: Any) -> None:
    m = load(device, "seed_ray", RAY)
    raytrace = m.raytrace_to
    array = np.concatenate([POS, DIR], -1)
    for rays in (array.ravel(), array, array.reshape(4, 2, 3)):
        colors = Tensor((4, 3))
        raytrace.call(vcast(Tensor(rays), m.Ray), colors)
        same(colors.to_numpy(), COLORS)
    positions = Tensor(*POS.tolist())
    directions = Tensor(*DIR.tolist())
    colors = Tensor((4, 3))  # an empty Tensor() has no shape to write to
    raytrace.call(rays={"pos": positions, "dir": directions}, colors=colors)
    same(colors.to_numpy(), COLORS)


@pytest.mark.req("T6", "T9", "T23")
def test_000_python_classes(device: Any) -> None:
    raytrace = load(device, "seed_ray", RAY).raytrace_to

    class RayTraceInput:
        def __init__(self) -> None:
            self.pos: sgl.float3 | Tensor | None = None
            self.dir: sgl.float3 | Tensor | None = None

    rti = RayTraceInput()
    rti.pos = sgl.float3(1, 1, 1)
    rti.dir = Tensor([0, 0, 1], [0, 1, 0])
    colors = Tensor((2, 3))
    raytrace.call(rays=rti, colors=colors)
    assert colors.tolist() == [[1, 1, 3], [1, 3, 1]]


@pytest.mark.req("T12", "F19", "T23")
def test_000_class_methods(device: Any, tmp_path: Path) -> None:
    (tmp_path / "xx.slang").write_text(
        "struct Scaler\n{\n    float scale;\n    void scale_value(inout float val) { val *= scale; }\n}\n"
    )

    class Scaler(kf.Struct):
        scale_value: kf.Function

        def __init__(self, module: Any, scale: float):
            super().__init__(module)
            self.scale = scale

    mymodule = device.sgl.load_module(str(tmp_path / "xx.slang"))
    scaler = Scaler(mymodule, 100.0)
    numbers = Tensor([1, 2, 3, 4])
    scaler.scale_value.call(numbers)
    assert numbers.tolist() == [100, 200, 300, 400]
    scaler.scale_value(numbers)
    assert numbers.tolist() == [10000, 20000, 30000, 40000]


@pytest.mark.req("C11")
def test_000_outputs_are_not_accumulated_unless_asked(device: Any) -> None:
    myfunc = load(device, "seed_accumulate", "void myfunc(float3 input, out float3 result) { result = input * 10; }").myfunc
    inputs = Tensor([1, 2, 3], [4, 5, 6], [7, 8, 9])
    result = sgl.float3()
    with pytest.raises(kf.FusepyError, match="result"):
        myfunc.call(inputs, result)
    batch_outputs = Tensor(inputs.shape)
    myfunc.call(input=inputs, result=batch_outputs)
    same(batch_outputs.to_numpy(), 10 * inputs.to_numpy())


@pytest.mark.req("T23")
def test_000_tensors_that_need_gradients(device: Any) -> None:
    batch_inputs = Tensor([[1, 2, 3], [4, 5, 6]], needs_grads=True)
    batch_outputs = Tensor(batch_inputs.shape)
    assert batch_outputs.shape == (2, 3)
    assert batch_inputs.grad is not None
    assert batch_inputs.grad.shape == (2, 3)


GRAPH = """
void function_a(float input1, out float output1, out float output2) { output1 = input1 + 1; output2 = input1 * 2; }
float function_b(float input2) { return input2 * input2; }
float function_c(float a, float b, float c) { return a + 10 * b + 100 * c; }
"""


@pytest.mark.req("G1", "G3", "G6")
def test_000_render_graphs(device: Any) -> None:
    """Node C gets all three outputs, as the comment in the document says."""
    m = load(device, "seed_graph", GRAPH)
    MyGraph = kf.Graph(inputs=["input1", "input2"], name="my_graph")  # noqa: N806  # the document's names
    NodeA = m.function_a.node()  # noqa: N806
    NodeB = m.function_b.node()  # noqa: N806
    NodeC = m.function_c.node()  # noqa: N806
    (input1, input2) = MyGraph.get_inputs()
    (output1, output2) = NodeA(input1)
    output3 = NodeB(input2)
    MyGraph.set_outputs(NodeC(output1, output2, output3))
    args = (ramp(4), ramp(4, start=3))
    wanted = args[0] + 1 + 10 * (args[0] * 2) + 100 * args[1] ** 2
    result = MyGraph.call(*args)
    close(result, wanted)
    MyReusableNode = MyGraph.node()  # noqa: N806
    library = kf.NodeLibrary()
    assert library.add(MyReusableNode) is library["my_graph"]


@pytest.mark.req("F15", "F17")
def test_000_dynamic_state(device: Any) -> None:
    myfunc = load(
        device, "seed_hook", "uniform float time; uniform float k; float myfunc(float x) { return x * k + time; }"
    ).myfunc
    clock = [0.0]

    def callback(context: Any) -> None:
        clock[0] += 1
        context.set(time=clock[0])

    my_configured_func = myfunc.set({"k": 10}).hook(callback)
    assert [my_configured_func.call(1), my_configured_func.call(1)] == [11, 12]

    class Scene:
        time = 5.0

        def render_callback(self, context: Any) -> None:
            context.set(time=self.time)

    scene = Scene()
    my_configured_func = myfunc.set({"k": 10}).hook(scene, Scene.render_callback)
    compiled = kf.stats(device).kernels_compiled
    for scene.time in (5.0, 6.0, 7.0):
        assert my_configured_func.call(1) == 10 + scene.time
    assert kf.stats(device).kernels_compiled <= compiled + 1


@pytest.mark.req("C19")
def test_004_strict_broadcasting(device: Any) -> None:
    """004 doubts stretching: unbatched arguments and identical shapes alone are allowed where a function is strict."""
    strict = kf.Module.load_from_source(device, "seed_strict", ADD, strict_broadcasting=True)
    for add in (strict.add, load(device, "seed_add", ADD).add.strict_broadcasting()):
        assert add([[10, 20], [30, 40]], 20) == [[30, 40], [50, 60]]
        assert add([1, 2], [3, 4]) == [4, 6]
        for a, b in (((2, 3), (3,)), ((256, 1), (1, 256)), ((2, 1), (2, 3))):
            with pytest.raises(kf.ShapeError, match=r"(?s)[Ss]trict.*hint"):
                add(np.zeros(a, F32), np.zeros(b, F32))


# ---- slangpy API review (001) ---------------------------------------------------------------------------------------

TONEMAP = """
float3 tonemap(float3 color, float filmic, float saturation) { return lerp(float3(color.y), color * filmic, saturation); }
float3 sample_texture(float2 uv) { return float3(uv, uv.x * uv.y); }
"""
TONEMAP_OUT = """
void tonemap(float3 color, float filmic, float saturation, out float3 result)
{
    result = lerp(float3(color.y), color * filmic, saturation);
}
"""
IMAGE = ramp(4, 5, 3)
TONED = (IMAGE[..., 1:2] + (IMAGE - IMAGE[..., 1:2]) * F32(0.5)).astype(F32)


def make_texture2d_float3(device: Any) -> Any:
    """No device has textures of float3; one of four channels holds them, or a tensor."""
    return make_texture(device, (4, 5), np.concatenate([IMAGE, np.ones((4, 5, 1), F32)], -1))


@pytest.fixture(scope="module")
def m1(device: Any) -> Any:
    return load(device, "seed_tonemap", TONEMAP)


def shown(result: Any) -> Any:
    return result.to_numpy()[..., :3]


@pytest.mark.rest
@pytest.mark.req("V2", "V3", "V4", "V6", "T19")
def test_001_explicit_vectorization(m1: Any, device: Any) -> None:
    m, tonemap = m1, m1.tonemap
    val: Any = float3(1, 2, 3)
    result = tonemap(val, 1, 0.5)
    assert np.asarray(result).tolist() == [1.5, 2, 2.5]
    for make in (make_texture2d_float3, lambda device: Tensor(IMAGE, device=device)):
        val = make(device)
        three = val if isinstance(val, Tensor) else vcast(val, m.float3)
        result = tonemap(vmap(three, (0, 1)), 1, 0.5)
        close(shown(result), TONED)
        val = make(device)
        result = tonemap(vcast(val, m.float3), 1, 0.5)
        close(shown(result), TONED)
        tonemap2d = tonemap.declare(vmapping((0, 1)))
        result = tonemap2d(three, 1, 0.5)
        close(shown(result), TONED)
        tonemap2d = tonemap.declare(m.float3)
        result = tonemap2d(val, 1, 0.5)
        close(shown(result), TONED)


@pytest.mark.req("V2", "V3", "V4", "V6", "V9", "V16", "T19")
def test_001_textures_of_three_channels(m1: Any, device: Any) -> None:
    """The programs as they are written, on the one format of three channels that devices can read."""
    if device.target.kind == "cuda":
        pytest.skip("CUDA has no textures of three components")
    m, tonemap = m1, m1.tonemap
    one, half, quarter = 0x3C0, 0x380 << 11, 0x1A0 << 22  # 1, 0.5, 0.25 in floats of 11, 11 and 10 bits
    texels = np.full((4, 5), one | half | quarter, np.uint32)
    val = device.create_texture(
        width=5, height=4, format=kf.Format.r11g11b10_float, usage=kf.TextureUsage.shader_resource, data=texels
    )
    results = [
        tonemap(vmap(val, (0, 1)), 1, 0.5),
        tonemap(vcast(val, m.float3), 1, 0.5),
        tonemap(val, 1, 0.5),
        tonemap.declare(vmapping((0, 1)))(val, 1, 0.5),
        tonemap.declare(m.float3)(val, 1, 0.5),
        fuse(lambda c: tonemap(c, 1, 0.5))(val),
    ]
    for result in results:
        assert result.to_numpy().reshape(-1, 3).tolist() == [[0.75, 0.5, 0.375]] * 20
    assert kf.resolve(tonemap, val, 1, 0.5).types == [m.float3, m.float, m.float]


@pytest.mark.req("V5", "V6", "C10")
def test_001_mapping_and_typing_of_outputs(device: Any) -> None:
    m = load(device, "seed_tonemap_out", TONEMAP_OUT)
    tonemap = m.tonemap
    for make in (lambda: Tensor((4, 5, 3)), lambda: make_texture(device, (4, 5))):
        val = Tensor(IMAGE)
        result = make()
        tonemap(vmap(val, (0, 1)), 1, 0.5, vcast(result, m.float3))
        close(shown(result), TONED)
        tonemap2d = tonemap.declare(vmapping(0, 1), None, None, m.float3)
        result = make()
        tonemap2d(val, 1, 0.5, result)
        close(shown(result), TONED)


@pytest.mark.req("V1", "V9", "V16", "T19")
def test_001_implicit_vectorization(m1: Any, device: Any) -> None:
    m, tonemap = m1, m1.tonemap
    val = make_texture2d_float3(device)
    result = tonemap(vcast(val, m.float3), 1, 0.5)  # four channels where the document has three
    close(shown(result), TONED)
    assert kf.resolve(tonemap, m["Texture2D<float3>"], m.float, m.float).types == [m.float3, m.float, m.float]


@pytest.mark.req("V11")
def test_001_float_tensors(m1: Any, device: Any) -> None:
    m, tonemap = m1, m1.tonemap
    val = NDBuffer(dtype=float, shape=(100, 3), on=device)  # the document says element_type
    result = tonemap(val, 1, 0.5)
    assert result.shape == (100,)
    compiled = kf.stats(device).kernels_compiled
    for extent in (2, 1):
        val = NDBuffer(dtype=float, shape=(100, extent), on=device)
        with pytest.raises(kf.FusepyError, match="float3"):
            result = tonemap(val, 1, 0.5)
    val = NDBuffer(dtype=float, shape=(50, 3), on=device)
    assert tonemap(val, 1, 0.5).shape == (50,)
    assert kf.stats(device).kernels_compiled == compiled
    result = tonemap(vcast(val, m.float3), 1, 0.5)
    assert result.shape == (50,)


@pytest.mark.req("V12", "V13", "V14", "V15")
def test_001_fusion(m1: Any, device: Any) -> None:
    m, tone_map, sample_texture = m1, m1.tonemap, m1.sample_texture

    def tone_map_sample_func(uv: Any) -> Any:
        return tone_map(sample_texture(uv), 1, 0.5)

    tone_map_sample = fuse(tone_map_sample_func)
    uv = ramp(6, 2)
    c = np.stack([uv[:, 0], uv[:, 1], uv[:, 0] * uv[:, 1]], -1)
    wanted = (c[:, 1:2] + c) / 2
    buffer = Tensor(uv, dtype=m.float2)
    results = tone_map_sample(buffer)
    close(results.to_numpy(), wanted)
    for tone_map_sample_2d in (tone_map_sample.declare(vmapping(0)), tone_map_sample.declare(m.float2)):
        close(tone_map_sample_2d(buffer).to_numpy(), wanted)

    def tone_map_sample_func2(u: Any, v: Any) -> Any:
        return tone_map(sample_texture(float2(u, v)), 1, 0.5)

    tone_map_sample = fuse(tone_map_sample_func2)
    ubuffer, vbuffer = Tensor(uv[:, 0]), Tensor(uv[:, 1])
    results = tone_map_sample(ubuffer, vbuffer)
    close(results.to_numpy(), wanted)
    assert tone_map_sample.explain(ubuffer, vbuffer).kernels == 1


# ---- SP#016: SlangPy (002) ------------------------------------------------------------------------------------------

EXAMPLE = """
// A simple function that adds two numbers together
float add(float a, float b)
{
    return a + b;
}

[numthreads(128, 1, 1)]
void addBuffer(NDBuffer<float, 1> a, NDBuffer<float, 1> b, NDBuffer<float, 1> result, int i : SV_DispatchThreadID)
{
     result[i] = add(a[i], b[i]);
}
"""


@pytest.mark.rest
@pytest.mark.req("F10", "S2", "T15", "T21")
def test_002_calling_entry_points(device: Any, tmp_path: Path) -> None:
    (tmp_path / "example.slang").write_text(EXAMPLE)
    module = spy.Module.load_from_file(device, tmp_path / "example.slang")
    a = numpy.random.rand(1024)
    b = numpy.random.rand(1024)
    r = numpy.zeros(1024)
    bufferA = spy.NDBuffer(device, shape=(1024,))  # noqa: N806  # the document's names
    bufferB = spy.NDBuffer(device, shape=(1024,))  # noqa: N806
    bufferRs = spy.NDBuffer(device, shape=(1024,))  # noqa: N806
    bufferA.from_numpy(a)
    bufferB.from_numpy(b)
    bufferRs.from_numpy(r)
    module.addBuffer.dispatch(1024, bufferA, bufferB, bufferRs)
    assert "NDBuffer" in repr(bufferRs) or "Tensor" in repr(bufferRs)
    same(bufferRs.to_numpy(), a.astype(F32) + b.astype(F32))


@pytest.mark.req("C17", "C20", "S2")
def test_002_calling_functions_directly(device: Any, tmp_path: Path) -> None:
    (tmp_path / "example.slang").write_text(EXAMPLE.partition("[numthreads")[0])
    module = spy.Module.load_from_file(device, tmp_path / "example.slang")
    pa = numpy.random.rand(1024)
    pb = numpy.random.rand(1024)
    with pytest.warns(UserWarning, match="float64"):
        result = module.add(pa, pb)
    close(result, (pa + pb).astype(F32))


@pytest.mark.req("T1", "T3", "T4")
def test_002_marshaling_of_basic_types(device: Any) -> None:
    source = """
    struct MyType { int x; float y; };
    float test(int x, float y) { return x + y; }
    float of(MyType v) { return v.x + v.y; }
    float3x3 test2(float3x3 x) { return transpose(x); }
    """
    module = load(device, "seed_test", source)
    assert module.test(5, 6.0) == 11
    assert module.of({"x": 5, "y": 6.0}) == 11
    assert module.of({"_type": "MyType", "x": 5, "y": 6.0}) == 11
    assert np.asarray(module.test2(numpy.eye(3, dtype=F32))).tolist() == np.eye(3).tolist()
    with pytest.raises(spy.FusepyError, match=r"(?s)3,2.*float3x3"):
        module.test2(numpy.zeros((3, 2), F32))


@pytest.mark.req("C9", "T1")
@pytest.mark.parametrize(
    ("element", "array", "given"),
    [
        ("float3", "float3[2]", [[1, 2, 3], [5, 6, 7]]),
        ("float", "float[3]", [1, 2, 3]),
        ("float2", "float2[2]", [[1, 2], [3, 4]]),
        ("float3x3", "float3[3]", np.eye(3, dtype=F32)),
    ],
)
def test_002_overloads_by_array(device: Any, element: str, array: str, given: Any) -> None:
    """`[[1,2,3],[5,6,7]]` is one `float3[2]`, and two `float3` as well."""
    kinds = {element: f"float test1({element} x) {{ return 1; }}", array: f"float test1({array} x) {{ return 2; }}"}
    for order in (list(kinds), list(kinds)[::-1]):
        m = load(device, "seed_test1", "\n".join(kinds[k] for k in order))
        with pytest.raises(spy.AmbiguousCallError, match="vcast"):
            m.test1(given)


@pytest.mark.req("T15", "C13")
def test_002_ndbuffer(device: Any) -> None:
    module = load(
        device,
        "seed_pixel",
        "struct Pixel { float r; float g; float b; };\n"
        "Pixel add(Pixel a, Pixel b) { return Pixel(a.r + b.r, a.g + b.g, a.b + b.b); }",
    )
    image_1 = spy.NDBuffer(device, dtype=module.Pixel, shape=(16, 16))
    image_2 = spy.NDBuffer(device, dtype=module.Pixel, shape=(16, 16))
    numbers = 0.1 * np.random.rand(16 * 16 * 3).astype(np.float32)
    image_2.from_numpy(numbers)
    result = module.add(image_1, image_2)
    same(result.to_numpy().view(F32).ravel(), numbers.astype(F32))


@pytest.mark.req("T16")
def test_002_interop_with_pytorch() -> None:
    torch = pytest.importorskip("torch")
    t = torch.tensor([1.0, 2.0])
    buffer = spy.NDBuffer(t)
    torchTensor = buffer.torch()  # noqa: N806  # the document's name
    assert torchTensor.tolist() == [1, 2]


@pytest.mark.req("F5", "F8", "F12", "F2", "F13", "F14")
def test_002_function_objects(device: Any) -> None:
    source = "extern static const int N = 1; uniform float k; float f(float a, float b) { return a * N + k * b; }"
    f = load(device, "seed_objects", source).f
    args = (ramp(3), ramp(3, start=2))
    configured = f.constants({"N": 2}).set(k=3).map((0,), (1,)).return_type(np.ndarray)
    same(configured.call(*args), 2 * args[0][:, None] + 3 * args[1][None])
    encoder = device.create_command_encoder()
    recorded = f.set(k=0).append_to(encoder, *args)
    device.submit_command_buffer(encoder.finish())
    same(recorded.to_numpy(), args[0])


# ---- nested fusion (003) --------------------------------------------------------------------------------------------

NESTED = """
struct Ray { float3 position; float3 direction; };
void user_func(Ray ray, float max_dist, out float3 result) { result = ray.position + max_dist * ray.direction; }
"""


@pytest.mark.req("T7", "T9", "N1", "N2", "N3", "V5")
def test_003_nested_parameters(device: Any) -> None:
    """The function calls its result `hit` where the call calls it `result`."""
    user_func = load(device, "seed_nested", NESTED).user_func
    z_buffer, dir_buffer, results_buffer = Tensor(ramp(4)), Tensor(ramp(4, 3, start=9)), Tensor((4, 3))
    ray = {"position": {"x": 10, "y": 20, "z": z_buffer}, "direction": dir_buffer}
    user_func(ray=ray, max_dist=10, result=results_buffer)
    position = np.stack([np.full(4, 10), np.full(4, 20), ramp(4)], -1).astype(F32)
    same(results_buffer.to_numpy(), position + 10 * ramp(4, 3, start=9))
    source = user_func.source(ray=ray, max_dist=10, result=results_buffer)
    code = [line.strip() for line in source.splitlines()]
    assert sum(line.startswith("::user_func(") for line in code) == 1  # one call, in one trampoline
    assert "float a_ray_position_x;" in code  # a uniform: no buffer for a constant


@pytest.mark.req("F10")
def test_003_the_generated_kernel_in_small(device: Any) -> None:
    """The unfused program of the document: buffers in, buffer out."""
    source = "void user_func(float32_t a, float32_t b, out float32_t c) { c = a * b; }"
    user_func = load(device, "seed_unfused", source).user_func
    a, b, c = Tensor([1, 2, 3]), Tensor([4, 5, 6]), Tensor((3,))
    user_func(a, b, c)
    assert c.tolist() == [4, 10, 18]


@pytest.mark.req("N3", "T7")
def test_003_constants_that_are_arrays_are_uniform(device: Any) -> None:
    user_func = load(device, "seed_nested", NESTED).user_func
    kernels = []
    for constant in ([1, 2, 3], np.float32([1, 2, 3]), sgl.float3(1, 2, 3)):
        results = Tensor((4, 3))
        ray = {"position": constant, "direction": Tensor(ramp(4, 3))}
        user_func(ray=ray, max_dist=10, result=results)
        same(results.to_numpy(), np.float32([1, 2, 3]) + 10 * ramp(4, 3))
        kernels.append(user_func.source(ray=ray, max_dist=10, result=results))
    for source in kernels:
        assert "float a_ray_position_0;" in source  # a member of the parameter block, no array in memory


@pytest.mark.req("T8", "V4", "V6", "C20", "F13")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", [(24,), (4, 6), (4, 2, 3)])
def test_000_layouts_of_rays_declared_and_fused(device: Any, shape: tuple[int, ...]) -> None:
    m = load(device, "seed_ray", RAY)
    a = np.concatenate([POS, DIR], -1).reshape(shape)
    torch = pytest.importorskip("torch")
    listed, held = a.tolist(), torch.from_numpy(a.copy())
    for given in (a, Tensor(a), a.astype(np.float64), listed, tuple(listed), held):  # a cast says that it converts
        same(np.asarray(m.raytrace(vcast(given, m.Ray)), F32), COLORS)
        same(np.asarray(m.raytrace.declare(m.Ray)(given), F32), COLORS)
        same(np.asarray(m.raytrace.map(m.Ray)(given), F32), COLORS)
        same(np.asarray(m.raytrace.map(ray=m.Ray)(given), F32), COLORS)
        same(np.asarray(fuse(lambda rays: m.raytrace(vcast(rays, m.Ray)))(given), F32), COLORS)


@pytest.mark.req("T8", "C13")
def test_000_rays_of_torch_and_none_at_all(device: Any) -> None:
    torch = pytest.importorskip("torch")
    m = load(device, "seed_ray", RAY)
    a = np.concatenate([POS, DIR], -1)
    held = torch.from_numpy(a.copy())
    for call in (m.raytrace, fuse(lambda rays: m.raytrace(rays))):
        assert isinstance(call(vcast(held, m.Ray)), torch.Tensor)
    for shape in ((0, 6), (0, 2, 3), (0,)):
        none = np.zeros(shape, F32)
        for call in (lambda r: m.raytrace(vcast(r, m.Ray)), fuse(lambda rays: m.raytrace(vcast(rays, m.Ray)))):
            assert np.asarray(call(none)).shape == (0, 3)


@pytest.mark.req("V5")
def test_001_outputs_are_mapped(device: Any) -> None:
    f = load(device, "seed_out", "void f(float x, out float r) { r = 2 * x; }").f
    out = Tensor((4, 3))
    f(ramp(3, 4), vmap(out, (1, 0)))
    same(out.to_numpy(), 2 * ramp(3, 4).T)


@pytest.mark.req("T7")
def test_003_fixed_arrays_of_structs_and_of_leaves(device: Any) -> None:
    source = """
    struct Ray { float3 pos; float3 dir; };
    struct Pair { Ray rays[2]; float w[2]; };
    float3 f(Pair p) { return p.rays[0].pos * p.w[0] + p.rays[1].dir * p.w[1]; }
    """
    f = load(device, "seed_arrays", source).f
    z = ramp(4)
    rays = [{"pos": POS, "dir": [0, 0, 1]}, {"pos": [0, 0, 0], "dir": DIR}]
    same(np.asarray(f({"rays": rays, "w": [z, 2.0]})), (POS * z[:, None] + DIR * 2).astype(F32))


TUPLES = """
import fusepy as fp, numpy as np
source = '''
Tuple<float,int> both(float x) { return makeTuple(x * 2, int(x) + 1); }
float sum_of(Tuple<float,int> t) { return t._0 + t._1; }
'''
m = fp.Module.load_from_source(fp.default_device(), "seed_tuple", source)
x = np.arange(4, dtype=np.float32)
print(fp.fuse(lambda x: m.sum_of(m.both(x)))(x).tolist())
print(m.both(x)["_0"].tolist(), fp.fuse(m.both)(2.0), m.sum_of(m.both(x)).tolist())
"""


@pytest.mark.rest
@pytest.mark.req("S6")
def test_001_new_features_of_slang() -> None:
    """In a process of its own: Slang crashes when it is asked about tuples while a second device is open."""
    done = child.run(TUPLES)
    both = "{'_0': 4.0, '_1': 3, '_type': 'Tuple<float,int>'}"
    assert done.stdout == f"[1.0, 4.0, 7.0, 10.0]\n[0.0, 2.0, 4.0, 6.0] {both} [1.0, 4.0, 7.0, 10.0]\n", done.stderr


@pytest.mark.req("V1")
def test_001_resolution_without_signatures(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the parameter types hidden Slang's answers are all there is."""
    from fusepy.backend.slang import oracle as asked
    from fusepy.ir.oracle import Param, Signature

    source = """
    float3 tonemap(float3 color, float filmic) { return color * filmic; }
    float item(StructuredBuffer<float> values, int i) { return values[i]; }
    float behind(float* values, int i) { return values[i]; }
    """
    real = asked.SlangOracle.declared

    def hidden(self: Any, module: str, function: str) -> Any:
        return [Signature(tuple(Param(p.name, None, p.direction) for p in s.params), None) for s in real(self, module, function)]

    monkeypatch.setattr(asked.SlangOracle, "declared", hidden)
    m = load(device, "seed_hidden", source)
    same(np.asarray(m.tonemap(POS, 2.0)), POS * 2)
    for f in (m.item, m.behind):
        assert f(Tensor(ramp(4)), [1, 2], _result="list") == ramp(4)[1:3].tolist()


@pytest.mark.req("T22")
def test_000_structured_buffers_of_rays(device: Any) -> None:
    m = load(device, "seed_ray", RAY)
    array = np.concatenate([POS, DIR], -1)
    usage = kf.BufferUsage.shader_resource | kf.BufferUsage.unordered_access
    rays = device.create_buffer(size=96, struct_size=24, usage=usage, data=array)
    colors = device.create_buffer(size=48, struct_size=12, usage=usage)
    m.raytrace_to.call(rays, colors)
    same(colors.to_numpy().view(F32).reshape(4, 3), COLORS)
