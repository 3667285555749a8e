"""Texts of the IR with a mistake, the words of the hint, and the text that follows them."""

from __future__ import annotations

from typing import Any

from fusepy.ir.argmap import ArgMap
from fusepy.ir.interpret import interpret
from fusepy.ir.parse import parse_graph
from tests.errors.hints.support import Program
from tests.support.slang_functions import ramp

HEAD = "graph @f(%x: float) -> (float) {\n"
GOOD = HEAD + "  %0 = neg(%x) : float\n  return %0\n}"
CALL = 'import @m = "a"\n' + HEAD + "  %0 = slang.call @m.f(%x) : float\n  return %0\n}"
REGION = HEAD + "  %0 = region(%x vmap()) : float vmap()\n  body @g(%x: float) -> (float) {\n    return %x\n  }\n  return %0\n}"

# what is wrong, the text, the words, and the text that is read
TEXTS = {
    "dimensions of a result that is no region's": (
        GOOD.replace(": float\n", ": float vmap()\n"),
        "leave this out for neg",
        GOOD,
    ),
    "a region's result without dimensions": (REGION.replace(": float vmap()\n", ": float\n"), "write vmap(d0) behind it", REGION),
    "something else": (GOOD.replace(") : float\n", " : float\n"), "expected here: ')'", GOOD),
    "a call of nothing": (CALL.replace(" @m.f", ""), "write slang.call @module.function(...)", CALL),
    "a value twice": (
        GOOD.replace("  return", "  %0 = neg(%x) : float\n  return"),
        "give each value a name of its own",
        GOOD.replace("  return", "  %1 = neg(%x) : float\n  return"),
    ),
    "an alias twice": (
        'import @m = "b"\n' + CALL,
        "give one of them another alias",
        'import @n = "b"\n' + CALL,
    ),
    "a computed list": (
        GOOD.replace(") : float", ") : List<float>[?]"),
        "results over a grid are written Tensor",
        GOOD.replace(") : float", ") : Tensor<float>[?]").replace("-> (float)", "-> (Tensor<float>[?])"),
    ),
    "a result without a type": (GOOD.replace(") : float\n", ")\n"), "after the colon, write one type per result", GOOD),
    "nothing returned": (
        GOOD.replace("return %0", "return"),
        "list one type per returned value after the arrow",
        GOOD.replace("return %0", "return").replace("-> (float)", "-> ()"),
    ),
    "half an extent": (
        "graph @f(%x: Tensor<int>[1.5]) -> () {\n  return\n}",
        "write a whole number, or ? where the size is open",
        "graph @f(%x: Tensor<int>[1], %y: Tensor<int>[?]) -> () {\n  return\n}",
    ),
    "a constant of text": (
        GOOD.replace("neg(%x)", 'const() {type = "float", value = float("1")}'),
        'write float("nan"), float("inf") or float("-inf")',
        GOOD.replace("neg(%x)", 'const() {type = "float", value = float("nan")}'),
    ),
    "an attribute twice": (
        GOOD.replace("neg(%x)", 'const() {type = "float", value = 1.0, value = 2.0}'),
        "keep one of them",
        GOOD.replace("neg(%x)", 'const() {type = "float", value = 1.0}'),
    ),
    "a text that is no JSON": (
        GOOD.replace("neg(%x)", 'member(%x) {name = "\\q"}'),
        "escape as JSON does",
        GOOD.replace("neg(%x)", 'member(%x) {name = "\\\\q"}'),
    ),
}


def reading(text: str) -> Any:
    return lambda m: parse_graph(text).name == "f"


ADD = parse_graph(
    "graph @f(%x: Tensor<float>[?], %y: Tensor<float>[?]) -> (Tensor<float>[?]) {\n"
    "  %0 = add(%x vmap(d0), %y vmap(d0)) : Tensor<float>[?]\n  return %0\n}"
)
PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    name: (reading(broken), words, reading(mended), True) for name, (broken, words, mended) in TEXTS.items()
} | {
    "extents that differ": (
        lambda m: interpret(ADD, [ramp(3), ramp(4)]),
        "check the shapes",
        lambda m: interpret(ADD, [ramp(3), ramp(3)])[0],
        2 * ramp(3),
    ),
    "more axes than a grid has": (
        lambda m: ArgMap.aligned(2, 1).dims,
        "map the axes with vmap, or vcast to a vector",
        lambda m: ArgMap((1, 0)).dims,
        (1, 0),
    ),
    "a map that is open": (
        lambda m: ArgMap().compose((1,)).dims,
        "run resolve_maps first",
        lambda m: ArgMap((0,)).compose((1,)).dims,
        (1,),
    ),
}
