"""Every value on the way to one element of a call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp

SOURCE = """
import fusepy;
struct Ray { float3 at; float t; };
float luma(float3 c) { return dot(c, float3(0.25, 0.5, 0.25)); }
float luma(float2 c) { return c.x; }
Ray ray(float2 p) { Ray r; r.at = float3(p, 1); r.t = p.x; return r; }
float depth(Ray r) { return r.at.y; }
float texel(Tensor<float, 2> t, int2 p) { return t[p]; }
float sampled(Texture2D<float> t, int2 p) { return t[p]; }
"""
F32 = np.float32
IMAGE = np.linspace(0.25, 1, 60, dtype=F32).reshape(4, 5, 3)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "pixel", SOURCE)


def program(m: Any) -> Any:
    @fp.fuse
    def look(image: Any, k: Any, row: Any) -> Any:
        light = m.luma(fp.sqrt(image)) * k
        total = fp.sum(light, 1)
        depth = m.depth(m.ray(fp.grid((4, 5)) * 1.0))
        steps = fp.fori_loop(0, 3, lambda i, c: c * 2 + i, light)
        return fp.log(light - fp.max(total)) + depth + row + steps + m.texel(light, fp.grid((4, 5)))

    return look


def test_every_value_of_one_element(m: Any) -> None:
    look, row = program(m), np.arange(5, dtype=F32)
    report = fp.inspect_pixel(look, (IMAGE, 2.0, row), at=(1, -2))
    want = np.sqrt(IMAGE) @ F32([0.25, 0.5, 0.25]) * 2
    assert report.at == (1, 3)
    assert report["image"].tolist() == IMAGE[1, 3].tolist()
    assert (report["k"], report["row"]) == (2.0, 3.0)
    by_operation = {v.text.partition("(")[0]: v for v in report.values}
    np.testing.assert_allclose(by_operation["slang.call @pixel.texel"].value, want[1, 3], rtol=1e-5)
    np.testing.assert_allclose(by_operation["fori_loop"].value, want[1, 3] * 8 + 4, rtol=1e-5)
    assert by_operation["slang.call @pixel.ray"].value["at"].tolist() == [3, 1, 1]
    sums = next(v for v in report.values if 'kind = "sum"' in v.text)  # has no element of its own: all of it
    np.testing.assert_allclose(sums.value, want.sum(1), rtol=1e-5)
    bad = report.first_bad
    assert bad is not None
    assert (bad.mark, bad.begins, bad.text.startswith("log(")) == ("NaN", True, True)
    assert bad.line.startswith("test_pixel.py:")
    assert [v.begins for v in report.values if v.mark].count(True) == 1
    np.testing.assert_array_equal(report.values[-1].value, look(IMAGE, 2.0, row)[1, 3])
    assert "<- NaN begins here" in str(report)
    assert "const" not in str(report)


def test_functions_of_every_kind(device: Any, m: Any) -> None:
    lists = fp.inspect_pixel(lambda x: fp.exp(x * 1000.0), [1.0, 2.0], at=1)
    assert lists.first_bad is not None
    assert (lists.first_bad.mark, lists["x"]) == ("infinite", 2.0)
    slang = fp.inspect_pixel(m.luma, fp.Tensor.from_numpy(device, IMAGE), at=(0, 0))
    np.testing.assert_allclose(slang.values[-1].value, IMAGE[0, 0] @ F32([0.25, 0.5, 0.25]), rtol=1e-6)
    assert slang.first_bad is None
    single = fp.inspect_pixel(lambda x, y: fp.sum(x) / y, (F32([1, 2]), 0.0), at=())
    assert single.values[-1].mark == "infinite"
    assert "an array" not in str(single)
    named = fp.inspect_pixel(lambda x, gain: (x * gain, x + 1), F32([1, 2]), at=0, gain=3.0)
    assert named["%0"] == 3.0
    wide = fp.inspect_pixel(lambda x: fp.sum(x, 0, True) * x, np.ones((40, 40), F32), at=(39, 2))
    assert wide["%0"] == 40.0
    flat = fp.inspect_pixel(lambda x: x * fp.sum(fp.sum(x, 1)), np.ones((40, 30), F32), at=(0, 0))
    assert "an array (40,), 30 to 30" in str(flat)


def test_textures_are_read_by_what_takes_them(device: Any, m: Any) -> None:
    texture = device.sgl.create_texture(width=3, height=2, format=spy.Format.r32_float, usage=spy.TextureUsage.shader_resource)
    texture.copy_from_numpy(np.arange(6, dtype=F32).reshape(2, 3))
    report = fp.inspect_pixel(lambda t, p: m.sampled(t, p) * 2, (texture, np.int32([[2, 1], [0, 0]])), at=0)
    assert [(v.name, np.asarray(v.value).tolist()) for v in report.values] == [("p", [2, 1]), ("%0", 5.0), ("%2", 10.0)]


@pytest.mark.parametrize(
    ("at", "found"), [((1,), r"\(1,\)"), ((4, 0), r"\(4, 0\)"), ((0, 0, 0), r"\(0, 0, 0\)"), (-6, r"\(-6,\)")]
)
def test_elements_that_are_not_there(m: Any, at: Any, found: str) -> None:
    with pytest.raises(fp.ShapeError, match=f"no element {found}") as caught:
        fp.inspect_pixel(lambda x: x + 1, np.ones((4, 5), F32), at=at)
    assert caught.value.hint is not None
    assert "(4, 5)" in str(caught.value)


@pytest.mark.parametrize("at", [(0.5, 1), "01", (True, 0), None])
def test_places_are_integers(at: Any) -> None:
    with pytest.raises(fp.ShapeError, match="at= takes integers"):
        fp.inspect_pixel(lambda x: x + 1, np.ones((4, 5), F32), at=at)


def test_inside_of_a_fused_function() -> None:
    with pytest.raises(fp.TraceError, match="inside of a fused function"):
        fp.fuse(lambda x: fp.inspect_pixel(fp.sqrt, x, at=0))(F32([1]))


def test_draws_are_lines_that_are_read(device: Any) -> None:
    if "rasterization" not in device.features:
        pytest.skip("the device cannot rasterise")
    source = """
    struct V { float4 p : SV_Position; float3 c; };
    V vs(float4 at, float3 c) { return { at, c }; }
    float4 fs(V v) { return float4(v.c, 0.5); }
    """
    draw = fp.raster(fp.Module.load_from_source(device, "pixel_of_draws", source), vertex="vs", fragment="fs")
    corners = {"at": F32([[-1, -1, 0, 1], [3, -1, 0, 1], [-1, 3, 0, 1]]), "c": F32([[1, 0, 0]] * 3)}
    text = str(fp.inspect_pixel(fp.fuse(lambda corners: draw(corners, targets=(2, 2)) * 2.0), (corners,), at=(1, 1)))
    assert "= draw @vs/fs(" in text
    assert "float4 is [1., 0., 0., 0.5]  //" in text
    assert max(map(len, text.splitlines())) < 200
