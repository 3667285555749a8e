"""Rules of graphs, each a small function that returns what is wrong or ``None``; and the stages, which are lists of rules.

Each stage adds rules: ``traced`` is recorded by a trace, ``resolved`` has every map and type settled, ``fused`` consists of
regions. Bodies have their own stages: inside a region nodes have no maps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fusepy.errors import FusepyError, ShapeError, VerifyError
from fusepy.ir.argmap import ArgMap, check_dims
from fusepy.ir.arrivals import ARRIVALS
from fusepy.ir.graph import Graph, Node, Value, grid_rank
from fusepy.ir.ops import OPS
from fusepy.ir.ops.base import filled_axes
from fusepy.ir.ops.call import SlangCall
from fusepy.ir.ops.folds import axes_of
from fusepy.ir.ops.region import folds_of
from fusepy.ir.ops.struct import MakeStruct
from fusepy.ir.oracle import IN, Oracle
from fusepy.ir.printer import print_node, value_type
from fusepy.ir.types import Kind
from fusepy.ir.value import TypedAttr, is_spread


@dataclass
class Scope:
    """One graph, or a body in it, while it is verified."""

    graph: Graph
    stage: str
    oracle: Oracle | None
    modules: frozenset[str]
    where: str
    defined: set[Value] = field(default_factory=set[Value])

    def error(self, rule: str, node: Node | None = None, value: Value | None = None) -> VerifyError:
        saw = None if node is None else print_node(self.graph, node)
        if value is not None:
            saw = f"%{value.name}: {value_type(value)}"
        return VerifyError(
            f"{self.where}: {rule}",
            place=node.loc if node else None,
            saw=saw,
            hint="a pass, or a text written by hand, broke a rule of ir.rules; print the graph to see it whole",
        )


# ---- inputs ---------------------------------------------------------------------------------------------------------


def _named_once(scope: Scope, value: Value) -> str | None:
    if not value.name:
        return "an input has no name"
    if value.name in [v.name for v in scope.defined]:
        return f"two inputs are named {value.name!r}"
    return None


def _arrives(scope: Scope, value: Value) -> str | None:
    if ARRIVALS.get(value.arrival.name) is not value.arrival:
        return f"there is no container {value.arrival.name!r}"
    if value.rank and value.arrival.plain:
        return "an input with axes needs a container"
    return "what arrives in a list is weak" if value.arrival.listed and not value.weak else None


def _unsized(scope: Scope, value: Value) -> str | None:
    return "sizes are no part of a resolved program" if value.dims.count(None) < len(value.dims) else None


def _single(scope: Scope, value: Value) -> str | None:
    return "inside a body, every value is a single element" if value.rank or not value.arrival.plain else None


# ---- nodes, at every stage ------------------------------------------------------------------------------------------


def _known(scope: Scope, node: Node) -> str | None:
    return None if OPS.get(node.op.name) is node.op else f"there is no operation {node.op.name!r}"


def _defined_before_use(scope: Scope, node: Node) -> str | None:
    undefined = [i for i, v in enumerate(node.operands) if v not in scope.defined]
    return f"operand {undefined[0]} is used before it is defined" if undefined else None


def _defined_once(scope: Scope, node: Node) -> str | None:
    clash = len(set(node.results)) != len(node.results) or not scope.defined.isdisjoint(node.results)
    return "a result is defined twice" if clash else None


def _computed(scope: Scope, node: Node) -> str | None:
    for value in node.results:
        if value.name is not None or not value.arrival.plain or value.dims.count(None) < len(value.dims):
            return "a computed value has neither name, container nor sizes"
    return None


def _mapped(scope: Scope, node: Node) -> str | None:
    if len(node.maps) != len(node.operands):
        return f"{len(node.operands)} operands with {len(node.maps)} maps"
    for i, (value, map) in enumerate(zip(node.operands, node.maps)):
        if map.dims is None:
            continue
        try:
            check_dims(map.dims, f"operand {i}")
        except ShapeError as error:
            return error.what
        if len(map.dims) > value.rank and not is_spread(value):
            return f"operand {i}: {len(map.dims)} dimensions for a value of rank {value.rank}"
    return None


def _attributes(scope: Scope, node: Node) -> str | None:
    for key, value in node.attrs.items():
        # exact types: a NumPy float would not print as a number
        plain = type(value) in (str, int, float, bool) or (type(value) is tuple and not set(map(type, value)) - {str})
        if not plain and not isinstance(value, TypedAttr):
            return f"attribute {key!r} is a {type(value).__name__}, not a string, a number or a tuple of strings"
    if node.loc is not None and (not node.loc or node.loc != " ".join(node.loc.splitlines()).strip()):
        return "a location is one line of text"
    return None


def _own_rule(scope: Scope, node: Node) -> str | None:
    if node.bodies and not node.op.nests:
        return "only regions, loops and branches have bodies"
    try:
        wrong = node.op.verify(node)
    except FusepyError as error:
        return error.what
    if wrong is None or isinstance(node.op, SlangCall):
        called = [f.module for f in folds_of(node) if f.kind == "call"]
        called += [node.text("module")] if isinstance(node.op, SlangCall) and "module" in node.attrs else []
        missing = [module for module in called if module not in scope.modules]
        return f"module @{missing[0]} is not imported" if missing else wrong
    return wrong


def _infers(scope: Scope, node: Node) -> str | None:
    """Checks that inferring again gives the results of the node."""
    if scope.oracle is None and _asks(node):
        ranks = {v.rank for v in node.results}
        return "results of one node differ in rank" if len(ranks) > 1 else None
    try:
        again = node.op.infer(_as_loaded(node), scope.oracle)
    except FusepyError as error:
        return f"inference rejects it: {error.what}"
    # a strong value in place of a weak one is allowed: folding a cast of a constant makes one. In kernels all types are settled
    settled = scope.stage in ("fused", "body")
    agree = [a.type is v.type and a.rank == v.rank and (settled or a.weak >= v.weak) for a, v in zip(again, node.results)]
    if len(again) == len(node.results) and all(agree):
        return None
    return f"inference gives {', '.join(map(value_type, again)) or 'no results'}"


def _as_loaded(node: Node) -> Node:
    """Returns `node` on operands of the types that its vcasts load, for operations that infer from types alone."""
    if node.op.nests or node.op.name in ("slang.call", "struct", "cast") or not [m for m in node.maps if m.type is not None]:
        return node
    loaded: list[Value] = []
    for v, m in zip(node.operands, node.maps):
        dims = v.dims if m.dims is None else v.dims[: len(m.dims)]
        loaded.append(Value(m.type or v.type, dims, arrival=v.arrival, weak=v.weak))
    return Node(node.op, loaded, [ArgMap(m.dims) for m in node.maps], (), node.attrs, node.loc)


def _asks(node: Node) -> bool:
    """True if only Slang knows the result types of `node`."""
    if not node.body and any(f.kind == "call" for f in folds_of(node)):
        return True
    return isinstance(node.op, (SlangCall, MakeStruct)) or (node.op.name == "member" and node.operands[0].type.kind is Kind.NAMED)


# ---- resolved -------------------------------------------------------------------------------------------------------


def _resolved(scope: Scope, node: Node) -> str | None:
    open_maps = [i for i, m in enumerate(node.maps) if not m.is_resolved]
    return f"operand {open_maps[0]} has no resolved map" if open_maps else None


def _casts_change(scope: Scope, node: Node) -> str | None:
    idle = [i for i, (v, m) in enumerate(zip(node.operands, node.maps)) if m.type is v.type]
    return f"operand {idle[0]}: the vcast changes nothing" if idle else None


def _axes_used(scope: Scope, node: Node) -> str | None:
    """Checks that each axis of an operand runs along the grid or fills the type that is loaded."""
    for i, (value, map) in enumerate(zip(node.operands, node.maps)):
        left = 0 if is_spread(value) else value.rank - len(map.dims or ())
        if left != filled_axes(value, map.type):
            return f"operand {i}: {left} axes neither run along the grid nor fill a {map.type or value.type}"
    return None


def _covered(scope: Scope, node: Node) -> str | None:
    if node.op.name == "region" or node.op.standalone:  # a dimension that no operand runs along has extent 1
        return None
    covered = {d for m in node.maps for d in m.dims or ()}
    if node.op.views:
        covered.update(axes_of(node, "axes") if node.op.name == "expand" else [grid_rank(node) - 1])
    missing = [d for d in range(grid_rank(node)) if d not in covered]
    return f"no operand runs along d{missing[0]}" if missing else None


def _directions(scope: Scope, node: Node) -> str | None:
    """Checks ``dirs``. Without it every parameter is an input, so the only result is the return value."""
    if not isinstance(node.op, SlangCall):
        return None
    if "dirs" not in node.attrs and len(node.results) > 1:
        return "a resolved call with several results needs dirs"
    if scope.oracle is None:
        return None
    resolved = tuple(p.direction for p in node.op.resolution(node, scope.oracle).params)
    dirs = node.attrs.get("dirs", (IN,) * len(resolved))
    return None if dirs == resolved else f"dirs are {' '.join(resolved)}"


# ---- fused ----------------------------------------------------------------------------------------------------------


def _regions_only(scope: Scope, node: Node) -> str | None:
    return None if node.op.name == "region" or node.op.views or node.op.standalone else "outside a region"


def _flat(scope: Scope, node: Node) -> str | None:
    if any(m.dims or m.type is not None for m in node.maps):
        return "inside a region, operands have no maps"
    return _pointwise(scope, node)


# ---- bodies of loops and branches -----------------------------------------------------------------------------------


def _pointwise(scope: Scope, node: Node) -> str | None:
    if node.op.name == "region":
        return "a region inside a body"
    if any(m.dims for m in node.maps):
        return "inside a body, no operand runs along the grid"
    return "inside a body, every value is a single element" if any(v.rank for v in node.results) else None


InputRule = Callable[[Scope, Value], "str | None"]
Rule = Callable[[Scope, Node], "str | None"]

_ALWAYS: Sequence[Rule] = (*(_known, _defined_before_use, _defined_once, _computed, _mapped), *(_attributes, _own_rule, _infers))
_RESOLVED: Sequence[Rule] = (*_ALWAYS, _resolved, _casts_change, _axes_used, _covered, _directions)

INPUT_RULES: dict[str, Sequence[InputRule]] = {
    "traced": (_named_once, _arrives),
    "resolved": (_named_once, _arrives, _unsized),
    "fused": (_named_once, _arrives, _unsized),
    "traced body": (_named_once, _single),
    "resolved body": (_named_once, _single),
    "body": (_named_once, _single),
}
RULES: dict[str, Sequence[Rule]] = {
    "traced": _ALWAYS,
    "resolved": _RESOLVED,
    "fused": (*_RESOLVED, _regions_only),
    "traced body": (*_ALWAYS, _pointwise),
    "resolved body": (*_RESOLVED, _pointwise),
    "body": (*_ALWAYS, _flat),
}
