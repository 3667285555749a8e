"""The question whether Slang can differentiate a call, as a differentiable function with the call in it."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.ir.graph import declare
from fusepy.ir.names import split_path
from fusepy.ir.oracle import IN, CallTypes
from fusepy.ir.types import Kind

_PASSED = (Kind.POINTER, Kind.WHOLE, Kind.RESOURCE)  # types without derivatives, to which no_diff does not apply


def differentiable(imports: Sequence[str], call: CallTypes) -> str:
    """Returns a module with a differentiable function that makes this call."""
    passed = [f"a{i}" for i in range(len(call.params))]
    taken: list[str] = []
    for name, (direction, type, wanted) in zip(passed, call.params):
        constant = "" if wanted or direction != IN or type.kind in _PASSED else "no_diff "
        taken.append(("" if direction == IN else f"{direction} ") + constant + declare(type, name))
    spelled = f"{call.function}({', '.join(passed)})"
    if call.method:
        spelled = f"{passed[0]}.{split_path(call.function)[1]}({', '.join(passed[1:])})"
    head = f"[Differentiable] {call.result or 'void'} probe({', '.join(taken)})"
    return "".join(f"import {name};\n" for name in imports) + f"{head} {{ {'return ' if call.result else ''}{spelled}; }}\n"
