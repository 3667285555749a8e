"""Hit groups and rows of shader tables, as they are given."""

from __future__ import annotations

import pytest

import fusepy as fp
from fusepy.rays.stages import hit_groups, table_of


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
