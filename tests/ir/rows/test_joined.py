"""The rules for rows: adjacent dimensions of the grid, in order, along which something is combined."""

from __future__ import annotations

import numpy as np
import pytest

from fusepy.errors import VerifyError
from fusepy.ir.interpret import interpret
from fusepy.ir.parse import parse_graph
from fusepy.ir.verify import verify
from tests.support.random_graphs import ORACLE

CENTRED = """graph @centred(%x: Tensor<float>[?,?,?,?]) -> (Tensor<float>[?,?,?,?]) {
  %0 = region(%x vmap(d0,d1,d2,d3)) rows(d1,d2) : Tensor<float>[?,?,?,?] vmap(d0,d1,d2,d3)
  body @centred(%x: float) -> (float) {
    %0 = row_fold(%x vmap()) {kind = "sum"} : float
    %1 = sub(%x vmap(), %0 vmap()) : float
    return %1
  }
  return %0
}"""


def test_a_column_is_combined_along_its_dimensions() -> None:
    graph = parse_graph(CENTRED)
    verify(graph, "fused", ORACLE)
    assert str(graph) == CENTRED
    x = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
    np.testing.assert_array_equal(interpret(graph, [x])[0], x - x.sum((1, 2), keepdims=True))


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        ("rows(d0,d2)", "rows are not adjacent dimensions of the grid, in order"),
        ("rows(d2,d1)", "rows are not adjacent dimensions of the grid, in order"),
        ("", "rows say along which dimensions row_fold nodes combine, and only that"),
    ],
)
def test_other_rows_are_refused(rows: str, wrong: str) -> None:
    graph = parse_graph(CENTRED.replace("rows(d1,d2)", rows).replace(")  :", ") :"))
    with pytest.raises(VerifyError, match=wrong):
        verify(graph, "fused", ORACLE)
