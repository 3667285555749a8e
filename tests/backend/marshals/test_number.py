"""NumPy's scalars count as the Python numbers that they hold, wherever a number may stand; arrays without axes have types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
T same<T>(T x) { return x; }
float single(float x) { return x; }
double wide(double x) { return x; }
half narrow(half x) { return x; }
int whole(int x) { return x; }
uint natural(uint x) { return x; }
uint8_t byte(uint8_t x) { return x; }
bool opposite(bool x) { return !x; }
float chosen(int x) { return 1; }
float chosen(float x) { return 2; }
struct P { float x; int n; };
float of(P p) { return p.x + p.n; }
"""
KINDS = (
    *(np.float16, np.float32, np.float64, np.bool_),
    *(np.dtype(f"{s}int{n}").type for s in ("", "u") for n in (8, 16, 32, 64)),
)


@pytest.mark.req("T1")
@pytest.mark.parametrize("held", daily([float, int, bool], "float"))
def test_a_numpy_scalar_is_the_python_number_that_it_holds(device: Any, held: type) -> None:
    m = fp.Module.load_from_source(device, "numpy_scalars", SOURCE)
    row = ramp(3)
    tensor = fp.Tensor.from_numpy(device, row)
    add = fp.fuse(lambda a, b: (a + b, b))

    def everywhere(number: Any) -> list[Any]:
        """All that can be done with a number: what each way gives, with its type, or the error."""
        ways = [
            *(lambda f=f: f(number) for f in (m.same, m.single, m.wide, m.narrow, m.whole, m.natural, m.opposite, m.chosen)),
            lambda: m.of({"x": number, "n": 1}),
            lambda: m.of({"x": 0.5, "n": number}),
            lambda: fp.fuse(lambda a: (a + number, number * a, a < number, number))(row),  # a constant of the program
            lambda: fp.fuse(lambda a: fp.where(a > number, a, number))(row),
            lambda: fp.fuse(lambda a: fp.fori_loop(0, 2, lambda i, c: c + a, number))(row),
            lambda: fp.fuse(lambda a: m.single(number) + m.same(number))(row),
            lambda: add(row, number),
            lambda: add(number, number),
            lambda: fp.fuse(lambda a: a)(number),
            lambda: fp.fuse(lambda a, n: a * n, static=("n",))(row, number),
            lambda: fp.maximum(row, number),
            lambda: (tensor + number, number - tensor),
            lambda: fp.vmap(row, 0) * number,
            lambda: m.single(fp.vcast(number, "float")),
            lambda: fp.Tensor.full(device, 2, number),
        ]
        found: list[Any] = []
        for way in ways:
            try:
                found.append(_told(way()))
            except fp.FusepyError as error:
                found.append(type(error))
        return found

    def _told(result: Any) -> Any:
        if isinstance(result, tuple):
            return [_told(r) for r in result]
        if isinstance(result, fp.Tensor):
            return ("tensor", str(result.dtype), result.to_numpy().tolist())
        return (type(result), getattr(result, "dtype", None), np.asarray(result).tolist())

    plain = everywhere(held(1))
    for kind in KINDS:
        if type(kind(1).item()) is held:
            assert everywhere(kind(1)) == plain, kind


@pytest.mark.req("T1")
def test_numpy_scalars_have_all_their_digits(device: Any) -> None:
    m, row = fp.Module.load_from_source(device, "numpy_scalars", SOURCE), ramp(3)
    same(m.wide(np.array(0.1)), np.float64(0.1))  # all digits
    assert m.wide(np.float64(0.1)) == 0.1
    assert m.wide(np.float32(0.1)) == float(F32(0.1))  # what it holds
    assert m.same(np.uint64((1 << 64) - 1)) == (1 << 64) - 1
    assert m.same(np.int64(-(1 << 40))) == -(1 << 40)
    same(fp.fuse(lambda a: a * np.sin(np.float64(0.5)))(row), row * F32(np.sin(0.5)))  # as a Python float, no double
    same(fp.fuse(lambda a: a * np.array(0.5))(row), row.astype(np.float64) * 0.5)  # an array without axes is an array
    for wrong in (np.complex64(1), np.longdouble(1), np.datetime64("2020"), np.str_("x")):
        with pytest.raises(fp.UnsupportedArgumentError):
            m.single(wrong)
        with pytest.raises(fp.FusepyError):
            fp.fuse(lambda a: a + wrong)(row)  # noqa: B023
    for call in (lambda: m.whole(np.int64(1 << 31)), lambda: m.natural(np.int8(-1))):
        with pytest.raises(fp.RangeError):
            call()


@pytest.mark.req("T1", "C17")
def test_computed_integers_are_cut_for_no_parameter(device: Any) -> None:
    """They come from Python numbers, but only the kernel knows them: each call checks what it has computed."""
    m = fp.Module.load_from_source(device, "computed_integers", SOURCE)
    for number, computed in (
        (200, lambda n: m.whole(n)),
        (100, lambda n: fp.fori_loop(0, 1, lambda i, c: c + n, n)),
    ):
        assert m.byte(computed(number)) == 200
        fused = fp.fuse(lambda n: m.byte(computed(n)))  # noqa: B023
        assert fused(number) == 200
        for call in (fused, lambda n: m.byte(computed(n))):  # noqa: B023
            with pytest.raises(fp.RangeError, match="uint8_t"):
                call(number + 100)
        assert fp.fuse(lambda n: m.byte(fp.vcast(computed(n), "uint8_t")))(number) == 200  # noqa: B023
        assert fp.fuse(lambda n: m.natural(computed(n)))(number) == 200  # noqa: B023
    assert fp.fuse(lambda n: m.byte(n + n))(100) == 200  # each call computes it in Python
    with pytest.raises(fp.RangeError):
        fp.fuse(lambda n: m.byte(n + n))(200)
    assert fp.fuse(lambda n: m.byte(n) * m.byte(200))(1) == 200
    with pytest.raises(fp.RangeError):
        fp.fuse(lambda n: m.byte(n))(300)


@pytest.mark.req("T1")
def test_halfs_in_the_parameter_block_keep_their_bits(device: Any) -> None:
    """They lie there as words: alone, in vectors, arrays and structs; and numbers between two halfs are rounded once."""
    m = fp.Module.load_from_source(
        device,
        "halfs",
        "struct S { half x; half2 y; }; half3 s(S s) { return half3(s.x, s.y); } half4 four(half4 x) { return x; }"
        "half[3] three(half x[3]) { return x; } half one(half x) { return x; }",
    )
    tiny, top = 5.9604645e-08, 65504.0  # the smallest denormal, and the largest number
    numbers = [0.1, -0.0, tiny, 1023 * tiny, 3 * tiny, top, -top, np.inf, -np.inf, np.nan, 1 / 3, 1.00048828125, 1.0004882812501]
    words = np.random.default_rng(0).integers(0, 1 << 16, 27).astype(np.uint16)
    numbers += words.view(np.float16).tolist()
    halfs = np.array(numbers, np.float16)

    def check(found: Any, wanted: Any) -> None:
        same(np.asarray(found, np.float16), wanted)
        known = wanted == wanted
        same(np.signbit(found)[known], np.signbit(wanted)[known])

    check([m.one(x) for x in numbers], halfs)
    for i in range(0, len(numbers), 4):
        some, wanted = numbers[i : i + 4], halfs[i : i + 4]
        check(m.four(some), wanted)
        check(m.three(some[:3]), wanted[:3])
        check(m.s({"x": some[0], "y": some[1:3]}), wanted[:3])
    with pytest.raises(fp.RangeError, match="does not fit half"):
        m.one(70000.0)
