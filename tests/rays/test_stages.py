"""Hit groups and rows of shader tables, as they are given; and what the functions of stages write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.rays.stages import hit_groups, table_of
from tests.support.rays import need_rays


@pytest.mark.req("R1")
def test_hit_groups_have_names() -> None:
    assert hit_groups(None, None, None) == {}
    assert hit_groups("a", None, "b") == {"hit": fp.HitGroup("a", None, "b")}
    named = hit_groups({"x": "a", "y": "b"}, {"y": "c", "z": "d"}, None)
    assert named == {"x": fp.HitGroup("a"), "y": fp.HitGroup("b", "c"), "z": fp.HitGroup(None, "d")}
    own = fp.HitGroup("e")
    groups, rows = table_of(named, ["y", own, "y", fp.HitGroup("a")], "f")
    assert rows == ("y", "group_3", "y", "x")
    assert groups == {**named, "group_3": own}
    assert table_of(named, None, "f") == (named, ("x", "y", "z"))


WRITING = """
import fusepy;
struct Payload { float3 seen; };
RaytracingAccelerationStructure scene;
RWTensor<float, 1> counted;
void missed(inout Payload p) { p.seen = float3(1, 2, -3); }
void counting(inout Payload p) { missed(p); counted[0] = counted[0] + 1; }
float3 look(float3 from)
{
    Payload p = {};
    RayDesc ray = { from, 0, float3(0, 0, -1), 10 };
    TraceRay(scene, 0, 255, 0, 0, 0, ray, p);
    return p.seen;
}
"""


@pytest.mark.parametrize("missed", ["missed", "counting", "python"])
def test_calls_are_measured_and_checked_unless_a_stage_writes(device: Any, tmp_path: Path, missed: str) -> None:
    need_rays(device)
    m = fp.Module.load_from_source(device, "writing_stages", WRITING)
    counted, page = fp.Tensor.zeros(device, 1, "float"), tmp_path / "rays.html"
    miss = (lambda payload: {"seen": fp.float3(1, 2, -3)}) if missed == "python" else missed
    look = fp.ray_gen(m, "look", miss=miss).set(scene=fp.Scene(fp.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]])), counted=counted)
    above = np.float32([[5, 5, 1]])
    look.to_html(page, above)
    assert ("since the call writes" in page.read_text(encoding="utf-8")) == (missed == "counting")
    with pytest.raises(fp.NonFiniteError, match="a result holds NaN" if missed == "counting" else r"sqrt\(%\d\) gives NaN"):
        fp.debug.check_nan(fp.fuse(lambda x: fp.sqrt(look(x))))(above)
    assert counted.to_numpy().tolist() == [float(missed == "counting")]
