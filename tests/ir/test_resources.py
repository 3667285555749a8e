"""Which resources have gradients, and the structs that stand for them."""

from __future__ import annotations

import pytest

from fusepy.ir.resources import graded, is_sampled
from fusepy.ir.types import Type


@pytest.mark.parametrize(
    ("type", "stand", "sampled"),
    [
        ("Texture1D<half2>", "_GradTexture1D<half2>", True),
        ("Texture3D<float>", "_GradTexture3D<float>", True),
        ("StructuredBuffer<float3>", "_GradBuffer<float3>", False),
        ("Ptr<half>", "_GradPointer<half>", False),
        ("SamplerState", "_GradSampler", False),
        ("RWTexture2D<float4>", None, False),
        ("Texture2D<uint4>", None, False),
        ("StructuredBuffer<double>", None, False),
        ("StructuredBuffer<float2x2>", None, False),
        ("RWStructuredBuffer<float>", None, False),
        ("TextureCube<float4>", None, False),
    ],
)
def test_structs_that_stand_for_resources(type: str, stand: str | None, sampled: bool) -> None:
    assert graded(Type.parse(type)) == stand
    assert is_sampled(Type.parse(type)) == sampled
