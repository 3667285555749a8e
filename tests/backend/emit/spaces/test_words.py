"""Words of narrow elements: kernels for GPUs run on lavapipe, and agree with NumPy and with those for the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.device.target import Target
from fusepy.backend.emit.spaces.words import WORDS, words_for
from fusepy.backend.emit.tuning import LIGHT_PRICE
from fusepy.backend.emit.variant import Variant
from fusepy.ir.types import Type
from tests.backend.emit.test_region import Case, emitted
from tests.backend.slang.test_prelude import HALFS, SHORT, needs_nvrtc
from tests.support import nvrtc

SOURCE = """
half mix(half a, half b) { return a * half(2) + b; }
uint8_t darker(uint8_t a) { return uint8_t(a / 2); }
half fitted(half x, int steps) { for (int i = 0; i < steps; ++i) x = x * half(0.5) + half(1); return x; }
half weigh(half x, float w[3]) { return x * half(w[0] + w[2]); }
half turned(half x, matrix<int16_t, 2, 2> k) { return x * half(k[0][0] + k[1][0]); }
void count(half a, RWStructuredBuffer<uint> to) { InterlockedAdd(to[0], 1); }
"""
Arrays = Callable[..., list[Any]]


@pytest.fixture(scope="module")
def gpu(gpu: Any) -> Any:
    """A module on a device with the kernels of a GPU."""
    return fp.Module.load_from_source(gpu, "words", SOURCE)


def spaces(function: Any, *args: Any, **given: Any) -> str:
    """The first line of a kernel's text, which names its index space."""
    return function.source(*args, **given).splitlines()[0].rsplit("by ")[-1]


def numbers(count: int, dtype: str, first: int = 0) -> Any:
    return ((np.arange(count) + first) % 23).astype(dtype)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[str, ...], str]] = {
    "halfs": (lambda m, a, b: m.mix(a, b), ("f2", "f2"), "words of 2"),
    "operators": (lambda m, a, b: a * 2 + b, ("f2", "f2"), "words of 2, four"),
    "bytes": (lambda m, a: m.darker(a), ("u1",), "words of 4"),
    "bytes to floats": (lambda m, a: fp.vcast(a, "float") * 0.5, ("u1",), "words of 4"),
    "halfs and floats": (lambda m, a, b: fp.vcast(a, "float") + b, ("f2", "f4"), "words of 2"),
    "comparisons": (lambda m, a, b: a < b, ("i2", "i2"), "words of 2"),
    "bytes and shorts": (lambda m, a, b: (a + b, a), ("i1", "i2"), "words of 4"),
    "numbers of elements": (lambda m, a: a + fp.vcast(fp.thread_id(1) % 7, "half"), ("f2",), "words of 2, four"),
    "bools": (lambda m, a, b: fp.where(a, b, 0), ("?", "f2"), "words of 2"),
}


@pytest.mark.req("V11")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree_for_all_sizes_and_places(gpu: Any, name: str) -> None:
    """Sizes that words divide or do not, and arrays that begin inside of a word, which have another kernel."""
    program, dtypes, words = PROGRAMS[name]
    ours, plain = fp.fuse(lambda *args: program(gpu, *args)), fp.fuse(lambda *args: program(module, *args))
    module = fp.Module.load_from_source(fp.default_device(), "words", SOURCE)
    for count in (1, 2, 3, 4, 5, 255, 1024, 2051):
        arrays = [numbers(count + 5, dtype, k) for k, dtype in enumerate(dtypes)]
        for start in (0, 1, 2, 4):
            results = []
            for function, device in ((ours, gpu.device), (plain, module.device)):
                whole = [fp.Tensor.from_numpy(device, a) for a in arrays]
                results.append(function(*[t[start : start + count] for t in whole]))
            for got, want in zip(*((r if isinstance(r, tuple) else (r,)) for r in results)):
                np.testing.assert_array_equal(got.to_numpy(), want.to_numpy(), f"{count} from {start}")
    assert spaces(ours, *[fp.Tensor.from_numpy(gpu.device, a) for a in arrays]) == words


def test_destinations_inside_of_words_keep_their_neighbours(gpu: Any) -> None:
    device = gpu.device
    a, b = (fp.Tensor.from_numpy(device, numbers(40, "f2", k)) for k in (0, 1))
    for first, stop in [(0, 7), (1, 8), (2, 9), (3, 40), (2, 40), (5, 6)]:
        to = fp.Tensor.from_numpy(device, np.full(40, 99, np.float16))
        gpu.mix(a[: stop - first], b[: stop - first], _result=to[first:stop])
        want = np.full(40, 99, np.float16)
        want[first:stop] = (numbers(40, "f2") * 2 + numbers(40, "f2", 1))[: stop - first]
        np.testing.assert_array_equal(to.to_numpy(), want)


def test_results_in_place(gpu: Any) -> None:
    x = numbers(37, "f2")
    for first in (0, 1, 2):
        own = fp.Tensor.from_numpy(gpu.device, x)
        gpu.mix(own[first:], own[first:], _result=own[first:])
        np.testing.assert_array_equal(own.to_numpy(), np.r_[x[:first], x[first:] * 3])


def test_torchs_memory_inside_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments and destinations that begin inside of a word, or end there, keep what lies beside them."""
    torch, helpers = pytest.importorskip("torch"), pytest.importorskip("tests.support.torch_device")
    x = torch.from_numpy(numbers(40, "f2"))
    with helpers.torch_device(monkeypatch, SOURCE) as d:
        d.device.target = Target("vulkan", True)
        for start, first, stop in [(0, 0, 7), (0, 1, 8), (1, 1, 8), (1, 2, 9), (2, 2, 40), (0, 3, 40)]:
            to, part = torch.full((40,), 99, dtype=torch.float16), x[start : start + stop - first]
            d.module.mix(d.tensor(part), d.tensor(part), _result=d.tensor(to[first:stop]))
            assert len(d.device.kernels) == (1 if not first else 2), "the kernel with words, and the one without"
            d.device.wait()
            np.testing.assert_array_equal(to.numpy(), np.r_[[99] * first, part.numpy() * 3, [99] * (40 - stop)])


def test_single_values_in_memory_beside_words(gpu: Any) -> None:
    """A tensor without axes, and the result of another kernel: all threads read one place, which need not begin a word."""
    device, x = gpu.device, numbers(1023, "f2")
    several, given = fp.Tensor.from_numpy(device, np.float16([5, 3, 7])), fp.Tensor.from_numpy(device, x)
    for single in (several[1], several[1:2].reshape(())):
        np.testing.assert_array_equal(gpu.mix(given, single).to_numpy(), x * 2 + 3)
        assert spaces(fp.fuse(lambda a, b: gpu.mix(a, b)), given, single) == "words of 2"
    np.testing.assert_array_equal(gpu.mix(given, fp.max(given)).to_numpy(), x * 2 + x.max())


@pytest.mark.rest
def test_indices_of_64_bits(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of more than 2^31 elements, which lavapipe has no memory for."""
    for module in ("plan", "linear", "folds.plan", "rows.plan"):
        monkeypatch.setattr(f"fusepy.backend.execute.{module}.LINEAR_LIMIT", 64)
    for count in (64, 1027, 2048):
        x = numbers(4 * count, "f2") - np.float16(11)
        given = fp.Tensor.from_numpy(gpu.device, x)
        each, total = (fp.fuse(f) for f in (lambda a: gpu.mix(a, a), lambda a: fp.sum(a)))
        rows = fp.fuse(lambda a: a - fp.max(a, -1, keepdims=True))
        np.testing.assert_array_equal(each(given).to_numpy(), x * 3)
        assert float(total(given)) == x.astype("f8").sum().astype("f2")
        table = x.reshape(4, count)
        np.testing.assert_array_equal(rows(given.reshape((4, count))).to_numpy(), table - table.max(-1, keepdims=True))
        texts = [f.source(given).splitlines()[0] for f in (each, total)] + [
            rows.source(given.reshape((4, count))).splitlines()[0]
        ]
        assert ["_64 by words" in text for text in texts] == [True, True, count != 1027]


def test_programs_of_several_kernels_and_writes(gpu: Any) -> None:
    """Values between kernels are in words too; code that writes memory runs for the elements that there are."""
    device, x = gpu.device, numbers(1023, "f2")
    given = fp.Tensor.from_numpy(device, x)
    two = fp.fuse(lambda a: gpu.mix(a, a) / fp.max(gpu.mix(a, a)))
    np.testing.assert_array_equal(two(given).to_numpy(), (x * 3) / np.float16(66))
    np.testing.assert_array_equal(two(given[1:]).to_numpy(), (x[1:] * 3) / np.float16(66))
    loops = fp.fuse(lambda a: gpu.fitted(a, 3))
    np.testing.assert_array_equal(loops(given).to_numpy(), (x / 8 + np.float16(1.75)).astype(np.float16))
    counts = fp.Tensor.zeros(device, (1,), "uint")
    gpu.count(given, counts)
    assert counts.to_numpy().tolist() == [1023]


def test_what_stands_in_no_array_is_loaded_by_itself(gpu: Any) -> None:
    """A fixed array, or a matrix of 16 bits, beside narrow elements: there are no arrays of them in a kernel."""
    device, x = gpu.device, numbers(100, "f2")
    given, weights = fp.Tensor.from_numpy(device, x), np.float32([1, 2, 3])
    want = x * np.float16(4)
    for w in ([1.0, 2.0, 3.0], fp.Tensor.from_numpy(device, weights)):
        np.testing.assert_array_equal(np.asarray(gpu.weigh(given, w)), want)
    matrix = fp.Tensor.from_numpy(device, np.int16([[1, 2], [3, 4]]))
    np.testing.assert_array_equal(np.asarray(gpu.turned(given, matrix)), want)


def test_names_of_slang_that_a_module_has_itself(gpu: Any) -> None:
    source = (
        "float loadAligned(float x) { return x; } float storeAligned(float x) { return x; } half twice(half x) { return x + x; }"
    )
    m = fp.Module.load_from_source(gpu.device, "names_of_slang", source)
    x = numbers(33, "f2")
    np.testing.assert_array_equal(m.twice(fp.Tensor.from_numpy(gpu.device, x)).to_numpy(), x * 2)


def test_which_elements_are_in_words() -> None:
    half, byte, long, pair = map(Type.parse, ("half", "uint8_t", "double", "half2"))
    flag, number = map(Type.parse, ("bool", "float"))
    assert words_for([half, half]) == words_for([half, number]) == "words of 2"
    assert words_for([half, half], light=True) == "words of 2, four"
    assert words_for([byte]) == words_for([byte, number, flag], light=True) == "words of 4"
    assert not any(
        (
            words_for([number]),
            words_for([half, long]),
            words_for([half, pair]),
            words_for([half], LIGHT_PRICE + 1),
            words_for([byte, *[number] * 4]),
        )
    )


@needs_nvrtc
@pytest.mark.parametrize(
    ("space", "name", "code"),
    [
        (s, *t)
        for s in WORDS
        for t in ([("half", "u16"), ("int16_t", "u16")] if WORDS[s][0] == 2 else [("uint8_t", "u8"), ("int8_t", "u8")])
    ],
)
def test_cudas_compiler_moves_words_at_once(space: str, name: str, code: str) -> None:
    count, words = WORDS[space]
    text = f"graph @f(%a: Tensor<{name}>[?]) -> (Tensor<{name}>[?]) {{\n  %0 = add(%a, %a) : Tensor<{name}>[?]\n  return %0\n}}"
    source = emitted(Case(text, "cuda", Variant(True, 1, space=space)))
    ptx = nvrtc.ptx(nvrtc.cuda(source.text, source.entry_point, []), {**SHORT, **HALFS}, ["-minimal"])
    assert ptx.count(f"ld.global.v{count}.{code}") == ptx.count(f"st.global.v{count}.{code}") == words
    assert f"ld.global.{code}" not in ptx
    assert ".local" not in ptx.split(".entry")[1], "an array is not in registers"
