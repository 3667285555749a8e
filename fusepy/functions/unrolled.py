"""Python loops that a trace has unrolled: a warning where that has made a very long program."""

from __future__ import annotations

import warnings
from collections import Counter

from fusepy.errors import UnrollWarning
from fusepy.ir.graph import Graph

LIMIT = 1000  # operations that one line of a program may record without a word


def warn_unrolled(graph: Graph) -> None:
    """Warns if one line of the user's program has recorded more operations than anybody writes by hand."""
    counts = Counter(node.loc for node in graph.walk() if node.loc is not None and node.op.name != "const")
    line, count = max(counts.items(), key=lambda item: item[1], default=("", 0))
    if count > LIMIT:
        warnings.warn(
            f"{line}: {graph.name}: this line has recorded {count} operations: a Python loop is unrolled while it is traced, and"
            " long programs take long to compile; fusepy.fori_loop records its body once",
            UnrollWarning,
            stacklevel=2,
        )
