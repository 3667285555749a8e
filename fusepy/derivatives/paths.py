"""Paths of floats from values to the results, along which gradients flow back; and the operation that interrupts a path."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.derivatives.sums import is_number
from fusepy.errors import GradientError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value
from fusepy.location import user_line
from fusepy.passes.effects import memory_written

Steps = Sequence[tuple[Node, Sequence[ArgMap]]]  # nodes in order, with their maps
UNREAD = "nothing reads it"
LOOPS = ("fori_loop", "while_loop")


def connected(steps: Steps, ends: Sequence[Value]) -> set[Value]:
    """Returns the values from which a path of floats leads to one of `ends`."""
    found = {v for v in ends if _carries(v)}
    for node, maps in reversed(steps):
        through = [j for j, v in enumerate(node.results) if v in found]
        adds = not found.isdisjoint(memory_written(node, maps))
        if through or adds:
            used = range(len(node.operands)) if adds else _used(node, through)
            found.update(v for i in used if _carries(v := node.operands[i], maps[i], node))
    return found


def _carries(value: Value, map: ArgMap | None = None, node: Node | None = None) -> bool:
    """True for floats, for structs and arrays, which may hold some, and for integers that mean floats, except in calls."""
    type = value.type if map is None or map.type is None else map.type
    called = node is not None and node.op.name == "slang.call"
    if node is not None and node.op.name == "round_sums":  # its operand holds floats as words
        return True
    return type.scalar is None or type.is_float or (is_number(value) and not called)


def _used(node: Node, through: Sequence[int]) -> Sequence[int]:
    """Returns the operands that get gradients from the results `through`."""
    if node.op.name == "stop_gradient":
        return ()
    if node.op.name not in ("cond", *LOOPS):
        return range(len(node.operands))
    if node.op.name in LOOPS:
        ahead, own = (2, 1) if node.op.name == "fori_loop" else (0, 0)
        return [ahead + i - own for i in _carried(node.bodies[-1], own, list(through)) if i >= own]
    return [1 + i for body in node.bodies for i in _inputs(body, through)]


def _inputs(body: Graph, through: Sequence[int]) -> list[int]:
    inner = connected([(node, node.maps) for node in body.nodes], [body.outputs[j] for j in through])
    return [i for i, v in enumerate(body.inputs) if v in inner]


def _carried(body: Graph, own: int, through: list[int]) -> list[int]:
    """Returns the inputs of the body of a loop that its results `through` depend on, after any number of steps."""
    while True:
        found = _inputs(body, through)
        more = [i - own for i in found if own <= i < own + len(body.outputs) and i - own not in through]
        if not more:
            return sorted({*found, *(own + j for j in through)})
        through = [*through, *more]


def cut(steps: Steps, value: Value, ends: Sequence[Value]) -> tuple[Node | None, str]:
    """Returns what keeps a value from having a gradient: the node, if it is one, and words for a message."""
    reached, floats, towards = {value}, {value}, set(ends)
    for node, maps in steps:
        if any(v in reached for v in node.operands):
            reached.update(node.results, memory_written(node, maps))
    if reached == {value}:
        return None, UNREAD
    if not any(v in reached for v in ends):
        return None, "the result does not depend on it"
    for node, _ in reversed(steps):
        if any(v in towards for v in node.results):
            towards.update(node.operands)
    for node, maps in steps:
        if not any(v in floats for v in node.operands) or not any(v in towards for v in node.results):
            continue
        passed = {node.operands[i] for i in _used(node, range(len(node.results))) if _carries(node.operands[i], maps[i], node)}
        through = [v for v in node.results if _carries(v)]
        if through and passed & floats:
            floats.update(through)
            continue
        at = f" at {node.loc}" if node.loc else ""
        if node.op.name == "stop_gradient":
            return node, f"fp.stop_gradient(){at} makes it a constant"
        if through:
            return node, f"{_named(node)}{at} takes it for integers only"
        return node, f"{_named(node)}{at} makes {_a(node.results[0])} of it, which has no gradient"
    return None, "the result depends on it through integers only"


def _named(node: Node) -> str:
    called = node.attrs.get("function", node.attrs.get("kind"))
    return f"'{called or getattr(node.op, 'symbol', node.op.name)}'"


def _a(value: Value) -> str:
    return f"{'an' if str(value.type)[0] in 'aeiou' else 'a'} {value.type}"


def check_paths(
    steps: Steps, ends: Sequence[Value], found: Sequence[Value | None], paths: Sequence[str], what: str, derived: bool
) -> None:
    """Raises `GradientError` if the results `ends` cannot depend on an argument, whose leaves are `found`.

    Of a container, some parts may be unused, or stopped on purpose.

    Args:
        paths: the user's names of the leaves.
        derived: the function takes gradients itself. Gradients of a linear function do not depend on its argument.
    """
    kept = connected(steps, ends)
    lost = [(path, cut(steps, v, ends)) for path, v in zip(paths, found) if v is not None and v not in kept]
    if len(lost) < sum(v is not None for v in found):
        lost = [(path, (node, why)) for path, (node, why) in lost if node is not None and node.op.name != "stop_gradient"]
    elif derived and all(node is None and why != UNREAD for _, (node, why) in lost):
        return
    for path, (_, why) in lost:
        raise GradientError(
            f"{what}(): the gradient of {path} is zero by construction: {why}",
            place=user_line(),
            hint="compute the result from it by floats, without fp.stop_gradient; or leave it out of what is differentiated",
        )
