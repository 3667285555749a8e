"""Elements by their number: user code runs once for each, wherever the data end in a run of a thread on a CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.emit.tuning import BRIEF_PRICE, RUN, run_of
from fusepy.ir.parse import parse_graph

SOURCE = """
float counted(float3 c, float add, int i, int* calls) { InterlockedAdd(calls[i], 1); return c.x + c.y * c.z + add; }
"""
LENGTHS = [1, 2, 7, 8, 9, 24, 25, 31, 32, 33, 127, 128, 129, 8191, 8192, 8193, 20_000]


@pytest.mark.req("F2")
@pytest.mark.parametrize("step", [1, 2], ids=["whole", "spread"])
def test_each_element_is_computed_once(device: Any, step: int) -> None:
    m = fp.Module.load_from_source(device, "counted", SOURCE)

    @fp.fuse
    def f(c: Any, i: Any, calls: Any) -> Any:
        return m.counted(c, 0.5, i, calls)

    most = max(LENGTHS)
    colours = fp.Tensor.from_numpy(device, np.random.default_rng(0).random((most * step, 3), np.float32), "float3")
    numbers = fp.Tensor.from_numpy(device, np.arange(most * step, dtype=np.int32))
    x = colours.to_numpy().reshape(-1, 3)
    for n in LENGTHS:
        calls, result = fp.Tensor.zeros(device, most * step, "int"), fp.Tensor.zeros(device, most + 64, "float")
        f(colours[: n * step : step], numbers[: n * step : step], calls, _result=result[:n])
        want = x[: n * step : step]
        np.testing.assert_allclose(result.to_numpy()[:n], want[:, 0] + want[:, 1] * want[:, 2] + 0.5, rtol=1e-6)
        assert not result.to_numpy()[n:].any()
        count = calls.to_numpy()
        assert (count[: n * step : step] == 1).all()
        assert count.sum() == n


@pytest.mark.parametrize(
    ("lines", "price", "run"),
    [
        (["exp(%x)"], 0.0, RUN),
        (["exp(%x)"], BRIEF_PRICE + 1, 1),
        (["exp(%x)"] * 12, 0.0, 1),
        (["tanh(%x)"], 0.0, 1),
    ],
    ids=["short", "dear user code", "long to compile", "tanh"],
)
def test_short_code_is_computed_for_several_elements_together(lines: list[str], price: float, run: int) -> None:
    body = "\n".join(f"    %{k} = {line} : float" for k, line in enumerate(lines))
    text = f"""graph @g(%x: Tensor<float>[?]) -> (Tensor<float>[?]) {{
  %0 = region(%x vmap(d0)) : Tensor<float>[?] vmap(d0)
  body @g(%x: float) -> (float) {{
{body}
    return %{len(lines) - 1}
  }}
  return %0
}}"""
    assert run_of(parse_graph(text).nodes[0], price) == run
