"""Recipes: which calls need indices of 64 bits, for arguments and for results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.device.target import Target
from fusepy.backend.execute import recipe
from fusepy.program import lowering
from tests.support.selection import daily

PROGRAMS: dict[str, Callable[..., Any]] = {
    "elements": lambda n, x: x * x,
    "sums of rows": lambda n, x: n.sum(x, -1),
    "sums of columns": lambda n, x: n.sum(x, 0),
    "running sums": lambda n, x: n.cumsum(x, 1),
    "sorted rows": lambda n, x: n.sort(x, -1),
    "rows": lambda n, x: x - n.max(x, -1)[:, None],
    "products": lambda n, x: n.matmul(x, n.transpose(x, (1, 0))),
    "pairs": lambda n, x: n.sum(n.abs(x[:, None] - x), -1),
    "an image beside a row": lambda n, x: x + x[0],
}


@pytest.mark.parametrize("kind", ["", "gpu"])
@pytest.mark.parametrize("name", daily(PROGRAMS, "elements", "sums of rows"))
def test_results_may_lie_farther_than_arguments(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a large tensor a narrow view of few elements reaches beyond 2^31; the limit is lower here."""
    device, texts = fp.init_device("vulkan"), list[str]()
    if kind:
        device.target = Target("vulkan", True)
    x = (np.arange(260 * 9) * 7 % 23).reshape(260, 9).astype(np.float32)
    wanted = PROGRAMS[name](np, x)
    given, large = (fp.Tensor.from_numpy(device, a) for a in (x, np.zeros((*wanted.shape, 40), np.float32)))
    view, build = large[..., 3], lowering.build_kernel

    def built(device: Any, source: Any, *rest: Any) -> Any:
        texts.append(source.text)
        return build(device, source, *rest)

    monkeypatch.setattr(lowering, "build_kernel", built)
    for limit, wide in ((1 << 31, False), (wanted.size * 40 - 80, True)):
        monkeypatch.setattr(recipe, "LINEAR_LIMIT", limit)
        texts.clear()
        fp.fuse(lambda x: PROGRAMS[name](fp, x))(given, _result=view)
        np.testing.assert_array_equal(view.to_numpy(), wanted)
        assert any("int64_t r_0_s0;" in text for text in texts) is wide
        assert any("int r_0_s0;" in text for text in texts) is not wide
    assert not large.to_numpy()[..., :3].any()
    device.close()


SINGLES: dict[str, Callable[..., Any]] = {
    "a stored one": lambda n, m, x, k, t: [x * (s := m.pick(n.argmin(x, axis=None, keepdims=True), t)), s * 2],
    "a number": lambda n, m, x, k, t: [x * k, n.reshape(k, (1, 1, 1)) * 2],
    "beside sums": lambda n, m, x, k, t: [n.sum(x, -1), x * 2, n.reshape(k, (1, 1, 1)) * 2],
    "beside rows": lambda n, m, x, k, t: [x - n.max(x, -1)[..., None], n.max(x, -1)[..., None] * k, n.reshape(k, (1, 1, 1)) * 2],
    "beside running sums": lambda n, m, x, k, t: [n.cumsum(x, -1), n.reshape(k, (1, 1, 1)) * 2],
}


class PickInNumPy:
    """What the function of the module does."""

    def pick(self, i: Any, t: Any) -> Any:
        return t[i]


@pytest.mark.parametrize("name", daily(SINGLES, "a stored one"))
def test_results_of_single_values_have_one_element_beside_arrays(name: str, device: Any) -> None:
    """Not each thread stores it at its own place, which is behind the result."""
    m = fp.Module.load_from_source(device, "picking", "float pick(int i, Tensor<float,1> t) { return t[i]; }")
    x, k, t = np.arange(204, dtype=np.float32).reshape(3, 4, 17), np.full((), 3, np.float32), np.arange(2, 7, dtype=np.float32)
    wanted = SINGLES[name](np, PickInNumPy(), x, k, t)
    around = [fp.Tensor.from_numpy(device, np.full(w.size + 400, 77, np.float32)) for w in wanted]
    views = [a[200 : 200 + w.size].reshape(*w.shape) for a, w in zip(around, wanted)]
    fused = fp.fuse(lambda *given: SINGLES[name](fp, m, *given))
    for _ in range(2):
        fused(*(fp.Tensor.from_numpy(device, a) for a in (x, k, t)), _result=views)
        for view, holder, want in zip(views, around, wanted):
            np.testing.assert_allclose(view.to_numpy(), want, rtol=1e-6)
            found = holder.to_numpy()
            assert (np.delete(found, slice(200, 200 + want.size)) == 77).all()
