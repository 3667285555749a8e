"""Derivatives of calls: a ``vjp`` or ``jvp`` with the call as its body, which Slang differentiates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fusepy.derivatives.differential import differential
from fusepy.derivatives.refused import backwards_only, read_twice
from fusepy.derivatives.scatter import packed
from fusepy.derivatives.terms import Term, Terms
from fusepy.derivatives.visit import Visit
from fusepy.errors import GradientError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.ops.exact import A_FLOAT, SIZES, sums_in
from fusepy.ir.oracle import IN, CallTypes, Oracle
from fusepy.ir.pipelines.queries import BY_QUERY, obstacle, queries_of
from fusepy.ir.resources import SAMPLER, graded, is_sampled, reads_graded
from fusepy.ir.types import FLOAT, Type
from fusepy.ir.whole import gathers


def vjp(v: Visit) -> list[Term | None]:
    """Records the ``vjp`` of a call and returns the gradients of its operands.

    Raises:
        GradientError: if Slang cannot differentiate the function.
    """
    t, operands = v.terms, v.operands
    again = v.node.op.name == "jvp"
    if again:
        read_twice(v.node, [operands[i].type for i in v.wanted])
    # again: of all that has a derivative, also of constants, since Slang crashes where some is constant
    constants: Mapping[Value, Node] = {} if again else v.constants
    types = {i: differential(operands[i].type, v.oracle) for i in (range(len(operands)) if again else v.wanted)}
    wrt = [i for i, type in types.items() if type is not None]
    whole = [i for i in v.wanted if gathers(operands[i].type) or reads_graded(operands[i].type)]
    seeds = [j for j, g in enumerate(v.gradients) if g is not None]
    if not (wrt or whole) or not seeds:
        return [None] * len(operands)
    grades = check(v.node, v.attrs, operands, [*wrt, *whole], v.oracle)
    body, passed = _body(v.node, v.attrs, operands, constants, v.oracle)
    places = {i: k for k, i in enumerate(passed)}
    given = [t.exact(g, result.type) for g, result in zip(v.gradients, v.node.results) if g is not None]
    attrs: dict[str, Attr] = {
        "wrt": tuple(str(places[i]) for i in wrt),
        "seeds": tuple(map(str, seeds)),
        "types": tuple(str(types[i]) for i in wrt),
    }
    arrays = [(i, array) for i in whole for array in v.arrays(i)]
    if arrays:
        attrs["arrays"] = tuple(str(places[i]) for i, _ in arrays)
        attrs["words"] = tuple(packed(operands[i].type.element or FLOAT, v.oracle, v.node.loc) for i, _ in arrays)
        attrs["channels"] = tuple(str(_channels(array.type)) for _, array in arrays)
    if any(sums_in(array.type) for _, array in arrays):
        attrs["sums"] = tuple(str(sums_in(array.type)) for _, array in arrays)
    taken = [*(operands[i] for i in passed), *given, *(array for _, array in arrays)]
    if grades:
        attrs["graded"] = tuple(str(k) for k, i in enumerate(passed) if graded(operands[i].type) is not None)
        set_up = [i for i in passed if operands[i].type is SAMPLER]
        attrs["settings"] = tuple(str(places[i]) for i in set_up)
        taken += map(v.setting, set_up)
    made = dict(zip(wrt, t.node("vjp", taken, attrs, [body])))
    return [made.get(i) for i in range(len(operands))]


def _channels(array: Type) -> int:
    """Returns the number of numbers in an element of an array of gradients."""
    assert array.element is not None, array
    return sums_in(array) // SIZES[A_FLOAT] or math.prod(array.element.shape)


def jvp(
    t: Terms,
    node: Node,
    attrs: Mapping[str, Attr],
    operands: Sequence[Term],
    tangents: Sequence[Term | None],
    oracle: Oracle | None,
) -> list[Term | None]:
    """Records the ``jvp`` of a call and returns the tangents of its results; see `vjp`.

    Raises:
        GradientError: if Slang cannot differentiate the function.
    """
    wrt = [i for i, tangent in enumerate(tangents) if tangent is not None]
    types = {j: type for j, v in enumerate(node.results) if (type := differential(v.type, oracle)) is not None}
    check(node, attrs, operands, wrt, oracle, forward=True)
    body, passed = _body(node, attrs, operands, {}, oracle)  # constants too get tangents: see `ir.ops.jvp`
    places = {i: k for k, i in enumerate(passed)}
    kept: dict[str, Attr] = {
        "wrt": tuple(str(places[i]) for i in wrt),
        "flat": tuple(str(k) for i, k in places.items() if i not in wrt and differential(operands[i].type, oracle) is not None),
        "of": tuple(map(str, types)),
        "types": tuple(map(str, types.values())),
    }
    moved = [tangent for tangent in tangents if tangent is not None]
    made = dict(zip(types, t.node("jvp", [*(operands[i] for i in passed), *moved], kept, [body])))
    return [made.get(j) for j in range(len(node.results))]


def _body(
    node: Node, attrs: Mapping[str, Attr], operands: Sequence[Term], constants: Mapping[Value, Node], oracle: Oracle | None
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
    results = [Value(r.type, ()) for r in node.results]
    if rays := queried(node, oracle):
        attrs = {"queried": rays, **{key: value for key, value in attrs.items() if key != "rays"}}
    nodes.append(Node(node.op, inner, [ArgMap(())] * len(inner), results, attrs, node.loc, node.bodies))
    return Graph("primal", inputs, nodes, results), passed


def queried(node: Node, oracle: Oracle | None) -> tuple[str, ...]:
    """Returns the texts of the `RayQueries` of a ray generation, for its derivatives; none for other calls.

    Raises:
        GradientError: if queries cannot stand for the rays.
    """
    if "rays" not in node.attrs:
        return node.words("queried") if "queried" in node.attrs else ()  # a call that was differentiated before
    if (what := obstacle(node)) is not None:
        raise GradientError(
            f"the rays of {node.text('function')} have no derivative",
            place=node.loc,
            saw=what,
            expected="functions of the module of the ray generation, or Python functions without loops that call only these",
            hint=BY_QUERY,
        )
    return queries_of(node, lambda name: differential(Type.parse(name), oracle) is not None).lines()


def check(
    node: Node,
    attrs: Mapping[str, Attr],
    operands: Sequence[Term | Value],
    wrt: Sequence[int],
    oracle: Oracle | None,
    forward: bool = False,
    order: int = 1,
) -> bool:
    """Returns true if textures, buffers and pointers of a call need gradients, so that Slang differentiates copies of functions.

    Args:
        order: how often the function is differentiated.

    Raises:
        GradientError: if Slang cannot differentiate the function of the call, or does so wrongly.
    """
    if node.op.name == "jvp":  # the function of its body is differentiated once more
        body = node.bodies[0]
        (inner,) = (n for n in body.nodes if n.op.name != "const")
        moved = [i for i, v in enumerate(inner.operands) if v in body.inputs and differential(v.type, oracle) is not None]
        return check(inner, inner.attrs, inner.operands, moved, oracle, forward, order + 1)
    assert oracle is not None
    call = replace(_typed(node, attrs, operands, wrt, order), queried=queried(node, oracle))
    grades = not forward and any(reads_graded(operands[i].type) for i in wrt)
    found = None if grades else oracle.undifferentiable(node.text("module"), call, forward)
    if grades or (found is not None and order == 1 and not forward and any(is_sampled(x.type) for x in operands)):
        grades, found = True, oracle.undifferentiable(node.text("module"), replace(call, graded=True), forward)
    if found is not None and forward and any(is_sampled(x.type) for x in operands):
        raise backwards_only(node, None)
    if found is not None:
        words, hint = found
        raise GradientError(f"Slang cannot differentiate {node.text('function')}", place=node.loc, saw=words, hint=hint)
    return grades


def _typed(node: Node, attrs: Mapping[str, Attr], operands: Sequence[Term | Value], wrt: Sequence[int], order: int) -> CallTypes:
    """Returns a call with the types as which it takes its arguments."""
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
    return CallTypes(node.text("function"), tuple(params), result, bool(attrs.get("method")), order=order)
