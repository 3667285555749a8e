"""The folds across the threads of a row: what each thread passes on to the others."""

from __future__ import annotations

import pytest

from fusepy.backend.emit.row.reduction import exchanged_bytes
from fusepy.ir.parse import parse_graph

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
