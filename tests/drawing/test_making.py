"""`raster`: what stages may be given as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.rasters import SOURCE, need_raster

STAGES = """
struct Corner { float4 position : SV_Position; float3 colour; };
[shader("vertex")] Corner vs(float4 at : POSITION, float3 colour : COLOR) { return { at, colour }; }
[shader("fragment")] float4 fs(Corner c) : SV_Target { return float4(c.colour, 1); }
"""
V = {"at": np.float32([[-1, -1, 0.5, 1], [3, -1, 0.5, 1], [-1, 3, 0.5, 1]]), "colour": np.ones((3, 3), np.float32)}


@pytest.mark.req("R4")
def test_stages_are_names_functions_of_modules_or_functions_in_python(device: Any) -> None:
    need_raster(device)
    m = fp.Module.load_from_source(device, "making", SOURCE)

    def white(colour: Any) -> Any:
        return fp.float4(colour, 1.0)

    for fragment in ("fs", m.fs, white, fp.fuse(white)):
        for vertex in ("vs", m.vs):
            assert (fp.raster(m, vertex=vertex, fragment=fragment)(V, targets=(2, 2)) == 1).all()
    for given in ({"vertex": 3}, {"vertex": "vs", "fragment": 3}, {"mesh": 3}):
        with pytest.raises(fp.ArgumentError, match=r"is a function|is the name of an entry point"):
            fp.raster(m, **given)


@pytest.mark.req("F19")
def test_modules_of_slangpy(device: Any, tmp_path: Path) -> None:
    need_raster(device)
    (tmp_path / "making_sgl.slang").write_text(STAGES)
    inner = device.sgl.load_module(str(tmp_path / "making_sgl.slang"))
    assert (fp.raster(inner, vertex="vs", fragment="fs")(V, targets=(2, 2)) == 1).all()
    with pytest.raises(fp.ArgumentError, match=r"slangpy\.Module"):
        fp.raster(3, vertex="vs", fragment="fs")
