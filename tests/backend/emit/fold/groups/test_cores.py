"""Products of halfs by tensor cores, on CUDA devices that have them; elsewhere what CUDA's compiler makes of the kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.emit.fold.groups import cores
from fusepy.backend.emit.fold.groups.tiles import CORE_SIZES, SIZES, group_tile, size_of, sizes_for
from fusepy.backend.emit.fold.product_tiles import Lying, Sides
from fusepy.backend.slang.prelude import SHORT
from fusepy.backend.sources.libraries import FOLDER
from tests.backend.slang import test_prelude
from tests.backend.slang.test_prelude import HALFS, needs_nvrtc
from tests.support import nvrtc
from tests.support.products import normal
from tests.support.selection import daily

emitted = test_prelude.emitted  # a fixture
SIDES = Sides(0, 1, 2)


def halfs(*shape: int) -> Any:
    return normal(*shape).astype(np.float16)


def turned(x: Any) -> Any:
    return fp.vmap(x, (1, 0))


WAYS: dict[str, tuple[Callable[[Any, Any], Any], tuple[bool, bool]]] = {
    "as they lie": (lambda a, b: a @ b, (False, False)),
    "the left one transposed": (lambda a, b: turned(a) @ b, (True, False)),
    "the right one transposed": (lambda a, b: a @ turned(b), (False, True)),
    "both transposed": (lambda a, b: turned(a) @ turned(b), (True, True)),
}


@pytest.fixture(scope="module")
def gpu(device: Any) -> Any:
    if not device.target.cores:
        pytest.skip("no tensor cores")
    return device


def near(found: Any, a: Any, b: Any, error: float) -> None:
    wanted = a.astype("f8") @ b.astype("f8")
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= error * np.abs(wanted).max()


# rows, sum, columns: whole tiles and edges on every side; copies of eight, four, two halfs and of one
SHAPES = [(128, 64, 128), (300, 200, 264), (65536, 64, 64), (70, 36, 68), (130, 34, 66), (201, 77, 133), (2050, 96, 2048)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_products(gpu: Any, way: str, shape: tuple[int, int, int]) -> None:
    rows, terms, columns = shape
    a, b = halfs(rows, terms), halfs(terms, columns)
    product, (first, second) = WAYS[way]
    f = fp.fuse(product)
    given = [fp.Tensor.from_numpy(gpu, x.T.copy() if t else x) for x, t in ((a, first), (b, second))]
    near(f(*given).to_numpy(), a, b, 6e-4)
    assert "by tensor cores" in str(f.explain(*given))


def test_batches_views_and_what_follows(gpu: Any) -> None:
    """Strides and beginnings that are no multiples of eight, a bias and relu, and two results of other types."""
    a, b, c = halfs(3, 90, 75), halfs(1, 160, 170), halfs(90)
    x, y, z = (fp.Tensor.from_numpy(gpu, v) for v in (a, b, c))

    @fp.fuse
    def layer(a: Any, b: Any, c: Any) -> Any:
        made = fp.astype(a @ b, "float") + c
        return made, fp.maximum(fp.astype(made, "half"), 0)

    given = (x[:, :, ::-1], y[:, 3:78, 5:95], z)
    wanted = a[:, :, ::-1].astype("f8") @ b[:, 3:78, 5:95].astype("f8") + c.astype("f8")
    found, above = layer(*given)
    np.testing.assert_allclose(found.to_numpy(), wanted, rtol=1e-3, atol=2e-2)
    np.testing.assert_allclose(above.to_numpy(), np.maximum(wanted, 0), rtol=2e-3, atol=2e-2)
    assert "by tensor cores" in str(layer.explain(*given))


def test_special_numbers_beside_the_edge(gpu: Any) -> None:
    """What is copied beyond the end of a sum counts as 0, whatever it is."""
    wide = np.full((200, 200), np.nan, np.float16)
    wide[10:110, 16:86], wide[110:180, 8:88] = a, b = halfs(100, 70), halfs(70, 80)
    x = fp.Tensor.from_numpy(gpu, wide)
    near(fp.matmul(x[10:110, 16:86], x[110:180, 8:88]).to_numpy(), a, b, 6e-4)
    a[5, 3], a[7, 69], b[2, 9], b[69, 1] = np.nan, np.inf, 0, -np.inf
    with np.errstate(invalid="ignore"):
        wanted = a.astype("f4") @ b.astype("f4")
    found: Any = fp.matmul(fp.Tensor.from_numpy(gpu, a), fp.Tensor.from_numpy(gpu, b)).to_numpy()
    assert (np.isnan(found) == np.isnan(wanted)).all()
    assert ((found == np.inf) == (wanted == np.inf)).all()


def test_long_sums(gpu: Any) -> None:
    """Chunks of the sum, and positive numbers, for which what the cores cut off adds up."""
    a, b = np.abs(halfs(140, 40_000)), np.abs(halfs(40_000, 136))

    @fp.fuse
    def f(a: Any, b: Any) -> Any:
        return fp.matmul(fp.astype(a, "float"), fp.astype(b, "float"))

    given = fp.Tensor.from_numpy(gpu, a), fp.Tensor.from_numpy(gpu, b)
    near(f(*given).to_numpy(), a, b, 2e-5)
    assert "by tensor cores" in str(f.explain(*given))
    assert "; then" in str(f.explain(*given))
    x = np.abs(halfs(1100, 8192))  # one chunk for each result, nine rows of tiles
    alone = fp.Tensor.from_numpy(gpu, x)
    near(f(alone, fp.Tensor.from_numpy(gpu, x.T.copy())).to_numpy(), x, x.T, 6e-5)
    batches = fp.Tensor.from_numpy(gpu, np.stack([x[:1056, :300], x[:1056, 300:600]]))  # and chunks of two products of nine rows
    found = fp.matmul(batches, fp.transpose(batches, (0, 2, 1))).to_numpy()
    for k, one in enumerate((x[:1056, :300], x[:1056, 300:600])):
        near(found[k], one, one.T, 6e-4)


def test_gradients(gpu: Any) -> None:
    a, b = halfs(128, 96), halfs(96, 160)
    x, y = fp.Tensor.from_numpy(gpu, a), fp.Tensor.from_numpy(gpu, b)

    def total(a: Any, b: Any, w: Any) -> Any:
        return fp.sum(fp.astype(a @ b, "float") * w)

    w = halfs(128, 160)
    gradient, given = fp.grad(total, (0, 1)), (x, y, fp.Tensor.from_numpy(gpu, w))
    left, right = gradient(*given)
    near(left.to_numpy(), w, b.T, 2e-3)
    near(right.to_numpy(), a.T, w, 2e-3)


@needs_nvrtc
@pytest.mark.parametrize(
    ("way", "shape"),
    [("as they lie", (2048, 64, 2048)), *daily([(way, (300, 77, 133)) for way in WAYS] + [("both transposed", (128, 96, 128))])],
    ids=str,
)
def test_cudas_compiler(device: Any, emitted: Any, tmp_path: Path, way: str, shape: tuple[int, int, int]) -> None:
    """Sums stay in registers, copies go on while matrices are multiplied, and shared memory is what each device has."""
    (rows, terms, columns), (product, (first, second)) = shape, WAYS[way]
    given = [halfs(terms, rows) if first else halfs(rows, terms), halfs(columns, terms) if second else halfs(terms, columns)]
    source, modules = emitted(lambda: fp.fuse(product)(*(fp.Tensor.from_numpy(device, x) for x in given)), cores=True)
    for module, text in [*((s.name, s.text) for s in modules), *source.shims]:
        (tmp_path / f"{module}.slang").write_text(text)
    ptx = nvrtc.ptx(nvrtc.cuda(source.text, source.entry_point, [tmp_path, FOLDER]), {**SHORT, **HALFS}, ["-minimal"])
    entry = ptx.split(".entry")[1]
    assert ".local" not in entry
    assert entry.count("mma.sync") in (16, 32, 48, 64, 96)
    assert ("cp.async.cg" in entry) == (terms % 8 == columns % 8 == 0)
    assert source.text.count("fzcore_turned") == first + (not second)


def test_no_other_device_has_them(device: Any) -> None:
    a, b = (fp.Tensor.from_numpy(device, halfs(128, 128)) for _ in range(2))
    if not device.target.cores:
        assert "tensor cores" not in str(fp.fuse(WAYS["as they lie"][0]).explain(a, b))


@pytest.mark.parametrize(
    ("product", "tile", "chunks"),
    [
        ((4096, 4096, 4096, 1), (128, 128), 1),
        ((1024, 1024, 1024, 1), (64, 64), 1),
        ((65536, 64, 64, 1), (128, 64), 1),
        ((64, 64, 65536, 1), (64, 64), 256),
        ((4096, 4096, 1 << 15, 1), (128, 128), 4),
    ],
    ids=str,
)
def test_size(product: tuple[int, int, int, int], tile: tuple[int, int], chunks: int) -> None:
    size, found = size_of(*product, CORE_SIZES)
    assert ((size.rows, size.columns), found) == (tile, chunks)
    assert -(-product[2] // found) <= cores.CHUNK


def test_narrow_products_and_short_sums_have_other_tiles() -> None:
    lies = Lying({}, {}, {}, cores=True)
    chosen = {(200, 33, 32): CORE_SIZES, (200, 32, 64): SIZES, (32, 200, 64): SIZES, (200, 200, 31): SIZES}
    assert all(sizes_for(*product, lies) is sizes for product, sizes in chosen.items())
    assert sizes_for(200, 200, 200, Lying({}, {}, {})) is SIZES


@pytest.mark.parametrize(
    ("left", "right", "grid", "copied", "own"),
    [
        ({0: 64, 2: 1}, {1: 1, 2: 80}, (200, 80, 64), (8, 8), (8, 16)),
        ({0: 1, 2: 200}, {1: 64, 2: 1}, (200, 80, 64), (8, 8), (8, 16)),
        ({0: 36, 2: 1}, {1: 1, 2: 82}, (200, 82, 36), (4, 2), (8, 16)),
        ({0: 68, 2: 1}, {1: 1, 2: 80}, (200, 80, 64), (4, 8), (8, 16)),
        ({0: 65, 2: 1}, {1: 1, 2: 80}, (200, 80, 65), (1, 8), (8, 8)),
        ({0: 128, 2: 2}, {1: 1, 2: 80}, (200, 80, 64), (1, 8), (8, 8)),
    ],
    ids=str,
)
def test_copies(left: Any, right: Any, grid: tuple[int, ...], copied: tuple[int, int], own: tuple[int, int]) -> None:
    """The steps of both matrices say how many neighbours are copied at once; where it is one, a thread has fewer results."""
    tile = group_tile(SIDES, grid, Lying(left, right, {}, cores=True), CORE_SIZES[0], grid[2], 1)
    assert (tile.cores, tile.own) == (copied, own)
    assert tile.ends == (grid[1] % 8 == 0)
