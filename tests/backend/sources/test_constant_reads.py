"""Functions whose reads of arrays have no derivative, found in the text."""

from __future__ import annotations

import pytest

from fusepy.backend.sources.constant_reads import constant_read

HELPER = "float h(Tensor<float, 1> t, int i) { return t[i]; }"


@pytest.mark.parametrize(
    ("text", "function"),
    [
        (HELPER + " [Differentiable] float f(Tensor<float, 1> t) { return h(t, 0); }", "h"),
        (HELPER.replace("t[i]", "t.load(i)") + " [Differentiable] float f(Tensor<float, 1> t) { return h(t, 0); }", "h"),
        (HELPER + " [Differentiable] float f(Tensor<float, 1> t) { return no_diff h(t, 0); }", None),
        (HELPER + " [Differentiable] float f(Tensor<float, 1> t) { return t[0]; }", None),
        ("[Differentiable] " + HELPER + " [Differentiable] float f(Tensor<float, 1> t) { return h(t, 0); }", None),
        (HELPER.replace("float h", "int h") + " [Differentiable] float f(Tensor<float, 1> t) { return t[h(t, 0)]; }", None),
        (HELPER.replace("t[i]", "t.shape[0]") + " [Differentiable] float f(Tensor<float, 1> t) { return h(t, 0); }", None),
        (
            HELPER.replace("Tensor<float", "Tensor<int") + " [Differentiable] float f(Tensor<float, 1> t) { return h(t, 0); }",
            None,
        ),
        ("[Differentiable] float f<A : ITensor<float, 1>>(A t) { return t[0]; }", "f"),
        ("[Differentiable] T f<T>(Tensor<T, 1> t) { return t[0]; }", "f"),
        ("[Differentiable] T f<T : IDifferentiable>(Tensor<T, 1> t) { return t[0]; }", None),
    ],
)
def test_reads_that_are_constants(text: str, function: str | None) -> None:
    found = constant_read("f", [text])
    assert (found is None) is (function is None), found
    assert found is None or found.startswith(repr(function))
