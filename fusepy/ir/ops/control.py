"""``cond``, ``fori_loop`` and ``while_loop``: control flow that every grid point runs for itself.

The bodies of such a node are graphs of single elements, like that of a region. A value from outside is an operand of the node
and an input of every body; its map states what one point loads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Op, Value
from fusepy.ir.ops.base import computed, filled_axes
from fusepy.ir.ops.promotion import of_numbers
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import BOOL, Kind, Type
from fusepy.ir.value import Array, declare

Run = Callable[[Graph, Sequence[Array]], list[Array]]


class Writer(Protocol):
    """A writer of Slang for the nodes of a body."""

    def body(self, body: Graph, inputs: Sequence[str]) -> tuple[list[str], list[str]]:
        """Returns statements, and the names of the outputs, given the names of the inputs."""
        ...

    def fresh(self, label: str) -> str:
        """Returns a name that is not used yet."""
        ...

    def differentiable(
        self, body: Graph, wrt: Sequence[int], seeds: Sequence[int], stands: Mapping[int, str] | None = None
    ) -> str:
        """Returns the name of a differentiable function of the inputs of `body`, which gives its outputs `seeds`.

        Only the inputs `wrt` have derivatives. `stands` are the Slang types of inputs that have others than in `body`.
        """
        ...


class Control(Op):
    """The base class of the three operations.

    Attributes:
        bodies: the names of the bodies.
        ahead: the number of operands before those that are inputs of the bodies.
        own: the number of body inputs before those of operands.
    """

    nests = True
    bodies: tuple[str, ...] = ()
    ahead = 0
    own = 0

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        rank = grid_rank(node)
        return [computed(node, v.type, self.is_weak(node, j), rank) for j, v in enumerate(node.bodies[-1].outputs)]

    def settled(self, node: Node, oracle: Oracle | None) -> list[ArgMap]:
        rank = grid_rank(node)
        return [
            m if m.dims is not None else ArgMap(ArgMap.aligned(v.rank - filled_axes(v, m.type), rank).dims, m.type)
            for v, m in zip(node.operands, node.maps)
        ]

    def is_weak(self, node: Node, j: int) -> bool:
        """True if result `j` takes the type that its context wants."""
        return of_numbers(node.operands)

    def verify(self, node: Node) -> str | None:
        if [body.name for body in node.bodies] != list(self.bodies):
            return f"{self.name} has the bodies {', '.join(self.bodies)}"
        types = loaded(node)
        for body in node.bodies:
            passed = body.inputs[self.own :]
            if len(body.inputs) < self.own or len(passed) != len(types) - self.ahead:
                return f"{len(types)} operands for body @{body.name} with {len(body.inputs)} inputs"
            wrong = [v for v, type in zip(passed, types[self.ahead :]) if v.type is not type]
            if wrong:
                return f"body @{body.name}: input %{wrong[0].name} is not what is loaded for it"
        return self.verify_types(node, types)

    def verify_types(self, node: Node, given: Sequence[Type]) -> str | None:
        """Returns an error in the types of inputs and outputs of the bodies, or ``None``."""
        raise NotImplementedError

    def label(self, node: Node, j: int) -> str:
        """Returns the name of result `j` in generated code, without its number."""
        carries = node.bodies[-1].inputs[self.own :]
        return carries[j].name or ""

    def statements(self, node: Node, args: Sequence[str], results: Sequence[str], write: Writer) -> list[str]:
        """Returns Slang statements that declare `results`, given the names of the operands."""
        raise NotImplementedError

    def meaning(self, node: Node, args: Sequence[Array], grid: tuple[int, ...], run: Run) -> list[Array]:
        """Computes the results in NumPy: every step runs for all points, and changes those that take part."""
        raise NotImplementedError


class Cond(Control):
    """A branch: runs ``if_true`` where the first operand is true, else ``if_false``; both take the other operands."""

    name = "cond"
    bodies = ("if_true", "if_false")
    ahead = 1

    def is_weak(self, node: Node, j: int) -> bool:
        return of_numbers(node.operands[:1]) and all(body.outputs[j].weak for body in node.bodies)

    def verify_types(self, node: Node, given: Sequence[Type]) -> str | None:
        if given[0] is not BOOL:
            return "the first operand is no bool"
        a, b = ([v.type for v in body.outputs] for body in node.bodies)
        return None if a == b else "the bodies give other types"

    def label(self, node: Node, j: int) -> str:
        return ""

    def statements(self, node: Node, args: Sequence[str], results: Sequence[str], write: Writer) -> list[str]:
        lines = [f"{declare(v.type, name)};" for v, name in zip(node.results, results)]
        blocks: list[list[str]] = []
        for body in node.bodies:
            inner, outputs = write.body(body, args[1:])
            blocks.append([*inner, *(f"{r} = {o};" for r, o in zip(results, outputs))])
        lines += [f"if ({args[0]})", *block(blocks[0])]
        return [*lines, "else", *block(blocks[1])] if blocks[1] else lines

    def meaning(self, node: Node, args: Sequence[Array], grid: tuple[int, ...], run: Run) -> list[Array]:
        a, b = (run(body, args[1:]) for body in node.bodies)
        mask = np.broadcast_to(args[0].astype(bool), grid)
        return [_chosen(mask, x, y, v.type, grid) for x, y, v in zip(a, b, node.results)]


class Loop(Control):
    """A loop: the outputs of its last body are the carries of the next step, and at the end the results."""

    def carries(self, node: Node) -> Sequence[Value]:
        """Returns the inputs of the last body that change from step to step."""
        body = node.bodies[-1]
        return body.inputs[self.own : self.own + len(body.outputs)]

    def verify_types(self, node: Node, given: Sequence[Type]) -> str | None:
        body, carries = node.bodies[-1], self.carries(node)
        if len(carries) != len(body.outputs):
            return f"{len(body.outputs)} outputs of body @{body.name}, which has no such carries"
        wrong = [v for v, o in zip(carries, body.outputs) if v.type is not o.type]
        return f"body @{body.name} gives back another type for %{wrong[0].name}" if wrong else None

    def start(self, node: Node, args: Sequence[str], results: Sequence[str]) -> list[str]:
        """Declares the carries with their initial values."""
        return [f"{declare(v.type, r)} = {a};" for v, r, a in zip(node.results, results, args[self.ahead :])]

    def step(self, node: Node, args: Sequence[str], results: Sequence[str], own: Sequence[str], write: Writer) -> list[str]:
        """Returns the statements of one step: the last body, at whose end all carries change at once."""
        names = [*own, *results, *args[self.ahead + len(results) :]]
        lines, outputs = write.body(node.bodies[-1], names)
        kept: dict[str, str] = {}
        for value, result, output in zip(node.results, results, outputs):
            if output in results and output != result and output not in kept:  # another carry, which changes in the same step
                kept[output] = write.fresh("next")
                lines.append(f"{declare(value.type, kept[output])} = {output};")
        return lines + [f"{r} = {kept.get(o, o)};" for r, o in zip(results, outputs) if r != o]

    def begin(self, node: Node, args: Sequence[Array], grid: tuple[int, ...]) -> list[Array]:
        """Returns the carries before the first step, for every point."""
        return [_full(a, v.type, grid) for a, v in zip(args[self.ahead :], node.results)]


class ForiLoop(Loop):
    """A loop over the integers from the first operand up to, but not including, the second.

    Operands are the two bounds, the initial carries, and the values from outside; the body gets the index first. With the
    attribute ``unroll`` Slang unrolls the loop; with ``max_steps`` it ends after so many steps.
    """

    name = "fori_loop"
    bodies = ("body",)
    ahead = 2
    own = 1

    def verify_types(self, node: Node, given: Sequence[Type]) -> str | None:
        index = node.bodies[0].inputs[0].type
        if index.kind is not Kind.SCALAR or index.dtype is None or index.dtype.kind not in "iu":
            return "the index is no integer"
        if given[0] is not index or given[1] is not index:
            return "the bounds are not of the type of the index"
        return super().verify_types(node, given)

    def statements(self, node: Node, args: Sequence[str], results: Sequence[str], write: Writer) -> list[str]:
        index = node.bodies[0].inputs[0]
        i = write.fresh(index.name or "i")
        lines = [*self.start(node, args, results), *["[ForceUnroll]"] * bool(node.attrs.get("unroll"))]
        most = node.attrs.get("max_steps")
        within = "" if most is None else f" && {i} - {args[0]} < {most}"
        lines.append(f"for ({index.type} {i} = {args[0]}; {i} < {args[1]}{within}; ++{i})")
        return [*lines, *block(self.step(node, args, results, [i], write))]

    def meaning(self, node: Node, args: Sequence[Array], grid: tuple[int, ...], run: Run) -> list[Array]:
        carries = self.begin(node, args, grid)
        start, end = (np.broadcast_to(a, grid) for a in args[:2])
        i, most = start, node.attrs.get("max_steps")
        while np.any(inside := (i < end) & (True if most is None else i - start < int(str(most)))):
            outputs = run(node.bodies[0], [i, *carries, *args[2 + len(carries) :]])
            carries = [_chosen(inside, new, old, v.type, grid) for new, old, v in zip(outputs, carries, node.results)]
            i = np.where(inside, i + 1, i)
        return carries


class WhileLoop(Loop):
    """A loop that runs ``body`` as long as ``test`` holds for the carries, at most ``max_steps`` times if that is set."""

    name = "while_loop"
    bodies = ("test", "body")

    def verify_types(self, node: Node, given: Sequence[Type]) -> str | None:
        if [v.type for v in node.bodies[0].outputs] != [BOOL]:
            return "body @test gives no bool"
        return super().verify_types(node, given)

    def statements(self, node: Node, args: Sequence[str], results: Sequence[str], write: Writer) -> list[str]:
        lines, most = self.start(node, args, results), node.attrs.get("max_steps")
        if most is None:
            lines.append("while (true)")
        else:
            step = write.fresh("step")
            lines.append(f"for (int {step} = 0; {step} < {most}; ++{step})")
        test, (holds,) = write.body(node.bodies[0], [*results, *args[len(results) :]])
        stop = [f"if (!{holds})", "    break;"]
        return [*lines, *block([*test, *stop, *self.step(node, args, results, [], write)])]

    def meaning(self, node: Node, args: Sequence[Array], grid: tuple[int, ...], run: Run) -> list[Array]:
        carries, outside = self.begin(node, args, grid), args[len(node.results) :]
        inside, steps = np.ones(grid, bool), 0
        while node.attrs.get("max_steps") is None or steps < int(str(node.attrs["max_steps"])):
            (holds,) = run(node.bodies[0], [*carries, *outside])
            inside = inside & np.broadcast_to(holds, grid)
            if not np.any(inside):
                break
            outputs = run(node.bodies[1], [*carries, *outside])
            carries = [_chosen(inside, new, old, v.type, grid) for new, old, v in zip(outputs, carries, node.results)]
            steps += 1
        return carries


def grid_rank(node: Node) -> int:
    """Returns the grid rank of a node whose maps state what is loaded: the largest rank that its operands need."""
    ranks = (v.rank - filled_axes(v, m.type) if m.dims is None else m.min_grid_rank for v, m in zip(node.operands, node.maps))
    return max(ranks, default=0)


def loaded(node: Node) -> list[Type]:
    """Returns the type of each operand inside the bodies."""
    return [m.type or v.type for v, m in zip(node.operands, node.maps)]


def block(lines: Sequence[str]) -> list[str]:
    """Returns statements in braces, indented; directives stay at the beginning of their line."""
    return ["{", *[line if line.startswith("#") else f"    {line}" for line in lines], "}"]


def _full(array: Array, type: Type, grid: tuple[int, ...]) -> Array:
    return np.broadcast_to(array, grid + (type.shape if type.dtype is not None else ()))


def _chosen(mask: Array, a: Array, b: Array, type: Type, grid: tuple[int, ...]) -> Array:
    """Returns `a` at the points of the grid that are in `mask`, else `b`."""
    a, b = _full(a, type, grid), _full(b, type, grid)
    return np.where(mask.reshape(grid + (1,) * (a.ndim - len(grid))), a, b)


CONTROL_OPS: list[Op] = [Cond(), ForiLoop(), WhileLoop()]
