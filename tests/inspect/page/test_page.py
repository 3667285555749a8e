"""DOT, layouts and pages: what is in them, without a browser; and the times that they show."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from fusepy.inspect.chart import Box, Chart
from fusepy.inspect.dot import dot
from fusepy.inspect.page.layout import GAP_X, MOST_IN_A_ROW, lay_out
from fusepy.inspect.page.svg import svg
from tests.support.slang_functions import ramp

SOURCE = """
import fusepy;
float luminance(float3 c) { return dot(c, float3(0.25, 0.5, 0.25)); }
float blurred(Tensor<float, 2> image, int2 p) { return (image[int2(max(p.x - 1, 0), p.y)] + image[p]) / 2; }
float3 tone(float3 c, float l, float k) { return c * k / (1 + l); }
float slow(float x) { for (int i = 0; i < 400; i++) x = sin(x) + 1; return x; }
void store(float x, float* to, int i) { to[i] = x; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "pages", SOURCE)


def pipeline(m: Any) -> tuple[fp.Graph, tuple[Any, ...]]:
    """A graph of several kernels, and arguments for it."""
    g = fp.Graph(inputs=["image", "p", "k"], name="pipeline")
    image, p, k = g.get_inputs()
    light = m.luminance.node()(image)
    g.set_outputs(m.tone.node()(image, m.blurred.node()(light, p), k), fp.fuse(lambda x: fp.mean(x)).node()(light) * 2)
    return g, (ramp(16, 24, 3), fp.grid((16, 24)), 2.0)


# ---- DOT ------------------------------------------------------------------------------------------------------------


def test_dot_of_a_graph_as_it_was_built(m: Any) -> None:
    g, _ = pipeline(m)
    text = re.sub(r"test_page.py:\d+", "test_page.py:0", g.to_dot())
    assert text == (
        """\
digraph "pipeline" {
  node [fontname="sans-serif"];
  edge [fontname="sans-serif"];
  n0 [label="image", shape=ellipse];
  n1 [label="p", shape=ellipse];
  n2 [label="k", shape=ellipse];
  n3 [label="luminance", shape=box, tooltip="test_page.py:0"];
  n4 [label="blurred", shape=box, tooltip="test_page.py:0"];
  n5 [label="tone", shape=box, tooltip="test_page.py:0"];
  n6 [label="<lambda>", shape=box, tooltip="test_page.py:0"];
  n7 [label="*\\n#1 = 2", shape=box, tooltip="test_page.py:0"];
  n8 [label="result 0", shape=ellipse];
  n9 [label="result 1", shape=ellipse];
  n0 -> n3;
  n3 -> n4;
  n1 -> n4;
  n0 -> n5;
  n4 -> n5;
  n2 -> n5;
  n3 -> n6;
  n6 -> n7;
  n5 -> n8;
  n7 -> n9;
}"""
    )
    assert g.to_dot() == g.to_dot()


def test_dot_of_a_call_has_a_cluster_for_each_kernel(m: Any) -> None:
    g, args = pipeline(m)
    text = g.to_dot(*args)
    assert text.count("subgraph cluster_") == g.explain(*args).kernels
    assert '"image\\nfloat[16, 24, 3]"' in text
    assert '"luminance\\nfloat"' in text
    assert '[label="float[16, 24]"]' in text  # what one kernel stores and another loads
    assert text == g.to_dot(*args)
    fused = fp.fuse(lambda x: m.slow(x) + 1)
    assert fused.to_dot(ramp(3)).count("cluster_") == 1 == m.slow.to_dot(ramp(3)).count("cluster_")


def test_dot_escapes_what_is_not_its_own() -> None:
    chart = Chart('a "name" \\ of\nlines')
    at = chart.add(Box("node", ('"quoted" \\n', "<b>"), 'C:\\"x".py:3'))
    chart.add(Box("result", ("é→",)), [(at, 'T<"a">')])
    text = dot(chart)
    assert text.splitlines()[0] == r'digraph "a \"name\" \\ of\nlines" {'
    assert r'label="\"quoted\" \\n\n<b>"' in text
    assert r'tooltip="C:\\\"x\".py:3"' in text
    assert r'[label="T<\"a\">"]' in text
    if shutil.which("dot"):
        assert subprocess.run(["dot", "-Tsvg"], input=text, text=True, capture_output=True, check=True).stdout


# ---- layout ---------------------------------------------------------------------------------------------------------


@st.composite
def charts(draw: st.DrawFn) -> Chart:
    chart = Chart("random")
    for i in range(draw(st.integers(1, 40))):
        sources = draw(st.lists(st.integers(0, i - 1), max_size=3)) if i else []
        chart.add(Box("node", ("x" * draw(st.integers(1, 50)), "y")[: draw(st.integers(1, 2))]), [(s, "t") for s in sources])
    return chart


@given(charts())
def test_boxes_never_overlap_and_links_run_down(chart: Chart) -> None:
    layout = lay_out(chart)
    boxes = layout.boxes
    for i, a in enumerate(boxes):
        assert a.x - a.width / 2 >= 0
        assert a.x + a.width / 2 <= layout.width
        assert 0 <= a.y <= a.y + a.height <= layout.height
        for b in boxes[:i]:
            apart = abs(a.x - b.x) >= (a.width + b.width) / 2 + GAP_X - 1e-6
            assert apart or a.y + a.height < b.y or b.y + b.height < a.y
    assert [(r.source, r.target) for r in layout.routes] == [(s, t) for s, t, _ in chart.links]
    for route in layout.routes:
        first, last = boxes[route.source], boxes[route.target]
        heights = [y for _, y in route.points]
        assert heights == sorted(heights)
        assert heights[0] == first.y + first.height
        assert heights[-1] == last.y
        assert abs(route.points[0][0] - first.x) <= first.width / 2
        assert abs(route.points[-1][0] - last.x) <= last.width / 2
    assert lay_out(chart) == layout


def test_a_chain_is_straight_and_long_rows_are_broken() -> None:
    chain = Chart("chain")
    at = chain.add(Box("argument", ("x",)))
    for _ in range(20):
        at = chain.add(Box("node", ("f",)), [(at, "float")])
    assert len({round(b.x, 3) for b in lay_out(chain).boxes}) == 1
    wide = Chart("wide")
    for _ in range(3 * MOST_IN_A_ROW):
        wide.add(Box("node", ("f",)))
    assert len({b.y for b in lay_out(wide).boxes}) == 3
    empty = lay_out(Chart("empty"))
    assert (empty.boxes, empty.routes) == ((), ())


def test_svg_escapes_and_shortens() -> None:
    chart = Chart("x")
    at = chart.add(Box("node", ("<script>alert('1')</script>" * 3,), "a&b.py:1"))
    chart.add(Box("result", ("r",)), [(at, 'vector<float,3>"')])
    text = svg(chart, 'what "it" shows', lambda box: "#a<b" if box.kind == "result" else "")
    assert "<script>" not in text
    assert 'aria-label="what &quot;it&quot; shows"' in text
    assert "vector&lt;float,3&gt;&quot;" in text
    assert 'href="#a&lt;b"' in text
    assert "a&amp;b.py:1" in text
    assert "…</text>" in text


# ---- the page -------------------------------------------------------------------------------------------------------


def codes(text: str) -> list[str]:
    return [unescape(code) for code in re.findall(r"<code>(.*?)</code>", text, re.DOTALL)]


@pytest.mark.req("G4")
def test_g4_the_page_of_a_graph(m: Any, tmp_path: Path) -> None:
    g, args = pipeline(m)
    g.to_html(tmp_path / "graph.html", *args)
    text = (tmp_path / "graph.html").read_text(encoding="utf-8")
    explained = g.explain(*args)
    assert text.count('<details class="kernel"') == explained.kernels
    assert "\n".join(codes(text)) == g.source(*args)
    for reason in explained.reasons:
        assert reason in unescape(text)
    for words in ("vmap(d0,d1) vcast(float3)", "float[16, 24, 3]", "luminance", "mean", "The graph as it was built"):
        assert words in unescape(text), words
    costs = re.findall(r'<span class="cost">(.*?)</span>', text)
    assert len(costs) == explained.kernels
    assert all(re.fullmatch(r"[\d.]+ (B|kB|MB), [\d.e+]+ (µs|ms|s), [\d.e-]+ GB/s", cost) for cost in costs), costs
    assert not re.search(r"(src|href)=.?(http|//|data:)|@import|url\((?!#)", text)


def test_bytes_are_those_of_what_is_read_and_written(m: Any, tmp_path: Path) -> None:
    m.luminance.to_html(tmp_path / "one.html", ramp(10, 20, 3), _measure=False)
    text = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert '<span class="cost">3.2 kB</span>' in text  # 200 * (3 + 1) floats
    assert "time not measured" in text
    assert "The graph as it was built" not in text


def test_a_call_that_writes_to_its_arguments_is_not_run(m: Any, device: Any, tmp_path: Path) -> None:
    to = fp.Tensor.zeros(device, 4, "float")
    g = fp.Graph(inputs=["x", "to", "i"], name="writes")
    x, target, i = g.get_inputs()
    m.store.node()(x, target, i)
    g.set_outputs(x + 1)
    args = (ramp(4, start=1.0), fp.vmap(to, ()), fp.grid((4,)))
    g.to_html(tmp_path / "writes.html", *args)
    assert to.to_numpy().tolist() == [0, 0, 0, 0]
    assert "not measured, since the call writes to its arguments" in (tmp_path / "writes.html").read_text(encoding="utf-8")


def test_measured_times_follow_the_work(m: Any, device: Any) -> None:
    from fusepy.inspect.measure import seconds_per_kernel

    if "timestamp_query" not in device.features:
        pytest.skip("the device has no timestamps")
    small, large = ramp(1 << 10), ramp(1 << (17 if device.target.kind == "software" else 24))  # a GPU runs 2^17 side by side

    def seconds(x: Any) -> float:
        program = m.slow.lower(x).program
        before = fp.stats().dispatches
        (found,), why = seconds_per_kernel(m.slow, None, program, (x,), {})
        assert why == ""
        assert fp.stats().dispatches > before
        return found

    assert seconds(large) > 2 * seconds(small)  # at least 128 times the work
    assert np.array_equal(m.slow(small), m.slow(small))  # the queue is as it was


def test_globals_and_hooks_are_set_while_it_is_measured(device: Any, tmp_path: Path) -> None:
    source = "uniform float gain; float gained(float x) { return x * gain; }"
    lib = fp.Module.load_from_source(device, "page_globals", source)
    lib.gained.set(gain=2).to_html(tmp_path / "set.html", ramp(8))
    with pytest.raises(fp.ArgumentError, match="gain"):
        lib.gained.to_html(tmp_path / "unset.html", ramp(8))
    calls: list[int] = []
    hooked = lib.gained.hook(lambda context: (calls.append(1), context.set(gain=3)))
    hooked.to_html(tmp_path / "hooked.html", ramp(8))
    assert calls == [1]


def big(m: Any) -> fp.Graph:
    """A graph of 2,000 nodes, half of which read another one of the last before them."""
    g = fp.Graph(inputs=["x"], name="big")
    values: list[Any] = [*g.get_inputs()]
    for i in range(1000):
        values.append(m.slow.node()(values[-1]))
        values.append(values[-1] + values[-1 - (i * 7) % min(i + 1, 12)])
    g.set_outputs(values[-1])
    return g


def test_kernels_that_pass_on_a_texture_are_measured_too(device: Any, tmp_path: Path) -> None:
    source = "float3 twice(float3 c) { return 2 * c; } float4 texel(int2 p, Texture2D<float4> t) { return t[p]; }"
    lib = fp.Module.load_from_source(device, "page_textures", source)
    g = fp.Graph(inputs=["image", "pixel"], name="textures")
    image, pixel = g.get_inputs()
    light = lib.twice.node()(image)
    g.set_outputs(lib.texel.node()(pixel, light), light)
    args = (ramp(5, 6, 3), fp.grid((5, 6)))
    assert np.array_equal(np.asarray(g(*args)[1]), 2 * ramp(5, 6, 3))
    g.to_html(tmp_path / "textures.html", *args)
    text = (tmp_path / "textures.html").read_text(encoding="utf-8")
    assert len(re.findall(r'<span class="cost">[^<]*GB/s</span>', text)) == g.explain(*args).kernels == 2
