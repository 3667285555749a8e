"""Folds of pairs by groups, as on GPUs, also on lavapipe: sizes beside the tiles, layouts, types, folds, what follows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fusepy as fp
from fusepy.backend.execute.folds import pairs
from fusepy.backend.slang.prelude import SHORT
from fusepy.backend.sources.libraries import FOLDER
from tests.backend.slang import test_prelude
from tests.backend.slang.test_prelude import HALFS, needs_nvrtc
from tests.support import nvrtc
from tests.support.products import normal
from tests.support.selection import daily

emitted = test_prelude.emitted  # a fixture
Function = Callable[..., Any]


def counts(*shape: int) -> Any:
    """Whole numbers: what is computed of them is exact, in any order."""
    return ((np.arange(np.prod(shape)) * 7919) % 23).reshape(shape).astype(np.float32) - 11


def squares(n: Any, a: Any, b: Any) -> Any:
    return n.sum((a - b) * (a - b), -1)


def agree(gpu: Any, function: Function, a: Any, b: Any, tiles: str | None = "pairs in tiles of") -> Any:
    """Checks a fused function of two arrays against NumPy, and whether its kernel has tiles."""
    fused, x, y = fp.fuse(lambda a, b: function(fp, a, b)), fp.Tensor.from_numpy(gpu, a), fp.Tensor.from_numpy(gpu, b)
    wanted, found = function(np, a.astype("f8") if a.dtype.kind == "f" else a, b), fused(x, y).to_numpy()
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=2e-3 if a.dtype == np.float16 else 2e-6, atol=1e-5)
    told = str(fused.explain(x, y))
    assert (tiles or "pairs in tiles") in told if tiles else "pairs in tiles" not in told
    return found


# the size of the tile, shapes of both arrays: edges on every side, sums shorter and longer than a step, and of whole steps
CASES = [
    ("64x64x4", (4300, 1, 3), (70, 3)),
    *daily(
        [
            ("64x64x16", (770, 1, 33), (750, 33)),
            ("64x16x16", (9000, 1, 16), (9, 16)),
            ("16x64x16", (12, 1, 40), (9001, 40)),
            ("32x32x4", (300, 1, 2), (257, 2)),
            ("32x32x16", (9, 100, 1, 17), (9, 1, 100, 17)),
            ("64x64x16", (5, 1, 260, 1, 7), (5, 3, 1, 280, 7)),
        ]
    ),
]


@pytest.mark.parametrize(("tile", "first", "second"), CASES, ids=str)
def test_every_tile(gpu: Any, tile: str, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    agree(gpu, squares, counts(*first), counts(*second), f"pairs in tiles of {tile}")


@pytest.mark.rest
def test_indices_of_64_bits(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "LINEAR_LIMIT", 1 << 16)
    fused, x = fp.fuse(lambda a: squares(fp, a[:, None], a)), fp.Tensor.from_numpy(gpu, counts(300, 20))
    assert "int64_t fz_row" in fused.source(x)
    agree(gpu, squares, counts(300, 1, 20), counts(257, 20))


FOLDS: dict[str, Function] = {
    "argmin, and numbers of Python": lambda n, a, b: n.argmin(n.abs(a - b) * 2.0, -1),
    "maximum": lambda n, a, b: n.max(n.minimum(a, b), -1),
    "mean, and what follows": lambda n, a, b: n.exp(-0.1 * n.mean((a - b) ** 2, -1)),
    "any": lambda n, a, b: n.any(a > b + 20, -1),
    "product": lambda n, a, b: n.prod(a * 0.01 + b * 0.01 + 1, -1),
    "two folds": lambda n, a, b: n.max(a - b, -1) - n.min(a - b, -1),
    "NaN": lambda n, a, b: n.max(n.where(a == 3, n.nan, a) - b, -1),
}


@pytest.mark.parametrize("name", daily(FOLDS, "argmin, and numbers of Python", "mean, and what follows"))
def test_every_fold(gpu: Any, name: str) -> None:
    agree(gpu, FOLDS[name], counts(300, 1, 21), counts(257, 21))


@pytest.mark.parametrize("dtype", daily(["i4", "u4", "f2", "u1"], "i4"))
def test_types(gpu: Any, dtype: str) -> None:
    a, b = ((np.arange(k * 20) * 31 % 19).reshape(shape).astype(dtype) for k, shape in ((300, (300, 1, 20)), (257, (257, 20))))
    agree(gpu, lambda n, a, b: n.sum(n.where(a > b, a - b, b - a), -1), a, b, None if dtype == "u1" else "pairs")


@pytest.mark.rest
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    order=st.permutations(range(3)),
    sizes=st.tuples(st.integers(256, 300), st.integers(256, 300), st.integers(2, 35)),
    turned=st.booleans(),
)
def test_layouts(gpu: Any, order: Any, sizes: tuple[int, int, int], turned: bool) -> None:
    """The axes of rows, columns and elements in any order, forwards and backwards; views are read where they lie."""
    rows, columns, terms = sizes
    a, b = counts(rows, 1, terms).transpose(order), counts(1, columns, terms).transpose(order)
    axis = order.index(2)

    def function(n: Any, a: Any, b: Any) -> Any:
        a = a[::-1] if turned else a
        return n.sum(n.abs(a - b) * a, axis)

    agree(gpu, function, np.ascontiguousarray(a), np.ascontiguousarray(b))


def test_other_arrays_along_what_is_folded_and_beside_the_result(gpu: Any) -> None:
    a, b, w, c = counts(300, 1, 20), counts(257, 20), counts(20), counts(257)
    fused = fp.fuse(lambda a, b, w, c: fp.sum(fp.abs(a - b) * w, -1) + c)
    given = [fp.Tensor.from_numpy(gpu, x) for x in (a, b, w, c)]
    assert "pairs in tiles" in str(fused.explain(*given))
    np.testing.assert_array_equal(fused(*given).to_numpy(), np.sum(np.abs(a - b) * w, -1) + c)


def test_one_array_twice_into_a_view(gpu: Any) -> None:
    a = counts(300, 18)
    x, out = fp.Tensor.from_numpy(gpu, a), fp.Tensor.from_numpy(gpu, np.zeros((600, 301), np.float32))
    fused = fp.fuse(lambda a: fp.sum((a[:, None] - a[None]) ** 2, -1))
    fused(x, _result=out[::2, 1:])
    assert "pairs in tiles" in str(fused.explain(x))
    assert "other sizes may ask for tiles, compiled on first use" in str(fused.explain(x[:2]))
    np.testing.assert_array_equal(out.to_numpy()[::2, 1:], np.sum((a[:, None] - a[None]) ** 2, -1))
    assert not out.to_numpy()[1::2].any()
    assert not out.to_numpy()[:, 0].any()


@pytest.mark.parametrize(
    ("what", "first", "second"),
    daily(
        [
            ("few results", (40, 1, 30), (50, 30)),
            ("few columns", (30000, 1, 30), (5, 30)),
            ("one array", (300, 300, 30), (30,)),
            ("a number for each row beside it", (300, 1, 31), (257, 31)),
            ("a number stretched along what is folded", (300, 1, 1), (257, 30)),
        ],
        "few columns",
    ),
)
def test_other_regions_have_other_kernels(gpu: Any, what: str, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    if "number for each row" in what:
        numbers = fp.Tensor.from_numpy(gpu, counts(300, 1, 1))
        fused, given = (
            fp.fuse(lambda a, b, c: squares(fp, a * c, b)),
            [fp.Tensor.from_numpy(gpu, counts(*s)) for s in (first, second)],
        )
        assert "pairs in tiles" not in str(fused.explain(*given, numbers))
        np.testing.assert_array_equal(
            fused(*given, numbers).to_numpy(), squares(np, counts(*first) * counts(300, 1, 1), counts(*second))
        )
        return
    agree(gpu, squares, counts(*first), counts(*second), None)


def test_slang_functions_and_numbers_of_the_user(gpu: Any) -> None:
    m = fp.Module.load_from_source(gpu, "paired", "float min(float run, float d0) { return run < d0 ? run : d0; }")
    a, b = counts(300, 1, 20), counts(257, 20)
    x, y = fp.Tensor.from_numpy(gpu, a), fp.Tensor.from_numpy(gpu, b)
    fused = fp.fuse(lambda a, b, k: m.min(fp.sum(fp.minimum(a, b) * k, -1), 5.0))
    assert "pairs in tiles" in str(fused.explain(x, y, 2))
    for k in (2, 3):
        np.testing.assert_array_equal(fused(x, y, k).to_numpy(), np.minimum(np.sum(np.minimum(a, b) * k, -1), 5))
    inside = fp.fuse(lambda a, b: fp.sum(m.min(a, b), -1))
    np.testing.assert_array_equal(inside(x, y).to_numpy(), np.sum(np.minimum(a, b), -1))


@pytest.mark.rest
def test_products_of_integers(gpu: Any) -> None:
    a, b = (counts(*shape).astype(np.int32) for shape in ((300, 40), (40, 257)))
    x, y, fused = fp.Tensor.from_numpy(gpu, a), fp.Tensor.from_numpy(gpu, b), fp.fuse(lambda a, b: a @ b)
    assert "pairs in tiles" in str(fused.explain(x, y))
    np.testing.assert_array_equal(fused(x, y).to_numpy(), a @ b)


def test_long_sums_are_as_exact_as_others(gpu: Any) -> None:
    a, b = np.full((256, 1, 1000), 0.1, np.float32), np.zeros((256, 1000), np.float32)
    found = agree(gpu, lambda n, a, b: n.sum(n.abs(a - b), -1), a, b)
    assert np.abs(found.astype("f8") - float(np.float32(0.1)) * 1000).max() <= 3e-5


def test_a_special_number_beside_the_edge_does_not_count_twice(gpu: Any) -> None:
    a, b = counts(300, 1, 17), counts(257, 17)
    a[299, 0, 16], b[256, 16] = np.inf, 5
    found = agree(gpu, lambda n, a, b: n.sum(n.where(a > 1e30, 1.0, 0.0) + n.where(b == 5, 0.0, 0.0), -1), a, b)
    assert found.sum() == 257


@needs_nvrtc
@pytest.mark.rest
def test_cudas_compiler_keeps_results_in_registers(device: Any, emitted: Any, tmp_path: Path) -> None:
    x, y = (fp.Tensor.from_numpy(device, normal(*shape)) for shape in ((1000, 1, 40), (1000, 40)))
    source, modules = emitted(lambda: fp.fuse(lambda a, b: squares(fp, a, b))(x, y))
    for module, text in [*((s.name, s.text) for s in modules), *source.shims]:
        (tmp_path / f"{module}.slang").write_text(text)
    ptx = nvrtc.ptx(nvrtc.cuda(source.text, source.entry_point, [tmp_path, FOLDER]), {**SHORT, **HALFS}, ["-minimal"])
    assert ".local" not in ptx.split(".entry")[1]
