"""Integers that are computed of Python's numbers, and lists of arrays: each mode gives what the calls one by one give."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.functions.test_modes_table import PARTS, findings, part_of
from tests.support.selection import daily

SOURCE = """
int whole(int x) { return x; }
uint natural(uint x) { return x; }
int64_t large(int64_t x) { return x; }
uint8_t byte(int x) { return uint8_t(x); }
int small(int8_t x) { return x; }
uint16_t most(int x) { return uint16_t(65535 + 0 * x); }
int16_t least(int x) { return int16_t(-32768 + 0 * x); }
float twice(float x) { return 2 * x; }
double precise(double x) { return x; }
float3 unit(float k) { return float3(k, 1, 2); }
float norm(float3 x) { return length(x); }
"""
RAY = "struct Ray { float3 at; float t; };"
LARGE = 100000
PAIR = np.int32([0, 1])
OF_THE_CALL: dict[str, Callable[[Any], Any]] = {  # of an integer that has no more than 32 bits, while the results have
    "product": lambda n: n * n,
    "square": lambda n: fp.square(n),
    "power": lambda n: n**3,
    "sum": lambda n: n + (2**31 - 1),
    "difference": lambda n: -n - 2**31,
    "shift": lambda n: n << 20,
    "quotient": lambda n: (n * n) // -3 + (n * n) % 7,
    "bits": lambda n: ((n * n) & 0xFFFFFFFFF) ^ ~(n | 1),
    "choice": lambda n: fp.where(n > 3, n * n, 1) * 2,
    "greatest": lambda n: fp.maximum(n * n, n) - fp.abs(-n * n),
    "branch": lambda n: fp.cond(n > 3, lambda: n * n, lambda: n),
    "sum of a list": lambda n: fp.sum([n, 2**31 - 1]),
    "product of a list": lambda n: fp.prod([n, n]),
    "least of a list": lambda n: fp.min([n * n, n]) + fp.max((n * n, True)),
    "a sorted list": lambda n: fp.sort([n * n, n]),
    "a list": lambda n: fp.maximum(fp.flip([n * n, n]), 7),
    "a sum that is small, beside flags": lambda n: fp.add(np.array([True, False]), fp.sum([n * n, -(n * n)])),
    "a product that is small, beside flags": lambda n: fp.add(np.array([True, False]), fp.prod([n * n, 0], axis=0)),
    "running sum": lambda n: fp.cumsum([2**31 - 1, n]),
    "product of lists": lambda n: fp.dot([n, n], [n, n]),
    "einsum": lambda n: fp.einsum("i,i->", [n, n], [n, n]),
    "flag": lambda n: n * n + True,
    "a float array": lambda n: np.float32([1, 2]) * (n * n),
    "a double array": lambda n: fp.multiply(np.float64([1, 2]), n * n),
    "a long array": lambda n: np.int64([1, 2]) + n * n,
    "a float": lambda n: (n * n) / 4,
    **{
        f"the smaller {name}, beside flags": lambda n, of=of: fp.maximum(np.array([True, False]), of(n))
        for name, of in {
            "branch": lambda n: fp.cond(n < 3, lambda: n * n, lambda: n + n),
            "branch of branches": lambda n: fp.cond(n < 3, lambda: n * n, lambda: fp.cond(n < 0.5, lambda: n**3, lambda: n)),
            "choice": lambda n: fp.where((n > 3) & (n < 5) | False, n * n, n) % 1000,
            "bound": lambda n: fp.clip(n * n, 1, n),
        }.items()
    },
    "a branch that is not taken": lambda n: fp.cond(n > 3, lambda: n, lambda: n**20),
}


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "modes_of_numbers", SOURCE)


@pytest.mark.req("V1", "C13")
@PARTS
def test_integers_of_a_call_are_pythons(device: Any, part: int) -> None:
    found = [w for name, of in part_of(OF_THE_CALL, part).items() for w in findings(name, of, LARGE)]
    found += [w for name in ("product", "sum", "a float array") for w in findings(name, OF_THE_CALL[name], 2)]
    assert not found, "\n".join(found)
    assert fp.fuse(lambda n: n * n)(LARGE) == LARGE**2
    assert fp.sum([2**31 - 1, 2]) == 2**31 + 1


@pytest.mark.req("V1", "C13")
@PARTS
def test_integers_of_results_have_64_bits(m: Any, part: int) -> None:
    operations: dict[str, Callable[[Any], Any]] = {
        "product": lambda n: m.whole(n) * m.whole(n),
        "below 0": lambda n: m.natural(n) - 2 * LARGE,
        "of small ones": lambda n: m.most(n) * m.most(n) + (m.most(n) << 20) - m.least(n) ** 3,
        "signs of small ones": lambda n: [-m.least(n), fp.abs(m.least(n)), fp.square(m.most(n))],
        "small ones in a loop": lambda n: fp.fori_loop(0, 3, lambda i, c: m.most(n) * m.most(n) + c, 0),
        "small ones in a branch": lambda n: fp.cond(n > 0, lambda: m.most(n) * m.most(n), lambda: m.least(n) * m.most(n)),
        "compared": lambda n: (m.natural(n) > -1) & (m.natural(n) >= m.whole(n)),
        "chosen": lambda n: fp.where(m.natural(n) < 2, m.natural(n), -1),
        "least": lambda n: fp.minimum(m.natural(n), -1),
        "of a list": lambda n: fp.max([m.whole(n), 2**31 - 1]) + 1,
        "passed on": lambda n: m.twice(m.whole(m.whole(n) + 1)) + m.large(m.whole(n) * n) - m.byte(m.whole(n) + 1),
        "counted": lambda n: fp.fori_loop(0, m.whole(n) - LARGE + 3, lambda i, c: m.whole(i) + c, m.whole(n) + 1),
        "beside integers": lambda n: fp.Tensor([1, 2]) + (m.whole(n) + 1) * fp.sum([n, 1]) // n,
        "at a place": lambda n: fp.take(np.float32([1, 2, 3]), m.whole(n) + 1 - LARGE),
        "in a smaller parameter": lambda n: m.whole(m.large(n)) + m.natural(m.whole(n)) + m.small(m.large(n) - LARGE),
        "beside flags": lambda n: fp.add(np.array([True, False]), fp.sum([n, 2])),
        "chosen by flags": lambda n: fp.where(np.array([True, False]), m.whole(n) + 1, False),
        "chosen by a branch": lambda n: fp.cond(fp.greater(np.float32([0, 2]), 1), lambda: m.natural(n) * 2, lambda: 0),
        "chosen by branches": lambda n: fp.cond(fp.greater(np.float32([[0], [2]]), 1), lambda: 0.5, lambda: -m.least(n)),
        "chosen by numbers": lambda n: fp.where(np.float32([0, 2]), fp.sum([n, 2]), 7),
        "chosen by a branch in a branch": lambda n: fp.cond(
            n > 3,
            lambda: fp.cond(
                fp.greater(PAIR, 0), lambda: m.whole(n) * 2 + fp.cond(fp.equal(PAIR, 1), lambda: m.whole(n), lambda: 1), lambda: 0
            ),
            lambda: PAIR,
        ),
        "in the body of a loop": lambda n: fp.fori_loop(0, 2, lambda i, c: c + m.whole(n) * 2, PAIR),
        "in a branch in loops": lambda n: fp.while_loop(
            lambda c: c < LARGE,
            lambda c: fp.fori_loop(0, 2, lambda i, d: fp.cond(d > i, lambda: m.whole(n) * 2 + d, lambda: d + 1), c),
            PAIR,
        ),
        "in an array": lambda n: fp.full(2, m.whole(n) + 1),
        "compared with an array": lambda n: fp.less(np.int32([1, 2]), m.whole(n) * m.whole(n)),
        "compared below 0": lambda n: fp.greater(np.uint32([1, 2]), m.whole(n) - 2 * LARGE),
        "large beside an array": lambda n: fp.equal(np.int32([1, 2]), n * n),
        "small beside bytes": lambda n: fp.less(np.uint8([1, 2]), n),
    }
    found = [w for name, of in part_of(operations, part).items() for w in findings(name, of, LARGE)]
    assert not found, "\n".join(found)


@pytest.mark.req("V1")
def test_floats_in_doubles_have_64_bits(m: Any) -> None:
    """What operators compute of Python's floats was rounded to 32 bits before it became a double."""
    x, k, n = np.ones(2), 1 / 3, 7
    cases: dict[str, Callable[..., Any]] = {
        "an array": lambda x, k, n: fp.multiply(x, k * 0.1),
        "a chain": lambda x, k, n: fp.add(x, abs(-(k * 0.1 + n) / 3 - 0.7 * k) // 0.1),
        "powers": lambda x, k, n: fp.add(x, k**2 + k**0.5),
        "a quotient of integers": lambda x, k, n: fp.full_like(x, n / 3),
        "filled": lambda x, k, n: fp.full(2, k * 0.1, "double"),
        "a list": lambda x, k, n: fp.asarray([k * 0.1, k / n], "double"),
        "a parameter": lambda x, k, n: m.precise(k * 0.1) + m.precise(m.twice(k) * m.twice(k)),
        "compared": lambda x, k, n: fp.less(fp.multiply(x, k) * 0.1, k * 0.1 + 1e-12),
    }
    for name, of in cases.items():
        np.testing.assert_allclose(fp.fuse(of)(x, k, n), of(x, k, n), rtol=1e-15, err_msg=name)
    step = fp.fuse(lambda x, k: (lambda by: fp.fori_loop(0, 1, lambda i, c: c * by, x))(k * 0.1))  # computed outside of the body
    assert step(x, k)[0] == k * 0.1
    mixed = fp.Module.load_from_source(m.device, "mixed_digits", "double both(float a, double b) { return double(a) - b; }")
    apart: Callable[..., Any] = lambda k: (lambda t: mixed.both(t, t))(k * 0.1)  # noqa: E731  # one number as a float and as a double
    assert fp.fuse(apart)(k) == pytest.approx(apart(k), rel=1e-8) != 0  # GPUs may join the product and the difference
    narrow, wide = fp.fuse(lambda a, x, k: (a * (k * 0.1), x * (k * 0.1)))(np.ones(2, np.float32), x, k)
    assert (narrow.dtype, wide[0]) == (np.float32, k * 0.1)


@pytest.mark.req("V1", "C13")
def test_lists_of_long_integers(m: Any) -> None:
    """Sums took them, and nothing else: they were out of range for int."""
    long, longer = [LARGE**2, 5], [2**63 + 5, 1]
    for of in (fp.min, fp.sort, fp.argmax, fp.sum, lambda x: fp.multiply(x, 2), m.large, lambda x: fp.take(x, 0)):
        for found in (of(long), fp.fuse(lambda x, of=of: of(x))(long)):
            assert found == np.asarray(of(np.asarray(long))).tolist()
    assert fp.max(longer) == 2**63 + 5
    for of in (m.whole, lambda x: fp.add(np.int32([1, 2]), x), fp.asarray):
        for run in (of, fp.fuse(lambda x, of=of: of(x))):
            assert np.asarray(run([1, 5])).dtype.kind == "i"
            with pytest.raises(fp.RangeError, match="out of range for int"):
                run(long)


def _powers(c: float, k: float, count: int) -> float:
    for _ in range(count):
        c = c * k * 0.1
    return c


@pytest.mark.req("V1", "C13")
def test_floats_in_bodies_and_results_have_64_bits(m: Any) -> None:
    """Loops and branches computed Python's floats with 32 bits, and returned floats had 32."""
    x, k = np.ones(2), 1 / 3
    cases: dict[str, tuple[Callable[..., Any], Any]] = {
        "returned": (lambda k: k * 0.1, k * 0.1),
        "returned as it is": (lambda k: {"a": (k, 0.1), "b": [k, 3, k > 0.1]}, {"a": (k, 0.1), "b": [k, 3, True]}),
        "a branch": (lambda k: fp.cond(k > 0, lambda: (k * 0.1, 1), lambda: (0.1, 0)), (k * 0.1, 1)),
        "a branch of two numbers": (lambda k: fp.cond(k < 0, lambda: 0.3, lambda: 0.1), 0.1),
        "a choice": (lambda k: fp.where(k > 0, k * 0.1, 0.7), k * 0.1),
        "a loop": (lambda k: fp.fori_loop(0, 3, lambda i, c: c * k * 0.1, 1), _powers(1, k, 3)),
        "a loop of several": (
            lambda k: fp.fori_loop(0, 3, lambda i, c: (c[1], c[0] * k, c[2] + 1), (0.1, k, 0)),
            (k * k, 0.1 * k * k, 3),
        ),
        "a loop until": (
            lambda k: fp.while_loop(lambda c: c < 1.5, lambda c: c * 1.1 + m.precise(0.0), k),
            functools.reduce(lambda c, _: c * 1.1, range(16), k),
        ),
        "a branch in a loop": (
            lambda k: fp.fori_loop(0, 2, lambda i, c: c * fp.cond(c > 0, lambda: k * 0.1, lambda: 2.0), 1.0),
            _powers(1, k, 2),
        ),
        "a loop in a loop": (
            lambda k: fp.fori_loop(0, 2, lambda i, c: fp.fori_loop(0, 2, lambda j, d: d * k * 0.1, c), 1.0),
            _powers(1, k, 4),
        ),
        "a function of 32 bits in a loop": (
            lambda k: fp.fori_loop(0, 2, lambda i, c: m.twice(c) * 0.1, 0.5),
            float(np.float32(0.5 * 2 * 0.1)) * 2 * 0.1,
        ),
        "a derivative": (lambda k: fp.grad(lambda k: k * k * 0.1)(k), 2 * k * 0.1),
        "a derivative of a choice": (lambda k: fp.grad(lambda k: fp.maximum(k * k * 0.1, 0.0))(k), 2 * k * 0.1),
        "a tangent": (lambda k: fp.jvp(lambda k: k * k * 0.1, (k,), (0.1,)).d, 2 * k * 0.1 * 0.1),
        "a gradient that is passed on": (lambda k: fp.vjp(lambda k: k * k * 0.1, k)[1](0.1)[0], 2 * k * 0.1 * 0.1),
    }
    for name, (of, wanted) in cases.items():
        for found in (fp.fuse(of)(k), of(k)):
            assert repr(found) == repr(wanted) or found == pytest.approx(wanted, rel=1e-15, abs=0), name
    for of, given in ((lambda k: k * 0.1, k), (lambda x: fp.sum(x) * 0.1, [k])):  # memory of 32 bits is written as it was
        fused, memory = fp.fuse(of), fp.Tensor.from_numpy(m.device, np.zeros((), np.float32))
        for _ in range(2):
            assert fused(given) != float(np.float32(fused(given)))
            fused(given, _result=memory)
            assert memory.numpy() == np.float32(k * 0.1)
    over: dict[str, tuple[Callable[..., Any], float]] = {
        "a loop": (lambda x, k: fp.fori_loop(0, 3, lambda i, c: c * (k * 0.1), x), _powers(1, k, 3)),
        "a branch": (lambda x, k: fp.cond(fp.greater(x, 0), lambda: x * (k * 0.1), lambda: x), k * 0.1),
        "beside a loop": (lambda x, k: fp.multiply(x, fp.fori_loop(0, 3, lambda i, c: c * k * 0.1, 1.0)), _powers(1, k, 3)),
        "beside a branch": (lambda x, k: fp.multiply(x, fp.cond(k > 0, lambda: k * 0.1, lambda: 0.0)), k * 0.1),
        "of halfs": (
            lambda x, k: fp.astype(fp.fori_loop(0, 1, lambda i, c: c * (k * 0.1), fp.astype(x, "half")), "double"),
            np.float16(k * 0.1),
        ),
    }
    for name, (of, wanted) in over.items():
        for found in (fp.fuse(of)(x, k), of(x, k)):
            np.testing.assert_allclose(found, [wanted] * 2, rtol=1e-15, err_msg=name)


NEAR = 0.1 + 1e-12  # the float 0.1 with 32 bits, and more than 0.1
COMPARED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "an argument": lambda m, x, k: fp.where(k > 0.1, x, -x),
    "computed": lambda m, x, k: fp.where(k * 3 > 0.1 * 3, x, -x),
    "equal": lambda m, x, k: fp.where((k == 0.1) | (k != NEAR), x, -x),
    "results of functions": lambda m, x, k: fp.where(m.twice(k) > 0.2, x, -x),
    "results of another function": lambda m, x, k: fp.where(m.twice(k) > k * 2, x, -x),
    "integers beside": lambda m, x, k: fp.where(k + 16777216 < 16777217, x, -x),
    "numbers alone": lambda m, x, k: x * fp.where(k > 0.1, 1, 2),
    "integers of the call": lambda m, x, k: fp.add(np.array([True, False]), fp.where(k > 0.1, LARGE * LARGE, k < 1)),
    "a branch": lambda m, x, k: fp.cond(k > 0.1, lambda: x, lambda: -x),
    "a branch in a loop": lambda m, x, k: fp.fori_loop(0, 3, lambda i, c: fp.where(i * k > 0.2, c + 1, c - 1), x),
    "carried by a loop": lambda m, x, k: fp.fori_loop(
        0, 9, lambda i, c: (c[0] + 0.1, fp.where(c[0] > 0.3, c[1] + k, c[1])), (0.1, 0.0)
    )[1],
    "the end of a loop": lambda m, x, k: fp.while_loop(lambda c: c[0] <= 0.3, lambda c: (c[0] + 0.1, c[1] + k), (0.1, 0.0))[1],
    "the end of a loop over an array": lambda m, x, k: fp.while_loop(
        lambda c: c[1] < 0.3, lambda c: (c[0] + 1, c[1] + k), (x, 0.0)
    )[0],
    "of fusepy": lambda m, x, k: fp.where(fp.greater(k, 0.1), x, -x),
    "an array": lambda m, x, k: fp.where(fp.greater(fp.multiply(x, k), k), x, -x),
}


@pytest.mark.req("V1", "C13")
@PARTS
def test_floats_are_compared_with_64_bits(m: Any, part: int) -> None:
    x = np.float32([1, 2])
    for name, of in part_of(COMPARED, part).items():
        for k in (NEAR, np.float64(NEAR), 0.1):
            made = of(m, x, k)
            for found in (fp.fuse(lambda x, k, of=of: of(m, x, k))(x, k), fp.fuse(lambda x, of=of, k=k: of(m, x, k))(x)):
                np.testing.assert_allclose(found, made, rtol=1e-6, err_msg=f"{name}, {k}")
    over = fp.fuse(lambda x, k: fp.where(k > 0.1, x, -x))
    for k in (
        np.float64(NEAR),
        np.float32(0.1),
        np.float16(0.1),
        np.float64(0.1),
        np.float32(0.5),
    ):  # as NumPy compares each type
        assert over(x, k)[0] == (1 if k > 0.1 else -1)


ALONE: dict[str, Callable[[Any, Any, Any], Any]] = {  # of a number and a vector; what is handed out beside an array
    "a float": lambda m, k, v: k * 2,
    "an integer": lambda m, k, v: 3,
    "a flag": lambda m, k, v: k > 0.1,
    "a result": lambda m, k, v: m.twice(k),
    "a list": lambda m, k, v: fp.cumsum([k, 2 * k]),
    "a vector of a function": lambda m, k, v: m.unit(k),
    "a made vector": lambda m, k, v: m.float3(k, 1, 2),
    "a made vector of doubles": lambda m, k, v: m.double3(k, k, 1) * 2,
    "an operator": lambda m, k, v: fp.float3(k, 1, 2) * v - v,
    "a matrix": lambda m, k, v: m.float2x2(k, 1, 2, 3),
    "a function of a vector": lambda m, k, v: fp.abs(fp.float3(k, 1, 2)),  # which drivers do not compute in two ways
    "an argument": lambda m, k, v: v,
    "components": lambda m, k, v: (v.x, v.y * 0.1, v.xy, (v * 2)[1] * 0.1),
}


@pytest.mark.req("V1", "C13")
@pytest.mark.parametrize("name", daily(ALONE, "a float", "a list", "an operator", "components"))
def test_results_of_numbers_alone_are_handed_out_as_call_by_call(m: Any, name: str) -> None:
    """Beside arrays of NumPy they were arrays with 32 bits; vectors were lists and arrays."""
    v, x, of = fp.float3(1 / 3, 2, 3), np.float32([1, 2]), ALONE[name]
    wanted = repr(of(m, 1 / 3, v))
    found, array = fp.fuse(lambda k, v, x: (of(m, k, v), x * 2))(1 / 3, v, x)
    assert repr(found) == repr(fp.fuse(lambda k, v: of(m, k, v))(1 / 3, v)) == wanted
    assert array.tolist() == [2, 4]
    if name not in ("an argument", "an operator", "components"):
        assert repr(fp.fuse(lambda k: of(m, k, None))(1 / 3)) == wanted


@pytest.mark.req("V1", "C13")
def test_numbers_among_results_in_other_memory(m: Any) -> None:
    v, x = fp.float3(1 / 3, 2, 3), np.float32([1, 2])
    both = fp.fuse(lambda x, k: (x * k, k * 2))
    memory = np.zeros(2, np.float32), np.zeros((), np.float32)
    for _ in range(2):
        both(x, 1 / 3, _result=memory)  # memory has 32 bits as before
        assert memory[1] == np.float32(2 / 3)
        assert both(x, 1 / 3)[1] == 2 / 3
        assert both(x, 1 / 3, _result="numpy")[1].dtype == np.float32
        assert both(fp.Tensor(x), 1 / 3)[1].numpy() == np.float32(2 / 3)  # a tensor, for which nobody waits
    sized = fp.fuse(lambda x, k: (x * x.shape[0], k * 2))
    assert sized(x, 1 / 3)[1] == 2 / 3
    sized(x, 1 / 3, _result=memory)
    assert memory[1] == np.float32(2 / 3)
    with fp.lazy():
        late = both(x, 1 / 3)
    assert float(late[1]) == 2 / 3
    assert fp.fuse(lambda v: (v, fp.Tensor(x) * v.x))(v)[1].__class__ is fp.Tensor  # captured tensors lead


@pytest.mark.req("V1", "C13")
@pytest.mark.parametrize("dtype", ["half", "float", "double", "int"])
def test_components_of_vectors_are_numbers(m: Any, dtype: str) -> None:
    x, v = fp.astype(fp.Tensor([1, 2]), dtype), fp.float3(1 / 3, 2, 3)
    for of in (lambda x, v: x * v.x, lambda x, v: x + v[1], lambda x, v: x * (v * 2 + 1).z, lambda x, v: x - v.xy.y):
        wanted, found = of(x, v), fp.fuse(of)(x, v)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-3 if dtype == "half" else 1e-6)


@pytest.mark.req("V1", "C13")
def test_integers_that_do_not_fit_are_refused(m: Any, device: Any) -> None:
    small = np.uint8([1, 2])
    for of in (lambda n: small + n * n, lambda n: m.whole(n * n * n), lambda n: np.int32([1]) + n * n, lambda n: n**5 - n**4):
        assert fp.fuse(of)(2) is not None
        with pytest.raises(fp.RangeError):
            fp.fuse(of)(LARGE)
    x, u = np.int32([1, 2]), np.uint32([1, 2])
    computed: list[Callable[[Any], Any]] = [
        lambda n: small + m.whole(n), lambda n: small * fp.sum([m.whole(n), 1]), lambda n: x + m.whole(n) * m.whole(n),
        lambda n: fp.clip(x, 0, m.whole(n) * n), lambda n: fp.where(x > 1, x, m.whole(n) * n), lambda n: u + (3 - m.whole(n)),
        lambda n: m.whole(m.large(n) * n), lambda n: m.natural(3 - m.whole(n)), lambda n: m.small(m.whole(n)),
        lambda n: fp.take(x, m.whole(n) * n), lambda n: fp.full_like(x, m.whole(n) * n),
        lambda n: fp.pad(x, 1, constant_values=m.whole(n) * n), lambda n: x + m.large(n) * m.large(n) * m.large(n) * m.large(n),
    ]  # fmt: skip
    for of in computed:  # which are read once the kernels have run
        fused = fp.fuse(of)
        assert np.array_equal(np.asarray(fused(2)), np.asarray(of(2)))
        with pytest.raises(fp.RangeError, match="a number that a kernel computes"):
            fused(LARGE)
        with fp.lazy(), pytest.raises((fp.RangeError, OverflowError)):
            np.asarray(of(LARGE))
    branch = fp.fuse(lambda x, n: fp.cond(x > 1, lambda: m.whole(n) * n, lambda: 0))
    assert branch(x, 2).tolist() == [0, 4]
    with pytest.raises(fp.RangeError, match="an integer in the body"):
        branch(x, LARGE)
    assert branch(x - 1, LARGE).tolist() == [0, 0]
    inside: list[Callable[[Any, Any], Any]] = [
        lambda x, n: fp.cond(x > 0, lambda: fp.cond(x > 1, lambda: m.whole(n) * n, lambda: 0), lambda: 0),
        lambda x, n: fp.fori_loop(0, 2, lambda i, c: fp.cond(c > 1, lambda: m.whole(n) * n, lambda: c), x),
        lambda x, n: fp.while_loop(lambda c: c < 2, lambda c: c + m.whole(n) * n, x),
        lambda x, n: fp.cond(x < 2, lambda: fp.fori_loop(0, 1, lambda i, c: c + m.whole(n) * n, x), lambda: x),
    ]
    for body in inside:
        fused, given = fp.fuse(body), np.array(x)
        assert fused(given, 2).dtype == np.int32
        with pytest.raises(fp.RangeError, match="an integer in the body"):
            fused(given, LARGE)
    with pytest.raises(fp.RangeError, match="a number that a kernel computes"):
        fp.fuse(lambda n: fp.fori_loop(0, m.whole(n) * n, lambda i, c: c, x))(LARGE)
    with pytest.raises(fp.RangeError, match=r"2\.0\*\*n"):
        fp.fuse(lambda n: 2**n)(10**9)
    with pytest.raises(fp.TraceError, match="negative"):
        fp.fuse(lambda n: n ** (n - 3))(2)
    encoder = device.sgl.create_command_encoder()
    with pytest.raises(fp.ArgumentError, match="an integer that kernels compute is checked"):
        fp.fuse(lambda x, n: x + m.whole(n)).append_to(encoder, fp.Tensor(small), 2)


@pytest.mark.req("V1", "C13")
def test_bodies_gradients_and_nested_functions_compute_integers_of_the_call(device: Any) -> None:
    x, inner = np.float32([1, 2]), fp.fuse(lambda n: n * n)
    expected = x * LARGE**2
    assert np.allclose(fp.fuse(lambda x, n: fp.fori_loop(0, 1, lambda i, c: c * (n * n), x))(x, LARGE), expected)
    assert np.allclose(fp.grad(lambda x, n: fp.sum(x * (n * n)))(x, LARGE), LARGE**2)
    assert fp.fuse(lambda k: inner(k["at"] + 1) * 2)({"at": LARGE}) == 2 * (LARGE + 1) ** 2
    scaled = fp.fuse(lambda x, n: x * (n * n))
    for n in (3, LARGE, 2, 2**62):  # types of 32 and 64 bits, and beyond
        assert np.allclose(scaled(x, n), x * float(n) ** 2)
    assert fp.fuse(lambda n: n // 0 + n % 0 + (n << -1))(5) == 0  # as in kernels


ARRAYS: dict[str, Callable[[], Any]] = {
    **{
        dtype: lambda dtype=dtype: [np.array([1, 4], dtype), np.array([9, 3], dtype)]
        for dtype in ("f8", "f4", "f2", "i8", "i4", "u1")
    },
    "flags": lambda: [np.array([True, False]), np.array([True, True])],
    "without axes": lambda: [np.array(0.1), np.array(4.0)],
    "beside a list": lambda: (np.array([0.1, 4.0]), [9.0, 3.0]),
    "of two types": lambda: [np.array([0.1, 4.0]), np.float32([9.0, 3.0])],
    "in lists": lambda: [[np.array([0.1, 4.0])], [np.array([9.0, 3.0])]],
}
WORDS: dict[str, Callable[[Any], Any]] = {
    "sqrt": fp.sqrt,
    "sum": lambda x: fp.sum(x, 0),
    "mean": lambda x: fp.mean(x, 0),
    "flip": lambda x: fp.flip(x, 0),
    "where": lambda x: fp.where(fp.greater(x, 2), x, 0),
    "of items": lambda x: fp.sqrt(fp.take(x, [0, 1], 0)),
}  # fmt: skip


@pytest.mark.req("V1", "C13")
@pytest.mark.parametrize("kind", daily(ARRAYS, "f8", "in lists", "beside a list", "of two types"))
def test_a_list_of_arrays_is_the_array_of_its_items(device: Any, kind: str) -> None:
    given = ARRAYS[kind]()
    same = np.asarray(given)
    for name, of in WORDS.items():
        found, expected = of(given), of(same)
        assert isinstance(found, np.ndarray), name
        assert found.dtype == expected.dtype, name
        assert np.array_equal(found, expected), name
        words = findings(name, of, given)
        assert not words, words
    if same.dtype.kind == "f":
        slope = fp.grad(lambda x: fp.sum(fp.square(x)))(given)
        assert slope.dtype == same.dtype
        assert np.array_equal(slope, 2 * same)


@pytest.mark.req("V1", "P1")
def test_a_list_of_torch_tensors_is_a_tensor(device: Any) -> None:
    torch = pytest.importorskip("torch")
    a, b = torch.tensor([1.0, 4.0], dtype=torch.float64), torch.tensor([9.0, 16.0], dtype=torch.float64, requires_grad=True)
    for found in (fp.sqrt([a, b]), fp.fuse(lambda x: fp.sqrt(x))([a, b]), fp.fuse(lambda x, y: fp.sqrt([x, y]))(a, b)):
        assert found.dtype == torch.float64
        assert found.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    (slope,) = torch.autograd.grad(torch.sum(fp.sqrt([a, b])), b)
    assert torch.allclose(slope, 0.5 / torch.sqrt(b))


@pytest.mark.req("V1", "C13")
@PARTS
def test_constructed_and_converted_numbers_mean_the_same_in_each_mode(m: Any, device: Any, part: int) -> None:
    floats, halfs = fp.Tensor([1.0, 2.0]), fp.Tensor([1.0, 2.0], dtype="half")
    image = np.float32([[1, 2, 3], [4, 5, 6]])
    whole, grid = fp.Tensor([1, 2], dtype="int"), fp.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    operations: dict[str, Callable[[Any], Any]] = {
        "tensor": lambda k: fp.asarray([k, 2.0]),
        "tensor of one": lambda k: fp.asarray(k) * 2,
        "tensor of integers": lambda k: fp.array([3, 2 if k is None else 1]),
        "vector": lambda k: grid * m.float3(k, 1, 2),
        "vector along an axis": lambda k: fp.maximum(image, m.float3(k, 1, 2) + 1),
        "vector along an axis, as an operator": lambda k: fp.astype(image * m.float3(k, 1, 2), "float"),
        "vector along an axis of one": lambda k: fp.multiply(fp.float3(k, 1, 2), image[:, :1]),
        "vector first": lambda k: fp.maximum(m.float3(k, 1, 2), grid),
        "doubles beside floats": lambda k: fp.multiply(np.float32([1, 2, 3]), m.double3(k, 1, 2)),
        "doubles beside halfs": lambda k: fp.maximum(np.float16([1, 2, 3]), fp.double3(k, 1, 2)),
        "doubles beside a vector": lambda k: fp.multiply(fp.double3(k, 1, 2), fp.float3(1, 2, 3)),
        "floats beside halfs": lambda k: fp.add(np.float16([1, 2, 3]), fp.float3(k, 1, 2)),
        "halfs beside floats": lambda k: fp.add(np.float32([1, 2, 3]), m.half3(k, 1, 2)),
        "doubles along an axis of a tensor": lambda k: fp.multiply(grid, m.double3(k, 1, 2)),
        "doubles of a sum": lambda k: fp.multiply(image, fp.sum(m.double3(k, 1, 2))),
        "doubles in a call of floats": lambda k: m.norm(fp.multiply(image, m.double3(k, 1, 2))),
        "components": lambda k: fp.multiply(halfs, m.float3(k, 1, 2).x),
        "a float as an integer": lambda k: fp.multiply(image, m.int3(k, 1, 2)),
        "a float as a bool": lambda k: fp.where(fp.bool3(k, 1, 0), image, 1),
        "a float as a small integer": lambda k: fp.multiply(whole, m.uint(k)),
        "double": lambda k: floats + fp.astype(k, "double"),
        "half": lambda k: whole + fp.astype(k, "half"),
        "integer": lambda k: halfs + fp.astype(k, "int"),
        "list": lambda k: halfs + fp.astype([k, 1], "double"),
        "like integers": lambda k: fp.full_like(whole, k),
        "like a list": lambda k: fp.full_like([1.5, 2.5], k),
        "like, of a type": lambda k: fp.full_like(whole, k, "double"),
    }
    found = [w for name, of in part_of(operations, part).items() for w in findings(name, of, 2.5)]
    assert not found, "\n".join(found)
    assert str(fp.zeros(3, "half").dtype) == "half"


@pytest.mark.req("V1", "T18")
def test_evenly_spaced_elements_have_other_extents_without_a_copy(device: Any) -> None:
    t = fp.Tensor(np.arange(16, dtype=np.float32))
    for view in (t[::2], t[::-1], t[::2].reshape(2, 4)[:, ::1], t[1::3][:4], t.reshape(4, 4)[:, 1]):
        count = view.size
        for shape in ((2, -1), (count, 1), (2, count // 2) if count % 2 == 0 else (-1,)):
            if count % 2 and shape == (2, -1):
                continue
            want = view.to_numpy().reshape(shape)
            made = view.reshape(*shape)
            assert made.block is view.block
            assert np.array_equal(made.to_numpy(), want)
            assert np.array_equal(fp.fuse(lambda x, shape=shape: x.reshape(*shape) + 1)(view).to_numpy(), want + 1)
    with pytest.raises(fp.ShapeError, match="contiguous"):
        t.reshape(4, 4)[:, :2].reshape(8)
    rays = fp.Tensor.zeros(device, (4,), fp.Module.load_from_source(device, "far_apart", SOURCE + RAY).Ray)
    rays.at.copy_from_numpy(np.arange(12, dtype=np.float32).reshape(4, 3))
    assert rays.at.reshape(2, 2).to_numpy().tolist() == np.arange(12).reshape(2, 2, 3).tolist()
    assert str(rays.at.reshape(2, 2).dtype) == "float3"


SINGLE: dict[str, Any] = {"float": 2.5, "float64": np.float64(2.5), "float32": np.float32(2.5), "int32": np.int32(3)}
SINGLE["array"] = np.array(2.5)


@pytest.mark.req("V1", "C13")
@pytest.mark.parametrize("kind", daily(SINGLE, "float", "float32"))
def test_views_of_single_numbers(device: Any, kind: str) -> None:
    single = SINGLE[kind]
    views: dict[str, Callable[[Any], Any]] = {
        "ravel": fp.ravel,
        "transpose": fp.transpose,
        "flip": fp.flip,
        "rows": fp.atleast_2d,
        "cumsum": fp.cumsum,
        "broadcast": lambda x: fp.broadcast_to(x, (2,)),
    }
    found = [w for name, of in views.items() for w in findings(name, of, single)]
    assert not found, "\n".join(found)


@pytest.mark.req("V1", "C13")
def test_comparisons_of_shapes(device: Any) -> None:
    found: list[str] = []
    arrays = [[2.5, 2.5], np.float32([2.5, 2.5]), fp.Tensor([2.5, 2.5]), [np.ones(2), np.ones(2)]]
    for other in (2.5, np.float32([2.5]), np.float32([[2.5, 2.5]]), [2.5, 2.5, 2.5]):  # that broadcast, or not
        for x in arrays:
            assert not fp.fuse(lambda x, other=other: fp.array_equal(x, other))(x)
            found += findings("array_equal", lambda x, other=other: fp.array_equal(x, other), x)
    found += findings("atleast_1d", fp.atleast_1d, arrays[-1])
    assert not found, "\n".join(found)
    assert all(fp.array_equal(x, x) for x in arrays)
