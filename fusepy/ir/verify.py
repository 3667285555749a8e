"""Verifier: checks a graph, and each body in it, by the rules of a stage of the pipeline."""

from __future__ import annotations

from fusepy.ir.graph import Graph, Node
from fusepy.ir.oracle import Oracle
from fusepy.ir.rules import INPUT_RULES, RULES, Scope


def verify(graph: Graph, stage: str, oracle: Oracle | None = None) -> None:
    """Checks every rule of `stage`: ``"traced"``, ``"resolved"`` or ``"fused"``.

    Args:
        oracle: checks the results of calls and the fields of structs again; without one they are taken as they are.

    Raises:
        VerifyError: names the graph, the node, the user's line, and the rule.
    """
    aliases = [alias for alias, _ in graph.modules]
    scope = Scope(graph, stage, oracle, frozenset(aliases), f"graph @{graph.name}, stage {stage!r}")
    if len(set(aliases)) != len(aliases):
        raise scope.error("two modules have one alias")
    _check(scope)


def _check(scope: Scope) -> None:
    for value in scope.graph.inputs:
        wrong = next(filter(None, (rule(scope, value) for rule in INPUT_RULES[scope.stage])), None)
        if wrong is not None:
            raise scope.error(wrong, value=value)
        scope.defined.add(value)
    for node in scope.graph.nodes:
        for rule in RULES[scope.stage]:
            wrong = rule(scope, node)
            if wrong is not None:
                raise scope.error(wrong, node)
        for body in node.bodies:
            where = f"{scope.where}, body @{body.name}"
            _check(Scope(body, _body_stage(scope, node), scope.oracle, scope.modules, where))
        scope.defined.update(node.results)
    if any(v not in scope.defined for v in scope.graph.outputs):
        raise scope.error("an output is not defined")


def _body_stage(scope: Scope, node: Node) -> str:
    if node.op.name == "region" or scope.stage in ("fused", "body"):
        return "body"
    return f"{scope.stage.removesuffix(' body')} body"
