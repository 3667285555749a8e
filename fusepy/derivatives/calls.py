"""Derivatives of calls: a ``vjp`` with the call as its body, which Slang differentiates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fusepy.derivatives.terms import Term, Terms
from fusepy.errors import GradientError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.oracle import IN, CallTypes, Oracle
from fusepy.ir.types import Kind, Type
from fusepy.ir.whole import gathers

ArrayOf = Callable[[int], Term]  # the array to which the gradients of an operand that is read whole are added


def differential(type: Type, oracle: Oracle | None) -> Type | None:
    """Returns the type of the gradient of a value; ``None`` if it has none."""
    if type.is_float:
        return type
    if type.kind is Kind.ARRAY and type.element is not None:
        inner = differential(type.element, oracle)
        return None if inner is None else Type.array(inner, type.shape[0])
    if type.kind is not Kind.NAMED or oracle is None:
        return None
    found = Type.parse(f"{type}::Differential")
    return None if oracle.layout(found) is None else found


def vjp(
    t: Terms,
    node: Node,
    attrs: Mapping[str, Attr],
    operands: Sequence[Term],
    gradients: Sequence[Term | None],
    wanted: Sequence[int],
    array: ArrayOf,
    constants: Mapping[Value, Node],
    oracle: Oracle | None,
) -> list[Term | None]:
    """Records the ``vjp`` of a call and returns the gradients of its operands.

    Args:
        attrs: of the node, with those that resolution adds.
        wanted: the operands whose gradients are wanted.
        array: the array to which the gradients of an operand that is read whole are added.
        constants: the nodes of Python numbers, which become part of the body.

    Raises:
        GradientError: if Slang cannot differentiate the function.
    """
    types = {i: differential(operands[i].type, oracle) for i in wanted}
    wrt = [i for i in wanted if types[i] is not None]
    whole = [i for i in wanted if gathers(operands[i].type)]
    seeds = [j for j, g in enumerate(gradients) if g is not None]
    if not (wrt or whole) or not seeds:
        return [None] * len(operands)
    _check(node, attrs, operands, [*wrt, *whole], oracle)
    body, passed = _body(node, attrs, operands, constants)
    places = {i: k for k, i in enumerate(passed)}
    given = [_exact(t, g, v.type) for g, v in zip(gradients, node.results) if g is not None]
    kept: dict[str, Attr] = {
        "wrt": tuple(str(places[i]) for i in wrt),
        "seeds": tuple(map(str, seeds)),
        "types": tuple(str(types[i]) for i in wrt),
    }
    if whole:
        kept["arrays"] = tuple(str(places[i]) for i in whole)
    taken = [*(operands[i] for i in passed), *given, *(array(i) for i in whole)]
    made = dict(zip(wrt, t.node("vjp", taken, kept, [body])))
    return [made.get(i) for i in range(len(operands))]


def _exact(t: Terms, g: Term, type: Type) -> Term:
    """Returns a gradient of exactly the type of the output."""
    return t.cast(g, type) if type.is_numeric else g


def _body(
    node: Node, attrs: Mapping[str, Attr], operands: Sequence[Term], constants: Mapping[Value, Node]
) -> tuple[Graph, list[int]]:
    """Returns the body, and the operands that are its inputs."""
    inputs: list[Value] = []
    nodes: list[Node] = []
    passed: list[int] = []
    inner: list[Value] = []
    seen: dict[Value, Value] = {}
    for i, term in enumerate(operands):
        constant = constants.get(term.value)
        if constant is not None and term.wants is None:
            if term.value not in seen:
                seen[term.value] = Value(term.value.type, (), weak=term.value.weak)
                nodes.append(Node(constant.op, (), (), [seen[term.value]], constant.attrs, constant.loc))
            inner.append(seen[term.value])
            continue
        name = f"{term.value.name.replace('.', '_')}_{i}" if term.value.name else f"x_{i}"
        inputs.append(Value(term.type, (), name=name))
        inner.append(inputs[-1])
        passed.append(i)
    results = [Value(v.type, ()) for v in node.results]
    nodes.append(Node(node.op, inner, [ArgMap(())] * len(inner), results, attrs, node.loc))
    return Graph("primal", inputs, nodes, results), passed


def _check(node: Node, attrs: Mapping[str, Attr], operands: Sequence[Term], wrt: Sequence[int], oracle: Oracle | None) -> None:
    """Raises `GradientError` if Slang cannot differentiate the function of a call; with the words of Slang."""
    assert oracle is not None
    dirs = attrs.get("dirs") or (IN,) * len(operands)
    assert isinstance(dirs, tuple)
    outs = iter([v.type for v in node.results][1 if attrs.get("returns", True) and node.results else 0 :])
    given = iter(enumerate(operands))
    params: list[tuple[str, Type, bool]] = []
    for direction in dirs:
        i, type = -1, None
        if direction in (IN, "inout"):
            i, term = next(given)
            type = term.type
        if direction != IN:
            type = next(outs)
        assert type is not None
        params.append((direction, type, i in wrt))
    result = node.results[0].type if attrs.get("returns", bool(node.results)) and node.results else None
    call = CallTypes(node.text("function"), tuple(params), result, bool(attrs.get("method")))
    words = oracle.undifferentiable(node.text("module"), call)
    if words is not None:
        raise GradientError(
            f"Slang cannot differentiate {node.text('function')}",
            place=node.loc,
            saw=words,
            hint="declare it [Differentiable], or give it a derivative of your own with [BackwardDerivative(…)]",
        )
