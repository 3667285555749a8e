"""The nodes of a body as Slang statements, one per node; nodes with bodies become nested statements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fusepy.backend.emit.rounded import Rounded
from fusepy.backend.emit.shims import Shims
from fusepy.backend.slang.derivatives.differentiable import shown_parameter
from fusepy.backend.sources.source import line_directive
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.base import with_attrs
from fusepy.ir.ops.control import Control, block
from fusepy.ir.oracle import OUT
from fusepy.ir.types import Kind
from fusepy.ir.value import declare


class Statements:
    """A writer of statements.

    Args:
        names: the names of values; those of results are added.
        shims: wrappers to call instead of functions.
        plain: omit the user's names and lines.
        prefix: of the names of functions that nodes need beside the statements.
        rounded: marks operations that call functions of their own.

    Attributes:
        functions: the texts of these functions.
    """

    def __init__(self, names: dict[Value, str], shims: Shims, plain: bool, prefix: str, rounded: Rounded | None = None):
        self.names = names
        self.functions: list[str] = []
        self._prefix = prefix
        self._differentiable = 0
        self._shims = shims
        self._plain = plain
        self._rounded = rounded
        self._count = 0
        self._place: str | None = None
        self._same: dict[Value, Value] = {}  # results of a select between a value and itself

    def nodes(self, body: Graph) -> list[str]:
        """Returns the statements of all nodes, with ``#line`` directives for the user's program."""
        lines: list[str] = []
        for each in body.nodes:
            node = self._canonical(each)
            if node.op.name == "select":
                (made,), (_, kept, other) = node.results, node.operands
                if kept is other and kept.type is made.type:
                    self._same[made], self.names[made] = kept, self.names[kept]
                    continue
            for j, value in enumerate(node.results):
                self.names[value] = self.fresh(node.op.label(node, j) if isinstance(node.op, Control) else "")
            if node.loc is not None and node.loc != self._place and not self._plain:
                file, _, line = node.loc.rpartition(":")
                lines.append(line_directive(line, file))
                self._place = node.loc
            lines += self._node(node)
        return lines

    def _canonical(self, node: Node) -> Node:
        """Returns `node` with one value for equal operands: operations simplify a value combined with itself."""
        if node in self._shims.hidden or node in self._shims.names or not any(v in self._same for v in node.operands):
            return node
        operands = [self._same.get(v, v) for v in node.operands]
        return Node(node.op, operands, node.maps, node.results, node.attrs, node.loc, node.bodies)

    def body(self, body: Graph, inputs: Sequence[str]) -> tuple[list[str], list[str]]:
        """Returns the statements of a nested body, and the names of its outputs, for `inputs` of these names."""
        self.names.update(zip(body.inputs, inputs))
        return self.nodes(body), [self.names[v] for v in body.outputs]

    def fresh(self, label: str) -> str:
        """Returns a unique name that ends in the identifier in `label`."""
        self._count += 1
        words = "" if self._plain else re.sub(r"\W+", "_", label).strip("_")
        return f"v{self._count - 1}_{words}" if words else f"v{self._count - 1}"

    def differentiable(
        self, body: Graph, wrt: Sequence[int], seeds: Sequence[int], stands: Mapping[int, str] | None = None
    ) -> str:
        """Adds a differentiable function that computes the outputs `seeds` of `body`, and returns its name.

        One output is returned, several are ``out`` parameters. Inputs that are not in `wrt` are constants. `stands` are the types
        of inputs whose types differ from those in `body`.
        """
        name = f"{self._prefix}_primal_{self._differentiable}"
        self._differentiable += 1
        names = {v: f"a{i}_{v.name}" if v.name and v.name.isidentifier() else f"a{i}" for i, v in enumerate(body.inputs)}
        if self._plain:
            names = {v: f"a{i}" for i, v in enumerate(body.inputs)}
        params = [shown_parameter(declare(v.type, names[v]), v.type, wanted=i in wrt) for i, v in enumerate(body.inputs)]
        for i, type in (stands or {}).items():
            params[i] = f"{type} {names[body.inputs[i]]}"
        outputs = [body.outputs[j] for j in seeds]
        inner = Statements(names, self._shims, self._plain, name)
        lines = inner.nodes(body)
        if len(outputs) == 1 and outputs[0].type.kind is not Kind.ARRAY:
            head, lines = f"{outputs[0].type} {name}({', '.join(params)})", [*lines, f"return {names[outputs[0]]};"]
        else:
            params += [shown_parameter(declare(v.type, f"r_{j}"), v.type, OUT) for j, v in enumerate(outputs)]
            head, lines = f"void {name}({', '.join(params)})", [*lines, *(f"r_{j} = {names[v]};" for j, v in enumerate(outputs))]
        self.functions += [*inner.functions, "[Differentiable]", head, *block(lines), ""]
        return name

    def _node(self, node: Node) -> list[str]:
        args, results = [self.names[v] for v in node.operands], [self.names[v] for v in node.results]
        if isinstance(node.op, Control):
            return node.op.statements(node, args, results, self)
        if node in self._shims.hidden:
            return [f"{declare(node.results[0].type, results[0])} = {self._shims.hidden[node]}({', '.join(args)});"]
        if node in self._shims.names:
            node = with_attrs(node, function=self._shims.names[node], method=False)
        if self._rounded is not None:
            node = self._rounded(node)
        return node.op.emit(node, args, results)
