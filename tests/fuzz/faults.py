"""Faults to plant in fusepy one at a time: the fuzzer finds each with the programs beside it, and nothing without it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from fusepy.backend.device import pool
from fusepy.backend.emit.fold import accumulators as folds
from fusepy.backend.emit.spaces.linear import Counted
from fusepy.backend.execute import launch
from fusepy.backend.marshals.registry import RESULTS
from fusepy.backend.memory.tensor import Tensor
from fusepy.graphs.graph import Graph
from fusepy.ir.ops import OPS, arithmetic, literal, structure
from fusepy.ir.ops.folds import Fold
from fusepy.ir.ops.structure import Index, Member, Select
from tests.fuzz import planting
from tests.fuzz.planting import Plant, edited, key, module, operator, put, recipe, stale, swapped, wrap
from tests.fuzz.program import Arg, Program, Step


@dataclass
class Fault:
    """A fault, what it stands for, and the programs that show it."""

    name: str
    plant: Plant
    programs: list[str]
    modes: tuple[str, ...] = ("fused", "replay")
    watch: bool = field(default=False)  # whether only the launches show it, and no number on this device


# ---- programs -------------------------------------------------------------------------------------------------------


def F(*dims: Any, **more: Any) -> Arg:  # noqa: N802  # a float array
    return Arg("float", (), dims, **more)


def _program(
    args: list[Arg], *steps: Step, results: list[int] | None = None, sizes: Any = None, structure: str = "tuple"
) -> Program:
    first = {"a": 5, "b": 7, "c": 3, "d": 2}
    count = len(args) + sum(s.gives for s in steps)
    same = [first, {"a": 6, "b": 3, "c": 4, "d": 1}] if sizes is None else sizes
    return Program(args, list(steps), results or [count - 1], same, seed=2)


def S(op: str, *operands: Any, gives: int = 1, **attrs: Any) -> Step:  # noqa: N802
    return Step(op, list(operands), attrs, gives)


_SAME = [{"a": 5, "b": 7, "c": 3, "d": 2}] * 2
_I32, _P32 = Arg("int", (), ("a",)), Arg("int", (), ("a",), data="positive")
_F3 = Arg("float", (3,), ("a",))
_M2 = Arg("float", (2, 2), ("a",))

PROGRAMS: dict[str, Program] = {
    "sub": _program([F("a"), F("a")], S("sub", 0, 1)),
    "lt": _program([_I32, _I32], S("lt", 0, 1), S("ge", 0, 1), results=[2, 3]),
    "where": _program([F("a"), F("a")], S("gt", 0, [0.5]), S("where", 2, 0, 1)),
    "steps": _program([F("a")], S("trunc", 0), S("round", 0), results=[1, 2]),
    "integer": _program([_I32, _P32], S("neg", 1), S("floordiv", 0, 2), S("mod", 0, 1), results=[3, 4]),
    "swizzle": _program([_F3], S("member", 0, name="zx"), S("index", 0, at=1), results=[1, 2]),
    "fields": _program([_F3], S("member", 0, name="x"), S("member", 0, name="y"), S("sub", 1, 2)),
    "matmul": _program([_M2, _M2], S("matmul", 0, 1), S("index", 0, at=1), results=[2, 3]),
    "construct": _program([F("a"), F("a")], S("construct", 0, 1, [2], scalar="float", comp=[3])),
    "long": _program([Arg("double", (), ("a",), data="small")], S("mul", 0, [2.0**36]), S("cast", 1, scalar="int64_t", comp=[])),
    "promote": _program([_I32, F("a")], S("add", 0, 1)),
    "literal": _program([F("a")], S("mul", 0, [0.5]), S("add", 1, [1.25])),
    "edge": _program([F("a"), F("a")], S("step", 0, 1), S("minimum", 0, 1), S("saturate", 0), results=[2, 3, 4]),
    "abs": _program([_I32], S("abs", 0)),
    "max": _program([Arg("int", (), ("a", "b"), data="positive")], S("neg", 0), S("reduce", 1, kind="max", axis=0)),
    "mean": _program([F("a", "b")], S("reduce", 0, kind="mean", axis=-1)),
    "axis": _program([F("a", "b", "c")], S("reduce", 0, kind="sum", axis=-1)),
    "keep": _program([F("a", "b")], S("reduce", 0, kind="sum", axis=1, keepdims=True)),
    "argmax": _program([Arg("bool", (), ("a", "b"))], S("cast", 0, scalar="int", comp=[]), S("reduce", 1, kind="argmax", axis=1)),
    "exclusive": _program([F("a", "b")], S("scan", 0, kind="sum", axis=1, exclusive=True)),
    "chain": _program([Arg("float", (2,), ("a",))], S("fold", 0, function="chain", axis=0, scan=True, exclusive=False)),
    "layouts": _program(
        [F("a", "b", layout="F"), F("a", "b", layout="strided"), F("a", "b", layout="shifted"), F("a", "b", layout="reversed")],
        S("sub", 0, 1), S("sub", 2, 3), S("mul", 4, 5),
    ),
    "spread": _program([F("a", 1), F(1, "b")], S("sub", 0, 1)),
    "kernels": _program(
        [F("a", "b"), Arg("float", (), (), passed="number")],
        S("mul", 0, 1), S("reduce", 2, kind="sum", axis=0), S("reduce", 3, kind="max", axis=0), S("sub", 2, 4),
        S("scan", 3, kind="sum", axis=0),
        results=[5, 4, 6], sizes=_SAME,
    ),
    "int array": _program([Arg("int", (), ("a",), passed="numpy"), Arg("int", (), ("a",), passed="numpy")], S("add", 0, 1)),
    "float array": _program([F("a", passed="numpy", data="rough"), F("a", passed="numpy", data="rough")], S("add", 0, 1)),
    "row array": _program([F("a", "b", passed="numpy"), F("b", passed="numpy")], S("add", 0, 1)),
    "two": _program([F("a"), F("a")], S("sub", 0, 1), S("add", 0, 1), results=[2, 3]),
    "loop": _program([F("a")], S("fori", 0, 0, lo=0, hi=3, body=[["add", ["c", "i"]]], to="float")),
    "branch": _program([F("a")], S("gt", 0, [0]), S("cond", 1, 0, 0, yes=[["neg", ["k1"]]], no=[["add", ["k2", 1]]], to="float")),
}  # fmt: skip


FAULTS: list[Fault] = [
    Fault("operands of - swapped", operator("sub", "{1} - {0}"), ["sub"]),
    Fault("< as <=", operator("lt", "{0} <= {1}"), ["lt"]),
    Fault("where inverted", swapped(Select, 0, 2, 1), ["where"]),
    Fault("floor for trunc", put(OPS["trunc"], "spelling", "floor({0})"), ["steps"]),
    Fault("round half up", put(OPS["round"], "spelling", "floor({0} + 0.5)"), ["steps"]),
    Fault("// truncates", put(OPS["floordiv"], "slang_int", "{0} / {1}"), ["integer"]),
    Fault("% with the sign of the dividend", put(OPS["mod"], "slang_int", "{0} - {0} / {1} * {1}"), ["integer"]),
    Fault("swizzle backwards", wrap(Member, "expression", planting.backwards), ["swizzle"]),
    Fault("every index is the first", wrap(Index, "expression", planting.first_only), ["swizzle"]),
    Fault("rows for columns", wrap(Index, "expression", planting.columns), ["matmul"]),
    Fault("product of matrices the other way round", wrap(OPS["matmul"], "expression", planting.other_product), ["matmul"]),
    Fault("components in the wrong order", swapped(OPS["construct"], 1, 0, 2), ["construct"]),
    Fault("64 bits cut to 32", put(structure, "convert", planting.int_cast), ["long"]),
    Fault("the first operand's type for all", put(arithmetic, "promote", planting.first_type), ["promote"]),
    Fault("constants without their fraction", put(literal, "literal", planting.whole_literal), ["literal"]),
    Fault("operands of step swapped", swapped(OPS["step"], 1, 0), ["edge"]),
    Fault("max for min", put(OPS["minimum"], "spelling", "max({0}, {1})"), ["edge"]),
    Fault("saturate wraps", put(OPS["saturate"], "spelling", "frac({0})"), ["edge"]),
    Fault("abs of integers does nothing", put(OPS["abs"], "integers", "{0}"), ["abs"]),
    Fault("max starts at 0", put(folds, "_extreme", lambda kind, scalar: f"{scalar}(0)"), ["max"]),
    Fault("mean divides by one more", edited(folds.Accumulator, "result", ".total)", ".total + 1)"), ["mean"]),
    Fault("negative axes off by one", wrap(module("fusepy.language.fold_nodes"), "axes_from", planting.wrong_axis), ["axis"]),
    Fault("keepdims lost", wrap(module("fusepy.language.reductions"), "reduction", planting.without_keepdims), ["keep"]),
    Fault("the last of equal places", wrap(folds.Accumulator, "functions", planting.best), ["argmax"]),
    Fault("exclusive scans include", wrap(Fold, "of_node", planting.inclusive), ["exclusive"]),
    Fault("scans combine backwards", wrap(folds.Accumulator, "_join", planting.other_way), ["chain"]),
    Fault("cse without attributes", planting.blind, ["fields"]),
    Fault("the last element is left out", edited(Counted, "lines", ".count", ".count - 1"), ["sub", "spread"]),
    Fault("bounds checked too late", edited(Counted, "lines", ".count)", ".count + 3)"), ["sub"], ("fused", "given")),
    Fault("every tensor taken as contiguous", put(module("fusepy.backend.memory.storage"), "is_contiguous", planting.always),
        ["layouts"]),
    Fault("strides in the wrong order", recipe(planting.turned_strides), ["layouts"]),
    Fault("negative strides lost", recipe(planting.forward), ["layouts"]),
    Fault("views start at their base", wrap(Tensor, "viewed", planting.any_view), ["layouts"]),
    Fault("extent 1 does not stretch", recipe(planting.unstretched), ["spread"]),
    Fault("replay keeps old numbers", stale(numbers=()), ["kernels"]),
    Fault("replay keeps old addresses", stale(addresses=()), ["kernels"]),
    Fault("memory is used again while it is held", wrap(pool.Pool, "allocate", planting.early), ["kernels", "two"]),
    Fault("no barriers between kernels", wrap(launch, "place_barriers", planting.no_barriers), ["kernels"], watch=True),
    Fault("keys without the dtype", key(lambda a: ("array", a.ndim)), ["int array", "float array"], ("eager",)),
    Fault("keys without the rank", key(lambda a: ("array", a.dtype)), ["float array", "row array"], ("eager",)),
    Fault("results of a graph in the wrong order", wrap(Graph, "set_outputs", planting.turned_outputs), ["two"], ("graph",)),
    Fault("arrays handed out as lists", lambda: mock.patch.dict(RESULTS, {"numpy": RESULTS["list"]}), ["float array"]),
    Fault("loops run once more", edited(module("fusepy.ir.ops.control").ForiLoop, "statements", " < ", " <= "), ["loop"]),
    Fault("branches swapped", edited(module("fusepy.ir.ops.control").Cond, "statements", "if (", "if (!"), ["branch"]),
]  # fmt: skip
