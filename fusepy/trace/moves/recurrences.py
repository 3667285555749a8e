"""Linear recurrences along an axis: a scan of pairs of a slope and an offset by a function of fusepy's."""

from __future__ import annotations

from fusepy.backend.sources.libraries import FOLDER
from fusepy.backend.sources.source import ModuleSource
from fusepy.derivatives.scans.running import FOLLOWED
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Attr, Value
from fusepy.ir.ops import OPS
from fusepy.location import user_line
from fusepy.trace.moves.record import moved
from fusepy.trace.moves.steps import ALL, Indexed, Run
from fusepy.trace.open_trace import OpenTrace

_SCANS = "fusepy_scans"


def recurrence(trace: OpenTrace, pairs: Value, axis: int, back: bool, exclusive: bool) -> Value:
    """Returns the pairs of all steps up to each element along an axis, or from it on if `back`; see `Shapes.recurrence`."""
    rank = pairs.rank
    flip = Indexed(rank, tuple(Run(None, None, -1) if a == axis else ALL for a in range(rank)))
    alias = trace.module(ModuleSource.make(_SCANS, (FOLDER / f"{_SCANS}.slang").read_text(encoding="utf-8")), trace.device)
    attrs: dict[str, Attr] = {
        "kind": "call",
        "axis": f"d{axis}",
        "exclusive": exclusive,
        "module": alias,
        "function": FOLLOWED,
        "identity": ("1.0", "0.0"),
    }
    steps = moved(trace, pairs, flip) if back else pairs
    (made,) = trace.builder.add(OPS["scan"], [steps], [ArgMap(tuple(range(rank)))], attrs, user_line())
    return moved(trace, made, flip) if back else made
