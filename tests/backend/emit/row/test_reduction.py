"""The folds across the threads of a row: what each thread passes on to the others."""

from __future__ import annotations

import pytest

from fusepy.backend.emit.row.reduction import StageFolds, exchanged_bytes
from fusepy.backend.emit.row.variant import RowShape
from fusepy.ir.parse import parse_graph
from fusepy.ir.rows.body import RowBody

FOLD = """graph @folded(%x: Tensor<TYPE>[?]) -> (Tensor<MADE>[]) {
  %0 = region(%x vmap(d0)) rows(d0) : MADE vmap()
  body @folded(%x: TYPE) -> (MADE) {
    %0 = row_fold(%x vmap()) {kind = "KIND"} : MADE
    return %0
  }
  return %0
}""".replace("Tensor<MADE>[]", "MADE")


@pytest.mark.parametrize(
    ("kind", "type", "made", "count"),
    [
        ("max", "float", "float", 4),
        ("sum", "float", "float", 8),  # with the rounding errors
        ("sum", "int", "int", 4),
        ("argmax", "float", "int", 8),  # with its place
        ("sum", "double", "double", 16),
        ("sum", "float3", "float3", 24),
    ],
)
def test_what_a_thread_passes_on(kind: str, type: str, made: str, count: int) -> None:
    (region,) = parse_graph(FOLD.replace("KIND", kind).replace("TYPE", type).replace("MADE", made)).nodes
    assert region.body is not None
    assert exchanged_bytes(region.body.nodes) == count
    assert exchanged_bytes([*region.body.nodes, *region.body.nodes]) == 2 * count


def test_vectors_of_bools_go_between_lanes_as_integers() -> None:
    text = FOLD.replace('kind = "KIND"', 'kind = "call", module = "m", function = "f", identity = ["0", "0"]')
    (region,) = parse_graph(text.replace("TYPE", "bool2").replace("MADE", "bool2")).nodes
    body = RowBody(region)
    (stage,) = body.stages(held=False)
    folds = StageFolds(0, stage, {n: j for j, n in enumerate(body.folds)}, RowShape(32, 0, reach="wave"))
    lines = [line for line in folds.across() if "WaveMaskReadLaneAt" in line]
    assert lines
    assert all("= bool2(WaveMaskReadLaneAt(~0u, int2(" in line for line in lines)
