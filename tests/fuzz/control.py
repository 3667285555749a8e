"""Loops and branches as steps. A body is a list of small operations over ``c`` (carried), ``i``, ``k0, k1, …`` (from around) and
``t0, t1, …`` (what was computed before); its last one is its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.fuzz.elementwise import OPERATORS, SEVERAL, UNARY, where
from tests.fuzz.program import Step
from tests.fuzz.values import Refused, Val, convert, is_float, make, number

if TYPE_CHECKING:
    from tests.fuzz.generate import Draw

Body = list[list[Any]]  # [operation, operands]
SAME = ("add", "sub", "mul", "minimum", "maximum", "neg", "abs", "where")


# ---- text -----------------------------------------------------------------------------------------------------------


def lines(step: Step, names: Sequence[str], out: Sequence[str]) -> list[str]:
    """The statements of a loop or branch."""
    a = step.attrs
    around = {f"k{i}": n for i, n in enumerate(names)}
    if step.op == "cond":
        yes, no = f"yes_{out[0]}", f"no_{out[0]}"
        return [
            f"def {yes}():", *_body(a["yes"], around, a["to"]),
            f"def {no}():", *_body(a["no"], around, a["to"]),
            f"{out[0]} = fp.cond({names[0]}, {yes}, {no})",
        ]  # fmt: skip
    body = f"body_{out[0]}"
    if step.op == "fori":
        hi = a["hi"] if a["hi"] is not None else names[1]
        unroll = ", unroll=True" if a.get("unroll") else ""
        return [
            f"def {body}(i, c):", *_body(a["body"], around, a["to"]),
            f"{out[0]} = fp.fori_loop({a['lo']}, {hi}, {body}, {names[0]}{unroll})",
        ]  # fmt: skip
    test = f"c {a['compare']} {around[a['limit']] if isinstance(a['limit'], str) else repr(a['limit'])}"
    return [
        f"def {body}(c):", *_body(a["body"], around, a["to"]),
        f"{out[0]} = fp.while_loop(lambda c: {test}, {body}, {names[0]}, max_steps={a['steps']})",
    ]  # fmt: skip


def _body(body: Body, around: Mapping[str, str], to: str) -> list[str]:
    found = []
    for n, (op, operands) in enumerate(body):
        given = [around.get(o, o) if isinstance(o, str) else f"({o!r})" for o in operands]
        if op in OPERATORS:
            text = OPERATORS[op][0].format(*given)
        elif op == "where":
            text = f"fp.where({given[0]} > {given[1]}, {given[0]}, {given[2]})"
        else:
            text = f"fp.{op}({', '.join(given)})"
        found.append(f"    t{n} = {text}")
    return [*found, f'    return fp.vcast(t{len(body) - 1}, "{to}")']


# ---- meaning --------------------------------------------------------------------------------------------------------


def _run(body: Body, known: dict[str, Val], to: str) -> Val:
    scope = dict(known)
    found = None
    for n, (op, operands) in enumerate(body):
        given = [scope[o] if isinstance(o, str) else number(o) for o in operands]
        if op == "where":
            found = where(OPERATORS["gt"][1](given[0], given[1]), given[0], given[2])
        else:
            found = (OPERATORS.get(op) or (0, UNARY.get(op) or SEVERAL[op][1]))[1](*given)
        scope[f"t{n}"] = found
    assert found is not None
    made = convert(found, to)
    return Val(made.scalar, made.comp, made.v, np.broadcast_to(made.e, made.v.shape))


def _spread(x: Val, grid: tuple[int, ...]) -> Val:
    return Val(x.scalar, x.comp, np.broadcast_to(x.v, grid), np.broadcast_to(np.broadcast_to(x.e, x.v.shape), grid))


def _checked(a: dict[str, Any], *operands: Val) -> tuple[int, ...]:
    """The grid: of what the loop begins with or the branch asks, and of what is used from around."""
    if any(x.comp for x in operands):
        raise Refused("scalars only")
    bodies = [*a.get("body", []), *a.get("yes", []), *a.get("no", [])]
    used = {"k0", a.get("limit"), *(o for _, given in bodies for o in given if isinstance(o, str))}
    if a.get("hi", 0) is None:
        used.add("k1")
    return np.broadcast_shapes(*(x.grid for i, x in enumerate(operands) if f"k{i}" in used))


def _around(operands: Sequence[Val]) -> dict[str, Val]:
    return {f"k{i}": x for i, x in enumerate(operands)}


def fori(a: dict[str, Any], *operands: Val) -> list[Val]:
    grid = _checked(a, *operands)
    init = operands[0]
    if init.weak or init.scalar != a["to"]:
        raise Refused("the type of what is carried")
    c = _spread(init, grid)
    last = operands[1] if a["hi"] is None else None
    if last is not None and (not last.exact or is_float(last.scalar) or last.scalar == "bool" or last.v.max(initial=0) > 6):
        raise Refused("bounds")
    most = int(last.v.max(initial=0)) if last is not None else a["hi"]
    counts = (
        last.scalar if last is not None and last.scalar in ("uint", "int64_t", "uint64_t") else "int"
    )  # the type of the bounds
    for i in range(a["lo"], most):
        made = _run(a["body"], {**_around(operands), "c": c, "i": make(counts, (), np.asarray(i))}, a["to"])
        runs = make("bool", (), np.broadcast_to(last.v > i if last is not None else np.True_, grid))
        c = _spread(where(runs, made, c), grid)
    return [c]


def loop(a: dict[str, Any], *operands: Val) -> list[Val]:
    grid = _checked(a, *operands)
    init = operands[0]
    if init.weak or init.scalar != a["to"]:
        raise Refused("the type of what is carried")
    c = _spread(init, grid)
    on = make("bool", (), np.ones(grid, bool))
    limit = _around(operands)[a["limit"]] if isinstance(a["limit"], str) else number(a["limit"])
    for _ in range(a["steps"]):
        holds = OPERATORS["lt" if a["compare"] == "<" else "gt"][1](c, limit)
        on = OPERATORS["bitand"][1](on, make("bool", (), holds.v, holds.e))
        made = _run(a["body"], {**_around(operands), "c": c}, a["to"])
        c = _spread(where(on, made, c), grid)
    return [c]


def branch(a: dict[str, Any], *operands: Val) -> list[Val]:
    grid = _checked(a, *operands)
    if operands[0].scalar != "bool" or operands[0].weak:
        raise Refused("no bool")
    yes, no = (_run(a[k], _around(operands), a["to"]) for k in ("yes", "no"))
    return [_spread(where(operands[0], yes, no), grid)]


MEANINGS: dict[str, Callable[..., list[Val]]] = {"fori": fori, "while": loop, "cond": branch}


# ---- drawing --------------------------------------------------------------------------------------------------------


def draw(d: Draw) -> Step | None:
    """A random loop or branch over what there is."""
    scalars = [i for i, x in enumerate(d.values[0]) if not x.comp and not x.weak and x.scalar not in ("bool", "Ray")]
    if not scalars:
        return None
    init = d.one(scalars[-5:])
    to = d.values[0][init].scalar
    mates = [i for i in scalars if d.values[0][i].scalar == to]
    kind = d.one(["fori", "fori", "while", "cond"])
    if kind == "cond":
        tests = [i for i, x in enumerate(d.values[0]) if (x.scalar, x.comp, x.weak) == ("bool", (), False)]
        if not tests:
            return None
        operands = [d.one(tests), init, d.one(mates)]
        names = ["k1", "k2"]
        return Step("cond", operands, {"yes": body(d, to, names), "no": body(d, to, names), "to": to})
    if kind == "while":
        attrs = {
            "body": body(d, to, ["c", "c", "k1"]),
            "compare": d.one("<>"),
            "limit": d.one(["k1", 3]),
            "steps": d.one([0, 2, 4]),
        }
        return Step("while", [init, d.one(mates)], {**attrs, "to": to})
    counts = [i for i in scalars if not is_float(d.values[0][i].scalar)]
    if counts and d.chance(0.4):
        attrs = {"lo": 0, "hi": None, "body": body(d, to, ["c", "c", "i", "k2"]), "to": to}
        return Step("fori", [init, d.one(counts), d.one(mates)], attrs)
    attrs = {"lo": d.one([0, 0, 1]), "hi": d.one([0, 1, 3, 4]), "body": body(d, to, ["c", "c", "i", "k1"]), "to": to}
    return Step("fori", [init, d.one(mates)], {**attrs, "unroll": d.chance(0.2)})


def body(d: Draw, to: str, names: list[str]) -> Body:
    """A few operations that keep the type."""
    found: Body = []
    for _ in range(d.one([1, 2, 3])):
        op = d.one(SAME)
        count = {"neg": 1, "abs": 1, "where": 3}.get(op, 2)
        operands: list[Any] = [d.one([*names, *names, *(f"t{i}" for i in range(len(found)))]) for _ in range(count)]
        if count > 1 and d.chance(0.3):
            operands[-1] = d.one([0.5, 2, -1] if is_float(to) else [1, 2, 3])
        found.append([op, operands])
    return found
