"""Golden texts of kernels that take whole arrays, from textual IR; no device is needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fusepy.backend.device.target import Target
from fusepy.backend.emit.region import emit
from fusepy.backend.emit.text import Emission
from fusepy.backend.emit.variant import Variant
from fusepy.backend.kernels.kernel import _layout  # pyright: ignore[reportPrivateUsage]
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.ir.parse import parse_graph
from fusepy.ir.verify import verify

GOLDEN = Path(__file__).parent / "golden" / "arrays"
REGION = """
import @m = "0123"
graph @f(%p: weak Grid<int2>[?,?], %t: Tensor<float>[?,?,?], %x: Tensor<float>[?,?]) -> (Tensor<float>[?,?]) {{
  %0 = region(%p vmap(d0,d1), %t vmap() vcast({array}), %x vmap(d0,d1)) : Tensor<float>[?,?] vmap(d0,d1)
  body @f(%p: weak int2, %t: {array}, %x: float) -> (float) {{
    %0 = slang.call @m.look(%p vmap(), %t vmap(), %x vmap()) : float  // look.py:3
    return %0
  }}
  return %0
}}
"""
LINEAR = """
import @m = "0123"
graph @g(%t: Tensor<float>[?,?], %x: Tensor<float>[?]) -> (Tensor<float>[?]) {
  %0 = region(%t vmap() vcast(fusepy::RWTensor<float,2>), %x vmap(d0)) : Tensor<float>[?] vmap(d0)
  body @g(%t: fusepy::RWTensor<float,2>, %x: float) -> (float) {
    %0 = slang.call @m.scatter(%t vmap(), %x vmap()) : float  // look.py:3
    return %0
  }
  return %0
}
"""
CASES = {
    "vectors": (REGION.format(array="fusepy::Tensor<float3,2>"), Variant(False, 2), "software"),
    "gradients": (REGION.format(array="fusepy::DiffTensor<float,3>"), Variant(False, 2), "software"),
    "slangpys": (REGION.format(array="slangpy::Tensor<float3,2>"), Variant(False, 2), "software"),
    "slangpys_cuda": (REGION.format(array="slangpy::Tensor<float3,2>"), Variant(False, 2), "cuda"),
    "written_linear": (LINEAR, Variant(True, 1), "software"),
    "written_batched": (LINEAR, Variant(True, 1), "vulkan"),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    text, variant, kind = CASES[name]
    graph = parse_graph(text)
    verify(graph, "fused")
    source = emit(graph.nodes[0], variant, Emission(Target(kind), ACCESSES, {"m": ["m_0123"]}), 4)
    path = GOLDEN / f"{name}.slang"
    if os.environ.get("FUSEPY_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(source.text)
    assert source.text == path.read_text()
    assert _layout(source.fields, range(0, 8 * len(source.fields), 8), 8 * len(source.fields)).startswith("<Q")


def test_every_golden_file_has_a_case() -> None:
    assert {p.stem for p in GOLDEN.glob("*.slang")} == set(CASES)
