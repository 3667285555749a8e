"""The text of a draw: both entry points, and the guard before the vertices."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusepy as fp
from tests.support.rasters import SOURCE, need_raster

V = {"at": np.float32([[-1, -1, 0.5, 1], [3, -1, 0.5, 1], [-1, 3, 0.5, 1]]), "colour": np.float32(np.eye(3))}


def test_the_text_of_a_draw(device: Any) -> None:
    need_raster(device)
    m = fp.Module.load_from_source(device, "texts_of_draws", SOURCE)
    text = fp.raster(m, vertex="vs", fragment="fs").source(V, targets=(4, 4))
    assert text.count('[shader("vertex")]') == text.count('[shader("fragment")]') == 1
    assert "Corner vertex_vertex(uint fz_vertex : SV_VertexID" in text
    assert "int d0 = min(fz_vertex, uint(fz_args.extent0 - 1));" in text
    assert "= ::vs(" in text
    assert "= ::fs(v_0);" in text

    def vs(at: Any, k: Any) -> Any:
        return {"position": at, "shade": at.x, "number": k}

    def fs(number: Any, shade: Any, k: Any) -> Any:
        return fp.where(number > k, shade, 1.0), number

    text = fp.raster(m, vertex=vs, fragment=fs).source({"at": V["at"]}, targets=(4, 4), k=3)
    assert "float4 o_0 : SV_Position;" in text
    assert "nointerpolation int o_2 : FZ2;" in text
    assert "int r_1 : SV_Target1;" in text
