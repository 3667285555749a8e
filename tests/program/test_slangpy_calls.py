"""Calls as slangpy has them: call groups and ``CallShapeInfo``, larger destinations, addresses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fusepy as fp

SOURCE = """
import slangpy;
int[3 * N] places<let N : int>(CallShapeInfo call, CallShapeInfo group, CallShapeInfo lane)
{
    int[3 * N] found;
    for (int i = 0; i < N; ++i)
    {
        found[i] = call.shape[i];
        found[N + i] = group.shape[i];
        found[2 * N + i] = lane.shape[i];
    }
    return found;
}
int[6] two(uint2 p)
{
    return places<2>(CallShapeInfo::get_call_id(), CallShapeInfo::get_call_group_id(), CallShapeInfo::get_call_group_thread_id());
}
int[15] five(int[5] p)
{
    return places<5>(CallShapeInfo::get_call_id(), CallShapeInfo::get_call_group_id(), CallShapeInfo::get_call_group_thread_id());
}
"""
PLAIN = """
struct Ball { float2 at; int n; __init(float2 at) { this.at = at; n = 1; } };
int same(int x) { return x; }
float twice(float x) { return 2 * x; }
int at(int i, int* values) { return values[i]; }
int[6] coordinates(int[6] p) { return p; }
"""


@pytest.fixture(scope="module")
def told(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "told", SOURCE)


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "slangpy_calls", PLAIN)


@pytest.mark.parametrize(
    ("shape", "group"),
    [((5, 7), ()), ((5, 7), (2, 3)), ((4, 6), (4,)), ((1, 2), (8, 8)), ((9, 7, 5, 3, 2), (2, 3, 2, 2, 2)), ((2, 2, 3, 4, 5), ())],
)
def test_user_code_learns_its_place_in_the_call_and_in_its_group(told: fp.Module, shape: Any, group: Any) -> None:
    rank = len(shape)
    function = (told.two if rank == 2 else told.five).call_group_shape(fp.Shape(group))
    found = np.moveaxis(function(fp.grid(shape), _result="numpy"), -1, 0)
    sizes = (1,) * (rank - len(group)) + group
    for axis, (place, size) in enumerate(zip(np.indices(shape), sizes)):
        assert (found[axis] == place).all()
        assert (found[rank + axis] == place // size).all()
        assert (found[2 * rank + axis] == place % size).all()


def test_groups_that_do_not_fit_are_refused(m: fp.Module) -> None:
    with pytest.raises(fp.ArgumentError, match=r"call_group_shape\[1\] = 0"):
        m.same.call_group_shape((2, 0))
    with pytest.raises(fp.ArgumentError, match="3 dimensions"):
        m.same.call_group_shape((2, 2, 2))([[1, 2]])
    assert m.same.call_group_shape(())([1, 2]) == [1, 2]


def test_coordinates_of_many_dimensions(m: fp.Module) -> None:
    shape = (1, 2, 1, 3, 2, 2)
    found = m.coordinates(fp.grid(shape, offset=(0, 1, 0, 0, 0, 5)), _result="numpy")
    assert (
        np.moveaxis(found, -1, 0) == np.indices(shape) + np.array([0, 1, 0, 0, 0, 5])[:, None, None, None, None, None, None]
    ).all()


def test_destinations_with_more_axes_than_the_arguments(m: fp.Module) -> None:
    to = fp.Tensor.empty(m.device, (2, 3), "int")
    m.same([1, 2, 3], _result=to)
    assert to.tolist() == [[1, 2, 3]] * 2
    balls = fp.Tensor.empty(m.device, (4,), m.Ball)
    m.Ball(fp.float2(1, 2), _result=balls)
    assert balls.to_numpy()["at"].tolist() == [[1, 2]] * 4
    for bad in (fp.Tensor.empty(m.device, (2,), "int"), fp.Tensor.empty(m.device, (3, 2), "int")):
        with pytest.raises(fp.ShapeError, match="does not fit"):
            m.same([1, 2, 3], _result=bad)


def test_integers_go_into_floats_and_floats_not_into_integers(m: fp.Module) -> None:
    for kind in ("float", "double"):
        to = fp.Tensor.empty(m.device, (2, 3), kind)
        for first in (1, 5):  # the second call finds the conversion
            m.same([first, 2, 3], _result=to)
            assert to.tolist() == [[first, 2, 3]] * 2
    with pytest.raises(fp.ShapeError, match=r"int\[1\]"):
        m.twice([1.5], _result=fp.Tensor.empty(m.device, (1,), "int"))


def test_an_integer_is_an_address(m: fp.Module) -> None:
    values = fp.Tensor.from_numpy(m.device, np.arange(10, 15, dtype=np.int32))
    assert m.at(fp.grid((5,)), values.address, _result="list") == list(range(10, 15))
    assert m.at(2, values.storage.device_address) == 12
    with pytest.raises(fp.NoMatchError):
        m.at(2, 1.5)


class Close:
    """Wants to decide about ``==`` itself, as ``pytest.approx`` does."""

    __array_ufunc__ = None

    def __eq__(self, other: object) -> bool:
        return math.isclose(float(other), 5.0)  # type: ignore[arg-type]


def test_operands_that_decide_themselves() -> None:
    t = fp.Tensor([5, 6])
    assert (t[0] == Close()) is True
    assert (t[1] == Close()) is False
    assert t[0] == pytest.approx(5)
