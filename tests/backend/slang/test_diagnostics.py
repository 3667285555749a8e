"""Diagnostics of Slang as they are shown: what matters comes first, and what is called is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.slang.diagnostics import clean


def test_errors_come_before_warnings() -> None:
    words = "warning[E31000]: unknown attribute\n --> a.slang:1:4\nerror[E30015]: undefined identifier\n --> a.slang:9:2\n---'\n"
    assert clean(words).splitlines() == [
        "error[E30015]: undefined identifier",
        " --> a.slang:9:2",
        "---'",
        "warning[E31000]: unknown attribute",
        " --> a.slang:1:4",
    ]
    assert clean("\nerror: one\nerror: two\n") == "error: one\nerror: two"


def test_an_imported_function_that_does_not_fit_is_no_unknown_name(device: fp.Device, tmp_path: Path) -> None:
    overloads = "public float f(float x, int y) { return x; } public float2 f(float2 x, int y) { return x; }"
    (tmp_path / "below.slang").write_text(f"module below; {overloads}", encoding="utf-8")
    (tmp_path / "above.slang").write_text("import below; float g(float x) { return x; }", encoding="utf-8")
    m = fp.Module.load_from_file(device, tmp_path / "above.slang")
    with pytest.raises(fp.NoMatchError, match="no overload takes these arguments") as caught:
        m.f(fp.Tensor.from_numpy(device, np.float32([[1, 2, 3]]), dtype="float3"), 1)
    assert "undefined identifier" not in str(caught.value)


def test_a_differentiable_function_that_reads_a_texture_is_told_the_cure(device: fp.Device) -> None:
    source = """import fusepy;
    [Differentiable] float4 f(float2 uv, Texture2D<float4> map, SamplerState s) { return map.SampleLevel(s, uv, 0); }"""
    with pytest.raises(fp.CompileError, match="SampleLevel") as caught:
        fp.Module.load_from_source(device, "reads_a_texture", source)
    assert (caught.value.hint or "").startswith("remove [Differentiable]")
    m = fp.Module.load_from_source(device, "reads_a_texture", source.replace("[Differentiable]", ""))
    assert m.find_function("f").__name__ == "f"
