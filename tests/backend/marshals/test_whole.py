"""Whole arrays as arguments: `import fusepy;` in Slang, any tensor, array or list behind its `Tensor<T, D>`, held to NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import examples
from tests.support.slang_functions import F32, close, ramp, same
from tests.support.whole_arrays import ELEMENTS, everywhere, numbers, particles, positions, repeated, shapes, source, views

SOURCE = """
import fusepy;

float blur(int2 p, Tensor<float,2> image)
{
    float sum = 0;
    int count = 0;
    for (int y = max(p.y - 1, 0); y <= min(p.y + 1, int(image.shape[0]) - 1); ++y)
    {
        for (int x = max(p.x - 1, 0); x <= min(p.x + 1, int(image.shape[1]) - 1); ++x)
        {
            sum += image[y, x];
            count++;
        }
    }
    return sum / count;
}
float2 sample(int position, Tensor<float2,1> source) { return source[position]; }
float3 texel(int2 p, Tensor<float3,2> image) { return image[p]; }
float channel(int2 p, Tensor<float,3> image) { return image[p.y, p.x, 1]; }
float weigh(float x, int i, Tensor<float,1> weights) { return x * weights[i]; }
float4x3 block(int i, Tensor<float4x3,1> blocks) { return blocks[i]; }

float generic<A : ITensor<float,2>>(int2 p, A t) { return t[p]; }
float existential(int2 p, ITensor<float,2> t) { return t[p] + t[p.y, p.x]; }
float any_rank<let N : int>(int i, Tensor<float,N> t) { return N * 100 + int(t.shape[N - 1]); }
T any_element<T>(int i, Tensor<T,1> t) { return t[i]; }
float any_of_both<T, let N : int>(int i, Tensor<T,N> t) { return N; }
void fill<A : IRWTensor<float,2>>(int2 p, float v, A t) { t[p] = t[p] + v; }
void write<A : IWTensor<float,2>>(int2 p, float v, A t) { t[p] = v; }
void count(uint bin, AtomicTensor<uint,1> histogram) { histogram.add(bin, 1u); }
void add3(int bin, float3 v, AtomicTensor<float3,1> sums) { sums.add(bin, v); }

float indexed(int2 p, Tensor<float,2> t, int how)
{
    int array[2] = { p.y, p.x };
    uint unsigned_array[2] = { uint(p.y), uint(p.x) };
    switch (how)
    {
    case 0: return t[p];
    case 1: return t[uint2(p)];
    case 2: return t[array];
    case 3: return t[unsigned_array];
    case 4: return t[p.y, p.x];
    case 5: return t.load(p);
    case 6: return t.load(array);
    default: return t.load(p.y, uint(p.x));
    }
}
float sliced(int i, Tensor<float,3> t, int2 p)
{
    Tensor<float,1> row = t.slice(i).slice(p.y);
    return t.slice(i)[p] + row[p.x] + row.slice(p.x)[];
}
float transposed(int2 p, Tensor<float,2> t) { return t.transpose()[p]; }
float cropped(int2 p, Tensor<float,2> t, int2 first) { return t.crop(first, int2(2, 2))[p]; }
int facts(int i, Tensor<float,3> t)
{
    return i < 3 ? int(t.shape[i]) : i < 6 ? t.strides[i - 3] : Tensor<float,3>.dim;
}
void rows(int y, Tensor<float,2> t, RWTensor<float,1> sums)
{
    Tensor<float,1> row = t.slice(y);
    for (int x = 0; x < int(row.shape[0]); ++x)
        sums[y] += row[x];
}
void through_view(int y, RWTensor<float,2> t) { RWTensor<float,1> row = t.slice(y); row[0] = 7; t.transpose()[1, y] = 8; }
float by_interface<A : ITensor<float,1>>(A t) { return t[0]; }
float nested(RWTensor<float,1> t) { return by_interface(t.read_only()); }

struct Picture { Tensor<float,2> pixels; float gain; };
float develop(int2 p, Picture picture) { return picture.pixels[p] * picture.gain; }

float gain(int2 p, DiffTensor<float,2> t) { return t[p] * t[p.y, p.x]; }
float gain_of<A : IDiffTensor<float,2>>(int2 p, A t) { return t[p]; }
void put_diff(int2 p, float v, RWDiffTensor<float,2> t) { t[p] = t[p] + v; }
void put_wdiff(int2 p, float v, WDiffTensor<float,2> t) { t[p] = v; }
[Differentiable] float square(DiffTensor<float,2> t, int2 p) { return t[p] * t[p.y, p.x]; }
void square_backwards(int2 p, DiffTensor<float,2> t, float g) { bwd_diff(square)(t, p, g); }
float square_both(int2 p, DiffTensor<float,2> t) { bwd_diff(square)(t, p, 1.0); return square(t, p); }
[Differentiable] void doubled(WDiffTensor<float,2> t, int2 p, float x) { t[p] = 2 * x; }
float doubled_backwards(int2 p, WDiffTensor<float,2> t)
{
    var x = diffPair(1.0, 0.0);
    bwd_diff(doubled)(t, p, x);
    return x.d;
}
[Differentiable] float sum3(DiffTensor<float3,1> t, int i) { return dot(t[i], float3(1, 2, 3)); }
void sum3_backwards(int i, DiffTensor<float3,1> t) { bwd_diff(sum3)(t, i, 2.0); }
"""


@pytest.fixture(scope="module")
def lib(device: Any) -> Any:
    return fp.Module.load_from_source(device, "arrays", SOURCE)


@pytest.fixture(scope="module")
def table(device: Any) -> Any:
    """Functions for every element type and rank."""
    return fp.Module.load_from_source(device, "array_table", source("fusepy"))


def blurred(a: Any) -> Any:
    padded = np.pad(a.astype(F32), 1)
    counts = np.pad(np.ones(a.shape, F32), 1)
    windows = [(slice(y, y + a.shape[0]), slice(x, x + a.shape[1])) for y in range(3) for x in range(3)]
    return sum(padded[w] for w in windows) / sum(counts[w] for w in windows)


# ---- laws -----------------------------------------------------------------------------------------------------------


def elements(device: Any) -> list[str]:
    """Names of element types; CUDA packs some in another way than tensors, and refuses them."""
    return sorted(name for name in ELEMENTS if name not in ("bool", "half3") or device.target.kind != "cuda")


@pytest.mark.parametrize("element", ["bool", "half3"])
def test_elements_that_cuda_packs_otherwise_are_refused(table: Any, device: Any, element: str) -> None:
    if device.target.kind != "cuda":
        pytest.skip("other devices pack them as tensors do")
    tensor = fp.Tensor.zeros(device, 4, element)
    with pytest.raises(fp.UnsupportedArgumentError, match=f"argument 't': cuda packs {element} unlike tensors"):
        table[f"get_{element}_1"](fp.grid((4,)), tensor)


@pytest.mark.req("C8", "T20")
@examples(60)
@given(data=st.data())
def test_reading_is_numpy_indexing(table: Any, device: Any, data: Any) -> None:
    element = data.draw(st.sampled_from(elements(device)))
    tensor, array = data.draw(views(device, element))
    at, places = positions(np.random.default_rng(1), tensor.shape)
    get = table[f"get_{element}_{tensor.ndim}"]
    same(get(at, tensor, _result="numpy"), array[places])
    same(get(at, np.ascontiguousarray(array)[::-1], _result="numpy"), array[::-1][places])  # NumPy of any strides


@pytest.mark.req("C8")
@examples(40)
@given(data=st.data())
def test_writing_is_numpy_assignment(table: Any, device: Any, data: Any) -> None:
    element = data.draw(st.sampled_from(elements(device)))
    tensor, array = data.draw(views(device, element, repeats=False))
    random = np.random.default_rng(2)
    at, places = everywhere(random, tensor.shape)
    dtype, parts = ELEMENTS[element]
    values = numbers(random, (len(places[0]), *parts), dtype)
    expected = array.copy()
    expected[places] = values
    how = data.draw(st.sampled_from(["put", "swap"]))
    given_tensor = fp.Tensor.from_numpy(device, values, dtype=element)
    found = table[f"{how}_{element}_{tensor.ndim}"](at, given_tensor, tensor)
    same(tensor.to_numpy(), expected)
    if how == "swap":
        same(found.to_numpy(), array[places])
    host = array.copy()[..., ::-1] if array.ndim > tensor.ndim else array.copy()[::-1]
    if not parts:
        table[f"put_{element}_{tensor.ndim}"](at, values, host)
        same(host, expected)


@pytest.mark.rest  # tests/backend/kernels/test_whole_arrays.py has such arrays, too
@pytest.mark.req("C8")
@examples(40)
@given(shape=shapes(), data=st.data())
def test_structs(table: Any, device: Any, shape: tuple[int, ...], data: Any) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 9)))
    array = particles(table, random, shape)
    at, places = everywhere(random, shape)
    same(table[f"get_Particle_{len(shape)}"](at, array, _result="numpy"), array[places])
    tensor = fp.Tensor.from_numpy(device, array, dtype=table.Particle)[::-1]
    values = particles(table, random, (len(places[0]),))
    expected = array[::-1].copy()
    expected[places] = values
    same(table[f"swap_Particle_{len(shape)}"](at, values, tensor, _result="numpy"), array[::-1][places])
    same(tensor.to_numpy(), expected)


@pytest.mark.rest
@pytest.mark.req("C8")
@examples(40)
@given(data=st.data())
def test_neighbours(lib: Any, device: Any, data: Any) -> None:
    tensor, array = data.draw(views(device, "float", rank=2))
    close(lib.blur(fp.grid(array.shape), tensor, _result="numpy"), blurred(array), atol=1e-4)


@pytest.mark.rest
@examples(40)
@given(data=st.data())
def test_views_on_the_slang_side(lib: Any, device: Any, data: Any) -> None:
    tensor, array = data.draw(views(device, "float", rank=3))
    random = np.random.default_rng(3)
    at, (y, x) = positions(random, array.shape[1:], 7)
    i = random.integers(0, array.shape[0], 7).astype(np.int32)
    same(lib.sliced(i, tensor, at, _result="numpy"), 3 * array[i, y, x])
    same(
        lib.facts(np.arange(7, dtype=np.int32), tensor, _result="numpy"), np.array([*tensor.shape, *tensor.strides, 3], np.int32)
    )
    flat, rows = tensor[0], array[0]
    at, (x, y) = positions(random, rows.shape[::-1], 7)
    same(lib.transposed(at, flat, _result="numpy"), rows.T[x, y])


# ---- how it meets the other arguments -------------------------------------------------------------------------------


@pytest.mark.req("C8")
def test_the_seeds_example(lib: Any, device: Any) -> None:
    points = ramp(6, 2)
    for whole in (points, points.tolist(), fp.Tensor.from_numpy(device, points), fp.Tensor.from_numpy(device, points, "float2")):
        same(lib.sample([4, 0, 0, 5], whole, _result="numpy"), points[[4, 0, 0, 5]])
    assert lib.sample(3, points.tolist()) == points[3].tolist() or np.array_equal(lib.sample(3, points), points[3])


@pytest.mark.rest
@pytest.mark.req("C8")
def test_one_image_as_vectors_and_as_channels(lib: Any, device: Any) -> None:
    image = ramp(4, 5, 3)
    g = fp.grid((4, 5))
    for given_image in (image, fp.Tensor.from_numpy(device, image)):
        same(lib.texel(g, given_image, _result="numpy"), image)
        same(lib.channel(g, given_image, _result="numpy"), image[..., 1])
    same(lib.texel(g, fp.Tensor.from_numpy(device, image)[::-1, ::-1], _result="numpy"), image[::-1, ::-1])
    same(lib.block([1, 0], ramp(2, 4, 3), _result="numpy"), ramp(2, 4, 3)[::-1])


@pytest.mark.rest
def test_beside_vectorised_arguments(lib: Any, device: Any) -> None:
    x, w = ramp(3, 4), ramp(4, start=2)
    same(lib.weigh(x, np.arange(4, dtype=np.int32), w, _result="numpy"), x * w)
    t = fp.Tensor.from_numpy(device, x)
    index = np.tile(np.arange(4, dtype=np.int32), (3, 1))
    same(lib.weigh(t, index, fp.Tensor.from_numpy(device, w)).to_numpy(), x * w)
    # the whole array is strided, the others are not: still no broadcasting among them
    long = fp.Tensor.from_numpy(device, ramp(8, start=2))[::2]
    same(lib.weigh(t, index, long).to_numpy(), x * ramp(8, start=2)[::2])


def test_zero_sizes_and_one_thread(lib: Any, device: Any) -> None:
    empty = np.zeros((0, 2), F32)
    assert lib.sample(np.zeros(0, np.int32), empty, _result="numpy").shape == (0, 2)
    same(lib.facts([0, 1, 2], np.zeros((2, 0, 3), F32), _result="numpy"), np.array([2, 0, 3], np.int32))
    assert lib.nested(fp.Tensor.from_numpy(device, ramp(3, start=5))).to_numpy() == 5  # no argument is batched: one thread


@pytest.mark.req("V11")
def test_sizes_are_no_part_of_the_kernel(lib: Any, device: Any) -> None:
    lib.blur(fp.grid((6, 5)), fp.Tensor.from_numpy(device, ramp(6, 5)))
    before = fp.stats()
    for shape in ((7, 5), (1, 9), (5, 17)):
        lib.blur(fp.grid(shape), fp.Tensor.from_numpy(device, ramp(*shape)))
        lib.blur(fp.grid(shape), fp.Tensor.from_numpy(device, ramp(*shape))[::-1, ::-1])
    assert fp.stats().kernels_compiled == before.kernels_compiled


@pytest.mark.req("V2", "V4", "C9")
def test_said_with_vcast_and_vmap(lib: Any, device: Any) -> None:
    image = fp.Tensor.from_numpy(device, ramp(4, 3, 3))
    with pytest.raises(fp.AmbiguousCallError, match=r'm\["Tensor<float3,2>"\]'):
        lib.any_of_both(0, image)
    assert lib.any_of_both(0, fp.vcast(image, lib["Tensor<float3,2>"])).to_numpy() == 2
    assert lib.any_of_both(0, fp.vcast(image, lib["Tensor<float,3>"])).to_numpy() == 3
    same(lib.texel(fp.grid((4, 3)), fp.vmap(image, ()), _result="numpy"), ramp(4, 3, 3))
    declared = lib.texel.declare(fp.vmapping(0, 1), None)
    same(declared(fp.grid((4, 3)), image).to_numpy(), ramp(4, 3, 3))


# ---- generics and interfaces ----------------------------------------------------------------------------------------


@pytest.mark.rest
def test_generic_over_the_array(lib: Any, device: Any) -> None:
    a = ramp(3, 5)
    for whole in (a, a.tolist(), fp.Tensor.from_numpy(device, a), fp.Tensor.from_numpy(device, a)[:, ::-1]):
        expected = np.asarray(whole, F32)
        same(lib.generic(fp.grid((3, 5)), whole, _result="numpy"), expected)
        same(lib.existential(fp.grid((3, 5)), whole, _result="numpy"), 2 * expected)


@pytest.mark.rest
def test_generic_over_rank_and_element(lib: Any, device: Any) -> None:
    for shape in ((5,), (3, 7), (2, 3, 6)):
        assert lib.any_rank(0, ramp(*shape)) == len(shape) * 100 + shape[-1]
    same(lib.any_element([2, 0], ramp(5), _result="numpy"), ramp(5)[[2, 0]])
    same(lib.any_element([2, 0], ramp(5, 3), _result="numpy"), ramp(5, 3)[[2, 0]])
    same(lib.any_element([2, 0], np.arange(5), _result="numpy"), np.array([2, 0]))


def test_a_generic_gets_the_array_that_may_do_least(lib: Any, device: Any) -> None:
    t = fp.Tensor.zeros(device, (2, 5))
    assert "fusepy::Tensor<float,2>" in str(fp.resolve(lib.generic, fp.grid((2, 5)), t))
    assert "fusepy::RWTensor<float,2>" in lib.fill.ir(fp.grid((2, 5)), 1.0, t, after="resolve_maps")
    assert "fusepy::WTensor<float,2>" in lib.write.ir(fp.grid((2, 5)), 1.0, t, after="resolve_maps")
    lib.fill(fp.grid((2, 5)), 1.5, t)
    lib.fill(fp.grid((2, 5)), 1.5, t)
    same(t.to_numpy(), np.full((2, 5), 3, F32))


def test_every_way_to_index(lib: Any) -> None:
    a = ramp(3, 5)
    for how in range(8):
        same(lib.indexed(fp.grid((3, 5)), a, how, _result="numpy"), a)


def test_crop(lib: Any) -> None:
    a = ramp(4, 6)
    same(lib.cropped(fp.grid((2, 2)), a, np.array([3, 1], np.int32), _result="numpy"), a[1:3, 3:5])


# ---- writing --------------------------------------------------------------------------------------------------------


def test_atomic_adds_lose_nothing(lib: Any, device: Any) -> None:
    bins = np.random.default_rng(1).integers(0, 5, 4000).astype(np.uint32)
    histogram = fp.Tensor.zeros(device, 5, "uint")
    lib.count(bins, histogram)
    same(histogram.to_numpy(), np.bincount(bins, minlength=5).astype(np.uint32))
    values = np.random.default_rng(2).integers(0, 9, (4000, 3)).astype(F32)
    sums, expected = np.zeros((5, 3), F32), np.zeros((5, 3), F32)
    lib.add3(bins.astype(np.int32), values, sums)
    np.add.at(expected, bins, values)
    same(sums, expected)


@pytest.mark.rest
def test_writing_through_views(lib: Any, device: Any) -> None:
    t = fp.Tensor.from_numpy(device, ramp(3, 4))
    expected = ramp(3, 4)
    expected[::-1][:, 0], expected[::-1][:, 1] = 7, 8
    lib.through_view(np.arange(3, dtype=np.int32), t[::-1])
    same(t.to_numpy(), expected)
    sums = np.zeros(3, F32)
    lib.rows(np.arange(3, dtype=np.int32), ramp(3, 4), sums)
    same(sums, ramp(3, 4).sum(1))


@pytest.mark.req("C10")
def test_numpy_arrays_are_written_back(lib: Any) -> None:
    whole = np.zeros((4, 6), F32)
    part = whole[::2, ::-1]
    lib.write(fp.grid((2, 6)), 3.0, part)
    assert (whole[::2] == 3).all()
    assert (whole[1::2] == 0).all()
    theirs = pytest.importorskip("torch").zeros(4, 6)
    lib.write(fp.grid((2, 6)), 3.0, theirs[::2])
    same(theirs.numpy(), abs(whole))


@pytest.mark.req("C18")
def test_by_name(lib: Any, device: Any) -> None:
    same(lib.texel(image=ramp(2, 2, 3), p=fp.grid((2, 2)), _result="numpy"), ramp(2, 2, 3))


@pytest.mark.req("T7")
def test_as_a_member_of_a_nested_argument(lib: Any, device: Any) -> None:
    pixels = ramp(3, 5)
    for given_pixels in (pixels, fp.Tensor.from_numpy(device, pixels)):
        same(lib.develop(fp.grid((3, 5)), {"pixels": given_pixels, "gain": 2.0}, _result="numpy"), pixels * 2)


# ---- differentiable forms: the elements now, gradients when there are some --------------------------------------------


@pytest.mark.req("T17")
def test_differentiable_forms(lib: Any, device: Any) -> None:
    a, g = ramp(3, 5), fp.grid((3, 5))
    t = fp.Tensor.from_numpy(device, a)
    same(lib.gain(g, t[::-1], _result="numpy"), a[::-1] ** 2)
    same(lib.gain_of(g, t, _result="numpy"), a)
    lib.put_diff(g, 1.0, t)
    same(t.to_numpy(), a + 1)
    lib.put_wdiff(g, 2.0, t[:, ::2])
    same(t.to_numpy()[:, ::2], np.full((3, 3), 2, F32))


@pytest.mark.rest
@pytest.mark.req("T17")
def test_gradient_pointers(lib: Any, device: Any) -> None:
    a, g = ramp(3, 5), fp.grid((3, 5))
    t = fp.Tensor.from_numpy(device, a).with_grads()
    lib.square_backwards(g, t, 3.0)
    assert t.grad_out is not None
    same(t.grad_out.to_numpy(), 6 * a)
    lib.square_backwards(g, fp.Tensor.from_numpy(device, a), 3.0)  # without gradients nothing is added
    incoming = fp.Tensor.from_numpy(device, ramp(3, 5, start=7))
    written = fp.Tensor.zeros(device, (3, 5)).with_grads(grad_in=incoming)
    same(lib.doubled_backwards(g, written, _result="numpy"), 2 * ramp(3, 5, start=7))
    same(lib.doubled_backwards(g, np.zeros((3, 5), F32), _result="numpy"), np.zeros((3, 5), F32))
    v = fp.Tensor.from_numpy(device, ramp(4, 3), "float3").with_grads()
    lib.sum3_backwards(np.arange(4, dtype=np.int32), v)
    assert v.grad_out is not None
    same(v.grad_out.to_numpy(), np.tile(np.array([2, 4, 6], F32), (4, 1)))


def test_what_adds_to_gradients_is_not_merged(lib: Any, device: Any) -> None:
    t = fp.Tensor.from_numpy(device, ramp(3, 5)).with_grads()
    twice = fp.fuse(lambda p, t: lib.square_both(p, t) + lib.square_both(p, t))
    same(twice(fp.grid((3, 5)), t).to_numpy(), 2 * ramp(3, 5) ** 2)
    assert t.grad_out is not None
    same(t.grad_out.to_numpy(), 4 * ramp(3, 5))


# ---- fused ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("V12")
def test_fused_with_elementwise_calls(lib: Any, device: Any) -> None:
    a = ramp(4, 5)

    @fp.fuse
    def sharpen(p: Any, image: Any, k: Any) -> Any:
        return image + (image - lib.blur(p, image)) * k

    found = sharpen(fp.grid((4, 5)), a, 2.0)
    close(found, a + (a - blurred(a)) * 2, atol=1e-4)
    assert sharpen.explain(fp.grid((4, 5)), a, 2.0).kernels == 1
    close(sharpen(fp.grid((4, 5)), fp.Tensor.from_numpy(device, a)[::-1], 2.0).to_numpy(), sharpen(fp.grid((4, 5)), a[::-1], 2.0))


def test_reads_are_merged_and_dropped_and_writes_are_not(lib: Any, device: Any) -> None:
    t = fp.Tensor.from_numpy(device, ramp(4, 5))

    def reads(p: Any, image: Any) -> Any:
        lib.blur(p, image)
        return lib.generic(p, image) + lib.generic(p, image)

    ir = fp.fuse(reads).ir(fp.grid((4, 5)), t, after="dce")
    assert ir.count("@arrays.generic") == 1
    assert "@arrays.blur" not in ir

    def writes(p: Any, v: Any, image: Any) -> Any:
        lib.write(p, v, image)

    ir = fp.fuse(writes).ir(fp.grid((4, 5)), 1.0, t, after="fuse_chains")
    assert ir.count("@arrays.write") == 1


def test_captured_arrays(lib: Any) -> None:
    weights = ramp(4, start=1)
    scaled = fp.fuse(lambda x, i: lib.weigh(x, i, weights))
    same(scaled(ramp(4), np.arange(4, dtype=np.int32)), ramp(4) * weights)


@pytest.mark.parametrize("after", [None, "resolve_maps", "fuse_chains"])
def test_the_text_reads_back(lib: Any, device: Any, after: str | None) -> None:
    from fusepy.ir.parse import parse_graph

    given_image = fp.Tensor.from_numpy(device, ramp(4, 5, 3))
    text = lib.texel.ir(fp.grid((4, 5)), given_image, after=after)
    assert str(parse_graph(text)) == text


def test_repeating_tensors_are_read(lib: Any, device: Any) -> None:
    row = fp.Tensor.from_numpy(device, ramp(1, 5))
    same(lib.generic(fp.grid((4, 5)), repeated(row, 0, 4), _result="numpy"), np.tile(ramp(1, 5), (4, 1)))
