"""Options: stencils, what passes, what is written, draws upon the stencils of earlier ones; depth of several samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.rasters import SOURCE, need_raster

BIG = {"at": np.float32([[-1, -1, 0.5, 1], [3, -1, 0.5, 1], [-1, 3, 0.5, 1]]), "colour": np.ones((3, 3), np.float32)}
LEFT = {
    **BIG,
    "at": np.float32([[-1, -1, 0.25, 1], [0, -1, 0.25, 1], [-1, 1, 0.25, 1], [0, 1, 0.25, 1]]),
    "colour": np.float32(np.eye(4, 3)),
}
HALVES = [[0, 1, 2], [2, 1, 3]]
SIZE = (4, 8)
COVERED = np.arange(8)[None] < np.full((4, 1), 4)


@pytest.fixture(scope="module")
def draw(device: Any) -> Any:
    need_raster(device)
    return fp.raster(fp.Module.load_from_source(device, "rasters", SOURCE), vertex="vs", fragment="fs")


def textures(draw: Any) -> tuple[Any, Any]:
    """Returns a texture of colours, and one of depth and stencils."""
    new, usage = draw.tracer.device.sgl.create_texture, spy.TextureUsage.shader_resource | spy.TextureUsage.copy_source
    own = {"rgba32_float": spy.TextureUsage.render_target, "d32_float_s8_uint": spy.TextureUsage.depth_stencil}
    colour, both = (new(format=spy.Format[f], width=8, height=4, usage=usage | use) for f, use in own.items())
    return colour, both


@pytest.mark.req("R4")
@pytest.mark.parametrize(
    ("op", "was", "becomes"),
    [
        ("keep", 3, 3),
        ("zero", 3, 0),
        ("replace", 3, 9),
        ("increment", 3, 4),
        ("increment", 255, 255),
        ("increment_wrap", 255, 0),
        ("decrement", 0, 0),
        ("decrement_wrap", 0, 255),
        ("invert", 3, 252),
    ],
)
def test_what_passes_and_fails_is_written(draw: Any, op: str, was: int, becomes: int) -> None:
    given = {"clear_stencil": was, "stencil_reference": 9, "clear": (0, 0, 0, 0)}
    image, stencil = draw.options(stencil="always", stencil_pass=op, **given)(LEFT, HALVES, targets=SIZE)
    assert stencil.dtype == np.uint32
    assert (stencil == np.where(COVERED, becomes, was)).all()
    assert ((image[..., 3] > 0) == COVERED).all()
    if op == "increment_wrap":
        image, stencil = draw.options(stencil="never", stencil_fail=op, **given)(LEFT, HALVES, targets=SIZE)
        assert (stencil == np.where(COVERED, becomes, was)).all()
        assert not image.any()


@pytest.mark.req("R4")
def test_masks_comparisons_and_fragments_that_only_depth_refuses(draw: Any) -> None:
    def found(**options: Any) -> int:
        return int(draw.options(clear_stencil=0x35, **options)(LEFT, HALVES, targets=SIZE)[1][0, 0])

    assert found(stencil="always", stencil_pass="replace", stencil_reference=0xFF, stencil_write_mask=0x0F) == 0x3F
    for compare, passes in (("equal", True), ("not_equal", False), ("less", False), ("greater_equal", True)):
        made = found(stencil=compare, stencil_pass="zero", stencil_reference=0xF5, stencil_read_mask=0x0F)
        assert made == (0 if passes else 0x35), compare
    deep = draw.options(depth="less", clear_depth=0.1, stencil="always", stencil_pass="zero", stencil_depth_fail="increment")
    colour, both = textures(draw)
    deep(LEFT, HALVES, targets=(colour, both))
    seen = draw.options(depth="always", depth_write=False, clear_depth=None, clear=None, clear_stencil=None)
    counted = seen.options(stencil="equal", stencil_reference=1, blend="add")
    counted(BIG, targets=(colour, both))
    assert ((colour.to_numpy()[..., 3] > 0) == COVERED).all()
    fresh, depth = deep(LEFT, HALVES, targets=SIZE)
    assert not fresh.any()
    assert (depth == np.float32(0.1)).all()


@pytest.mark.req("R4")
def test_a_draw_within_and_one_around_what_an_earlier_one_has_marked(draw: Any) -> None:
    colour, both = textures(draw)
    mark = draw.options(stencil="always", stencil_pass="replace", stencil_reference=2)
    assert mark(LEFT, HALVES, targets=(colour, both)) == (colour, both)
    for compare, where in (("equal", COVERED), ("not_equal", ~COVERED)):
        behind = draw.options(stencil=compare, stencil_reference=2, clear_stencil=None)
        behind(BIG, targets=(colour, both))
        assert ((colour.to_numpy()[..., 3] > 0) == where).all()
    doubled = fp.fuse(lambda at: mark({**LEFT, "at": at}, HALVES, targets=SIZE)[1] * 2 + 1)
    assert (doubled(LEFT["at"]) == np.where(COVERED, 5, 1)).all()
    assert "2 kernels" in str(doubled.explain(LEFT["at"]))


@pytest.mark.req("R4")
def test_depth_of_several_samples_beside_their_colour(draw: Any) -> None:
    edge = {**BIG, "at": np.float32([[-1, -1, 0.25, 1], [0.5, -1, 0.25, 1], [-1, 3, 0.25, 1]])}
    at = np.concatenate([edge["at"], BIG["at"]])  # the far one behind the near one, drawn last
    both, colours = (
        {"at": at, "colour": np.repeat(np.float32([[1, 0, 0], [0, 1, 0]]), 3, 0)},
        draw.options(samples=4, depth="less"),
    )
    image = colours(both, targets=(16, 16))
    share = image[..., 0]
    assert set(np.unique(share)) > {0, 0.25, 1}
    np.testing.assert_allclose(share + image[..., 1], 1)  # the near one hides the far one sample by sample
    expected = {"min": np.where(share > 0, 0.25, 0.5), "max": np.where(share < 1, 0.5, 0.25)}
    for name, depth in expected.items():
        found = colours.options(depth_resolve=name)(both, targets=(16, 16))
        np.testing.assert_array_equal(found[0], image)
        assert (found[1] == depth).all()
    first = colours.options(depth_resolve="first", depth_format="d16_unorm")(both, targets=(16, 16))[1]
    sure = (share == 0) | (share == 1)
    np.testing.assert_allclose(first[sure], expected["min"][sure], atol=1e-4)
    seen = draw.options(samples=4, stencil="always", stencil_pass="increment", depth_resolve="max")
    assert (seen(both, targets=(16, 16))[1] == np.where(share > 0, 2, 1)).all()
