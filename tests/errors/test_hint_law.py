"""Whatever is refused for whatever parameter: an expression that the hint names is one that the call takes."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.errors.skeletons import ledger, patterns, said

PARAMETERS = [
    *("float", "float3", "float2x2", "int", "int3", "uint", "uint2", "bool", "bool3", "half", "double", "int16_t"),
    *("vector<int16_t,3>", "float[3]", "int[2]", "float3[2]", "float*", "float3*", "Tensor<float,1>", "Tensor<float3,1>"),
    *("RWTensor<float,1>", "StructuredBuffer<float>", "RWStructuredBuffer<float>", "P", "E", "Optional<float>", "IShape"),
    *("Texture2D<float4>", "SamplerState", "inout float", "inout float3", "inout P"),
]
SOURCE = """
import fusepy;
struct P { float x; float y; }
enum E { A, B }
interface IShape { float area(); }
struct Disc : IShape { float r; float area() { return r; } }
"""
# an expression in a hint that runs as it stands, with `value` (or array, grid, row, and components) in place of the argument
EXPRESSION = re.compile(
    r"(?:fp\.\w+|m(?:\.\w+)+|m\[\"[^\"]*\"\])\([^()…]*(?:\[\"[^\"]*\"\])?\)(?:\.\w+|\[\d\])*"
    r"|\bvalue(?:\.\w+|\[\d\])+|(?<= )\.[xyzw]+\b"
)
WRONG = re.compile(r"\bm\.\w+[<\[]|np\.bool\b|\.astype|\bvcast\((?<!fp\.vcast\()")  # what is no Python, or not for every value


def arrays() -> Iterator[tuple[str, np.ndarray]]:
    shapes = ((4, 3), (), (3,), (2, 2), (5,), (4, 2), (4, 5))
    for dtype, count in (("f4", 7), ("f8", 4), ("i4", 4), ("?", 1), ("i8", 1), ("u1", 1), ("f2", 1)):
        for shape in shapes[:count]:
            yield f"{dtype}{list(shape)}", np.arange(1, 1 + math.prod(shape)).reshape(shape).astype(dtype)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    functions = (
        f"void f{i}({'inout ' * p.startswith('inout ')}{p.removeprefix('inout ')} v, out int z) {{ z = 1; }}\n"
        for i, p in enumerate(PARAMETERS)
    )
    return fp.Module.load_from_source(device, "hint_law", SOURCE + "".join(functions))


@pytest.fixture(scope="module")
def values(device: Any, m: Any) -> dict[str, Any]:
    given: dict[str, Any] = dict(arrays())

    def tensor(shape: tuple[int, ...], dtype: Any, of: str = "f4") -> Any:
        return fp.Tensor.from_numpy(device, np.ones(shape, of), dtype=dtype)

    usage = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    return given | {
        "2": 2,
        "2.5": 2.5,
        "True": True,
        "None": None,
        "[1,2,3]": [1, 2, 3],
        "[1.5,2]": [1.5, 2],
        "[[1.,2],[3,4]]": [[1.0, 2], [3, 4]],
        "Tensor<float>": tensor((5,), m.float),
        "Tensor<int>": tensor((5, 3), m.int, "i4"),
        "Tensor<float2>": tensor((5, 2), m.float2),
        "Tensor<float3>": tensor((5, 3), m.float3),
        "Tensor<float3x3>": tensor((2, 3, 3), m.float3x3),
        "Tensor<P>": fp.Tensor.from_numpy(device, np.zeros(5, m.P.dtype), dtype=m.P),
        "range": range(3),
        "grid of 1": fp.grid((2,)),
        "grid of 2": fp.grid((2, 2)),
        "linspace": fp.linspace(0.0, 1.0, 3),
        "half a struct": {"x": 1.0},
        "a struct": {"x": 1.0, "y": 2.0},
        "float2": spy.float2(1, 2),
        "float4": spy.float4(1, 2, 3, 4),
        "texture": device.sgl.create_texture(width=4, height=4, format=spy.Format.rgba32_float, usage=usage),
    }


Change = Callable[[Any], Any]


def unchanged(value: Any) -> Any:
    return value


# how a value gets to the function; hints change what is passed, or what is computed with
WAYS: dict[str, Callable[[Any, Any, Change, Change], Any]] = {
    "a call": lambda f, v, before, change: f.resolve(change(v)),
    "fused": lambda f, v, before, change: fp.fuse(lambda x: f(change(x))).ir(v),
    "computed": lambda f, v, before, change: fp.fuse(lambda x: f(change(before(x) * 1))).ir(v),
}


def following(expression: str, m: Any) -> Change:
    written = f"value{expression}" if expression.startswith(".") else expression

    def change(value: Any) -> Any:
        if isinstance(value, dict):  # it is a member that was refused
            return {key: change(part) for key, part in value.items()}
        width = re.search(r"x(\d)\(row0", expression)
        rows = {f"row{i}": getattr(m, f"float{width[1]}")(*[1.0] * int(width[1])) for i in range(4)} if width else {}
        return eval(
            written,
            {"value": value, "array": np.zeros(3, np.int32), **dict.fromkeys("xyzw", 1), "x": value, **rows, "fp": fp, "m": m},
        )

    return change


@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.rest)], ids=["every second value", "all values"])
def test_following_hints_ends_in_a_call_that_is_taken(m: Any, values: dict[str, Any], step: int) -> None:
    """A hint may lead to the next one, as where a component is taken and then converted, but never in circles or nowhere."""
    followed, hints = 0, list[str]()
    for (i, parameter), (name, value) in itertools.product(enumerate(PARAMETERS), [*values.items()][::step]):
        computes = isinstance(value, (np.ndarray, fp.Tensor, list)) and name != "Tensor<P>"
        for way in ("a call", "fused", *["computed"] * computes):
            what = f"{name} for {parameter}, {way}"
            told = refusal(getattr(m, f"f{i}"), value, way)
            if told is None:
                continue
            hints.append(told)
            assert told, what
            assert not WRONG.search(told), f"{what}: {told}"
            for expression in expressions(told, value):
                followed += 1
                follow(getattr(m, f"f{i}"), value, m, way, [told], expression)
    assert len(hints) > 2500 / step
    assert followed > 800 / step
    (lines,) = (lines for reason, lines in ledger().items() if "test_hint_law.py" in reason)
    unsaid = {*lines} - said(hints, patterns())
    assert not unsaid, "\n".join(["lines of the ledger that this law does not print:", *sorted(unsaid)])


def follow(
    function: Any,
    value: Any,
    m: Any,
    way: str,
    told: list[str],
    expression: str,
    changes: tuple[Change, Change] = (unchanged,) * 2,
) -> None:
    """Does what the last of the hints says, and what the next one says, until the call is taken."""
    if "in a fused function" in told[-1] and way == "a call":
        way = "fused"
    before, change = changes
    if "before computing" in told[-1]:
        before = composed(following(expression, m), before)
    else:
        change = composed(following(expression, m), change)
    again = refusal(function, value, way, before, change)
    if again is not None:
        told = [*told, expression, again]
        left = expressions(again, value)
        assert left, f"{function} {way}: " + " -> ".join(told)
        assert len(told) < 8, f"{function} {way}: " + " -> ".join(told)
        follow(function, value, m, way, told, left[0], (before, change))


def expressions(told: str, value: Any) -> list[str]:
    """What a hint names to write; not what is for a grid of more dimensions or for an array with other extents."""
    ends = re.search(r"where it ends in (\d)(?: x (\d))?", told)
    wanted = tuple(int(n) for n in ends.groups() if n) if ends else ()
    shape = value.shape if isinstance(value, fp.Tensor) else np.shape(value)
    if wanted and shape[len(shape) - len(wanted) :] != wanted:
        return []
    return [e for e in EXPRESSION.findall(told) if not re.search(r"\(grid|, type\)|, dims\)", e)]


def composed(outer: Change, inner: Change) -> Change:
    return lambda value: outer(inner(value))


def refusal(function: Any, value: Any, way: str, before: Change = unchanged, change: Change = unchanged) -> str | None:
    """The hint, without Slang's own words, where the call is refused."""
    try:
        WAYS[way](function, value, before, change)
    except fp.VerifyError:
        raise
    except fp.FusepyError as error:
        return error.hint.partition("\n  Slang says")[0]
    return None
