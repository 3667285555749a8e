"""Every kind of array as an argument, against NumPy: strides, orders, dtypes, read-only, zero-size; and as a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import fusepy as fp
from tests.support.examples import examples
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
T twice<T : IArithmetic>(T x) { return x + x; }
bool flip(bool x) { return !x; }
float add(float a, float b) { return a + b; }
float3 tint(float3 c, float k) { return c * k; }
void parts(float x, out float whole, out float rest) { whole = floor(x); rest = x - whole; }
void decay(inout float x) { x *= 0.5; }
"""
NUMBERS = [np.float16, np.float32, np.float64, *(np.dtype(f"{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64))]


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "array_kinds", SOURCE)


def small(dtypes: Any, **shape: Any) -> st.SearchStrategy[Any]:
    """Arrays of small whole numbers, so that all arithmetic is exact."""
    return st.sampled_from(dtypes).flatmap(
        lambda d: hnp.arrays(np.uint8, hnp.array_shapes(max_side=5, **shape), elements=st.integers(0, 60)).map(
            lambda a: a.astype(d)
        )
    )


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda a: a,
    "fortran": np.asfortranarray,
    "reversed": lambda a: np.asarray(a[(slice(None, None, -1),) * a.ndim]),
    "stepped": lambda a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a,
    "transposed": lambda a: a.T,
    "broadcast": lambda a: np.broadcast_to(a, (3, *a.shape)),
    "padded": lambda a: np.asarray(np.pad(a, 1)[(slice(1, -1),) * a.ndim]),
    "frozen": lambda a: _frozen(a.copy()),
}


def _frozen(array: Any) -> Any:
    array.flags.writeable = False
    return array


@pytest.mark.req("C13")
@pytest.mark.parametrize("layout", LAYOUTS)
@examples(40)
@given(data=st.data())
def test_any_layout_and_dtype_is_read_as_numpy_reads_it(m: Any, layout: str, data: st.DataObject) -> None:
    array = LAYOUTS[layout](data.draw(small(NUMBERS, min_dims=0, min_side=0)))
    found = m.twice(fp.vmap(array, tuple(range(array.ndim))))
    assert isinstance(found, np.ndarray)
    same(found, array + array)


@pytest.mark.req("C13")
@examples(60)
@given(data=st.data())
def test_two_layouts_meet(m: Any, data: st.DataObject) -> None:
    a = data.draw(small([np.float32], min_dims=1, max_dims=3, min_side=1))
    b = a * 3
    left, right = (LAYOUTS[data.draw(st.sampled_from(["plain", "fortran", "reversed", "stepped", "padded"]))](x) for x in (a, b))
    same(m.add(left, right), left + right)


@examples(40)
@given(array=hnp.arrays(np.bool_, hnp.array_shapes(min_dims=0, max_side=4, min_side=0)))
def test_bools_in_any_layout(m: Any, array: Any) -> None:
    for layout in ("plain", "fortran", "reversed", "broadcast"):
        same(m.flip(LAYOUTS[layout](array)), ~LAYOUTS[layout](array))


@pytest.mark.req("C10")
@examples(40)
@given(data=st.data())
def test_arrays_of_any_layout_are_written(m: Any, data: st.DataObject) -> None:
    a = data.draw(small([np.float32], min_dims=1, max_dims=3, min_side=1))
    target = LAYOUTS[data.draw(st.sampled_from(["plain", "fortran", "reversed", "stepped", "transposed", "padded"]))](a.copy())
    expected = target + 1
    assert m.add(target, 1, _result=target) is target
    same(target, expected)
    m.decay(target)
    same(target, expected * F32(0.5))


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda m: m.add(ramp(3), 1, _result=_frozen(ramp(3))), ValueError, "_result is read-only"),
        (lambda m: m.decay(_frozen(ramp(3))), ValueError, "'x' is read-only"),
        (
            lambda m: m.add(ramp(3), 1, _result=np.lib.stride_tricks.as_strided(ramp(1), (3,), (0,))),
            ValueError,
            "repeats elements",
        ),
        (lambda m: m.add(ramp(3).astype(">f4"), 1), TypeError, ">f4"),
        (lambda m: m.add(np.array(["a"]), 1), TypeError, "<U1"),
        (lambda m: m.add(np.ones(3, complex), 1), TypeError, "complex128"),
        (lambda m: m.add(np.ones(3, np.longdouble), 1), TypeError, "float128"),
        (lambda m: m.add(np.array([None]), 1), TypeError, "object"),
        (lambda m: m.add(ramp(3), 1, _result=np.zeros(3)), ValueError, "expected: float32"),
        (lambda m: m.add(ramp(3), 1, _result=object()), TypeError, "cannot receive a result"),
        (lambda m: m.add.return_type(dict), TypeError, "not a container"),
    ],
)
def test_what_cannot_be_read_or_written_says_so(m: Any, wrong: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        wrong(m)
    assert isinstance(caught.value, fp.FusepyError)
    assert caught.value.hint
    same(m.add(ramp(3), 1), ramp(3) + 1)


def test_bfloat16_is_refused_with_a_way_out(m: Any) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with pytest.raises(fp.UnsupportedArgumentError, match="bfloat16") as caught:
        m.add(np.ones(3, ml_dtypes.bfloat16), 1)
    assert "astype(np.float32)" in caught.value.hint


@pytest.mark.req("C13", "F14")
def test_every_container_is_returned_and_written(device: Any, m: Any) -> None:
    a, t = ramp(2, 3), fp.Tensor.from_numpy(device, ramp(2, 3))
    assert isinstance(m.add(a, 1), np.ndarray)
    assert isinstance(m.add(t, a), fp.Tensor)
    assert m.add([1.0, 2.0], 1) == [2.0, 3.0]
    assert m.add(1.0, 2.0) == 3.0
    for name, cls in (("tensor", fp.Tensor), ("numpy", np.ndarray), ("list", list)):
        for container in (name, cls):
            assert isinstance(m.add.return_type(container)(a, 1), cls)
            assert isinstance(m.add(t, 1, _result=container), cls)
    out = np.zeros((2, 3), F32)
    assert m.add(t, a, _result=out) is out
    same(out, a + a)
    whole, rest = np.zeros(2, F32), fp.Tensor.zeros(device, 2)
    m.parts(np.array([1.5, -0.25], F32), whole, rest)
    same(whole, np.array([1, -1], F32))
    same(rest.to_numpy(), np.array([0.5, 0.75], F32))
