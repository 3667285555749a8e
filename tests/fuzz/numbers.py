"""Python's numbers: computed ones beside arrays, in lists, as bounds and indices; what they mean, their texts, and draws.

Beside them, draws of integers of which some have a sign and others have none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tests.fuzz.elementwise import SEVERAL, add, multiply
from tests.fuzz.program import Arg, Step
from tests.fuzz.values import INTS, Refused, Val, convert, is_float, make, number, promote, strong

if TYPE_CHECKING:
    from tests.fuzz.generate import Draw

_LOOP = 3  # steps


def _number(x: Val, whole: bool = False) -> None:
    if not x.weak or x.rank or x.comp or x.scalar == "bool" or (whole and is_float(x.scalar)):
        raise Refused("a Python number")


def _array(x: Val) -> None:
    if x.weak or x.comp or not x.rank or x.scalar == "bool":
        raise Refused("an array of numbers")


def _tensor(a: Val, b: Val) -> Val:
    """The tensor of two numbers: of floats if one is a float, and of integers with 32 bits else."""
    _number(a)
    _number(b)
    scalar = "float" if is_float(a.scalar) or is_float(b.scalar) else "int"
    a, b = convert(a, scalar), convert(b, scalar)
    return strong(make(scalar, (), np.stack([a.v, b.v]), np.stack([a.e, b.e])))


def _total(a: Val, b: Val) -> Val:
    """A sum of a list: integers have 64 bits, floats 32."""
    _number(a, whole=True)
    _number(b, whole=True)
    return add(add(a, b), number(2))


def _items(a: Val, b: Val) -> Val:
    """The absolute values of a list of two arrays."""
    _array(a)
    _array(b)
    if a.grid != b.grid or a.scalar != b.scalar:
        raise Refused("one array")
    if not is_float(a.scalar) and np.any(a.v == np.iinfo(a.v.dtype).min) and np.iinfo(a.v.dtype).min:
        raise Refused("overflow")
    e = np.stack([np.broadcast_to(x.e, x.v.shape) for x in (a, b)])
    return Val(a.scalar, (), np.abs(np.stack([a.v, b.v])), e)


def _element(x: Val, n: Val) -> Val:
    """The element at a number, or the nearest one."""
    _array(x)
    _number(n, whole=True)
    if abs(int(n.v)) >= 1 << 31 or np.any(n.e):
        raise Refused("an index")
    count = x.grid[0]
    if not count:
        raise Refused("no element")
    at = int(np.clip(int(n.v) + (count if n.v < 0 else 0), 0, count - 1))
    return Val(x.scalar, (), x.v[at], np.broadcast_to(x.e, x.v.shape)[at])


def _between(x: Val, n: Val) -> Val:
    _array(x)
    _number(n)
    return SEVERAL["clip"][1](x, n, add(n, number(2)))


def _loop(a: Val, n: Val) -> Val:
    """A loop of integers."""
    _number(a, whole=True)
    _number(n, whole=True)
    for i in range(_LOOP):
        a = add(multiply(a, n), number(i))
    return a


def _branch(a: Val, n: Val) -> Val:
    _number(a, whole=True)
    _number(n, whole=True)
    if promote(a, n) not in INTS or np.any(a.e):
        raise Refused("integers")
    return multiply(a, n) if a.v > 3 else add(a, n)


class Form(NamedTuple):
    """A step: its text over two operands, what it means, and whether its first operand is a number."""

    text: str
    of: Callable[[Val, Val], Val]
    alone: bool = True


FORMS: dict[str, Form] = {
    "tensor": Form("fp.asarray([{0}, {1}])", _tensor),
    "total": Form("fp.sum([{0}, {1}, 2])", _total),
    "loop": Form(f"fp.fori_loop(0, {_LOOP}, lambda i, c: c * {{1}} + i, {{0}})", _loop),
    "branch": Form("fp.cond({0} > 3, lambda: {0} * {1}, lambda: {0} + {1})", _branch),
    "items": Form("fp.abs([{0}, {1}])", _items, False),
    "element": Form("fp.take({0}, {1}, 0)", _element, False),
    "between": Form("fp.clip({0}, {1}, {1} + 2)", _between, False),
}


def numbers(attrs: dict[str, Any], a: Val, b: Val) -> list[Val]:
    """The value of a form."""
    return [FORMS[attrs["form"]].of(a, b)]


def text(attrs: dict[str, Any], names: list[str]) -> str:
    return FORMS[attrs["form"]].text.format(*names)


def draw_number(d: Draw, first: bool) -> Arg:
    """An argument of a program about numbers: mostly a number, and an array if it is the `first`."""
    if not first:
        scalar = d.one(["int", "int", "int", "float", "bool"] if d.chance(0.2) else ["int", "int", "float"])
        data = d.one(["small", "small", "large", "positive"])
        return Arg(scalar, (), (), "number", "C", data, seed=d.random.randrange(1 << 16))
    scalar = d.one(["double", "int64_t", "int", "float", "uint", "uint8_t", "int16_t", "half"])
    layout = d.one(["C", "C", "F", "strided", "reversed", "repeated", "shifted"])
    dims = [1 if d.chance(0.1) else x for x in "abcd"[: d.one([1, 1, 2])]]
    passed = d.one(["numpy", "numpy", "numpy", "tensor"])
    return Arg(scalar, (), tuple(dims), passed, layout, d.one(["small", "positive"]), seed=d.random.randrange(1 << 16))


def draw(d: Draw) -> Step | None:
    """A form, or an operator of a number with another value."""
    values = d.values[0]
    single = [i for i, x in enumerate(values) if x.weak and not x.rank and not x.comp and x.scalar != "bool"]
    arrays = [i for i, x in enumerate(values) if not x.weak and x.rank and not x.comp]
    if not single:
        return None
    n = d.one(single[-3:])
    r = d.random.random()
    if r < 0.25:
        return Step(d.one(["add", "mul", "sub", "mul"]), [n, d.one([[1], [3], [-2], d.one(single)])])
    if r < 0.55 and arrays:
        ends = d.one([[d.one(arrays), n], [n, d.one(arrays)]])
        op = d.one(["add", "sub", "mul", "lt", "ge", "eq", "floordiv", "mod", "maximum", "minimum", "where"])
        return Step(op, [d.one(arrays), *ends] if op == "where" else ends)
    name = d.one(FORMS)
    if not FORMS[name].alone and not arrays:
        return None
    other = d.one(arrays) if name == "items" else n
    first = d.one(single) if FORMS[name].alone else d.one(arrays)
    return Step("numbers", [first, other], {"form": name})


COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
OF_BOTH_SIGNS = (*COMPARISONS, "floordiv", "mod", "fmod", "shr", "maximum", "minimum", "clip", "add", "mul", "where")


def draw_signs(d: Draw) -> Step | None:
    """An operation on a signed and an unsigned integer, where there are such."""
    values = list(enumerate(d.values[0]))
    signed = [i for i, x in values if x.scalar.startswith("int")]
    unsigned = [i for i, x in values if x.scalar.startswith("uint")]
    if not signed or not unsigned:
        return None
    ends = [d.one(signed[-3:]), d.one(unsigned[-3:])]
    op = d.one(OF_BOTH_SIGNS)
    if op in ("clip", "where"):
        tests = [i for i, x in values if x.scalar == "bool"]
        ends.append(d.one(signed + unsigned))
        if op == "where":
            ends[0] = d.one(tests) if tests else ends[0]
    d.random.shuffle(ends)
    return Step(op, ends)
