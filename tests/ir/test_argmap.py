"""The algebra of argument maps: its laws, on random maps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusepy.errors import ShapeError
from fusepy.ir.argmap import UNSAID, ArgMap, check_dims
from fusepy.ir.types import Type

GRID = 4
# dims of a map into a grid of GRID dimensions, and the ways in which one such grid lies in another
DIMS = st.permutations(range(GRID)).flatmap(lambda p: st.integers(0, GRID).map(lambda n: tuple(p[:n])))
WAYS = st.permutations(range(GRID)).map(tuple)
TYPES = st.sampled_from([None, Type.parse("float3"), Type.parse("int")])
MAPS = st.builds(ArgMap, DIMS, TYPES)


@given(MAPS, WAYS, WAYS)
@pytest.mark.req("V3", "V14")
def test_composition_is_associative(map: ArgMap, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    through = ArgMap(first).compose(second).dims
    assert through is not None
    assert map.compose(first).compose(second) == map.compose(through)


@given(MAPS)
def test_identity_is_the_unit_on_both_sides(map: ArgMap) -> None:
    assert map.dims is not None
    assert map.compose(range(GRID)) == map
    assert ArgMap.identity(len(map.dims)).compose(map.dims) == ArgMap(map.dims)
    assert ArgMap.identity(GRID).is_identity(GRID)


@given(st.integers(0, GRID), st.integers(0, GRID), st.integers(0, GRID))
@pytest.mark.req("C5")
def test_aligning_twice_is_aligning_once(a: int, b: int, c: int) -> None:
    small, middle, large = sorted((a, b, c))
    outer = ArgMap.aligned(middle, large).dims
    assert outer is not None
    assert ArgMap.aligned(small, middle).compose(outer) == ArgMap.aligned(small, large)


@given(MAPS, WAYS)
def test_composition_keeps_the_type_and_the_number_of_axes(map: ArgMap, way: tuple[int, ...]) -> None:
    composed = map.compose(way)
    assert composed.type is map.type
    assert composed.dims is not None
    assert map.dims is not None
    assert len(set(composed.dims)) == len(map.dims)


@given(MAPS)
def test_the_smallest_grid_holds_every_dimension(map: ArgMap) -> None:
    assert map.dims is not None
    assert all(d < map.min_grid_rank for d in map.dims)
    assert map.min_grid_rank == 0 or map.min_grid_rank - 1 in map.dims


def test_aligned_is_numpys_rule() -> None:
    assert ArgMap.aligned(1, 2).dims == (1,)
    assert ArgMap.aligned(2, 2).dims == (0, 1)
    assert ArgMap.aligned(0, 3).dims == ()
    with pytest.raises(ShapeError, match="3 axes do not fit a grid of 2 dimensions"):
        ArgMap.aligned(3, 2)


def test_an_unsaid_map() -> None:
    assert not UNSAID.is_resolved
    assert not UNSAID.is_identity(0)
    assert UNSAID.min_grid_rank == 0
    assert str(UNSAID) == ""
    with pytest.raises(ShapeError, match="unresolved"):
        UNSAID.compose(())


@pytest.mark.req("V5")
def test_printing() -> None:
    assert str(ArgMap((1, 0))) == "vmap(d1,d0)"
    assert str(ArgMap(())) == "vmap()"
    assert str(ArgMap(None, Type.parse("float3"))) == "vcast(float3)"
    assert str(ArgMap((0,), Type.parse("float3"))) == "vmap(d0) vcast(float3)"


@pytest.mark.parametrize(
    ("dims", "said"),
    [
        ((0, "x"), "dimension 'x' is not an integer"),
        ((True,), "dimension True is not an integer"),
        ((1.0,), "dimension 1.0 is not an integer"),
        ((-1,), "dimension -1 is negative"),
        ((0, 1, 0), "dimension 0 is named twice"),
        ((60,), "dimension 60 is out of range"),
    ],
)
@pytest.mark.req("V3")
def test_dimensions_that_cannot_be(dims: tuple[object, ...], said: str) -> None:
    with pytest.raises(ShapeError, match=f"vdim: {said}") as caught:
        check_dims(dims, "vdim")
    assert caught.value.hint


def test_good_dimensions_come_back() -> None:
    assert check_dims((2, 0, 59)) == (2, 0, 59)
    assert check_dims(()) == ()
