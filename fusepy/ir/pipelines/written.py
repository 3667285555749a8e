"""Fused stages as differentiable Slang functions, for copies of modules in which rays are queries."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fusepy.ir.graph import Node, Value
from fusepy.ir.ops.control import block
from fusepy.ir.ops.doubles import NEAR_ZERO
from fusepy.ir.ops.math import KEEPS_NAN
from fusepy.ir.pipelines.rays import KEPT, WHOLE, RayStage
from fusepy.ir.value import declare

PLACE = "@"  # of the name of the function
DISPATCHED = ("DispatchRaysIndex", "DispatchRaysDimensions")  # values that only ray generations have

_PLAIN = {"min": "min", "max": "max", "clip": "clamp", "saturate": "saturate"}  # whose derivative Slang knows; they may drop NaN
_KEEPS_NAN = re.compile(rf"\b{KEEPS_NAN}({'|'.join(_PLAIN)})(?=\()")
_HYPERBOLIC = re.compile(rf"\b{NEAR_ZERO}(sinh|tanh)(?=\()")  # Slang's own, too, have one that it knows


def unwritten(stage: RayStage) -> str | None:
    """Returns why the body of a fused stage cannot be a function of its module; ``None`` if it can."""
    graph = stage.graph
    assert graph is not None
    if any(node.bodies for node in graph.nodes):
        return f"{stage.function}, a Python function with a loop or a branch"
    if any(node.op.name == "slang.call" and node.text("module") != stage.module for node in graph.nodes):
        return f"{stage.function}, a Python function that calls another module"
    own = next((v.name for v in graph.inputs if v.name in DISPATCHED), None)
    return None if own is None else f"{stage.function}, a Python function that reads {own}()"


def used(stage: RayStage) -> list[str]:
    """Returns the names of Slang's own functions that the text of a fused stage calls."""
    graph = stage.graph
    found: list[str] = []
    for node in graph.nodes if graph is not None else ():
        if node.op.name != "slang.call":
            lines = _statements(node, ["a"] * len(node.operands), ["r"] * len(node.results))
            found += re.findall(r"\w+(?=\()", " ".join(lines))
    return found


def _statements(node: Node, args: Sequence[str], results: Sequence[str]) -> list[str]:
    """Returns the statements of an operation, so that Slang knows its derivative."""
    if node.op.name == "stop_gradient":
        return [f"{declare(node.results[0].type, results[0])} = detach({args[0]});"]
    if node.op.name == "smoothstep":
        low, high, x = args
        made = declare(node.results[0].type, results[0])
        return [
            f"{made} = clamp(({x} - {low}) / ({high} - {low}), 0, 1);",
            f"{results[0]} *= {results[0]} * (3 - 2 * {results[0]});",
        ]
    lines = node.op.emit(node, args, results)
    lines = [_HYPERBOLIC.sub(r"\1", line) for line in lines]
    return [_KEEPS_NAN.sub(lambda found: _PLAIN[found[1]], line) for line in lines]


def written(stage: RayStage) -> str:
    """Returns the text of a function that does what a fused stage does; its name is `PLACE`."""
    graph = stage.graph
    assert graph is not None
    given = {"payload": "fz_given", "attributes": "fz_at", "barycentrics": "fz_at.barycentrics"}
    names: dict[Value, str] = {v: given.get(v.name or "", f"fz_{v.name}()") for v in graph.inputs}
    lines = [f"{stage.types[0]} fz_given = fz_p;"]
    for node in graph.nodes:
        for value in node.results:
            names[value] = f"v{len(names)}"
        lines += _statements(node, [names[v] for v in node.operands], [names[v] for v in node.results])
    lines += [f"{declare(v.type, f'r_{j}')} = {names[v]};" for j, v in enumerate(graph.outputs)]
    for j, output in enumerate(stage.outputs):
        if output == KEPT:
            lines.append(f"if (!r_{j}) {{ fz_ignored = true; return; }}")
        else:
            lines.append(f"fz_p{'' if output == WHOLE else f'.{output}'} = r_{j};")
    params = [f"inout {stage.types[0]} fz_p", *(f"{type} fz_at" for type in stage.types[1:])]
    marked = "" if stage.kind == "anyhit" else "[Differentiable] "
    return "\n".join([f"{marked}void {PLACE}({', '.join(params)})", *block(lines)])
