"""Calls written as text, for the tests of resolution."""

from __future__ import annotations

import re

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Value
from fusepy.ir.oracle import Oracle
from fusepy.ir.parse import parse_graph
from fusepy.ir.resolve.resolve import Resolution, resolve_call
from tests.support.reference import ORACLE


def operands(text: str) -> tuple[str, list[Value], list[ArgMap]]:
    """``luma(Tensor<float>[?,3] vmap(d0))`` as a function's name, values and maps; `;` is between arguments.

    ``computed`` before a type makes it a computed value, which has no container.
    """
    match = re.fullmatch(r"(\w+)\((.*)\)", text)
    assert match, text
    parts = [p.strip() for p in match[2].split(";") if p.strip()]
    spelled = [re.split(r" (?=vmap|vcast)", p, maxsplit=1) for p in parts]
    header = ", ".join(f"%a{i}: {s[0].removeprefix('computed ')}" for i, s in enumerate(spelled))
    used = ", ".join(" ".join([f"%a{i}", *s[1:]]) for i, s in enumerate(spelled))
    graph = parse_graph(f"graph @g({header}) -> () {{\n  slang.call @m.{match[1]}({used})\n  return\n}}")
    values = [Value(v.type, v.dims, weak=v.weak) if s[0].startswith("computed") else v for v, s in zip(graph.inputs, spelled)]
    return match[1], values, list(graph.nodes[0].maps)


def resolve(text: str, oracle: Oracle = ORACLE) -> Resolution:
    name, values, maps = operands(text)
    return resolve_call(oracle, "m", name, values, maps, "look.py:12")
