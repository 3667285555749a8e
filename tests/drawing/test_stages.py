"""Functions of Python and of Slang as stages; where their parameters come from, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.rasters import need_raster

SOURCE = """
import fusepy;
struct In { float2 at; float3 colour; uint id : SV_VertexID; };
struct Corner { float4 position : SV_Position; float3 colour; };
Corner vs(In v, float2 by) { return { float4(v.at + by, 0.5, 1), v.colour }; }
struct Packed { float2 at; float3 colour; };
Corner apart(float2 at, float3 colour, float2 by) { return { float4(at + by, 0.5, 1), colour }; }
float3 row(Tensor<float3, 1> rows, int i) { return rows[i]; }
struct Blind { float4 colour; };
Blind nowhere(float2 at) { return { float4(at, 0, 1) }; }
float4 alone(float2 at) { return float4(at, 0.5, 1); }
void nothing(float2 at) {}
Corner both(float2 at) { return { float4(at, 0, 1), 0 }; }
Corner both(float3 at) { return { float4(at, 1), 0 }; }
Corner lit(float2 at, uint view : SV_ViewID) { return { float4(at, 0, 1), view }; }
float4 fs(Corner c, float gain) { return float4(c.colour * gain, 1); }
float4 table(float3 colour, Tensor<float, 1> lut) { return float4(lut[int(colour.x * 3)], colour.yz, 1); }
float4 shown(float3 colour, Texture2D<float4> t, SamplerState s) { return t.Sample(s, colour.xy); }
float4 place(float4 position) { return position; }
struct Deep { float4 colour : SV_Target; float depth : SV_Depth; };
Deep deep(Corner c) { return { float4(c.colour, 1), 0.25 }; }
float3 light(float3 n, float3 l) { return n * dot(n, l); }
"""
V = {"at": np.float32([[-1, -1], [3, -1], [-1, 3]]), "colour": np.float32([[1, 0, 0], [1, 0.5, 0], [1, 0, 0.25]])}
BY = {"by": [0.0, 0.0]}


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    need_raster(device)
    return fp.Module.load_from_source(device, "stages", SOURCE)


def image(vertex: Any, fragment: Any, m: Any, vertices: Any = V, **given: Any) -> Any:
    return fp.raster(m, vertex=vertex, fragment=fragment)(vertices, targets=(4, 6), **given)


@pytest.mark.req("R4")
def test_functions_of_python_draw_what_those_of_slang_draw(m: Any) -> None:
    def vs(at: Any, colour: Any, by: Any) -> Any:
        return {"position": fp.float4(at + by, 0.5, 1.0), "colour": colour}

    def fs(colour: Any, gain: Any) -> Any:
        return fp.float4(colour * gain, 1.0)

    expected = image("vs", "fs", m, gain=2.0, **BY)
    assert expected[1, 1, 1] == pytest.approx(0.125)
    for vertex, fragment in ((vs, fs), ("vs", fs), (fp.fuse(vs), "fs"), (m.vs, m.fs)):
        np.testing.assert_allclose(image(vertex, fragment, m, gain=2.0, **BY), expected, atol=1e-6)
    whole = image("vs", lambda c: fp.float4(c.colour, c.position.z), m, **BY)
    np.testing.assert_allclose(whole[..., 3], 0.5)


@pytest.mark.req("R4")
def test_a_fused_fragment_calls_slang_loops_and_reads_what_is_around_it(m: Any) -> None:
    outside = fp.Tensor(np.float32([1, 0, 0]))

    @fp.fuse
    def shade(colour: Any, l: Any) -> Any:  # noqa: E741
        c = fp.fori_loop(0, 2, lambda i, c: c * 2.0, m.light(colour, l))
        return fp.where(c.x > 3.9, fp.float4(c, 1.0), fp.float4(0.0, 0.0, 0.0, 1.0))

    found = image("vs", shade, m, l=outside, **BY)
    colour = image("vs", "fs", m, gain=1.0, **BY)[..., :3]
    np.testing.assert_allclose(found.to_numpy()[..., :3], 4 * colour * colour[..., :1], atol=1e-5)


def test_fragments_read_arrays_textures_and_places(m: Any) -> None:
    lut = np.float32([5, 6, 7, 8])
    assert (image("vs", "table", m, lut=lut, **BY)[..., 0] == 8).all()
    texture = fp.fuse(lambda: fp.float4(0.5, 0.25, 0.0, 1.0) + 0.0 * fp.vcast(fp.grid((2, 2)), "float2").x, device=m.device)
    shown = texture(_result="texture")
    sampler = m.device.sgl.create_sampler()
    np.testing.assert_allclose(image("vs", "shown", m, t=shown, s=sampler, **BY)[1, 1], [0.5, 0.25, 0, 1])
    assert image("vs", "place", m, **BY)[2, 3, :2].tolist() == [3.5, 2.5]
    colour, depth = fp.raster(m, vertex="vs", fragment="deep").options(depth="less")(V, targets=(4, 6), **BY)
    assert (colour.shape, np.unique(depth).tolist()) == ((4, 6, 4), [0.25])
    alone = fp.raster(m, vertex="alone", fragment=lambda position: fp.float4(position.z, 0.0, 0.0, 1.0))
    assert (alone({"at": V["at"]}, targets=(2, 2))[..., 0] == 0.5).all()
    counted = fp.raster(
        vertex=lambda: {"position": fp.float4(0.0, 0.0, 0.5, 1.0)}, fragment=lambda: fp.float4(1.0, 2.0, 3.0, 4.0)
    )
    points = counted.options(topology="points")(1, targets=(3, 3))
    assert points.to_numpy().sum() == 10


REFUSED: list[tuple[str, Any, Any, dict[str, Any], type[Exception], str]] = [
    ("no attribute", "vs", "fs", {"vertices": {"at": V["at"]}, "gain": 1.0, **BY}, fp.ArgumentError, "v.colour"),
    ("no uniform", "vs", "fs", dict(BY), fp.ArgumentError, "'gain'"),
    ("unknown word", "vs", "fs", {"gain": 1.0, "gian": 2.0, **BY}, fp.ArgumentError, "'gian'"),
    ("no position", "nowhere", "fs", {"gain": 1.0}, fp.ArgumentError, "no position"),
    ("nothing", "nothing", "fs", {"gain": 1.0}, fp.ArgumentError, "returns nothing"),
    ("overloads", "both", "fs", {"gain": 1.0}, fp.ArgumentError, "2 overloads"),
    ("system value", "lit", "fs", {"gain": 1.0}, fp.UnsupportedArgumentError, "SV_ViewID"),
    ("not handed on", "vs", lambda colour, normal: normal, dict(BY), fp.ArgumentError, "'normal'"),
    ("no colour", "vs", lambda c: c.colour.x > 0, dict(BY), fp.UnsupportedArgumentError, "target 0"),
    ("place", lambda at: {"colour": at}, "fs", {"gain": 1.0}, fp.ArgumentError, "no position"),
]


@pytest.mark.req("R4")
@pytest.mark.parametrize("case", REFUSED, ids=[case[0] for case in REFUSED])
def test_stages_that_do_not_fit_are_refused(m: Any, case: Any) -> None:
    _, vertex, fragment, given, error, words = case
    with pytest.raises(error, match=words) as caught:
        image(vertex, fragment, m, **given)
    assert caught.value.hint
    assert "test_stages.py" in str(caught.value)


def test_a_function_that_is_not_there(m: Any) -> None:
    with pytest.raises(fp.UnknownNameError, match="vz"):
        fp.raster(m, vertex="vz", fragment="fs")
    with pytest.raises(fp.ArgumentError, match="fragment is a function"):
        fp.raster(m, vertex="vs", fragment=3)


@pytest.mark.req("R4")
def test_static_arguments_of_a_fused_stage_come_from_the_draw(m: Any) -> None:
    @fp.fuse(static=["mode", "steps"])
    def shade(colour: Any, mode: str, steps: int = 1) -> Any:
        total = sum((colour for _ in range(steps)), 0 * colour)
        return fp.float4(total if mode == "sum" else 1 - total, 1.0)

    plain = image("vs", "fs", m, gain=1.0, **BY)[..., :3]
    draw = fp.raster(m, vertex="vs", fragment=shade)
    for mode, steps, wanted in (("sum", 1, plain), ("sum", 3, 3 * plain), ("rest", 1, 1 - plain), ("sum", 1, plain)):
        given = {"vertices": V, "mode": mode, "targets": (4, 6), **BY}
        found = draw(**given) if steps == 1 else draw(steps=steps, **given)
        np.testing.assert_allclose(found[..., :3], wanted, atol=1e-6)
        fused = fp.fuse(lambda v: draw(v, mode=mode, steps=steps, targets=(4, 6), **BY))  # noqa: B023
        np.testing.assert_allclose(fused(V)[..., :3], wanted, atol=1e-6)


@pytest.mark.req("R4")
@pytest.mark.parametrize("captured", [False, True])
def test_whole_arrays_are_read_in_stages_of_python(m: Any, captured: bool) -> None:
    lut, rows = np.float32([5, 6, 7, 8, 9, 10]), np.float32(np.arange(18).reshape(6, 3))

    def shade(colour: Any, lut: Any, rows: Any) -> Any:
        return fp.float4(m.table(colour, lut).x, fp.take(lut, fp.astype(colour.x * 4, "int")), m.row(rows, 2).yz)

    given = {} if captured else {"lut": lut, "rows": rows}
    found = image("vs", (lambda colour: shade(colour, lut, rows)) if captured else shade, m, **BY, **given)
    assert np.unique(found.reshape(-1, 4), axis=0).tolist() == [[8, 9, 7, 8]]


@pytest.mark.req("R4")
def test_fields_of_structs_are_attributes_of_either_kind_of_function(m: Any) -> None:
    plain = image("vs", "fs", m, gain=1.0, **BY)
    rows = np.zeros(3, [("colour", "3f4"), ("weight", "f4"), ("at", "2f4")])
    rows["at"], rows["colour"] = V["at"], V["colour"]
    np.testing.assert_array_equal(image("vs", "fs", m, rows, gain=1.0, **BY), plain)  # a struct of the function, other fields
    tensor = fp.Tensor.zeros(m.device, (3,), m.Packed)
    tensor.at[:], tensor.colour[:] = V["at"], V["colour"]
    for vertex in ("vs", "apart"):
        drawn = fp.raster(m, vertex=vertex, fragment="fs")
        np.testing.assert_array_equal(drawn(tensor, targets=(4, 6), gain=1.0, **BY).to_numpy(), plain)
    fused = fp.fuse(lambda t: fp.raster(m, vertex="apart", fragment="fs")(t, targets=(4, 6), gain=1.0, **BY))
    np.testing.assert_array_equal(fused(tensor).to_numpy(), plain)
