"""Words of narrow elements in reductions and along rows: kernels for GPUs run on lavapipe, and agree with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.slang.prelude import SHORT
from fusepy.backend.sources.libraries import FOLDER
from tests.backend.slang import test_prelude
from tests.backend.slang.test_prelude import HALFS, needs_nvrtc
from tests.support import nvrtc
from tests.support.selection import daily

SOURCE = """
half mix(half a, half b) { return a * half(2) + b; }
half asfloat16(half x) { return x; }
half asuint16(half x) { return x; }
"""
Function = Callable[..., Any]
emitted = test_prelude.emitted  # a fixture


def numbers(shape: Any, dtype: str, first: int = 0) -> Any:
    """Whole numbers around 0, or small ones: their sums are exact, in any order."""
    counted = ((np.arange(np.prod(shape)) * 7 + first) % 23).reshape(shape)
    return (counted if dtype in ("u1", "?") else counted - 11).astype(dtype)


def on(device: Any, array: Any) -> Any:
    return fp.Tensor.from_numpy(device, array)


def in_words(function: Any, *args: Any) -> bool:
    """True if the kernel of a call is one with words of four."""
    return "by words of 4" in function.source(*args).splitlines()[0]


def built(device: Any) -> int:
    """The number of kernels that were made so far."""
    return device.counters.disk_hits + device.counters.kernels_compiled


def agree(results: Any, wanted: Any, what: str, room: tuple[float, float] = (0, 0)) -> None:
    """Checks the results of one call; `room` is relative and absolute."""
    for got, want in zip(*((r if isinstance(r, tuple) else (r,)) for r in (results, wanted))):
        values = np.asarray(got.to_numpy() if isinstance(got, fp.Tensor) else got)
        np.testing.assert_allclose(values.astype("f8"), np.asarray(want, values.dtype).astype("f8"), *room, err_msg=what)


FOLDS: dict[str, tuple[Function, Function, str]] = {
    "sum": (fp.sum, np.sum, "f2"),
    "products": (lambda x, y: fp.sum(x * y / 128), lambda x, y: np.sum(x * y) / 128, "f2 f2"),
    "largest": (lambda x: fp.max(fp.abs(x)), lambda x: np.max(np.abs(x)), "f2"),
    "squares": (lambda x: fp.mean(x * x) * 2 + 1, lambda x: np.mean(x * x).astype("f2") * 2 + 1, "f2"),
    "count": (lambda x: fp.sum(x == 3), lambda x: np.sum(x == 3), "u1"),
    "several": (
        lambda x: (x * 2, fp.sum(x), fp.argmax(x), fp.any(x > 10)),
        lambda x: (x * 2, np.sum(x), np.argmax(x), np.any(x > 10)),
        "f2",
    ),
    "floats": (lambda x, y: fp.sum(fp.vcast(x, "float") * y), lambda x, y: np.sum(x * y), "i1 f4"),
    "bools": (lambda x, y: fp.max(fp.where(x, y, 0)), lambda x, y: np.max(np.where(x, y, 0)), "? i2"),
    "numbers": (
        lambda x: fp.sum(fp.vcast(x, "float") * fp.vcast(fp.thread_id(1) % 3, "float")),
        lambda x: np.sum(x * (np.arange(x.size) % 3)),
        "f2",
    ),
}


@pytest.mark.req("V11")
@pytest.mark.parametrize("name", daily(FOLDS, "several"))
def test_reductions_have_numpys_values_for_all_sizes_and_places(gpu: Any, name: str) -> None:
    """Sizes that words divide or do not, fewer elements than a group has, several chunks, arrays that begin inside of a word.

    The first call compiles the kernels for all of them.
    """
    ours, numpys, kinds = FOLDS[name]
    function, kernels = fp.fuse(ours), 0
    for count in (1, 3, 4, 36, 1000, 1024, 4099, 70004):
        arrays = [numbers(count + 5, kind, k) for k, kind in enumerate(kinds.split())]
        for start in (0, 1, 4):
            given = [on(gpu, a)[start : start + count] for a in arrays]
            parts = [a[start : start + count].astype("?" if a.dtype == bool else "f8") for a in arrays]
            agree(function(*given), numpys(*parts), f"{count} from {start}")
            assert built(gpu) == (kernels := kernels or built(gpu))
            assert in_words(function, *given) == (start != 1 and count % 4 == 0 and count > 8)


@pytest.mark.parametrize("shape", daily([(5, 64), (3, 100), (4100, 36), (2, 3, 40)], 3, one=True), ids=str)
def test_sums_of_rows(gpu: Any, shape: tuple[int, ...]) -> None:
    """Few rows and many; what is not contiguous, or has other lengths, keeps the kernels that load element by element."""
    x = numbers(shape, "f2")
    function = fp.fuse(lambda x: (fp.sum(x, -1), fp.argmin(x, -1), x + 1))
    for part, words in ((np.s_[:], True), (np.s_[..., :-1], False), (np.s_[..., ::2], False), (np.s_[..., ::-1], False)):
        a, t = x[part].astype("f8"), on(gpu, x)[part]
        agree(function(t), (a.sum(-1), a.argmin(-1), a + 1), str(part))
        assert in_words(function, t) == words
    columns = fp.fuse(lambda x: fp.sum(x, 0))
    agree(columns(on(gpu, x)), x.astype("f8").sum(0), "columns")


def softmax(n: Any, x: Any) -> Any:
    e = n.exp(x - n.max(x, -1, keepdims=True))
    return e / n.sum(e, -1, keepdims=True)


def norm(n: Any, x: Any, w: Any, b: Any) -> Any:
    return (x - n.mean(x, -1, keepdims=True)) / n.sqrt(n.var(x, -1, keepdims=True) + 1) * w + b


CLOSE = (4e-3, 1e-5)
ROWS: dict[str, tuple[Function, str, tuple[float, float]]] = {
    "softmax": (softmax, "f2", CLOSE),
    "layer norm": (norm, "f2 f2:row f4:row", (4e-3, 3e-2)),
    "from the largest": (lambda n, x: (x - n.max(x, -1, keepdims=True), n.sum(x, -1)), "f2", (0, 0)),
    "bytes": (lambda n, x: x == n.max(x, -1, keepdims=True), "u1", (0, 0)),
    "columns": (lambda n, x, y: n.where(x > y, x, n.min(x, -1, keepdims=True)), "i2 i2:column", (0, 0)),
}


def operands(kinds: str, rows: int, length: int) -> list[Any]:
    shapes = {"": (rows, length), "row": (length,), "column": (rows, 1)}
    return [numbers(shapes[kind[3:]], kind[:2], k) for k, kind in enumerate(kinds.split())]


@pytest.mark.req("V9")
@pytest.mark.parametrize("name", daily(ROWS, "softmax"))
def test_rows_have_numpys_values_for_all_lengths_and_places(gpu: Any, name: str) -> None:
    """Rows that threads hold, all of them full or not; those that begin or end inside of a word have the kernels of others."""
    ours, kinds, room = ROWS[name]
    function = fp.fuse(lambda *args: ours(fp, *args))
    for length in (12, 130, 516, 1024) if name == "softmax" else (4, 36, 100, 516):
        arrays = operands(kinds, 5, length + 8)
        for first in (0, 1, 4) if length > 500 else (4,):
            part = slice(first, first + length)
            given = [on(gpu, a)[..., part] if a.shape[-1] > 1 else on(gpu, a) for a in arrays]
            parts = [(a[..., part] if a.shape[-1] > 1 else a).astype("f8") for a in arrays]
            agree(function(*given), ours(np, *parts), f"{length} from {first}", room)
            assert in_words(function, *given) == (first != 1 and length % 4 == 0)


def test_rows_with_steps_or_from_the_back(gpu: Any) -> None:
    """What has words, and what has not: rows apart, rows in other orders, rows of an odd step, axes of three."""
    function = fp.fuse(lambda x: softmax(fp, x))
    x = numbers((6, 3, 40), "f2")
    for part, words in ((np.s_[::2], True), (np.s_[::-1, 1], True), (np.s_[..., ::2], False), (np.s_[..., ::-1], False)):
        agree(function(on(gpu, x)[part]), softmax(np, x[part].astype("f8")), str(part), CLOSE)
        assert in_words(function, on(gpu, x)[part]) == words
    odd = numbers((6, 41), "f2")
    agree(function(on(gpu, odd)[:, :40]), softmax(np, odd[:, :40].astype("f8")), "rows that begin anywhere", CLOSE)
    assert not in_words(function, on(gpu, odd)[:, :40])
    both = fp.fuse(lambda x: x - fp.max(x, (-2, -1), keepdims=True))
    agree(both(on(gpu, x)), x - x.max((-2, -1), keepdims=True), "rows of two axes")
    assert in_words(both, on(gpu, x))


def test_results_of_rows_in_place_and_inside_of_words(gpu: Any) -> None:
    function, x = fp.fuse(lambda x: x - fp.max(x, -1, keepdims=True)), numbers((7, 64), "f2")
    want = x - x.max(-1, keepdims=True)
    own = on(gpu, x)
    function(own, _result=own)
    agree(own, want, "in place")
    kernels = built(gpu)
    for first in (0, 1, 2, 4):
        memory = on(gpu, np.full(7 * 64 + 8, 99, "f2"))
        function(on(gpu, x), _result=memory[first : first + 7 * 64].reshape((7, 64)))
        agree(memory, np.r_[[99] * first, want.ravel(), [99] * (8 - first)], f"from {first}")
        assert built(gpu) == kernels + (first > 0), "the kernel with words, and the one without"
    total = fp.fuse(lambda x: (x * 2, fp.sum(x)))
    total(own, _result=(own, fp.Tensor.zeros(gpu, (), "half")))
    agree(own, want * 2, "elements beside a sum, in place")


def test_modules_with_names_of_slang(gpu: Any) -> None:
    m = fp.Module.load_from_source(gpu, "names_along", SOURCE)
    x = numbers((8, 64), "f2")
    agree(fp.fuse(lambda x: fp.sum(m.mix(x, x), -1))(on(gpu, x)), (x * 3).astype("f8").sum(-1), "a sum")
    function = fp.fuse(lambda x: m.mix(x, x) - fp.max(m.mix(x, x), -1, keepdims=True))
    agree(function(on(gpu, x)), x * 3 - (x * 3).max(-1, keepdims=True), "rows")
    assert in_words(function, on(gpu, x))


@pytest.mark.rest
@pytest.mark.parametrize("length", [20000, 40000, 40001])
def test_longest_rows_are_read_again(gpu: Any, length: int) -> None:
    function, x = fp.fuse(lambda x: softmax(fp, x)), numbers((2, length), "f2") / np.float16(2)
    agree(function(on(gpu, x)), softmax(np, x.astype("f8")), "long", CLOSE)
    assert in_words(function, on(gpu, x)) == (length % 4 == 0)


@needs_nvrtc
@pytest.mark.parametrize(("what", "count"), daily([("sum", 5), ("softmax", 8)], "softmax"))
def test_cudas_compiler_moves_four_halfs_at_once(what: str, count: int, emitted: Any, device: Any, tmp_path: Path) -> None:
    x = on(device, numbers((64, 1024), "f2"))
    source, modules = emitted(lambda: fp.fuse(fp.sum if what == "sum" else lambda x: softmax(fp, x))(x))
    for module, text in [*((s.name, s.text) for s in modules), *source.shims]:
        (tmp_path / f"{module}.slang").write_text(text)
    ptx = nvrtc.ptx(nvrtc.cuda(source.text, source.entry_point, [tmp_path, FOLDER]), {**SHORT, **HALFS}, ["-minimal"])
    assert ptx.count("ld.global.v4.u16") == count
    assert ptx.count("st.global.v4.u16") == (count if what == "softmax" else 0)
    assert "ld.global.u16" not in ptx
    assert ".local" not in ptx.split(".entry")[1], "an array is not in registers"
