"""The end of a product: operands along rows, columns or both, results of other types and in views, several results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.products import normal
from tests.support.selection import daily

pytestmark = pytest.mark.usefixtures("on_lavapipe")


@pytest.mark.parametrize(("rows", "terms"), [(70, 32), (7, 300)])
@pytest.mark.parametrize("columns", daily([18, 17], 17))
def test_operands_along_either_side(device: Any, rows: int, terms: int, columns: int) -> None:
    a, b, c, r, e = (normal(*s) for s in ((rows, terms), (terms, columns), (columns,), (rows, 1), (rows, columns)))

    @fp.fuse
    def ended(a: Any, b: Any, c: Any, r: Any, e: Any) -> Any:
        found = (a @ b + c) * r + e
        return found, fp.vmap(found, (0, 1)) > 0

    given = [fp.Tensor.from_numpy(device, x) for x in (a, b, c, r, e)]
    expected = (a.astype("f8") @ b + c) * r + e
    found, positive = ended(*given)
    np.testing.assert_allclose(found.to_numpy(), expected, atol=1e-4)
    clear = np.abs(expected) > 1e-4
    np.testing.assert_array_equal(positive.to_numpy()[clear], (expected > 0)[clear])
    assert "ended: 1 kernel" in str(ended.explain(*given))


def test_transposed_and_strided_operands(device: Any) -> None:
    a, b, e = normal(64, 64), normal(64, 64), normal(64, 128)
    f = fp.fuse(lambda a, b, e, g: a @ b + fp.vmap(e, (1, 0)) - g)
    x = fp.Tensor.from_numpy(device, e)
    found = f(a, b, x[:, :64], x[:, ::2]).to_numpy()
    np.testing.assert_allclose(found, a.astype("f8") @ b + e[:, :64].T - e[:, ::2], atol=1e-4)


@pytest.mark.parametrize("dtype", daily([np.float16, np.float64, np.int32], "int32"))
def test_results_of_other_types(device: Any, dtype: Any) -> None:
    a, b = normal(64, 32), normal(32, 16)
    name = {np.float16: "half", np.float64: "double", np.int32: "int"}[dtype]
    found = fp.fuse(lambda a, b: (fp.vcast(8 * (a @ b), name), a @ b))(a, b)
    assert found[0].dtype == dtype
    wanted = 8 * (a.astype("f8") @ b)
    np.testing.assert_allclose(np.asarray(found[0], np.float64), wanted, rtol=1e-3, atol=1 if dtype == np.int32 else 1e-2)
    np.testing.assert_allclose(found[1], wanted / 8, atol=1e-4)


def test_a_result_given_in_a_view(device: Any) -> None:
    a, b = normal(64, 64), normal(64, 64)
    target = fp.Tensor.from_numpy(device, np.zeros((64, 66), np.float32))
    fp.fuse(lambda a, b: a @ b)(a, b, _result=target[:, 1:65])
    np.testing.assert_allclose(target.to_numpy()[:, 1:65], a.astype("f8") @ b, atol=1e-4)
    assert not target.to_numpy()[:, [0, 65]].any()


SIZES = daily([(70, 48, 66), (97, 64, 10), (34, 33, 126), (90, 48, 8), (97, 64, 7), (67, 128, 66), (40, 30, 34)], "97")


@pytest.mark.parametrize(("rows", "terms", "columns"), SIZES)
def test_edges_without_a_guard(device: Any, rows: int, terms: int, columns: int) -> None:
    """Sums of more than 16 terms store the last rows and columns again in place of a branch, also into one of their operands."""
    a, b, c, e = (normal(*s) for s in ((rows, terms), (terms, columns), (columns,), (rows, columns)))
    f = fp.fuse(lambda a, b, c, e: (a @ b + c) * e)
    given = [fp.Tensor.from_numpy(device, x) for x in (a, b, c, e)]
    expected = (a.astype("f8") @ b + c) * e
    np.testing.assert_allclose(f(*given).to_numpy(), expected, atol=1e-4)
    f(*given, _result=given[3])
    np.testing.assert_allclose(given[3].to_numpy(), expected, atol=1e-4)
    assert "zero1" in f.source(*given)
    assert "< fz_end &&" not in f.source(*given)


@pytest.mark.parametrize(("rows", "terms", "columns"), SIZES)
def test_edges_of_a_product_with_a_turned_matrix(device: Any, rows: int, terms: int, columns: int) -> None:
    """Columns that are loaded one by one, and stored in pairs."""
    a, b, c = normal(rows, terms), normal(columns, terms), normal(columns)
    found = fp.fuse(lambda a, b, c: a @ fp.vmap(b, (1, 0)) + c)(a, b, c)
    np.testing.assert_allclose(found, a.astype("f8") @ b.T + c, atol=1e-4)


def test_a_slang_function_at_the_end_runs_once_for_each_element(device: Any) -> None:
    """It may write memory, so that it must not run again for the last rows."""
    source = "float counted(float x, uint64_t calls) { InterlockedAdd(((int32_t*)calls)[0], 1); return 2 * x; }"
    m = fp.Module.load_from_source(device, "counted_ends", source)
    a, b, calls = normal(70, 48), normal(48, 66), fp.Tensor.zeros(device, (1,), "int32_t")
    f = fp.fuse(lambda a, b: m.counted(a @ b, calls.block.address))
    np.testing.assert_allclose(f(a, b), 2 * (a.astype("f8") @ b), atol=1e-4)
    assert calls.to_numpy().tolist() == [70 * 66]
    assert f.explain(a, b).kernels == 1
