"""Operations of the IR: a registry of `Op` objects by name. A new operation is one object in one of these files.

Imports what `ir` may import, and `ir`.
"""

from fusepy.ir.graph import Op
from fusepy.ir.ops.arithmetic import OPERATORS
from fusepy.ir.ops.call import SlangCall
from fusepy.ir.ops.control import CONTROL_OPS
from fusepy.ir.ops.exact import SCATTER_OPS
from fusepy.ir.ops.integers.extremes import EXTREMES
from fusepy.ir.ops.jvp import JVP
from fusepy.ir.ops.loop_vjp import LOOP_VJP
from fusepy.ir.ops.math import INTRINSICS
from fusepy.ir.ops.power import POWERS
from fusepy.ir.ops.reduce import REDUCE_OPS
from fusepy.ir.ops.region import Region
from fusepy.ir.ops.struct import MakeStruct
from fusepy.ir.ops.structure import STRUCTURE_OPS
from fusepy.ir.ops.vector import VECTOR_OPS
from fusepy.ir.ops.vjp import GRADIENT_OPS
from fusepy.ir.pipelines.draw import Draw
from fusepy.ir.rows.fold import RowFold

_ALL = [
    SlangCall(),
    MakeStruct(),
    Region(),
    RowFold(),
    *STRUCTURE_OPS,
    *OPERATORS,
    *POWERS,
    *INTRINSICS,
    *EXTREMES,
    *VECTOR_OPS,
    *REDUCE_OPS,
    *CONTROL_OPS,
]
OPS: dict[str, Op] = {op.name: op for op in (*_ALL, *GRADIENT_OPS, *SCATTER_OPS, RowFold(), JVP, LOOP_VJP, Draw())}

__all__ = ["OPS", "Op"]
