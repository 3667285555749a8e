"""slangpy's vectors, matrices and quaternions as arguments: one exact value for all threads."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
import slangpy as spy
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import examples

F32 = np.float32
SCALARS = {"bool": np.bool_, "int": np.int32, "uint": np.uint32, "float16_t": np.float16, "float": np.float32}
SLANG = {"float16_t": "half"}
VECTORS = [(s, n) for s in SCALARS for n in (1, 2, 3, 4)]
MATRICES = [(r, c) for r in (2, 3, 4) for c in (2, 3, 4) if hasattr(spy.math, f"float{r}x{c}")]


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    lines = [f"{SLANG.get(s, s)}{n} same_{s}{n}({SLANG.get(s, s)}{n} x) {{ return x; }}" for s, n in VECTORS if n > 1]
    lines += [f"{SLANG.get(s, s)} same_{s}1({SLANG.get(s, s)} x) {{ return x; }}" for s in SCALARS]
    for r, c in MATRICES:
        lines.append(f"float{r} right{r}{c}(float{r}x{c} m, float{c} v) {{ return mul(m, v); }}")
        lines.append(f"float{c} left{r}{c}(float{r} v, float{r}x{c} m) {{ return mul(v, m); }}")
        lines.append(f"float{r}x{c} same{r}{c}(float{r}x{c} m) {{ return m; }}")
    lines += [
        "float3 add(float3 a, float3 b) { return a + b; }",
        "float dot3(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }",
        "float3 mad(float3 a, float3 b, float3 c) { return a * b + c; }",
        "float norm(float4 q) { return q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w; }",
        "half twice(half x) { return x * half(2); }",
        "float3 wide(float x) { return float3(x, 2 * x, 3 * x); }",
    ]
    return fp.Module.load_from_source(device, "math_types", "\n".join(lines))


def components(scalar: str, count: int) -> list[Any]:
    given = {"bool": [True, False, True, True], "int": [-(2**31), -1, 7, 2**31 - 1], "uint": [0, 1, 2**31, 2**32 - 1]}
    return given.get(scalar, [0.5, -1.25, 1024.0, 3.0])[:count]


@pytest.mark.req("T1", "C13")
def test_every_vector_there_and_back(m: Any) -> None:
    for scalar, dtype in SCALARS.items():
        same = [m[f"same_{scalar}{n}"] for n in (1, 2, 3, 4)]
        program = fp.fuse(lambda a, b, c, d, same: tuple(f(x) for f, x in zip(same, (a, b, c, d))), static=("same",))
        given = [getattr(spy.math, f"{scalar}{n}")(*components(scalar, n)) for n in (1, 2, 3, 4)]
        found = program(*given, same=tuple(same))
        for n, value in zip((1, 2, 3, 4), found):
            expected = np.array(components(scalar, n), dtype)
            np.testing.assert_array_equal(np.atleast_1d(value), expected)
            if n > 1:
                assert isinstance(value, np.ndarray)
                assert value.dtype == dtype
    assert m.twice(spy.float16_t(1.5)) == 3.0


@pytest.mark.rest
@pytest.mark.req("T1")
def test_matrices_both_ways_round(m: Any) -> None:
    for r, c in MATRICES:
        a = np.arange(r * c, dtype=F32).reshape(r, c) ** 2
        v, w = np.arange(1, c + 1, dtype=F32), np.arange(1, r + 1, dtype=F32)
        matrix = getattr(spy, f"float{r}x{c}")(a)
        program = fp.fuse(lambda x, v, w, rc: (m[f"right{rc}"](x, v), m[f"left{rc}"](w, x), m[f"same{rc}"](x)), static=("rc",))
        right, left, same = program(matrix, v.tolist(), w.tolist(), rc=f"{r}{c}")
        np.testing.assert_array_equal(right, a @ v)
        np.testing.assert_array_equal(left, w @ a)
        np.testing.assert_array_equal(same, a)


@pytest.mark.req("T1", "C13")
def test_containers_of_results(m: Any) -> None:
    v = spy.float3(1, 2, 3)
    assert isinstance(m.add(v, v), np.ndarray)
    assert m.add(v, v).tolist() == [2, 4, 6]
    assert m.dot3(v, v) == 14.0
    assert isinstance(m.dot3(v, v), float)
    assert m.add.return_type("list")(v, v) == [2.0, 4.0, 6.0]
    assert isinstance(m.add.return_type("tensor")(v, v), fp.Tensor)
    assert m.wide.return_type("numpy")(2.0).tolist() == [2, 4, 6]
    assert m.add(v, [1, 1, 1]) == [2.0, 3.0, 4.0]
    images = np.ones((2, 5, 3), F32)
    np.testing.assert_array_equal(m.add(images, v), images + np.array([1, 2, 3], F32))
    out = np.empty(3, F32)
    m.add(v, v, _result=out)
    assert out.tolist() == [2, 4, 6]


@pytest.mark.req("T1")
def test_a_quaternion_is_a_float4(m: Any) -> None:
    assert m.norm(spy.quatf(1, 2, 3, 4)) == 30.0


@pytest.mark.req("T1", "V11")
def test_other_numbers_are_no_new_kernel(m: Any) -> None:
    m.add(spy.float3(1), spy.float3(2))
    before = fp.stats()
    for i in range(20):
        assert m.add(spy.float3(i), spy.float3(2)).tolist() == [i + 2] * 3
    assert fp.stats().kernels_compiled == before.kernels_compiled
    assert fp.stats().plan_misses == before.plan_misses


@pytest.mark.req("T1", "V12")
def test_captured_by_a_trace_and_read_on_every_call(m: Any) -> None:
    tint = spy.float3(1, 2, 3)
    matrix = spy.float3x3(np.arange(9, dtype=F32).reshape(3, 3))

    @fp.fuse
    def look(image: Any) -> Any:
        return m.right33(matrix, m.add(image, tint)) * spy.float3(1, 0, 2)

    image = np.arange(15, dtype=F32).reshape(5, 3)
    for x in (1, 5):
        tint.x = x
        expected = (image + np.array([x, 2, 3], F32)) @ np.arange(9, dtype=F32).reshape(3, 3).T * [1, 0, 2]
        np.testing.assert_array_equal(look(fp.vcast(image, m.float3)), expected)
    assert "Uniform<float3>[]" in look.ir(fp.vcast(image, m.float3))


@pytest.mark.req("T1", "T3")
def test_types_are_exact(m: Any) -> None:
    with pytest.raises(fp.NoMatchError, match="float4"):
        m.add(spy.float4(1), spy.float3(1))
    with pytest.raises(fp.NoMatchError, match="int3"):
        m.add(spy.int3(1), spy.float3(1))
    assert m.add(fp.vcast(spy.int3(1, 2, 3), m.float3), spy.float3(1)).tolist() == [2, 3, 4]
    with pytest.raises(fp.ResolveError, match="float3x2"):
        m.right23(spy.float3x2(np.zeros((3, 2), F32)), spy.float3(1))


def leaf(draw: Any) -> tuple[Any, Any]:
    """A math value, and its meaning."""
    numbers = draw(st.lists(st.integers(-3, 3), min_size=3, max_size=3))
    kind = draw(st.sampled_from(["float3", "list", "array"]))
    if kind == "float3":
        return spy.float3(*numbers), np.array(numbers, F32)
    if kind == "list":
        return [float(n) for n in numbers], np.array(numbers, F32)
    array = np.array(numbers, F32) + np.arange(2, dtype=F32)[:, None, None] - np.arange(5, dtype=F32)[:, None]
    return array, array


@st.composite
def programs(draw: Any) -> tuple[Any, list[Any], list[Any]]:
    """Four expressions over three values, as a function of these and of what computes; the last one is captured."""
    steps = [
        (draw(st.sampled_from(["add", "mad", "mul", "sub", "swizzle"])), draw(st.tuples(*[st.integers(0, 9)] * 3)))
        for _ in range(5)
    ]

    def program(values: list[Any], add: Any, mad: Any, swizzle: Any) -> list[Any]:
        known = list(values)
        for name, picks in steps:
            a, b, c = (known[p % len(known)] for p in picks)
            if name == "swizzle":
                known.append(swizzle(a))
            elif name == "mad":
                known.append(mad(a, b, c))
            else:
                known.append({"add": add, "mul": operator.mul, "sub": operator.sub}[name](a, b))
        return known[len(values) + 1 :]

    leaves = [leaf(draw), leaf(draw)]
    numbers = draw(st.lists(st.integers(-3, 3), min_size=3, max_size=3))
    leaves.append((spy.float3(*numbers), np.array(numbers, F32)))
    return program, [v for v, _ in leaves], [m for _, m in leaves]


@pytest.mark.rest
@pytest.mark.req("T1", "V13")
@given(programs())
@examples(15)  # of four programs each
def test_random_programs(m: Any, drawn: Any) -> None:
    program, (*values, third), meanings = drawn

    @fp.fuse
    def run(a: Any, b: Any) -> Any:
        captured = m.add(third, spy.float3(0))
        return tuple(program([fp.vcast(a, m.float3), fp.vcast(b, m.float3), captured], m.add, m.mad, lambda x: x.zxy))

    expected = program(meanings, lambda a, b: a + b, lambda a, b, c: a * b + c, lambda x: x[..., [2, 0, 1]])
    for found, wanted in zip(run.return_type("numpy")(*values), expected):
        np.testing.assert_array_equal(found, wanted)
