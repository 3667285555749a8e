"""Arguments without memory: coordinates, thread numbers, random numbers, ranges; against NumPy."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from fusepy.ir.parse import parse_graph
from tests.support.examples import examples
from tests.support.selection import daily

F32, U32 = np.float32, np.uint32

SOURCE = """
int same(int x) { return x; }
uint usame(uint x) { return x; }
int2 same2(int2 x) { return x; }
uint2 usame2(uint2 x) { return x; }
uint3 usame3(uint3 x) { return x; }
int4 same4(int4 x) { return x; }
int pair(int[2] x) { return 100 * x[0] + x[1]; }
float fsame(float x) { return x; }
float2 fsame2(float2 x) { return x; }
float3 fsame3(float3 x) { return x; }
double dsame(double x) { return x; }
half hsame(half x) { return x; }
float at(int2 pixel, float value) { return 100 * pixel.x + 10 * pixel.y + value; }
float spread(float value, int i) { return value + 100 * i; }
float mad(float a, float b, float c) { return a * b + c; }
float either(float a) { return a; }
float either(float2 a) { return a.x + 1000; }
void put(int i, int* values) { values[i] = 10 * i; }
void out_pixel(int2 pixel, out int2 x) { x = pixel; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "generators", SOURCE)


# ---- what they are, in NumPy ----------------------------------------------------------------------------------------


def wang(x: Any) -> Any:
    """Wang's hash of 32-bit integers."""
    x = np.asarray(x, U32)
    with np.errstate(over="ignore"):
        x = (x ^ U32(61)) ^ (x >> U32(16))
        x = x * U32(9)
        x = x ^ (x >> U32(4))
        x = x * U32(0x27D4EB2D)
        return x ^ (x >> U32(15))


def hashes(shape: tuple[int, ...], dims: int, seed: int = 2640457667, warmup: int = 0, hash_seed: bool = True) -> Any:
    """`wang_hash` over a grid; ``dims`` of 0 is a scalar."""
    hash = np.arange(int(np.prod(shape)), dtype=U32) * U32(dims or 1)
    for _ in range(warmup):
        hash = wang(hash)
    hash = hash ^ (wang(seed) if hash_seed else U32(seed))
    found = []
    for _ in range(dims or 1):
        hash = wang(hash)
        found.append(hash)
    return found[0].reshape(shape) if not dims else np.stack(found, -1).reshape((*shape, dims))


def floats(shape: tuple[int, ...], dims: int, low: float = 0, high: float = 1, **rest: Any) -> Any:
    unit = (hashes(shape, dims, **rest) & U32(0x7FFFFF)).astype(F32) / F32(0x800000)
    return F32(low) + (F32(high) - F32(low)) * unit


def pixels(shape: tuple[int, ...]) -> Any:
    """Coordinates with the last dimension first."""
    return np.stack(np.indices(shape)[::-1], -1).astype(np.int32)


# ---- each kind ------------------------------------------------------------------------------------------------------


@pytest.mark.req("C16")
def test_shape_supplies_coordinates(m: Any) -> None:
    for value in (fp.Shape(3, 5), fp.Shape((3, 5)), fp.grid((3, 5)), fp.grid(fp.Shape(3, 5))):
        found = m.same2(value)
        assert isinstance(found, fp.Tensor)
        np.testing.assert_array_equal(found.to_numpy(), pixels((3, 5)))
        np.testing.assert_array_equal(m.usame2(value).to_numpy(), pixels((3, 5)))
    np.testing.assert_array_equal(m.same(fp.Shape(7)).to_numpy(), np.arange(7))
    np.testing.assert_array_equal(m.same4(fp.Shape(2, 3, 4, 5)).to_numpy(), pixels((2, 3, 4, 5)))
    np.testing.assert_array_equal(m.pair(fp.Shape(3, 5)).to_numpy(), 100 * np.arange(3)[:, None] + np.arange(5))
    assert fp.Shape(3, 5) == (3, 5)
    assert fp.Tensor.zeros(m.device, fp.Shape(3, 5), "float").shape == (3, 5)


@pytest.mark.req("C16")
def test_extents_of_tensors(m: Any) -> None:
    image = fp.Tensor.zeros(m.device, (3, 5), "float3")
    for value in (fp.Shape(image), fp.grid(image), fp.grid(fp.grid(image))):
        np.testing.assert_array_equal(m.same2(value).to_numpy(), pixels((3, 5)))
    assert fp.Shape(np.array([3, 5])) == fp.grid(np.array([3, 5])).shape == (3, 5)  # an array is a list of extents
    with pytest.raises(fp.ShapeError, match="0 dimensions"):
        fp.grid(image[0, 0])
    with pytest.raises(fp.ShapeError, match="not known while it is traced"):
        fp.fuse(lambda x: m.same2(fp.Shape(x)))(image)
    np.testing.assert_array_equal(fp.fuse(lambda x: m.same2(fp.grid(x)))(image).to_numpy(), pixels((3, 5)))
    np.testing.assert_array_equal(fp.fuse(lambda i: m.same2(i))(fp.grid(image)).to_numpy(), pixels((3, 5)))


@pytest.mark.req("C16")
def test_grid_offset_stride_and_open_extents(m: Any) -> None:
    found = m.same2(fp.grid((3, 5), offset=(10, -20), stride=(2, 3))).to_numpy()
    np.testing.assert_array_equal(found, pixels((3, 5)) * [3, 2] + [-20, 10])
    image = np.zeros((3, 5), F32)
    expected = m.at(fp.grid((3, 5)), image).to_numpy()
    for grid in (fp.grid(2), fp.grid((-1, 5)), fp.grid((-1, -1)), fp.grid((3, -1))):
        np.testing.assert_array_equal(m.at(grid, image).to_numpy(), expected)
    assert m.at(fp.grid((1, 5)), image).to_numpy()[2].tolist() == expected[0].tolist()  # an extent of 1 stretches


@pytest.mark.req("C16")
def test_a_number_is_a_rank_and_a_bool_is_not() -> None:
    assert repr(fp.grid(np.int64(2))) == repr(fp.grid(2))
    with pytest.raises(fp.ShapeError, match="a shape takes integers"):
        fp.grid(True)


@pytest.mark.req("C16")
def test_generators_are_pickled_and_copied(m: Any) -> None:
    made = (
        fp.grid((2, -1), offset=(1, 2)),
        fp.call_id(),
        fp.thread_id(),
        fp.wang_hash(3),
        fp.rand_float(1, 2),
        fp.linspace(0, 1, 5),
    )
    for generator in made:
        for other in (pickle.loads(pickle.dumps(generator)), copy.copy(generator), copy.deepcopy(generator)):
            assert type(other) is type(generator)
            assert repr(other) == repr(generator)
    np.testing.assert_array_equal(m.fsame(pickle.loads(pickle.dumps(made[-1]))), np.asarray(m.fsame(made[-1])))


def test_call_id_has_the_rank_of_the_grid(m: Any) -> None:
    np.testing.assert_array_equal(m.at(fp.call_id(), np.zeros((3, 5), F32)), pixels((3, 5)) @ np.array([100, 10], F32))
    assert m.spread([1, 2, 3], fp.call_id()) == [1, 102, 203]
    assert m.spread(i=fp.call_id(), value=[1, 2, 3]) == [1, 102, 203]
    out = np.empty((3, 5, 3), U32)
    m.usame3(fp.call_id(), _result=out)  # one component more than dimensions
    np.testing.assert_array_equal(out[..., :2], pixels((3, 5)))
    assert not out[..., 2].any()
    assert m.pair(fp.call_id(), _result=np.empty((2, 2), np.int32)).tolist() == [[0, 1], [100, 101]]


@pytest.mark.req("C16")
def test_thread_id_counts_through(m: Any) -> None:
    values = np.zeros((2, 3, 4), F32)
    np.testing.assert_array_equal(m.spread(values, fp.thread_id()), 100 * np.arange(24, dtype=F32).reshape(2, 3, 4))
    out = m.usame3(fp.thread_id(), _result=np.empty((2, 3, 3), U32))
    np.testing.assert_array_equal(out[..., 0].ravel(), np.arange(6))
    assert not out[..., 1:].any()
    assert "linear" in str(m.spread.explain(values, fp.thread_id()))  # no coordinates are taken apart for it


@pytest.mark.req("C16")
def test_generators_keep_their_extents_where_results_have_grids_of_their_own(m: Any) -> None:
    x = np.arange(12, dtype=F32).reshape(3, 4)

    @fp.fuse
    def program(counts: Any, x: Any) -> Any:
        placed = m.at(fp.call_id(), x)
        apart = m.spread(fp.vmap(x, (0, 3)), fp.vmap(fp.vcast(placed, "int"), (1, 2)))
        return m.spread(placed, fp.thread_id()), counts + 1, apart

    placed = x + 100 * np.arange(4, dtype=F32) + 10 * np.arange(3, dtype=F32)[:, None]
    for counts in (np.arange(12, dtype=U32).reshape(3, 4), np.ones((1, 1), U32)):
        numbered, more, apart = program(counts, x)
        np.testing.assert_array_equal(numbered, placed + 100 * np.arange(12, dtype=F32).reshape(3, 4))
        np.testing.assert_array_equal(more, counts + 1)
        np.testing.assert_array_equal(apart, x[:, None, None, :] + 100 * placed[None, :, :, None])


@pytest.mark.req("C16")
@pytest.mark.parametrize("options", [{}, {"seed": 7}, {"seed": 7, "warmup": 3}, {"seed": 7, "hash_seed": False}], ids=str)
def test_random_numbers_are_those_of_the_numpy_twin(m: Any, options: Any) -> None:
    for shape in ((7,), (3, 5)):
        np.testing.assert_array_equal(m.usame(fp.wang_hash(**options), _result=np.empty(shape, U32)), hashes(shape, 0, **options))
        out = m.usame3(fp.wang_hash(**options), _result=np.empty((*shape, 3), U32))
        np.testing.assert_array_equal(out, hashes(shape, 3, **options))
        out = m.fsame(fp.rand_float(**options), _result=np.empty(shape, F32))
        np.testing.assert_array_equal(out, floats(shape, 0, **options))
        out = m.fsame2(fp.rand_float(-2, 5, dim=2, **options), _result=np.empty((*shape, 2), F32))
        np.testing.assert_allclose(out, floats(shape, 2, -2, 5, **options), rtol=0, atol=1e-6)


@pytest.mark.req("C16")
def test_random_numbers_are_evenly_distributed(m: Any) -> None:
    values = m.fsame(fp.rand_float(), _result=fp.Tensor.empty(m.device, (1 << 16,), "float")).to_numpy()
    counts, _ = np.histogram(values, 16, (0, 1))
    assert abs(counts - 4096).max() < 4 * 64  # four standard deviations
    again = m.fsame(fp.rand_float(seed=1), _result=np.empty(1 << 16, F32))
    assert abs(np.corrcoef(values, again)[0, 1]) < 0.02
    assert m.dsame(fp.rand_float(), _result=np.empty(4)).tolist() == values[:4].astype(float).tolist()
    assert m.hsame(fp.rand_float(), _result=np.empty(4, np.float16)).tolist() == values[:4].astype(np.float16).tolist()


@pytest.mark.req("C16", "V11")
def test_another_seed_is_no_new_kernel(m: Any) -> None:
    values = np.zeros(5, F32)
    m.mad(values, values, fp.rand_float(seed=0))
    before = fp.stats().kernels_compiled
    found = [m.mad(values, values, fp.rand_float(seed=n, warmup=n)) for n in range(8)]
    assert fp.stats().kernels_compiled == before
    for n, array in enumerate(found):
        np.testing.assert_array_equal(array, floats((5,), 0, seed=n, warmup=n))


@pytest.mark.req("C16")
@pytest.mark.parametrize("value", [range(5), range(3, 20, 4), range(10, -10, -3), range(0), range(7, 8)], ids=str)
def test_ranges(m: Any, value: range) -> None:
    assert m.same(value) == list(value)
    assert m.fsame(value) == [float(n) for n in value]
    if value and min(value) >= 0:
        assert m.usame(value) == list(value)
    column = np.zeros((2, 1), F32)
    np.testing.assert_array_equal(m.spread(column, value), 100.0 * np.broadcast_to(np.array(value), (2, len(value))))


@pytest.mark.req("C16")
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace(m: Any, endpoint: bool) -> None:
    for start, stop, num in ((0, 1, 5), (-3, 10.5, 50), (2, 2, 3), (5, -5, 1), (0, 1, 0)):
        expected = np.linspace(start, stop, num, endpoint=endpoint)
        line = fp.linspace(start, stop, num, endpoint=endpoint)
        np.testing.assert_allclose(m.fsame(line).to_numpy(), expected.astype(F32), rtol=3e-7, atol=1e-6)
        np.testing.assert_allclose(m.dsame(line).to_numpy(), expected, rtol=1e-15, atol=1e-14)
        if endpoint and num > 1:
            assert m.fsame(line).to_numpy()[-1] == F32(stop)


# ---- grids ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("C16", "F14")
def test_a_result_gives_the_grid(m: Any, device: Any) -> None:
    tensor = fp.Tensor.empty(device, (3, 5), m.int2)
    assert m.same2(fp.call_id(), _result=tensor) is tensor
    np.testing.assert_array_equal(tensor.to_numpy(), pixels((3, 5)))
    floats_ = fp.Tensor.empty(device, (3, 5, 2), "int")  # the same bytes as scalars
    m.same2(fp.call_id(), _result=floats_)
    np.testing.assert_array_equal(floats_.to_numpy(), pixels((3, 5)))
    out = np.empty((3, 5, 2), np.int32)
    m.out_pixel(fp.call_id(), out)
    np.testing.assert_array_equal(out, pixels((3, 5)))
    m.out_pixel(fp.call_id(), out[:2])
    both = fp.fuse(lambda i, r: (m.same2(i), r))
    results = np.empty((2, 3, 2), np.int32), np.empty((2, 3), F32)
    both(fp.call_id(), fp.rand_float(), _result=results)
    np.testing.assert_array_equal(results[0], pixels((2, 3)))
    np.testing.assert_array_equal(results[1], floats((2, 3), 0))
    assert m.same2(fp.call_id(), _result=np.empty((0, 5, 2), np.int32)).shape == (0, 5, 2)


@pytest.mark.req("C16", "V3", "V6")
def test_mapped_and_declared_arguments_beside_them(m: Any) -> None:
    row = np.arange(5, dtype=F32)
    grid = np.zeros((3, 5), F32)
    found = m.mad(fp.vmap(np.arange(3, dtype=F32), (0,)), fp.vmap(row, (1,)), fp.rand_float())
    np.testing.assert_allclose(found, np.outer(np.arange(3), row) + floats((3, 5), 0), rtol=1e-6)
    declared = m.at.declare(None, fp.vmapping(1, 0))
    np.testing.assert_array_equal(declared(fp.call_id(), grid.T), m.at(fp.call_id(), grid))
    cast = m.either.declare(m.float2)
    assert cast(fp.rand_float(), _result=np.empty(3, F32)).tolist() == (floats((3,), 2)[:, 0] + F32(1000)).tolist()
    np.testing.assert_array_equal(m.at.strict_broadcasting()(fp.call_id(), grid), m.at(fp.call_id(), grid))


@pytest.mark.req("C16")
def test_noncontiguous_and_broadcast_companions(m: Any) -> None:
    base = np.arange(60, dtype=F32).reshape(6, 10)
    for view in (base[::2, ::-1], base.T, np.broadcast_to(base[0], (4, 10)), base[:1]):
        expected = np.arange(view.size, dtype=F32).reshape(view.shape) * 100 + view
        np.testing.assert_array_equal(m.spread(view, fp.thread_id()), expected)
    np.testing.assert_array_equal(m.mad(np.ones((3, 1), F32), np.ones(5, F32), fp.rand_float()), F32(1) + floats((3, 5), 0))


@pytest.mark.req("C16")
@pytest.mark.parametrize("word", [fp.argsort, fp.cumsum], ids=["argsort", "cumsum"])
@pytest.mark.parametrize("axis", [0, 1])
def test_beside_sorts_and_scans_of_what_is_no_contiguous_array(m: Any, device: Any, word: Any, axis: int) -> None:
    """What follows a scan in its kernel asks for the number of the element, too."""
    tensor = fp.Tensor.from_numpy(device, np.random.default_rng(0).permutation(15).reshape(3, 5).astype(F32))
    for view in (tensor, tensor[::-1], tensor[:, ::-1]):
        x = view.to_numpy()
        found = fp.fuse(lambda x: m.spread(x, fp.thread_id()) + word(x, axis))(view)
        known = np.argsort(x, axis) if word is fp.argsort else np.cumsum(x, axis)
        np.testing.assert_array_equal(found.to_numpy(), 100 * np.arange(15, dtype=F32).reshape(3, 5) + x + known)


@pytest.mark.req("C16", "V12", "V13")
def test_inside_a_trace(m: Any) -> None:
    @fp.fuse
    def look(x: Any, given: Any) -> Any:
        pixel = fp.call_id(2)
        noise = fp.rand_float(seed=3) * 2
        row = m.spread(0.0, fp.thread_id())
        return x + pixel.x * 100 + pixel.y * 10, noise + x, m.same2(fp.call_id()), given.y + 0 * x, row, fp.grid((3, 5)).x * 2

    x = np.ones((3, 5), F32)
    first, noise, ids, given, row, doubled = look(x, fp.call_id(2))
    np.testing.assert_array_equal(first, 1 + pixels((3, 5)) @ np.array([100, 10], F32))
    np.testing.assert_allclose(noise, floats((3, 5), 0, seed=3) * 2 + 1, rtol=1e-6)
    np.testing.assert_array_equal(ids, pixels((3, 5)))
    np.testing.assert_array_equal(given, pixels((3, 5))[..., 1])
    np.testing.assert_array_equal(row, 100 * np.arange(15, dtype=F32).reshape(3, 5))
    np.testing.assert_array_equal(doubled, 2 * pixels((3, 5))[..., 0])
    assert look.explain(x, fp.call_id(2)).kernels == 1


@pytest.mark.req("V14")
def test_a_smaller_grid_inside_a_larger_one_keeps_its_numbers(m: Any) -> None:
    row, image = np.zeros(5, F32), np.ones((3, 5), F32)

    @fp.fuse
    def look(row: Any, image: Any) -> Any:
        noise = m.mad(row, row, fp.rand_float())
        return noise, noise + image

    noise, sum = look(row, image)
    np.testing.assert_array_equal(noise, floats((5,), 0))
    np.testing.assert_array_equal(sum, floats((5,), 0) + image)


@pytest.mark.req("C16")
def test_calls_for_their_effect(m: Any, device: Any) -> None:
    values = fp.Tensor.zeros(device, (6,), "int")
    m.put(fp.grid((6,)), values)
    assert values.to_numpy().tolist() == [0, 10, 20, 30, 40, 50]
    with pytest.raises(fp.ShapeError, match="how large the grid is"):
        m.put(fp.call_id(), values)


@pytest.mark.req("C8", "C16")
def test_whole_reads_give_no_grid(device: Any) -> None:
    source = "import fusepy; float look(int2 p, Tensor<float,2> t) { return t[p.y, p.x]; }"
    m = fp.Module.load_from_source(device, "generators_whole", source)
    x = np.arange(15, dtype=F32).reshape(3, 5)
    with pytest.raises(fp.ShapeError, match=r"(?s)over which grid t is read whole.*fp\.grid\(t\.shape\)"):
        m.look(fp.call_id(), x)
    with pytest.raises(fp.ShapeError, match=r"(?s)over which grid x is read whole.*fp\.grid\(x\) inside a fused"):
        fp.fuse(lambda x: (m.look(fp.call_id(), x), fp.sum(x)))(x)
    with pytest.raises(fp.ShapeError, match=r"(?s)over which grid what mul gives is read whole.*fp\.grid\(value\)"):
        fp.fuse(lambda x: m.look(fp.call_id(), x * 2))(x)
    np.testing.assert_array_equal(m.look(fp.grid(x.shape), x), x)
    for axis in (None, 0, 1):  # a kernel that folds has the extents and strides of what it reads whole
        looked, total = fp.fuse(lambda x: (m.look(fp.grid(x), x), fp.sum(x, axis)))(x)  # noqa: B023
        np.testing.assert_array_equal(looked, x)
        np.testing.assert_array_equal(total, np.sum(x, axis))
    np.testing.assert_array_equal(m.look(fp.call_id(), x, _result=np.empty_like(x)), x)


@pytest.mark.req("V12")
def test_textual_ir_reads_back(m: Any) -> None:
    f = fp.fuse(lambda x, i, r, s: (m.at(i, x) + r, m.mad(x, r, s)))
    arguments = np.ones((3, 5), F32), fp.call_id(), fp.rand_float(dim=1), fp.linspace(0, 1, 5)
    for after in (None, "resolve_maps", "fuse_chains"):
        text = f.ir(*arguments, after=after)
        assert str(parse_graph(text)) == text.rstrip()
    assert "CallId<int>[]" in f.ir(*arguments)


# ---- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.req("C16", "T3")
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m: m.same2(fp.call_id()), fp.ShapeError, ["same2", "how large the grid is", "_result"]),
        (lambda m: m.same2(fp.call_id(), _result="numpy"), fp.ShapeError, ["how large"]),
        (lambda m: fp.fuse(lambda x: x + fp.rand_float())(1.0), fp.ShapeError, ["how large"]),
        (lambda m: fp.fuse(lambda x: x + fp.rand_float())(1.0, _result=np.empty(3, F32)), fp.ShapeError, ["inside"]),
        (lambda m: m.spread(np.zeros((3, 5), F32), fp.call_id()), fp.ResolveError, ["spread", "'i'", "2 dim", "thread_id"]),
        (lambda m: m.same4(fp.call_id(), _result=np.empty((5, 5, 4), np.int32)), fp.ResolveError, ["int4", "2 dimensions"]),
        (lambda m: m.at(fp.call_id(3), np.zeros((3, 5), F32)), fp.NoMatchError, ["int3", "int2"]),
        (lambda m: m.either(fp.rand_float(), _result=np.empty(5, F32)), fp.AmbiguousCallError, ["vcast", "float2"]),
        (lambda m: m.usame(range(-3, 3)), fp.RangeError, ["-3", "uint"]),
        (lambda m: m.same(range(2**31, 2**31 + 2)), fp.RangeError, ["2147483648", "np.int64"]),
        (lambda m: fp.call_id(5), fp.ArgumentError, ["5", "1 to 4"]),
        (lambda m: fp.rand_float(0, float("inf")), fp.ArgumentError, ["inf"]),
        (lambda m: fp.rand_float(seed=-1), fp.RangeError, ["-1", "32 bits"]),
        (lambda m: fp.wang_hash(warmup=10**6), fp.RangeError, ["1000000"]),
        (lambda m: m.same2(fp.Shape(3, -1)), fp.ShapeError, ["-1"]),
        (lambda m: fp.grid(fp.Shape()), fp.ShapeError, ["0 dimensions"]),
        (lambda m: fp.Shape("ab"), fp.ShapeError, ["integers"]),
        (lambda m: fp.grid((3, -2)), fp.ShapeError, ["-2"]),
        (lambda m: m.spread([1.0], fp.vmap(fp.call_id(), (0,))), fp.ShapeError, ["vmap"]),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)  # fmt: skip
def test_refusals(m: Any, call: Callable[[Any], Any], error: type[Exception], words: list[str]) -> None:
    with pytest.raises(error) as caught:
        call(m)
    for word in words:
        assert word in str(caught.value)
    assert m.same(range(2)) == [0, 1]


# ---- random programs ------------------------------------------------------------------------------------------------


# for each kind the argument, small numbers made of it in a trace, and what these are in NumPy
_KINDS: dict[str, Callable[[tuple[int, int]], tuple[Any, Callable[[Any], Any], Any]]] = {
    "call_id": lambda shape: (fp.call_id(2), lambda v: v.x + 3 * v.y, pixels(shape) @ np.array([1, 3])),
    "thread_id": lambda shape: (fp.thread_id(1), lambda v: v, np.arange(shape[0] * shape[1]).reshape(shape)),
    "wang_hash": lambda shape: (fp.wang_hash(2), lambda v: (v.x & 7) + (v.y & 3), (hashes(shape, 2) & [7, 3]).sum(-1)),
    "rand_float": lambda shape: (fp.rand_float(dim=3), lambda v: fp.floor(v.z * 8), np.floor(floats(shape, 3)[..., 2] * 8)),
    "grid": lambda shape: (fp.grid(shape, offset=(1, -2), stride=(2, 1)), lambda v: v.x - v.y, pixels(shape) @ [1, -2] - 3),
    "open grid": lambda shape: (fp.grid(2), lambda v: v.x - v.y, pixels(shape) @ [1, -1]),
    "shape": lambda shape: (fp.Shape(shape), lambda v: v.x * v.y, pixels(shape).prod(-1)),
    "range": lambda shape: (range(4, 4 - 2 * shape[1], -2), lambda v: v, 4 - 2 * np.arange(shape[1])),
    "linspace": lambda shape: (fp.linspace(0, 4, 5), lambda v: v, np.arange(5)),
}


@st.composite
def expressions(draw: Any) -> list[tuple[str, int, int, int]]:
    return [
        (draw(st.sampled_from(["add", "sub", "mul", "mad", "max", "where"])), *(draw(st.integers(0, 9)) for _ in range(3)))
        for _ in range(6)
    ]


def computed(steps: list[tuple[str, int, int, int]], x: Any, g: Any, mad: Any, maximum: Any, where: Any) -> list[Any]:
    """The values of four expressions over an array and a generator."""
    known = [x, g, 2.0]
    for op, i, j, k in steps:
        a, b, c = (known[n % len(known)] for n in (i, j, k))
        if op == "mad":
            known.append(mad(a, b, c))
        elif op == "where":
            known.append(where(a < b, b, c + g))
        elif op == "max":
            known.append(maximum(a, b) - x)
        else:
            known.append({"add": operator.add, "sub": operator.sub, "mul": operator.mul}[op](a, b))
    return [v * 1.0 + 0 * x for v in known[-4:]]


@pytest.mark.req("C16", "V13")
@pytest.mark.parametrize("kind", daily(_KINDS, "call_id", "rand_float", "open grid", "range", "linspace"))
@given(steps=expressions(), rows=st.integers(1, 4), mode=st.sampled_from(["argument", "captured", "declared"]))
@examples(10, least=2)  # of four programs each, for nine kinds
def test_random_programs(m: Any, kind: str, steps: Any, rows: int, mode: str) -> None:
    shape = (rows, 5)
    value, small, meaning = _KINDS[kind](shape)
    x = (np.arange(rows * 5, dtype=F32).reshape(shape) % 5) - 2

    def body(x: Any, g: Any) -> Any:
        return tuple(computed(steps, x, small(g) * 1.0, m.mad, fp.maximum, fp.where))

    if mode == "captured":  # what is no generator of fusepy's becomes a traced value by a call
        through = {"shape": m.same2, "range": m.same}.get(kind, lambda v: v)
        found = fp.fuse(lambda x: body(x, through(_KINDS[kind](shape)[0])))(x)
    elif mode == "declared":
        found = fp.fuse(body).declare(fp.vmapping(0, 1))(x, value)
    else:
        found = fp.fuse(body)(x, value)
    expected = computed(steps, x.astype(float), np.asarray(meaning, float), lambda a, b, c: a * b + c, np.maximum, np.where)
    for array, wanted in zip(found, expected):
        array = array.to_numpy() if isinstance(array, fp.Tensor) else np.asarray(array)
        exact = np.abs(wanted) < 1 << 22
        np.testing.assert_array_equal(array[exact], np.broadcast_to(wanted, shape)[exact].astype(F32))
