"""`raster`: what stages may be given as."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.rasters import SOURCE, need_raster

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
