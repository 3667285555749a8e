"""Pipelines as attributes of calls: their text is read back, and stays in printed graphs."""

from __future__ import annotations

import json

from fusepy.ir.parse import parse_graph
from fusepy.ir.pipelines.rays import RayPipeline, RayStage, generates_rays, pipelines_in
from fusepy.ir.printer import print_graph
from fusepy.passes.partition.partition import partition
from tests.support.fake_oracle import FakeOracle

STAGES = (
    RayStage("miss", "m", "ns::missed", ("Payload",)),
    RayStage("closesthit", "m", "hit", ("Pair<float, 2>", "BuiltInTriangleIntersectionAttributes"), "glass"),
    RayStage("intersection", "other", "sphere", (), "glass"),
)
PIPELINE = RayPipeline(STAGES, ("glass", "glass"), 2, 24, 12)

TWO = """import @m = "..."
graph @g(%x: Tensor<float>[?]) -> (Tensor<float>[?], float) {
  %0 = slang.call @m.look(%x vmap(d0)) {rays = ["1 4 8", "hit"]} : Tensor<float>[?]
  %1 = neg(%0 vmap(d0)) : Tensor<float>[?]
  %2 = slang.call @m.look(%1 vmap(d0)) {rays = ["1 4 8", "hit"]} : Tensor<float>[?]
  %3 = add(%1 vmap(d0), %2 vmap(d0)) : Tensor<float>[?]
  %4 = reduce(%3) {axes = ["d0"], kind = "sum"} : float
  return %3, %4
}"""


def test_a_pipeline_is_read_back() -> None:
    lines = PIPELINE.attrs()["rays"]
    assert isinstance(lines, tuple)
    assert [RayStage.parse(line) for line in lines[2:]] == [*STAGES]
    text = TWO.replace('["1 4 8", "hit"]', json.dumps(lines))
    graph = parse_graph(text)
    assert pipelines_in([graph]) == [PIPELINE]
    assert print_graph(parse_graph(print_graph(graph))) == print_graph(graph)
    assert PIPELINE.group("glass") == [STAGES[1], None, STAGES[2]]
    assert [generates_rays(n) for n in graph.nodes] == [True, False, True, False, False]


def test_each_ray_generation_has_a_kernel_that_goes_on_element_by_element() -> None:
    graph = parse_graph(TWO)
    found = partition(graph, FakeOracle())
    first, negated, second, total, _ = (n.results[0] for n in graph.nodes)
    stored = [[*part.stored, *part.after] for part in found.parts]
    levels = found.levels
    assert [levels.level[v] for v in (first, negated, second, total)] == [0, 0, 1, 1]
    assert len(found.parts) == 3
    assert total in stored[1]
    assert [len(part.effects) for part in found.parts] == [1, 1, 0]
