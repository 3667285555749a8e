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
