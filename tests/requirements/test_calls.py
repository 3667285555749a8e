"""Calls and batching: each row of tests/requirements.ini by the example that it is about."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
float add(float x, float y) { return x + y; }
int add_int(int x, int y) { return x + y; }
float2 sample(int position, float2* source) { return source[position]; }
float2 weighted(int position, float2 source[4], float weight) { return source[position] * weight; }
T twice<T : IArithmetic>(T x) { return x + x; }
void tenfold(float3 input, out float3 result) { result = input * 10; }
void decay(float rate, inout float value, out float before) { before = value; value -= rate * value; }
void parts(float x, inout float sum, out float twice, inout float count) { sum += x; twice = 2 * x; count += 1; }
int2 coordinate(int2 pixel) { return pixel; }
uint2 unsigned_coordinate(uint2 pixel) { return pixel; }
float3 shade(float3 color, float gain, float lift = 0.5) { return color * gain + lift; }
struct Ray { float3 position; float3 direction; };
float3 along(Ray ray, float t) { return ray.position + t * ray.direction; }
"""
TABLE = np.array([[1, 2], [3, 4], [5, 6], [7, 8]], F32)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "calls", SOURCE)


@pytest.mark.req("C1")
def test_c1_two_numbers_give_a_number(m: Any) -> None:
    assert m.add(10, 20) == 30
    assert type(m.add(10, 20)) is float
    assert m.add_int(10, 20) == 30
    assert type(m.add_int(10, 20)) is int


@pytest.mark.req("C2")
def test_c2_lists(m: Any) -> None:
    assert m.add([10, 20, 30], 20) == [30, 40, 50]
    assert m.add([10, 20, 30], [40, 50, 60]) == [50, 70, 90]
    assert m.add([[10, 20, 30], [40, 50, 60]], 20) == [[30, 40, 50], [60, 70, 80]]


@pytest.mark.req("C4")
def test_c4_lengths_that_do_not_fit(m: Any) -> None:
    for x, y in [([10, 20, 30], [40, 50, 60, 70]), (ramp(3), ramp(4)), (ramp(5, 3), ramp(4))]:
        with pytest.raises(ValueError, match=r"3,?\)(.|\n)*\(4,\)(.|\n)*axis") as raised:
            m.add(x, y)
        assert isinstance(raised.value, fp.ShapeError)
        assert "'x'" in str(raised.value)
        assert "'y'" in str(raised.value)
    assert m.add([1, 2], [3, 4]) == [4, 6], "the next good call works"


@pytest.mark.req("C5")
def test_c5_broadcasting(m: Any) -> None:
    x = np.array([[10, 20, 30], [40, 50, 60]], F32)
    same(m.add(x, 20), np.array([[30, 40, 50], [60, 70, 80]], F32))
    same(m.add(x, np.array([1, 2, 3], F32)), np.array([[11, 22, 33], [41, 52, 63]], F32))
    same(m.add(ramp(256, 1), ramp(1, 256, start=3)), ramp(256, 1) + ramp(1, 256, start=3))
    strict = m.add.strict_broadcasting()
    same(strict(x, x), 2 * x)
    same(strict(x, 20), x + 20)
    with pytest.raises(fp.ShapeError):
        strict(x, np.array([1, 2, 3], F32))


@pytest.mark.req("C19")
def test_c19_strict_functions_in_programs(m: Any) -> None:
    """They stretch nothing inside of fused functions, gradients, lazy calls and graphs either."""
    strict = m.add.strict_broadcasting()
    fused = fp.fuse(lambda a, b: strict(a * 2, b) + 1)
    graph = fp.Graph(inputs=["a", "b"])
    graph.set_outputs(strict.node()(*graph.get_inputs()))
    x, column = np.ones((2, 3), F32), np.ones((2, 1), F32)
    same(fused(x, x), 3 * x + 1)
    same(fused(x, 1.0), 3 * x + 1)
    compiled = fp.stats().kernels_compiled
    same(fused(np.ones((4, 5), F32), np.ones((4, 5), F32)), np.full((4, 5), 4, F32))
    assert fp.stats().kernels_compiled == compiled
    with fp.lazy():
        lazy = fused(x, x)
    same(lazy, 3 * x + 1)
    source = "struct Pair { float a; float b; }; float both(Pair p) { return p.a + p.b; }"
    paired = fp.Module.load_from_source(m.device, "strict_pairs", source, strict_broadcasting=True)
    composed = fp.fuse(lambda a, b: paired.both({"a": a, "b": b}))
    same(composed(x, x), 2 * x)
    for call in (fused, graph, composed, fp.grad(lambda a, b: fp.sum(strict(a, b)))):
        for a, b in ((x, column), (column, x), (x, np.ones(3, F32))):
            with pytest.raises(fp.ShapeError, match="Strict broadcasting is enabled"):
                call(a, b)


def test_strict_broadcasting_of_what_reductions_leave(m: Any) -> None:
    """They are called as the user calls them, with the axes that the user sees."""

    def told(function: Any, *words: str) -> None:
        with pytest.raises(fp.ShapeError) as caught:
            fp.fuse(function).strict_broadcasting()(ramp(4, 6), ramp(6))
        assert all(w in str(caught.value) for w in words), caught.value

    unstretched = "stretches nothing, not even what a reduction leaves"
    told(
        lambda x, y: x - fp.mean(x, axis=1, keepdims=True),
        "mean() and x do not broadcast",
        "mean() (4, 1)",
        "x (4, 6)",
        unstretched,
    )
    told(lambda x, y: m.add(x, fp.sum(x, axis=0)), "x and sum() do not broadcast", "sum() (6,)", unstretched)
    told(lambda x, y: fp.sum(x, 1, True) + fp.sum(x, 0), "sum() (4, 1) and another sum() (6,)", unstretched)
    told(lambda x, y: fp.sum(x, axis=1) + y, "sum() (4,) and y (6,): 4 on axis 0 against 6 on axis 0", "reshape one of them")
    same(fp.fuse(lambda x: x - fp.sum(x)).strict_broadcasting()(ramp(2, 2)), ramp(2, 2) - ramp(2, 2).sum())


@pytest.mark.req("C8")
def test_c8_whole_arrays_beside_vectorised_arguments(m: Any, device: Any) -> None:
    places = np.array([[3, 0], [1, 1]], np.int32)
    for table in (TABLE, fp.Tensor.from_numpy(device, TABLE), fp.Tensor.from_numpy(device, TABLE, m.float2)):
        same(np.asarray(m.sample(places, table)), TABLE[places])
    assert m.sample([3, 0], TABLE.tolist()) == [[7, 8], [1, 2]]
    assert m.sample(2, TABLE.tolist()) == [5, 6]
    whole = fp.Tensor.from_numpy(device, TABLE, m.float2)
    same(m.weighted(places, whole, ramp(2), _result="numpy"), TABLE[places] * ramp(2)[:, None])


@pytest.mark.req("C9")
def test_c9_ambiguity_is_settled_by_vcast_vmap_and_batchable(m: Any) -> None:
    with pytest.raises(fp.AmbiguousCallError) as raised:
        m.twice([5, 6, 7])
    said = str(raised.value)
    assert "int x" in said
    assert "int3 x" in said
    assert "vcast(x, m.int3)" in said
    three, vector = m.twice(fp.vmap([5, 6, 7], (0,))), m.twice(fp.vcast([5, 6, 7], m.int3))
    assert three == vector == m.twice(fp.Batchable([5, 6, 7])) == [10, 12, 14]
    assert fp.resolve(m.twice, fp.vmap([5, 6, 7], (0,))).grid == 1
    assert fp.resolve(m.twice, fp.vcast([5, 6, 7], m.int3)).grid == 0
    assert m.twice(5) == 10


@pytest.mark.req("C10")
@pytest.mark.parametrize("make", [lambda d, a: a, fp.Tensor.from_numpy], ids=["numpy", "tensor"])
def test_c10_in_out_and_inout(m: Any, device: Any, make: Any) -> None:
    rate, value, before = (make(device, a) for a in (ramp(5), ramp(5, start=3), np.zeros(5, F32)))
    assert m.decay(rate, value, before) is None
    same(np.asarray(rate), ramp(5))  # in: only read
    same(np.asarray(before), ramp(5, start=3))  # out: written
    same(np.asarray(value), ramp(5, start=3) - ramp(5) * ramp(5, start=3))  # inout: read and written


@pytest.mark.req("C10", "C18")
def test_c10_written_arguments_by_name_and_in_any_order(m: Any, device: Any) -> None:
    x = ramp(5)

    def check(call: Any, twice_is_given: bool = True) -> None:
        total, twice, count = ramp(5, start=9), np.zeros(5, F32), fp.Tensor.zeros(device, 5)
        found = call(total, twice, count)
        same(total, x + ramp(5, start=9))
        same(twice if twice_is_given else found, 2 * x)
        same(count.to_numpy(), np.ones(5, F32))
        assert twice_is_given is (found is None)

    check(lambda total, twice, count: m.parts(x, total, twice, count))
    check(lambda total, twice, count: m.parts(x=x, sum=total, twice=twice, count=count))
    check(lambda total, twice, count: m.parts(count=count, twice=twice, x=x, sum=total))
    check(lambda total, twice, count: m.parts(x, total, twice=twice, count=count))
    check(lambda total, twice, count: m.parts(x, total, count=count, twice=twice))
    check(lambda total, twice, count: m.parts(x, total, count, _result="numpy"), False)
    check(lambda total, twice, count: m.parts(x, count=count, sum=total, _result="numpy"), False)


@pytest.mark.req("C11")
def test_c11_out_to_one_value_for_many_threads(m: Any, device: Any) -> None:
    inputs = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], F32)
    for result in (np.zeros(3, F32), fp.Tensor.zeros(device, (), m.float3), np.zeros((1, 3), F32), fp.Tensor.zeros(device, 3)):
        with pytest.raises(ValueError, match="result") as raised:
            m.tenfold(inputs, result)
        assert "3, 3]" in str(raised.value) or "float3[3]" in str(raised.value), "says what would fit"
        assert not np.asarray(result).any(), "nothing is written"
    result = np.zeros((3, 3), F32)
    m.tenfold(inputs, result)
    same(result, inputs * 10)
    single = np.zeros(3, F32)
    m.tenfold(inputs[0], single)
    same(single, inputs[0] * 10)
    as_floats = fp.Tensor.zeros(device, 3)
    m.tenfold(inputs[0], as_floats)
    same(as_floats.to_numpy(), inputs[0] * 10)


@pytest.mark.req("C13")
def test_c13_the_container_follows_the_arguments(m: Any, device: Any) -> None:
    a = ramp(4)
    t = fp.Tensor.from_numpy(device, a)
    for given, kind in [(a, np.ndarray), (t, fp.Tensor), ([1.0, 2.0], list), (1.0, float)]:
        assert type(m.add(given, 1)) is kind
    assert type(m.add(t, a)) is fp.Tensor
    assert type(m.add(a, [1.0])) is np.ndarray
    assert type(m.add.return_type("numpy")(t, 1)) is np.ndarray
    assert type(m.add(a, 1, _result="tensor")) is fp.Tensor


@pytest.mark.req("C14")
def test_c14_batchable(m: Any, device: Any) -> None:
    rays = [{"position": [k, 0, 0], "direction": [0, 0, 1]} for k in range(3)]
    expected = np.array([[0, 0, 2], [1, 0, 2], [2, 0, 2]], F32)
    same(np.asarray(m.along(fp.Batchable(rays), 2.0), F32), expected)
    assert m.add(10, fp.Batchable([1, 2, 3])) == [11, 12, 13]
    for value in (ramp(3), fp.Tensor.zeros(device, 3), fp.Batchable([1, 2])):
        assert fp.is_batchable_like(value)
    for value in ([1, 2, 3], (1, 2), 5, {"x": 1}):
        assert not fp.is_batchable_like(value)


@pytest.mark.req("C16")
def test_c16_grids_are_integer_coordinates(m: Any) -> None:
    x, y = np.meshgrid(np.arange(6), np.arange(4))
    wanted = np.stack([x, y], -1)
    same(m.coordinate(fp.grid((4, 6)), _result="numpy"), wanted.astype(np.int32))
    for given in (fp.grid((4, 6)), fp.Shape(4, 6), fp.Shape((4, 6))):
        same(m.coordinate(given, _result="numpy"), wanted.astype(np.int32))
        same(m.unsigned_coordinate(given, _result="numpy"), wanted.astype(np.uint32))


@pytest.mark.req("C16")
def test_c16_open_grids_take_the_extents_of_the_result(m: Any) -> None:
    found = np.zeros((4, 6, 2), np.int32)
    m.coordinate(fp.grid((-1, -1), stride=(4, 2)), _result=found)
    x, y = np.meshgrid(np.arange(6), np.arange(4))
    same(found, np.stack([2 * x, 4 * y], -1).astype(np.int32))
    m.coordinate(fp.grid((-1, 6)), _result=found)
    same(found, np.stack([x, y], -1).astype(np.int32))
    with pytest.raises(fp.ShapeError, match="no argument says how large"):
        m.coordinate(fp.grid(2))
    with pytest.raises(fp.ShapeError, match="does not fit"):
        m.coordinate(fp.grid((-1, 5)), _result=found)


@pytest.mark.req("C17")
def test_c17_arrays_run_a_thread_for_each_element(m: Any, device: Any) -> None:
    a, b = ramp(1024), ramp(1024, start=5)
    same(m.add(a, b), a + b)
    device.wait()
    gc.collect()  # what other tests have left in cycles
    before = fp.stats(device)
    same(m.add(a, b), a + b)
    after = fp.stats(device)
    assert after.dispatches == before.dispatches + 1
    assert after.pool_live_bytes == before.pool_live_bytes, "temporaries are given back"
    assert fp.resolve(m.add, a, b).grid == 1


@pytest.mark.req("C18")
def test_c18_named_arguments_in_any_order(m: Any) -> None:
    c = ramp(4, 3)
    for got in (
        m.shade(c, 2.0, 1.0),
        m.shade(c, lift=1.0, gain=2.0),
        m.shade(lift=1.0, color=c, gain=2.0),
        m.shade(c, 2.0, lift=1.0),
    ):
        same(got, c * 2 + 1)
    same(m.shade(gain=2.0, color=c), c * 2 + F32(0.5))
