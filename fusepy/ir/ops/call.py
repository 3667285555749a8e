"""``slang.call``: one call of a function, constructor or method that the user wrote in Slang."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.errors import VerifyError
from fusepy.ir.graph import Node, Op, Value
from fusepy.ir.names import spell_function_call
from fusepy.ir.ops.promotion import of_numbers
from fusepy.ir.oracle import IN, INOUT, OUT, Oracle
from fusepy.ir.resolve.resolve import Resolution, resolve_call
from fusepy.ir.value import Array, declare


class SlangCall(Op):
    """Calls ``@module.function``. Results: the return value if there is one, then every ``out`` and ``inout`` parameter.

    Attributes of the node: ``module`` and ``function``. A resolved call with outputs also has ``dirs``, one direction per
    parameter, and ``returns``, True if there is a return value. ``method`` marks a call whose first operand is the object of
    the method. A call that passes outputs has ``dirs`` from the beginning: they choose the overload.
    """

    name = "slang.call"
    needs = {"module": (str,), "function": (str,)}

    def resolution(self, node: Node, oracle: Oracle | None) -> Resolution:
        """Returns Slang's answer for this node.

        Raises:
            ResolveError: see `resolve_call`.
        """
        if oracle is None:
            raise VerifyError("a slang.call needs an oracle", place=node.loc, hint="build the graph with Builder(name, oracle)")
        dirs = node.attrs.get("dirs")
        assert dirs is None or isinstance(dirs, tuple)
        strict = bool(node.attrs.get("strict"))
        return resolve_call(oracle, node.text("module"), node.text("function"), node.operands, node.maps, node.loc, dirs, strict)

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        answer = self.resolution(node, oracle)
        weak = of_numbers(node.operands)
        return [Value(type, (None,) * answer.grid_rank, weak=weak) for _, type in answer.results]

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        raise VerifyError("a slang.call has no meaning of its own", hint="pass its function to interpret()")

    def emit(self, node: Node, args: Sequence[str], results: Sequence[str]) -> list[str]:
        dirs = node.attrs.get("dirs", ())
        assert isinstance(dirs, tuple)
        directions = list(dirs) or [IN] * len(args)
        returns = bool(node.attrs.get("returns", len(node.results) > 0))
        lines: list[str] = []
        outs = iter(list(zip(node.results, results))[1 if returns else 0 :])
        inputs = iter(args)
        passed: list[str] = []
        for direction in directions:
            if direction == IN:
                passed.append(next(inputs))
                continue
            value, name = next(outs)
            lines.append(declare(value.type, name) + (f" = {next(inputs)};" if direction == INOUT else ";"))
            passed.append(name)
        call = f"{spell_function_call(node.text('function'), passed, bool(node.attrs.get('method')))};"
        lines.append(f"{declare(node.results[0].type, results[0])} = {call}" if returns else call)
        return lines

    def verify(self, node: Node) -> str | None:
        wrong = super().verify(node)
        dirs = node.attrs.get("dirs")
        if wrong is not None or dirs is None:
            return wrong
        if not isinstance(dirs, tuple) or not set(dirs) <= {IN, OUT, INOUT}:
            return f"dirs is a tuple of {IN}, {OUT} and {INOUT}"
        if sum(d != OUT for d in dirs) != len(node.operands):
            return f"{len(node.operands)} operands for directions {' '.join(dirs)}"
        if "returns" not in node.attrs:
            return None
        count = sum(d != IN for d in dirs) + bool(node.attrs["returns"])
        return None if count == len(node.results) else f"{len(node.results)} results, {count} expected"
