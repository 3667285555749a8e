"""Functions of doubles are right to 2 units in the last place, however they are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.sources import lacking
from fusepy.ir.ops.doubles import FUNCTIONS
from tests.support import exact

CALLED = [name for name in (*exact.UNARY, "atan2", "pow") if name not in ("asinh", "acosh", "atanh", "exp10")]


def call(name: str, x: Any, y: Any) -> Any:
    """One of fusepy's functions under Slang's name."""
    two: dict[str, Callable[..., Any]] = {"atan2": fp.atan2, "pow": fp.power}
    return two[name](x, y) if name in two else getattr(fp, name)(x)


def by_threes(names: Sequence[str], one: Callable[[str, Any, Any], Any], x: Any, y: Any) -> list[Any]:
    """All functions, three to a kernel: drivers take much longer for long kernels."""
    found: list[Any] = []

    def few(at: int) -> Any:
        return fp.fuse(lambda x, y: tuple(one(name, x, y) for name in names[at : at + 3]))

    for at in range(0, len(names), 3):
        found += few(at)(x, y)
    return found


def check(results: Any, names: list[str], x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
    wrong = []
    for name, result in zip(names, results, strict=True):
        off, where = exact.worst(name, np.ravel(result).tolist(), x.ravel().tolist(), y.ravel().tolist())
        if off > 2:
            wrong.append(where)
    assert not wrong, "\n".join(wrong)


def test_the_table_has_every_function():
    assert set(exact.UNARY) | {"atan2", "pow"} == FUNCTIONS | {"log1p", "expm1"}


def test_all_functions():
    x, y = exact.points(60, 1)
    check(by_threes(CALLED, call, x, y), CALLED, x, y)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_all_functions_at_many_points(seed: int):
    x, y = exact.points(3000, seed)
    check(by_threes(CALLED, call, x, y), CALLED, x, y)


@pytest.mark.parametrize("name", ["sin", "pow"])
def test_eager_calls(name: str):
    x, y = np.array([0.5, 2.0, -3.0, 1e10, 1e300]), np.array([3.0, 0.5, 3.0, -2.0, 0.25])
    check([call(name, x, y)], [name], x, y)


def test_numbers_vectors_matrices_and_what_is_folded():
    x = np.linspace(-3, 3, 8).reshape(2, 2, 2)

    def f(x: Any) -> Any:
        vector, matrix = fp.vcast(x, "double2"), fp.vcast(x, "double2x2")
        return fp.sin(vector), fp.exp(matrix), fp.sum(fp.log(fp.abs(x))), fp.max(fp.cos(x), 0), fp.scan("sum", fp.exp(x))

    sines, powers, total, cosines, running = fp.fuse(f)(x)
    check([sines, powers], ["sin", "exp"], x, x)
    np.testing.assert_allclose(total, np.log(np.abs(x)).sum(), rtol=1e-14)
    np.testing.assert_allclose(cosines, np.cos(x).max(0), rtol=1e-15)
    np.testing.assert_allclose(running, np.exp(x).cumsum(0), rtol=1e-14)
    with fp.lazy():
        later = fp.exp(fp.sin(x))
    check([np.asarray(later)], ["exp"], np.sin(x), x)


def test_a_function_of_the_users_with_that_name_does_not_matter():
    source = "double sin(double x) { return 3; } double floor(double x) { return 4; } double halved(double x) { return x / 2; }"
    m = fp.Module.load_from_source(fp.default_device(), "hiding", source)
    x = np.array([0.5, 7.0])
    check([fp.fuse(lambda x: fp.sin(m.halved(x)))(x)], ["sin"], x / 2, x)
    assert m.sin(x).tolist() == [3, 3]


def test_kernels_without_such_functions_do_without_the_module():
    singles = fp.fuse(lambda x: fp.sin(x))
    assert "fz64_sin" in singles.source(np.zeros(3))
    assert "fz64_" not in singles.source(np.zeros(3, np.float32))
    assert "math64" not in fp.fuse(lambda x: fp.sqrt(x) * 2).source(np.zeros(3))


def test_a_thread_does_not_repeat_long_functions():
    """Lavapipe's compiler took 20 seconds for a sine that was spelled out for each of a thread's elements."""
    assert "[unroll]" not in fp.fuse(lambda x: fp.cos(x)).source(np.zeros(3))


# ---- user code -----------------------------------------------------------------------------------------------------------

TWO = ("atan2", "pow")
LACKING = """/* Slang's own functions,
   of doubles */
double scalar(double x) { return sin(x) + 1; }
double3 vector(double3 x) { return log10(x); }
T generic<T : __BuiltinFloatingPointType>(T x) { return exp(x); }
double none(double x) { return sqrt(x) + floor(x) + double(sin(float(x))); }
double two(double x) { return exp2(x); }
void thread(uint i, double* p) { p[i] = pow(p[i], 2.0L); }
[shader("compute")] [numthreads(1, 1, 1)]
void entry(uint3 i : SV_DispatchThreadID, uniform double* p) { p[i.x] = tan(p[i.x]); }
"""


@pytest.fixture
def on_spirv() -> None:
    if fp.default_device().raw.info.type.name != "vulkan":
        pytest.skip("other targets have functions of doubles")


@pytest.mark.usefixtures("on_spirv")
def test_user_code_that_calls_what_spirv_lacks_is_refused():
    device = fp.default_device()
    x = np.array([0.5, 1.0])

    def texts() -> list[str]:
        m = fp.Module.load_from_source(device, "lacking", LACKING)
        p = fp.Tensor.zeros(device, (2,), "double")
        calls: list[tuple[Callable[[], Any], str, str]] = [
            (lambda: m.scalar(x), "sin", "lacking.slang:3: "),
            (lambda: m.vector(np.ones((2, 3))), "log10", "lacking.slang:4: "),
            (lambda: m.generic(x), "exp", "lacking.slang:5: "),
            (lambda: m.two(x), "exp2", "lacking.slang:7: "),
            (lambda: fp.fuse(lambda x: fp.sum(m.scalar(x) * 2))(x), "sin", "lacking.slang:3: "),
            (lambda: m.thread.dispatch(2, p=p), "pow", "lacking.slang:8: "),
            (lambda: m.entry.dispatch((2, 1, 1), p=p), "tan", "lacking.slang:10: "),
        ]
        found: list[str] = []
        for run, name, place in calls:
            with pytest.raises(fp.CompileError, match=f"calls {name} of double, which SPIR-V does not have") as caught:
                run()
            assert place in str(caught.value)
            assert "import fusepy_double;" in str(caught.value)
            found.append(str(caught.value))
        np.testing.assert_allclose(m.none(x), np.sqrt(x) + np.floor(x) + np.sin(x), rtol=1e-6)
        converted = "double two(double x) { return double(exp2(float(x))); }"
        half = fp.Module.load_from_source(device, "converted", converted).two(x)
        np.testing.assert_allclose(half, np.exp2(x), rtol=1e-6)
        np.testing.assert_allclose(m.generic(x.astype(np.float32)), np.exp(x), rtol=1e-5)
        return found

    first = texts()
    assert texts() == first
    device = fp.init_device()  # what the disk cache has makes no difference
    try:
        assert texts() == first
    finally:
        device.close()


HIDDEN = """#define SIN sin
#define JOIN(a, b) a##b
#define POWER JOIN(ex, p2)
double macro(double x) { return SIN(x); }
double explicit(double x) { return cos<double>(x); }
double joined(double x) { return JOIN(ta, n)(x); }
double power(double x) { return POWER(x); }
"""
GENERIC = "#define SIN sin\nT macro<T : __BuiltinFloatingPointType>(T x) { return SIN(x); }"
DEFINED = "REAL root(REAL x) { return CALLED(x); }"


@pytest.mark.usefixtures("on_spirv")
def test_calls_that_a_reader_of_text_does_not_see_are_refused():
    """Macros, explicit types, names made of parts, literals, defines and generics; each gave 0 silently."""
    device, x, f = fp.default_device(), np.array([0.5, 1.0]), np.array([0.5, 1.0], np.float32)
    load = fp.Module.load_from_source
    m = load(device, "hidden", HIDDEN)
    literal = load(device, "literal", "float literal(float x) { return float(sin(x * 0.5lf)); }")
    bits = load(device, "bits", "float bits(float x) { return float(log(asdouble(asuint(x), 0x3ff00000))); }")
    generic = load(device, "generic", GENERIC)
    defined = load(device, "defined", DEFINED, defines={"REAL": "double", "CALLED": "exp2"})
    calls: list[tuple[Callable[[], Any], str, str]] = [
        (lambda: m.macro(x), "sin", "hidden.slang:1: "),
        (lambda: m.explicit(x), "cos", "hidden.slang:5: "),
        (lambda: m.joined(x), "tan", "hidden.slang:2: "),
        (lambda: m.power(x), "exp2", "hidden.slang:2: "),
        (lambda: literal.literal(f), "sin", "literal.slang:1: "),
        (lambda: bits.bits(f), "log", "bits.slang:1: "),
        (lambda: generic.macro(x), "sin", "generic.slang:1: "),
        (lambda: defined.root(x), "exp2", "SPIR-V"),
        (lambda: fp.fuse(lambda x: m.macro(x) + 1)(x), "sin", "hidden.slang:1: "),
    ]
    for call, name, place in calls:
        told = rf"calls (\w+ or )*{name}\b.* of double, which SPIR-V does not have"
        for _ in range(2):
            with pytest.raises(fp.CompileError, match=told) as caught:
                call()
            assert place in str(caught.value)
    np.testing.assert_allclose(generic.macro(f), np.sin(f), rtol=1e-6)
    half = load(device, "halved", "double halved(double x) { return x / 2; }")  # what fusepy converts is its own affair
    rounded = fp.fuse(lambda x: half.halved(fp.vcast(fp.exp2(fp.vcast(x, "float")), "double")))(x)
    np.testing.assert_allclose(rounded, np.exp2(x) / 2, rtol=1e-6)


@pytest.mark.usefixtures("on_spirv")
def test_every_instruction_that_spirv_lacks_is_known(monkeypatch: pytest.MonkeyPatch):
    if fp.default_device().target.kind != "software":
        pytest.skip("NVIDIA's driver dies of a kernel that has them all")
    names = sorted({name for names in lacking.INSTRUCTIONS.values() for name in names} - {"sincos", "lit", "ldexp"})
    calls = " + ".join(f"{n}(x, y)" if n in (*TWO, "powr") else f"{n}(x)" for n in names)
    m = fp.Module.load_from_source(fp.default_device(), "total", f"double total(double x, double y) {{ return {calls}; }}")
    words: list[int] = []
    monkeypatch.setattr(
        "fusepy.backend.slang.compiler.check", lambda _, file, __: words.extend(np.fromfile(file, "<u4").tolist())
    )
    m.total(0.5, 0.25)
    assert set(lacking.lacking(words)) == set(lacking.INSTRUCTIONS)


@pytest.mark.rest  # ldexp of the module is daily
def test_a_module_has_them_for_user_code():
    functions = "\n".join(
        f"double my_{n}(double x, double y) {{ return {n}(x, y); }}"
        if n in TWO
        else f"double my_{n}(double x) {{ return {n}(x); }}"
        for n in sorted(FUNCTIONS)
    )
    others = """
    float single(float x) { return sin(x); }
    half small(half x) { return exp(x); }
    double2 both(double2 x) { double2 s, c; sincos(x, s, c); return s / c; }
    double2x2 matrix(double2x2 x) { return log2(x); }
    double turned(double x) { return degrees(radians(x)); }
    """
    m = fp.Module.load_from_source(fp.default_device(), "user", "import fusepy_double;\n" + functions + others)
    names = ["asinh", "acosh", "atanh", "exp10", "log10", "pow"]  # the others are tested above, under other names
    x, y = exact.points(20, 2)
    results = by_threes(names, lambda n, x, y: m[f"my_{n}"](x, y) if n in TWO else m[f"my_{n}"](x), x, y)
    check(results, names, x, y)

    a = np.array([[[0.5, 1.0], [2.0, 3.0]]])
    single, small, both, matrix, turned = fp.fuse(
        lambda a, f, h: (m.single(f), m.small(h), m.both(a), m.matrix(fp.vcast(a, "double2x2")), m.turned(a))
    )(a, a.astype(np.float32), a.astype(np.float16))
    np.testing.assert_allclose(single, np.sin(a), rtol=1e-6)
    np.testing.assert_allclose(small, np.exp(a), rtol=2e-3)
    np.testing.assert_allclose(both, np.tan(a), rtol=1e-15)
    np.testing.assert_allclose(turned, a, rtol=1e-15)
    check([matrix], ["log2"], a, a)


def test_ldexp_where_the_power_alone_has_no_double():
    source = "import fusepy_double; double raised(double x, double e) { return ldexp(x, e); } "
    source += "double2 both(double2 x, double2 e) { return ldexp(x, e); } double whole(double x, int e) { return ldexp(x, e); } "
    source += "double2 wholes(double2 x, int2 e) { return ldexp(x, e); }"
    m = fp.Module.load_from_source(fp.default_device(), "raised", source)
    x, e = (
        a.ravel()
        for a in np.meshgrid(
            [2.0**-1074, 2.0**-1000, -(2.0**-1000) / 3, 0.0, -1.7, 2.0**1000, 1.5 * 2.0**1023],
            [-5000, -2150, -2097, -1100, -1080, -1030, -1000, -999, -30, 0, 1, 999, 1001, 1500, 2097, 2098, 4000],
        )
    )
    e = e.astype(np.float64)
    with np.errstate(all="ignore"):
        wanted = np.ldexp(x, e.astype(np.int32))
    program = fp.fuse(lambda x, e, n, xs, es, ns: (m.raised(x, e), m.whole(x, n), m.both(xs, es), m.wholes(xs, ns)))
    n, xs = e.astype(np.int32), np.stack([x, x], 1)
    one, two, three, four = program(x, e, n, xs, np.stack([e, e], 1), np.stack([n, n], 1))
    for found in (one, two, three[:, 0], four[:, 1]):
        np.testing.assert_array_equal(found, wanted)
    assert np.isnan(m.raised(1.0, np.nan))
    assert [m.raised(-1.0, v) for v in (np.inf, -np.inf)] == [-np.inf, 0]
    np.testing.assert_allclose(m.raised(2.0**-1000, 1500.5), 2.0**500 * np.sqrt(2), rtol=1e-15)
