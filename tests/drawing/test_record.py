"""The node of a draw: its text, its targets, and what its formats can hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.errors import GradientError
from fusepy.ir.parse import parse_graph
from fusepy.ir.printer import print_graph
from tests.support.rasters import SOURCE, need_raster

V = {"at": np.float32([[-1, -1, 0.5, 1], [3, -1, 0.5, 1], [-1, 3, 0.5, 1]]), "colour": np.ones((3, 3), np.float32)}


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    need_raster(device)
    return fp.Module.load_from_source(device, "records", SOURCE)


def test_a_draw_has_a_text_that_is_read_back(m: Any) -> None:
    draw = fp.raster(m, vertex="vs", fragment="fs").options(depth="less", clear=(0, 0, 1), viewport=(0, 0, 4, 4))
    for after in (None, "fuse_chains"):
        text = draw.ir(V, [0, 1, 2], targets=(4, 6), **({} if after is None else {"after": after}))
        assert "= draw(%image_size vmap(d0,d1), %indices vmap(d0)" in text
        assert 'functions = ["vs", "fs"]' in text
        assert print_graph(parse_graph(text)) == text


def test_colours_have_formats_that_hold_them(m: Any) -> None:
    def drawn(fragment: Any, formats: Any = None) -> Any:
        targets = (2, 3) if formats is None else ((2, 3), formats)
        return fp.raster(m, vertex="vs", fragment=fragment)(V, targets=targets, _result="tensor")

    shapes = {
        "float": lambda c: c.colour.x,
        "float2": lambda c: c.colour.xy,
        "float4": lambda c: c.colour,
        "uint": lambda c: c.id,
    }
    for dtype, fragment in shapes.items():
        found = drawn(fragment)
        assert str(found.dtype) == dtype
    assert drawn(shapes["float4"]).to_numpy()[0, 0].tolist() == [1, 1, 1, 1]  # a colour without alpha is opaque
    one, two = drawn(lambda c: (c.colour, c.id), ["rgba8_unorm", "r16_uint"])
    assert (str(one.dtype), str(two.dtype)) == ("float4", "uint")
    for fragment, formats, words in (
        (shapes["float2"], "rgba8_unorm", "cannot hold"),
        (shapes["uint"], "r32_float", "cannot hold"),
        (lambda c: (c.colour, c.id), "rgba8_unorm", "2 colours for 1"),
        (shapes["float"], "r33_float", "no format"),
    ):
        with pytest.raises(fp.FusepyError, match=words) as caught:
            drawn(fragment, formats)
        assert caught.value.hint


def test_a_draw_stands_outside_of_loops_and_has_no_gradient(m: Any) -> None:
    draw = fp.raster(m, vertex="vs", fragment="fs")

    @fp.fuse
    def inside(at: Any) -> Any:
        return fp.fori_loop(0, 2, lambda i, c: c + draw({**V, "at": at}, targets=(2, 2)).x, 0.0)

    with pytest.raises(fp.TraceError, match="draw inside the body"):
        inside(V["at"])
    assert draw.bwds is None
    total = fp.fuse(lambda at: fp.sum(draw({"at": at, "colour": V["colour"]}, targets=(2, 2)).x))
    with pytest.raises(GradientError):
        fp.grad(total)(V["at"])


def test_a_lazy_draw_of_arrays_gives_the_numbers_of_an_eager_one(m: Any) -> None:
    draw = fp.raster(m, vertex="vs", fragment="fs")
    for vertices in (V, {name: fp.Tensor(v) for name, v in V.items()}):
        want = draw(vertices, targets=(4, 6))
        with fp.lazy():
            image = draw(vertices, targets=(4, 6))
            corners = fp.rasterize(vertices["at"], [[0, 1, 2]], (4, 6))
        eager = fp.rasterize(vertices["at"], [[0, 1, 2]], (4, 6))
        assert (image.shape, corners.shape) == (want.shape, eager.shape)
        np.testing.assert_array_equal(image.to_numpy(), np.asarray(want))


def test_structs_of_one_name_in_two_modules(m: Any) -> None:
    own = fp.Module.load_from_source(
        m.device,
        "another_corner",
        "import fusepy; struct Corner { float4 position : SV_Position; }; Corner vs(float4 at) { return { at }; }\n"
        "float4 fs(Corner c, Tensor<float4, 2> read) { return 2 * read[int2(c.position.xy)]; }",
    )
    first, second = (fp.raster(of, vertex="vs", fragment="fs") for of in (m, own))

    @fp.fuse
    def drawn(at: Any) -> Any:
        return second({"at": at}, targets=(2, 3), read=first({**V, "at": at}, targets=(2, 3)))

    np.testing.assert_allclose(drawn(V["at"]), 2 * first(V, targets=(2, 3)))


def test_attributes_may_be_called_as_keywords_of_python(m: Any) -> None:
    own = fp.Module.load_from_source(
        m.device,
        "keywords_of_python",
        "struct C { float4 position : SV_Position; float v; }; C vs(float4 at, float from) { return { at, from }; }\n"
        "float fs(C c) { return c.v; }",
    )
    draw = fp.raster(own, vertex="vs", fragment="fs")
    assert draw({"at": V["at"], "from": np.float32([2, 2, 2])}, targets=(1, 2)).tolist() == [[2, 2]]
