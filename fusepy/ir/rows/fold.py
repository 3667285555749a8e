"""``row_fold``: a value of each element combined along the row, inside a region that goes along rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fusepy.errors import ShapeError
from fusepy.ir.fold_meanings import folded
from fusepy.ir.graph import Node, Op, Value
from fusepy.ir.ops.folds import Fold, Functions
from fusepy.ir.ops.promotion import of_numbers
from fusepy.ir.oracle import Oracle
from fusepy.ir.value import Array


class RowFold(Op):
    """In a region that goes along rows: a value of each element, combined along `RegionSpec.rows` for all threads of the row."""

    name = "row_fold"
    arity = 1
    spreads = False
    needs = {"kind": (str,)}

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        fold, value = Fold.of_node(node), node.operands[0]
        return [Value(fold.type(value.type, node.loc), weak=of_numbers([value]))]

    def combined(self, node: Node, array: Array, grid: Sequence[int], rows: Sequence[int], functions: Functions) -> Array:
        """Returns the folded value of each row of a grid, with extent 1 along `rows`.

        Raises:
            ShapeError: if the operand has a smaller grid than the region.
        """
        type = node.operands[0].type
        if any(array.shape[d] != grid[d] for d in rows):  # elements would be combined several times
            raise ShapeError("a folded value is smaller than the grid", saw=array.shape, expected=tuple(grid))
        done = folded(Fold.of_node(node), array, rows, type, functions)
        return np.expand_dims(done, tuple(rows))

    def verify(self, node: Node) -> str | None:
        wrong = super().verify(node) or Fold.of_node(node).wrong()
        return wrong or ("row_fold combines single elements, inside a region" if node.operands[0].rank else None)
