"""Operations on matrices and of values with themselves, which Slang gets wrong, does not compile, or dies of."""

from __future__ import annotations

import subprocess
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from fusepy.backend.slang import comparisons, trial
from fusepy.backend.slang.diagnostics import unbuilt
from fusepy.backend.slang.facts import Facts
from fusepy.backend.sources.source import ModuleSource
from fusepy.ir.types import Type
from tests.backend.sources.test_matrix_comparisons import MASK
from tests.support.selection import daily

NUMBERS = [[1, 2, 3, 7], [0, np.nan, np.inf, -np.inf], [-1, -0.0, 5.5, -2.5]]


def spread(name: str) -> np.ndarray[Any, Any]:
    """Numbers and edges as elements of the named type."""
    type = Type.parse(name)
    count = int(np.prod(type.shape))
    return np.tile(np.array(NUMBERS, type.dtype).ravel(), count).reshape(-1, *type.shape)


@pytest.mark.req("C5")
@pytest.mark.parametrize("scalar", daily(["half", "float", "double"], "half"))
def test_a_value_with_itself(device: Any, scalar: str) -> None:
    names = [scalar, *(f"{scalar}{n}" for n in ("2", "3", "4", "2x2", "3x4"))]

    @fp.fuse
    def program(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
        values = [fp.vcast(x, n) for x, n in zip((a, b, c, d, e, f), names)]
        return tuple((v / v, v // v, v % v, v - v) for v in values)

    given = [spread(n) for n in names]
    for name, x, found in zip(names, given, program(*given)):
        with np.errstate(all="ignore"):
            for symbol, got, wanted in zip(("/", "//", "%", "-"), found, (x / x, x // x, x % x, x - x)):
                np.testing.assert_array_equal(got, wanted, err_msg=f"{name} {symbol} itself")


@pytest.mark.req("C5", "T1")
@pytest.mark.parametrize("scalar", daily(["bool", "int", "float", "double"], "bool", "float"))
def test_bool_matrices(device: Any, scalar: str) -> None:
    """Made by comparisons and conversions; stored, loaded, passed, selected by and reduced."""
    dtype = Type.parse(scalar).dtype
    assert dtype is not None
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 4, (5, 2, 3)).astype(dtype) for _ in range(2))
    m = fp.Module.load_from_source(device, "masks", "bool2x3 turn(bool2x3 m) { return bool2x3(!m[0], !m[1]); }")

    @fp.fuse
    def compare(a: Any, b: Any) -> Any:
        a, b = fp.vcast(a, f"{scalar}2x3"), fp.vcast(b, f"{scalar}2x3")
        less = a < b
        rounded = fp.round(a) if scalar != "bool" else less
        rest = a % (b + 1) if scalar != "bool" else less
        masks = (less, a <= 1, a == b, a != b, fp.vcast(a, "bool2x3"), m.turn(less), ~less, less ^ (a > b))
        return *masks, fp.any(less, 0), fp.all(a >= b, 0), fp.where(less, a, b), rounded, rest

    less = a < b
    wanted = [less, a <= 1, a == b, a != b, a.astype(bool), ~less, ~less, less ^ (a > b), less.any(0), (a >= b).all(0)]
    wanted += [np.where(less, a, b), a, a % (b + dtype.type(1))] if scalar != "bool" else [np.where(less, a, b), less, less]
    for i, (found, expected) in enumerate(zip(compare(a, b), wanted, strict=True)):
        np.testing.assert_array_equal(found, expected, err_msg=str(i))
    np.testing.assert_array_equal(m.turn(less), ~less)


@pytest.mark.req("C5")
def test_a_double_is_true_where_it_is_not_zero(device: Any) -> None:
    x = np.array([0, -0.0, 5e-324, -1, np.nan, np.inf, 0, 1, 2])
    cast = fp.fuse(lambda s, v, m: (fp.vcast(s, "bool"), fp.vcast(v, "bool3"), fp.vcast(m, "bool3x3")))
    scalar, vector, matrix = cast(x, x.reshape(3, 3), x.reshape(1, 3, 3))
    np.testing.assert_array_equal(scalar, x.astype(bool))
    np.testing.assert_array_equal(vector, x.astype(bool).reshape(3, 3))
    np.testing.assert_array_equal(matrix, x.astype(bool).reshape(1, 3, 3))
    assert fp.fuse(lambda s: fp.vcast(fp.vcast(s, "double"), "bool"))(x).tolist() == x.astype(bool).tolist()


def test_numbers_that_are_none(device: Any) -> None:
    """NaN and infinities in the program, in every float type."""
    for scalar in ("half", "float", "double"):
        x = np.array([1, 2, 3], Type.parse(scalar).dtype)
        fill = fp.fuse(lambda x: (fp.where(x > 2, x, np.nan), fp.where(x > 2, x, np.inf), fp.minimum(x, -np.inf)))
        nan, inf, least = fill(x)
        np.testing.assert_array_equal(nan, [np.nan, np.nan, 3])
        np.testing.assert_array_equal(inf, [np.inf, np.inf, 3])
        np.testing.assert_array_equal(least, [-np.inf] * 3)


def test_user_code_that_compares_matrices_is_refused(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a trial in a new process, which other tests fork from one that has imported fusepy."""
    if "vulkan" not in device.identity.lower():
        pytest.skip("Slang's code generation for SPIR-V is what dies")
    m = fp.Module.load_from_source(device, "below", MASK.format("\n\n bool3x3 b = m\n < x; return b;"))
    x = np.arange(9, dtype=np.float32).reshape(1, 3, 3)
    with monkeypatch.context() as patch:
        patch.setattr(trial, "subprocess", subprocess)
        for _ in range(2):
            with pytest.raises(fp.CompileError, match="compared as a whole") as failure:
                m.below(x, 3.0)
            assert "below.slang:3: bool3x3 b = m < x" in str(failure.value)
    np.testing.assert_array_equal(m.twice(x), x * 2)  # what does not reach it is compiled without a trial
    _, said = failure.value.hint.split("compare row by row: ")  # which is followed as it stands
    rows = fp.Module.load_from_source(device, "rows", MASK.format(f"return {said};"))
    np.testing.assert_array_equal(rows.below(x, 3.0), x < 3)


def test_a_trial_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    source = ModuleSource.make("tried", MASK.format("return m < x;"))
    facts = Facts()

    def tried() -> None:
        comparisons.check_comparisons(spy.DeviceType.vulkan, [source], (), "below(m, x)", facts)

    with monkeypatch.context() as patch:
        patch.setattr(trial.sys, "executable", "")
        with pytest.raises(fp.CompileError, match="an empty sys"):
            tried()
    with monkeypatch.context() as patch:
        patch.setattr(trial, "TIMEOUT", 0.001)
        with pytest.raises(fp.CompileError, match="timed out"):
            tried()
    assert not facts.changed
    monkeypatch.setattr(comparisons, "_survives", lambda *_: False)
    with pytest.raises(fp.CompileError, match="compared as a whole"):
        tried()
    monkeypatch.setattr(comparisons, "_survives", lambda *_: pytest.fail("what is known is tried again"))
    with pytest.raises(fp.CompileError, match="compared as a whole"):
        tried()


def test_matrices_of_one_row_or_column_are_refused_by_words_that_help(device: Any) -> None:
    """The hint said to reshape an array that had these very axes, or to mend a source that there was none of."""
    m = fp.Module.load_from_source(
        device, "flat", "float row(float1x3 m) { return m[0][0]; } float column(float3x1 m) { return m[2][0]; }"
    )
    calls: list[Any] = [lambda: m.row(np.ones((2, 1, 3), np.float32)), lambda: m.column(np.ones((2, 3, 1), np.float32))]
    if "vulkan" in device.identity.lower():
        calls += [
            lambda t=t: fp.fuse(lambda a: fp.vcast(a, t) + 1)(np.ones((2, 3, 1, 3), np.float32)) for t in ("float1x3", "half1x3")
        ]
    for call in calls:
        with pytest.raises(fp.FusepyError, match="use vectors in the place of matrices of one row or column"):
            call()


def test_hints_of_kernels_that_drivers_refuse() -> None:
    assert "arrays of vectors" in unbuilt("matrix<int8_t,2,2> v0 = a;", "failed with error: -13 (unknown)")[1]
    assert "one row or column" in unbuilt("float1x3 v0 = a;", "matrices with 1 column or row are not supported")[1]
    assert "integers" not in " ".join(unbuilt("float3 v0 = a / a;", "failed with error: -13 (unknown)"))


@pytest.mark.req("C5", "T1")
@pytest.mark.parametrize("scalar", daily(["int8_t", "uint8_t", "int16_t", "uint16_t"], "int8_t", "uint16_t"))
def test_small_integers_wrap_before_they_are_used(device: Any, scalar: str) -> None:
    """CUDA computes them in `int`, as C does: what overflows must be gone before it is converted, compared or divided."""
    dtype = Type.parse(scalar).dtype
    assert dtype is not None
    info = np.iinfo(dtype)
    x = np.array([info.min, info.min + 1, info.max - 1, info.max, 3, 100], dtype)
    y = np.array([2, 7, 3, info.max, info.max, 5], dtype)

    @fp.fuse
    def program(x: Any, y: Any) -> Any:
        wrapped = (x * y, x + y, x - y, ~x, -x, x << 1, fp.maximum(x + y, y), fp.minimum(x, y), fp.clip(x, y, y + y))
        return *(fp.vcast(w, "float") for w in wrapped), (x + y) // y, (x * y) % y, x + y > y, fp.vcast(x * y, "bool")

    with np.errstate(all="ignore"):
        wrapped = [x * y, x + y, x - y, ~x, -x, x << dtype.type(1), np.maximum(x + y, y), np.minimum(x, y)]
        wrapped += [np.minimum(np.maximum(x, y), y + y)]
        wanted = [*(w.astype(np.float32) for w in wrapped), (x + y) // y, (x * y) % y, x + y > y, (x * y).astype(bool)]
    for i, (found, expected) in enumerate(zip(program(x, y), wanted, strict=True)):
        np.testing.assert_array_equal(found, expected, err_msg=str(i))


INTEGERS = ["int8_t", "uint8_t", "int16_t", "uint16_t", "int", "uint", "int64_t", "uint64_t"]


@pytest.mark.req("C5", "T1")
@pytest.mark.parametrize("scalar", daily(INTEGERS, "uint64_t"))
def test_results_of_integers_are_used_as_what_they_are(device: Any, scalar: str) -> None:
    """CUDA's smaller and larger of uint64_t are int64_t, which shows where no variable stands between: rsqrt of 2^63 was NaN."""
    dtype = Type.parse(scalar).dtype
    assert dtype is not None
    info = np.iinfo(dtype)
    x = np.array([info.max, info.max - 1, info.max // 2 + 1, 3, 100, 1], dtype)
    y = x[::-1].copy()

    def uses(library: Any, vector: str, cast: Any) -> Any:
        def program(x: Any, y: Any) -> Any:
            x, y = (fp.vcast(v, vector) if vector else v for v in (x, y))
            made = (library.maximum(x, y), library.minimum(x, x), library.clip(x, y, x), library.abs(x), x & y, x | y, x >> 1)
            pairs = (
                (m > 1, m // 3, m % 7, m >> 2, cast(m, "float"), cast(m, "double"), library.sqrt(cast(m, "double"))) for m in made
            )
            return [value for pair in pairs for value in pair]

        return program

    with np.errstate(all="ignore"):
        wanted = uses(np, "", lambda m, t: m.astype(np.float32 if t == "float" else np.float64))(x, y)
    for vector in ("", f"vector<{scalar},3>"):
        shape = (2, 3) if vector else (6,)
        program = fp.fuse(uses(fp, vector, lambda m, t, n="3" * bool(vector): fp.vcast(m, t + n)))
        for i, (found, expected) in enumerate(zip(program(x.reshape(shape), y.reshape(shape)), wanted, strict=True)):
            np.testing.assert_allclose(found, expected.reshape(shape), rtol=1e-6, err_msg=f"{vector} {i}")
            assert found.dtype == expected.dtype


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_complement_of_bools(device: Any, size: int) -> None:
    x = np.random.default_rng(0).integers(0, 2, (33, size)).astype(bool)
    np.testing.assert_array_equal(fp.fuse(lambda x: ~fp.vcast(x, f"bool{size}") if size > 1 else ~x)(x), ~x)


@pytest.mark.req("C5", "T1")
@pytest.mark.parametrize("scalar", daily(["int8_t", "uint16_t", "int64_t"], "uint16_t"))
def test_matrices_of_other_integers(device: Any, scalar: str) -> None:
    """Loaded, computed with and stored in every layout; what drivers refuse has a name and a line before they see it."""
    dtype, matrix = Type.parse(scalar).dtype, f"matrix<{scalar},2,3>"
    x = np.random.default_rng(0).integers(0, 100, (4, 2, 3)).astype(dtype)
    m = fp.Module.load_from_source(device, f"narrow_{scalar}", f"int64_t corner({matrix} m) {{ return m[1][2]; }}")

    @fp.fuse
    def program(x: Any, v: Any, one: Any) -> Any:
        a, v = fp.vcast(x, matrix), fp.vcast(v, f"vector<{scalar},3>")
        square = fp.vcast(fp.vcast(a, "int2x3"), matrix) @ fp.vcast(one, f"matrix<{scalar},3,2>")
        return a + a, a @ v, a[1] @ fp.vcast(one, f"matrix<{scalar},3,2>"), square, m.corner(a), fp.where(a > 50, a, 1)

    one = np.array([[1, 2], [3, 4], [5, 6]], dtype)
    strided = fp.Tensor.from_numpy(device, np.ascontiguousarray(x.transpose(2, 1, 0))).transpose(2, 1, 0)
    for given in (x, strided):
        doubled, by_vector, row, square, corner, chosen = program(given, x[:, 0], one.tolist())
        np.testing.assert_array_equal(doubled, x + x)
        np.testing.assert_array_equal(by_vector, np.einsum("nij,nj->ni", x, x[:, 0]))
        np.testing.assert_array_equal(row, x[:, 1] @ one)
        np.testing.assert_array_equal(square, x @ one)
        np.testing.assert_array_equal(corner, x[:, 1, 2])
        np.testing.assert_array_equal(chosen, np.where(x > 50, x, 1))
    if device.target.kind == "software":
        refused = {
            "a computed index": lambda x, i: fp.vcast(x, matrix)[i],
            r"sum\(\)": lambda x, i: fp.sum(fp.vcast(x, matrix), 0) + i,
            "fori_loop": lambda x, i: fp.fori_loop(0, i, lambda k, c: c + c, fp.vcast(x, matrix)),
        }
        for what, function in refused.items():
            with pytest.raises(fp.CompileError, match=rf"test_matrix_ops.py:\d+: {what} of matrix"):
                fp.fuse(function)(x, np.ones(4, np.int32))


def test_a_choice_between_a_value_and_itself_is_that_value(device: Any) -> None:
    """Of x / x, where x is a vector of two or three, Slang's optimiser makes code that drivers refuse."""

    def program(x: Any) -> Any:
        same = fp.where(x > 1, x, x)
        return x % same, x / fp.where(x, same, x), same - x

    for type, shape in (("float2x3", (4, 2, 3)), ("float3", (4, 3)), ("float2", (4, 2))):
        x = np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)
        rest, one, none = fp.fuse(program)(fp.vcast(x, type))
        np.testing.assert_array_equal(rest, x % x)
        np.testing.assert_array_equal(one, x / x)
        np.testing.assert_array_equal(none, x - x)


def test_what_drivers_refuse_of_the_optimiser_is_built_without_it(device: Any) -> None:
    """Where only Slang sees that both sides of a quotient are one value; again from the disk cache, and in a raw dispatch."""
    text = """
        float3 same(float3 a) { float3 b = a; return b / a; }
        double2 other(double2 a) { double2 b = -a; return b / a; }
        void fill(uint thread, float3* to) { to[thread] = -to[thread] / to[thread]; }
    """
    optimised = {"optimization": spy.SlangOptimizationLevel.default}  # drivers that run on the CPU do without by themselves
    m = fp.Module.load_from_source(device, "quotients", text, options=optimised)

    @fp.fuse
    def program(f: Any, d: Any, i: Any) -> Any:
        f, d, i = fp.vcast(f, "float3"), fp.vcast(d, "double2"), fp.vcast(i, "int3")
        turned = fp.vcast(i, "uint3")
        return m.same(f), m.other(d), f / -f, d // -d, turned // fp.vcast(i, "uint3"), turned % fp.vcast(i, "uint3")

    given = [np.arange(1, 1 + 4 * n).reshape(4, n).astype(t) for n, t in ((3, np.float32), (2, np.float64), (3, np.int32))]
    for _ in range(2):
        for found, wanted in zip(program(*given), (1, -1, -1, -1, 1, 0), strict=True):
            np.testing.assert_array_equal(found, np.full_like(found, wanted))
        hits = device.counters.disk_hits
        fp.clear_cache()
    assert device.counters.disk_hits == hits
    buffer = fp.Tensor.from_numpy(device, given[0])
    m.fill.dispatch(4, to=buffer)
    np.testing.assert_array_equal(buffer.to_numpy(), np.full_like(given[0], -1))
