"""Entry points as CUDA needs them. The texts compile on every device, so they are tested on all."""

from __future__ import annotations

from typing import Any

import pytest

from fusepy.backend.slang.entry_points import RENAMED, marked, renamed, with_entry_points, without_entry_points
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import CompileError

SOURCE = """
RWStructuredBuffer<float> to;
extern static const int N = 1;
float inner(float x) { return x; }
// [numthreads(1, 1, 1)] in words
[shader("compute")]
[numthreads(4, 2, 1)]
void main(uint3 tid : SV_DispatchThreadID, /* a ) in words */ uint lane : SV_GroupIndex, uniform float2 k,
          uniform float w[2] = {})
{
    to[tid.x] = N * inner(k.x) + w[lane % 2];
}
[numthreads(8, 1, 1)] void bare(uint i : SV_DispatchThreadID) { to[i] = 1; }
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[numthreads(8,1,1)]\nvoid f() {}", '[shader("compute")] [numthreads(8,1,1)]\nvoid f() {}'),
        ("[ numthreads(N, 1, 1) ] [other] void f() {}", '[shader("compute")] [numthreads(N, 1, 1) ] [other] void f() {}'),
        ('[shader("compute")] // x\n[numthreads(8,1,1)] void f() {}', None),
        ('[numthreads(8,1,1)] /* [ */ [shader("compute")] void f() {}', None),
        ('[outputtopology("triangle")] [numthreads(8,1,1)] void f() {}', None),
        ("[CudaKernel] [numthreads(8,1,1)] void f() {}", None),
        ('// [numthreads(8,1,1)]\n/* [numthreads(8,1,1)] */ void f() { g("[numthreads(8,1,1)]"); a[i] = b[j]; }', None),
    ],
)
def test_numthreads_alone_make_an_entry_point(text: str, expected: str | None) -> None:
    assert marked(text) == (text if expected is None else expected)


def test_a_marked_module_has_the_entry_points_of_other_targets(device: Any) -> None:
    plain = ModuleSource.make("entries", SOURCE)
    given = with_entry_points(plain)
    assert given.text != plain.text
    assert with_entry_points(given) is given
    found = [[(e.name, e.stage) for e in device.compiler.module(s).entry_points] for s in (plain, given)]
    assert [name for name, _ in found[1]] == ["main", "bare"]
    if device.target.kind != "cuda":
        assert found[0] == found[1]


@pytest.mark.req("F10")
def test_main_under_another_name(device: Any) -> None:
    source = without_entry_points(ModuleSource.make("entries", SOURCE))
    assert [e.name for e in device.compiler.module(source).entry_points] in (["main", "bare"], [])
    text = renamed(device.compiler.module(source), source, (4, 2, 1), ["export static const int N = 3;"])
    assert "main(tid, lane, k, w);" in text
    program = device.compiler.compile("renamed_main", text, (), [source], RENAMED).program
    entry = program.layout.entry_points[0]
    assert [*entry.compute_thread_group_size] == [4, 2, 1]
    assert [entry.parameters[i].name for i in range(len(entry.parameters))] == ["tid", "lane", "k", "w"]


def test_main_in_an_included_file(device: Any, tmp_path: Any) -> None:
    (tmp_path / "part.slangh").write_text(SOURCE)
    source = ModuleSource.make("includes", '#include "part.slangh"\n', str(tmp_path / "includes.slang"))
    with pytest.raises(CompileError, match="included on CUDA"):
        renamed(device.compiler.module(source), source, (4, 2, 1), [])
