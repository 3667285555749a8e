"""Random fused programs on random shapes and strides, run on the device and held to NumPy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import examples
from tests.support.slang_functions import F32, fused

# Each operation: what it takes and gives ("s" one float, "v" a float3), in fusepy and in NumPy. In NumPy a vector has its
# components on the last axis and a scalar has none, so `wide` puts one there where the two meet.
wide = lambda a: np.asarray(a)[..., None]  # noqa: E731


class Op(NamedTuple):
    takes: str
    gives: str
    slang: Any
    numpy: Any


def operations(lib: Any) -> dict[str, Op]:
    both = lambda f: (f, f)  # noqa: E731
    return {
        "add": Op("ss", "s", *both(lambda a, b: a + b)),
        "sub": Op("ss", "s", *both(lambda a, b: a - b)),
        "mul": Op("ss", "s", *both(lambda a, b: a * b)),
        "neg": Op("s", "s", *both(lambda a: -a)),
        "half": Op("s", "s", *both(lambda a: a * 0.5 + 1)),
        "div": Op("ss", "s", lambda a, b: a / (abs(b) + 1), lambda a, b: a / (np.abs(b) + 1)),
        "min": Op("ss", "s", fp.minimum, np.minimum),
        "floor": Op("s", "s", fp.floor, np.floor),
        "abs": Op("s", "s", fp.abs, np.abs),
        "where": Op("sss", "s", lambda a, b, c: fp.where(a > b, b, c), lambda a, b, c: np.where(a > b, b, c)),
        "both": Op(
            "sss",
            "s",
            lambda a, b, c: fp.where((a > 0) & (b > 0) | ~(c < 1), a, b),
            lambda a, b, c: np.where((a > 0) & (b > 0) | ~(c < 1), a, b),
        ),
        "call add": Op("ss", "s", lib.add, lambda a, b: a + b),
        "call minus": Op("ss", "s", lambda a, b: lib.minus(b=a, a=b), lambda a, b: b - a),
        "split": Op("s", "s", lambda a: lib.split(a)[1], lambda a: a - np.floor(a)),
        "bump": Op("ss", "s", lambda a, b: lib.bump(a, b)[1], lambda a, b: a + b),
        "to vector": Op(
            "sss", "v", lambda a, b, c: lib.float3(a, b, c), lambda a, b, c: np.stack(np.broadcast_arrays(a, b, c), -1)
        ),
        "tone": Op("vs", "v", lambda v, k: lib.tone(v, k), lambda v, k: v * wide(k) + 2),
        "add3": Op("vv", "v", lib.add3, lambda a, b: a + b),
        "mul v": Op("vs", "v", lambda v, k: v * k, lambda v, k: v * wide(k)),
        "max v": Op("vv", "v", fp.maximum, np.maximum),
        "where v": Op("vvs", "v", lambda a, b, k: fp.where(a > k, a, b), lambda a, b, k: np.where(a > wide(k), a, b)),
        "swizzle": Op("v", "v", lambda v: v.zxy, lambda v: v[..., [2, 0, 1]]),
        "component": Op("v", "s", lambda v: v.y, lambda v: v[..., 1]),
        "index": Op("v", "s", lambda v: fp.vcast(v, "float3")[-1], lambda v: v[..., 2]),
        "luma": Op("v", "s", lib.luma, lambda v: v[..., 0] + v[..., 1] * 10 + v[..., 2] * 100),
        "ray": Op("vvs", "v", lambda p, d, t: lib.at(lib.make_ray(p, d), t), lambda p, d, t: p + wide(t) * d),
    }


NAMES = list(operations(type("Names", (), {"__getattr__": lambda self, name: None})()))


class Argument(NamedTuple):
    kind: str  # "s" or "v"
    shape: tuple[int, ...]
    passed: str  # how it reaches the function
    seed: int


class Program(NamedTuple):
    arguments: list[Argument]
    steps: list[tuple[str, tuple[int, ...]]]
    results: list[int]


@st.composite
def random_programs(draw: st.DrawFn) -> Program:
    grid = draw(st.lists(st.sampled_from([1, 2, 3, 5, 8]), max_size=4))
    arguments: list[Argument] = []
    for i in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from("ssv"))
        rank = draw(st.integers(0, len(grid)))
        shape = tuple(n if draw(st.integers(0, 3)) else 1 for n in grid[len(grid) - rank :])
        ways = ["tensor", "numpy", "strided", "reversed", "transposed", "broadcast"]
        passed = draw(st.sampled_from([*ways, "number"] if kind == "s" and not rank else ways))
        arguments.append(Argument(kind, shape, passed, i))
    kinds = [a.kind for a in arguments]
    ops = operations(type("Names", (), {"__getattr__": lambda self, name: None})())
    steps: list[tuple[str, tuple[int, ...]]] = []
    for _ in range(draw(st.integers(1, 10))):
        name = draw(st.sampled_from([n for n in NAMES if set(ops[n].takes) <= set(kinds)]))
        operands = tuple(draw(st.sampled_from([i for i, k in enumerate(kinds) if k == wanted])) for wanted in ops[name].takes)
        steps.append((name, operands))
        kinds.append(ops[name].gives)
    results = draw(st.lists(st.integers(len(arguments), len(kinds) - 1), min_size=1, max_size=3))
    return Program(arguments, steps, results)


def values(argument: Argument) -> Any:
    shape = argument.shape + ((3,) if argument.kind == "v" else ())
    drawn = np.random.default_rng(argument.seed).integers(-12, 13, shape)
    return (drawn / 4).astype(F32)


def given_as(argument: Argument, array: Any) -> Any:
    """The array as the function gets it; vectors are said to be vectors, since floats of that shape would do as well."""
    device = fp.default_device()
    if argument.passed == "number":
        return float(array)
    made: Any = array
    axes = len(argument.shape)
    if argument.passed == "tensor":
        made = fp.Tensor.from_numpy(device, array)
    elif argument.passed == "strided" and axes:
        holder = np.full((*array.shape[: axes - 1], array.shape[axes - 1] * 2, *array.shape[axes:]), 99, F32)
        index = (*(slice(None),) * (axes - 1), slice(0, None, 2))
        holder[index] = array
        made = fp.Tensor.from_numpy(device, holder)[index]
    elif argument.passed == "reversed" and axes:
        made = fp.Tensor.from_numpy(device, np.ascontiguousarray(array[::-1]))[::-1]
    elif argument.passed == "transposed":
        made = np.array(array, order="F")
    elif argument.passed == "broadcast":
        made = np.broadcast_to(array, (1, *array.shape))[0]
    return fp.vcast(made, "float3") if argument.kind == "v" else made


def evaluate(program: Program, inputs: list[Any], table: dict[str, Any]) -> list[Any]:
    found = list(inputs)
    for name, operands in program.steps:
        found.append(table[name](*(found[i] for i in operands)))
    return [found[i] for i in program.results]


@examples(80)
@given(program=random_programs())
def test_random_programs(lib: Any, program: Program) -> None:
    ops = operations(lib)
    arrays = [values(a) for a in program.arguments]
    expected = evaluate(program, arrays, {n: o.numpy for n, o in ops.items()})
    slang = {n: o.slang for n, o in ops.items()}
    function = fused(len(arrays), lambda *inputs: evaluate(program, list(inputs), slang))
    before = fp.stats().dispatches
    got = function(*(given_as(a, v) for a, v in zip(program.arguments, arrays)))
    dispatched = fp.stats().dispatches - before
    for result, wanted in zip(got, expected, strict=True):
        result, wanted = np.asarray(result), np.asarray(wanted)
        assert result.shape == wanted.shape, program
        # the steps are exact up to the last bits, but differences and products of what they give may grow
        scale = max(1.0, float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0)))
        np.testing.assert_allclose(
            result.astype(np.float64), wanted.astype(np.float64), rtol=2e-4, atol=2e-5 * scale, err_msg=str(program)
        )
    shapes = {np.asarray(e).shape for e in expected}
    if len(shapes) == 1:
        assert dispatched == 1
