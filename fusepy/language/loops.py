"""Loops and branches with traced bodies: `cond`, `fori_loop` and `while_loop` become control flow of the kernel.

Each grid point takes its own branch and its own number of steps. Outside of a fused function, each call is a program of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fusepy.errors import ArgumentError, FusepyError, TraceError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Attr, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.control import grid_rank
from fusepy.ir.ops.promotion import of_numbers
from fusepy.ir.types import BOOL
from fusepy.language.eager_loops import Arguments, is_reversible
from fusepy.language.step_loops import index_type, over_arrays, refusal, stepped
from fusepy.location import user_line
from fusepy.pytree import Structure
from fusepy.trace.arity import check_takes
from fusepy.trace.bodies import BodyTrace, Use
from fusepy.trace.carries import Carries, parameter_names
from fusepy.trace.components.agreement import agreed
from fusepy.trace.components.numbers import as_integer, chosen_number, word
from fusepy.trace.components.overflow import add_overflow, report_overflow
from fusepy.trace.maps import inherit, shared_map
from fusepy.trace.struct_choice import struct_hint
from fusepy.trace.structs import check_loose
from fusepy.trace.structure import flatten_values
from fusepy.trace.trace import Trace, current_trace
from fusepy.trace.traced import Traced

__all__ = ["cond", "fori_loop", "while_loop"]


def cond(pred: Any, if_true: Callable[..., Any], if_false: Callable[..., Any], *operands: Any) -> Any:
    """Computes ``if_true(*operands)`` where `pred` is true, else ``if_false(*operands)``; each grid point computes only one.

    Both functions are traced. They may use variables around them. They must return the same structure (a value, tuple, list,
    dict, dataclass, or nothing) with the same types; a Python number takes the type of the other branch. A Python bool as `pred`
    chooses while tracing. If both sides are cheap to compute, `where` is the better choice.

    Raises:
        TraceError: if `pred` is no bool, or the results differ in structure or type.

    Example:
        >>> import fusepy as fp
        >>> @fp.fuse
        ... def root(x):
        ...     return fp.cond(x > 0, lambda: fp.sqrt(x), lambda: 0.0)
        >>> root([4.0, -1.0])
        [2.0, 0.0]
    """
    _check_callable("cond", [f"x_{i}" for i in range(len(operands))], if_true=if_true, if_false=if_false)
    if isinstance(pred, bool):
        return (if_true if pred else if_false)(*operands)
    trace = current_trace()
    if trace is None:

        def run(pred: Any, *given: Any) -> Any:
            return cond(pred, if_true, if_false, *given)

        return Arguments("cond", {"pred": pred, **{f"operand_{i}": v for i, v in enumerate(operands)}}).run(run)
    loc = user_line()
    test, said = trace.operand(pred, "pred", loc)
    _bool(test, "cond: pred", loc)
    given = [trace.captured(v, "operand") if (hasattr(v, "shape") and not isinstance(v, Traced)) else v for v in operands]
    branches: list[BodyTrace] = []
    results: list[tuple[Structure, list[Value]]] = []
    leaves: list[Any] = []
    for name, function in (("if_true", if_true), ("if_false", if_false)):
        inner = BodyTrace(trace, "cond", name)
        inner.alone = trace.alone and of_numbers([test])
        with inner.recording():
            found, structure = flatten_values(function(*given), name)
            leaves += found
            values = [inner.output(v, loc) for v in found]
            values = values if inner.alone else [as_integer(inner, v, loc) for v in values]
        branches.append(inner)
        results.append((structure, values))
    (a, first), (b, second) = results
    _check_same(a, b, struct_hint(leaves), loc)
    return b.fill(_branched(trace, test, said, branches, list(zip(a.paths("result"), first, second)), loc))


def _branched(
    trace: Trace,
    test: Value,
    said: ArgMap,
    branches: Sequence[BodyTrace],
    leaves: Sequence[tuple[str, Value, Value]],
    loc: str | None,
) -> list[Traced]:
    """Records a branch, and returns its results. The node has no results for numbers that each call can choose itself."""
    chosen = [chosen_number(trace, test, list(zip(branches, pair))) for _, *pair in leaves]
    made = [Traced(trace, v, loc) for v in chosen if v is not None]
    if len(made) < len(leaves) or any(node.op.name != "const" for inner in branches for node in inner.builder.nodes):
        results = [agreed(branches, *leaf, loc) for leaf, known in zip(leaves, chosen) if known is None]
        outputs = [[pair[i] for pair in results] for i in range(2)]
        flagged = add_overflow(branches, outputs)
        computed = _add(trace, "cond", [test], [said], branches, outputs, {}, loc)
        if flagged:
            report_overflow(trace, trace.own(computed.pop()), "cond", loc)
        rest, known = iter(computed), iter(made)
        made = [next(rest if v is None else known) for v in chosen]
    return made


def fori_loop(
    lo: Any, hi: Any, body: Callable[[Any, Any], Any], init: Any, *, unroll: bool = False, max_steps: int | None = None
) -> Any:
    """Runs ``for i in range(lo, hi): c = body(i, c)`` from ``c = init`` as a loop of the kernel; returns the last `c`.

    If the body reduces its carry, or reads it as a whole array, each step runs as kernels over the whole array. All steps share
    these kernels. The bounds must then be Python integers: ``fp.fori_loop(0, 100, lambda i, x: m.jacobi(fp.grid(x.shape), x, b),
    x)``.

    The carry `c` may be any structure of values (tuple, list, dict, dataclass). Its leaves keep their types in all steps.
    Python numbers in `init` take the type that the body returns, so the body may be traced more than once.

    Args:
        lo, hi: integers; they may differ between grid points.
        body: a function of the index and the carry; returns the next carry. The index is an ``int`` (or a ``uint``, ``int64_t``
            or ``uint64_t``, if a bound is one), and overflows as one. The body may use variables around it.
        init: the first carry.
        unroll: have Slang unroll the loop; the bounds must be Python integers.
        max_steps: a Python integer; the loop ends after so many steps. A gradient needs it, unless the bounds are Python
            integers.

    Raises:
        TraceError: if the bounds are no integers, or the body changes the structure or a type of the carry.

    Example:
        >>> import fusepy as fp
        >>> @fp.fuse
        ... def power(x, n):
        ...     return fp.fori_loop(0, n, lambda i, c: c * x, 1.0)
        >>> power([2.0, 3.0], 3)
        [8.0, 27.0]
    """
    _check_callable("fori_loop", ["i", "c"], body=body)
    _check_steps("fori_loop", max_steps)
    loc = user_line()
    if unroll and not (type(lo) is int and type(hi) is int):
        raise TraceError("fori_loop: only a loop between Python integers can be unrolled", place=loc, hint="remove unroll=True")
    if current_trace() is None:
        fixed = unroll or is_reversible("fori_loop", type(lo) is int and type(hi) is int, max_steps, body, init)
        bounds = {} if fixed else {"lo": lo, "hi": hi}

        def run(*given: Any) -> Any:
            first, last = (lo, hi) if fixed else given[:2]
            return _loop(first, last, body, given[-1], unroll, max_steps, (lo, hi), loc)

        return Arguments("fori_loop", bounds, init).run(run)
    return _loop(lo, hi, body, init, unroll, max_steps, (lo, hi), loc)


def _loop(lo: Any, hi: Any, body: Any, init: Any, unroll: bool, most: int | None, known: Any, loc: str | None) -> Any:
    """Records a `fori_loop`: one node, or its steps if these need whole arrays and the bounds are `known`."""
    trace = current_trace()
    assert trace is not None
    ends, said = trace.operands([lo, hi], loc)
    index = index_type(ends, loc)
    i, c = parameter_names(body, ["i", "c"])
    carries = Carries(trace, "fori_loop", init, c, loc, ends)
    try:
        inner, outputs = carries.run(body, "body", (i, index))
    except FusepyError as error:
        if all(type(end) is int for end in known) and over_arrays(carries, error):
            return stepped(trace, known, most, body, init, carries, error)
        raise refusal(error, carries) from None
    starts, maps = carries.starts()
    maps = [*(ArgMap(m.dims, index if v.type is not index else None) for v, m in zip(ends, said)), *maps]
    attrs: dict[str, Attr] = {"unroll": True} if unroll else {}
    if most is not None:
        attrs["max_steps"] = most
    return carries.results(_add(trace, "fori_loop", [*ends, *starts], maps, [inner], [outputs], attrs, loc))


def while_loop(test: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, *, max_steps: int | None = None) -> Any:
    """Runs ``while test(c): c = body(c)`` from ``c = init`` as a loop of the kernel; returns the last `c`.

    Each grid point stops by itself. A loop that never stops hangs the device, and perhaps the whole desktop. With `max_steps`
    a loop ends after that many steps.

    Args:
        test: a function of the carry; returns a bool.
        body: a function of the carry; returns the next carry. See `fori_loop`.
        init: the first carry.
        max_steps: a Python integer.

    Raises:
        TraceError: if the test is no bool, or the body changes the structure or a type of the carry.

    Example:
        >>> import fusepy as fp
        >>> @fp.fuse
        ... def log2(n):
        ...     return fp.while_loop(lambda c: c[0] > 1, lambda c: (c[0] // 2, c[1] + 1), (n, 0))[1]
        >>> log2([1, 8, 100])
        [0, 3, 6]
    """
    _check_callable("while_loop", ["c"], test=test, body=body)
    _check_steps("while_loop", max_steps)
    trace = current_trace()
    if trace is None:
        is_reversible("while_loop", False, max_steps, body, init)

        def run(given: Any) -> Any:
            return while_loop(test, body, given, max_steps=max_steps)

        return Arguments("while_loop", {}, init).run(run)
    loc = user_line()
    carries = Carries(trace, "while_loop", init, parameter_names(body, ["c"])[0], loc)
    try:
        inner, outputs = carries.run(body, "body")
    except FusepyError as error:
        raise refusal(error, carries) from None
    tester, given = carries.enter("test")
    with tester.recording():
        holds = _bool(tester.output(test(*given), loc), "while_loop: what the test gives back", loc)
    starts, maps = carries.starts()
    holds = carries.overflow.ended(tester, holds)
    attrs: dict[str, Attr] = {} if max_steps is None else {"max_steps": max_steps}
    return carries.results(_add(trace, "while_loop", starts, maps, [tester, inner], [[holds], outputs], attrs, loc))


def _add(
    trace: Trace,
    op: str,
    operands: Sequence[Value],
    maps: Sequence[ArgMap],
    bodies: Sequence[BodyTrace],
    outputs: Sequence[Sequence[Value]],
    attrs: Mapping[str, Attr],
    loc: str | None,
) -> list[Any]:
    """Records the node; values that its bodies capture follow its operands."""
    uses: list[Use] = list(dict.fromkeys(use for body in bodies for use in body.uses()))
    graphs = [body.close(uses, found) for body, found in zip(bodies, outputs)]
    values = [*operands, *(use.value for use in uses)]
    given = [*maps, *(use.map for use in uses)]
    said, dims = shared_map(trace, values, given)
    results = trace.builder.add(OPS[op], values, said, attrs, loc, graphs)
    for result in results:
        word(result, values)
    if not trace.body:
        check_loose(trace, op, values, loc, grid_rank(trace.builder.nodes[-1]))
    inherit(trace, results, dims, values, given)
    return [Traced(trace, v, loc) for v in results]


def _bool(value: Value, what: str, loc: str | None) -> Value:
    """Raises `TraceError` unless `value` is a bool scalar."""
    if value.type is not BOOL:
        raise TraceError(
            f"{what} is a {value.type}", place=loc, saw=value.type, expected="bool", hint="compare it: x > 0, n != 0"
        )
    return value


def _check_same(a: Structure, b: Structure, hint: str | None, loc: str | None) -> None:
    if a != b:
        raise TraceError(
            "cond: the branches return different structures",
            place=loc,
            saw=f"{a} and {b}",
            hint=hint or "return the same structure from if_true and if_false",
        )


def _check_callable(op: str, takes: Sequence[str], **functions: Any) -> None:
    for name, function in functions.items():
        if not callable(function):
            raise ArgumentError(f"{op}: {name} is no function", saw=repr(function)[:60], hint="pass a function, e.g. a lambda")
        check_takes(op, name, function, takes)


def _check_steps(op: str, steps: Any) -> None:
    if steps is not None and not (type(steps) is int and 0 <= steps < 1 << 31):
        raise ArgumentError(f"{op}: max_steps is no count of steps", saw=repr(steps), hint="pass a Python integer")
