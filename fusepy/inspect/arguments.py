"""The arguments of a program for `explain`: nested ones as trees, with the source of each leaf."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.emit.operand import Operand
from fusepy.backend.execute.plan import Plan
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.derivatives.extents import ExtentFacts
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.struct import MakeStruct, members
from fusepy.ir.printer import value_type
from fusepy.ir.types import Kind
from fusepy.program.stages import stage_of


def argument_lines(graph: Graph, regions: Sequence[Node]) -> list[str]:
    """Returns one entry per argument of `graph`; a nested argument takes several lines. `regions` run the graph."""
    read = _reads(regions)
    structs = struct_types(graph)
    made: list[str] = []
    open_paths: list[str] = []
    for value in graph.inputs:
        name = value.name or ""
        *above, last = name.split(".")
        if not above:
            made.append(f"{name}: {value.type} over {value.rank} axes")
            open_paths = []
            continue
        paths = [".".join(above[: i + 1]) for i in range(len(above))]
        kept = next((i for i, (a, b) in enumerate(zip(paths, open_paths)) if a != b), min(len(paths), len(open_paths)))
        for depth, path in enumerate(paths[kept:], kept):
            line = f"{'  ' * depth}{above[depth]}: {structs.get(path, 'fields')}"
            made = [*made, line] if depth == 0 else [*made[:-1], f"{made[-1]}\n  {line}"]
        made[-1] += f"\n  {'  ' * len(above)}{last}: {_leaf(value, read.get(name, []))}"
        open_paths = paths
    return made


def struct_types(graph: Graph) -> dict[str, str]:
    """Returns the structs that nested arguments become, by the path of the argument: ``ray.position`` is a ``float3``."""
    found: dict[str, str] = {}
    names: dict[Value, str] = {v: v.name or "" for v in graph.inputs}
    for node in graph.nodes:
        if not isinstance(node.op, MakeStruct):
            continue
        given = [names.get(v, "").rpartition(".") for v in node.operands]
        above = {path for path, _, _ in given}
        if len(above) == 1 and "" not in above and [last for _, _, last in given] == list(members(node)):
            (path,) = above
            names[node.results[0]] = path
            found[path] = node.text("type")
    return found


def _reads(regions: Sequence[Node]) -> dict[str, list[tuple[Operand, ArgMap]]]:
    """Returns all loads of each input of the regions, by name."""
    found: dict[str, list[tuple[Operand, ArgMap]]] = {}
    for region in regions:
        for operand in stage_of(region).operands(region):
            name, map = region.operands[operand.position].name, region.maps[operand.position]
            found.setdefault(name or "", []).append((operand, map))
    return found


def _leaf(value: Value, reads: Sequence[tuple[Operand, ArgMap]]) -> str:
    if not reads:
        return f"{value.type}, not read"
    ways: dict[str, None] = {}
    for operand, map in reads:
        access = ACCESSES[operand.arrival]
        if access.addressing != "memory":
            ways[f"{operand.want}, {access.addressing if access.addressing == 'uniform' else 'computed'}"] = None
            continue
        where = "whole" if operand.want.kind is Kind.POINTER else str(ArgMap(map.dims))
        layout = ", array of structs" if operand.have.kind is Kind.NAMED else ""
        ways[f"{operand.want}, memory{layout} ({value_type(value)}), {where}"] = None
    return "; ".join(ways)


def names_in(plan: Plan, slot: int) -> list[str]:
    """Returns the names that the kernel of a plan has for a slot that it reads."""
    region = plan.region
    if region.op.standalone:
        return [o.label for o in plan.operands if plan.positions[o.position] == slot] or ["indices"]
    inputs = [*region.bodies[0].inputs]
    if len(region.bodies) > 1:  # the inputs of an epilogue that are operands, without the folded values
        inputs += region.bodies[1].inputs[len(region.bodies[1].inputs) - (len(region.operands) - len(inputs)) :]
    return [value.name or "" for value, position in zip(inputs, plan.positions) if position == slot]


def extent_texts(facts: ExtentFacts) -> dict[int, str]:
    """Returns for each input the extents that a program is for, in the order of its axes: ``(3, any, not 1)``."""
    small = {at: str(n or "not 2 to 4") for at, n in facts.smalls.items()}
    more = {at: str(n or "not 1 to 4") for at, n in facts.smalls.items()}  # of an axis that is not 1
    unit = {at: "1" if one else more.get(at, "not 1") for at, one in facts.units.items()}
    known = small | unit | {at: str(n) for at, n in facts.sizes.items()}
    found = dict[int, str]()
    for place in sorted({place for place, _ in known}):
        rank = 1 + max(axis for at, axis in known if at == place)
        found[place] = f"({', '.join(known.get((place, axis), 'any') for axis in range(rank))})"
    return found
