"""Operations that are rounded by themselves: sums before a comparison with their own extreme, and what GPUs join."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.device.target import Target
from fusepy.backend.emit.options import NO_OPTIONS, Emission
from fusepy.backend.emit.region import emit
from fusepy.backend.emit.variant import Variant
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.backend.slang.prelude import INCLUDE
from fusepy.backend.slang.stage import COMPUTE
from fusepy.ir.parse import parse_graph
from fusepy.passes.pipeline import run_pipeline
from tests.support.reference import ORACLE
from tests.support.selection import daily

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("scalar", daily([np.float16, np.float32, np.float64], "float32"))
@pytest.mark.parametrize("shape", daily([(), (3,), (2, 3)], 3, one=True), ids=["numbers", "vectors", "matrices"])
def test_such_sums_are_rounded_by_themselves(device: fp.Device, scalar: Any, shape: tuple[int, ...]) -> None:
    x, y = (RNG.random((5, 6, *shape)).astype(scalar) for _ in range(2))
    words = {2: "half", 4: "float", 8: "double"}[np.dtype(scalar).itemsize]
    type = {0: words, 1: f"{words}3", 2: f"{words}2x3"}[len(shape)]

    @fp.fuse
    def f(x: Any, y: Any) -> Any:
        x, y = fp.vcast(x, type), fp.vcast(y, type)
        made = x * y - y + x
        return made == fp.max(made, axis=-1, keepdims=True)

    made = (x * y - y) + x
    want = made == made.max(axis=1, keepdims=True)
    np.testing.assert_array_equal(np.asarray(f(x, y)), want)
    text = f.source(x, y)
    assert "fzround_sub(" in text
    assert "fzround_add(" in text


def test_the_gradient_of_a_maximum_asks_for_it(device: fp.Device) -> None:
    x = fp.asarray(RNG.random((4, 5), np.float32))
    loss = lambda x: fp.sum(fp.max(x * x - x, axis=-1))  # noqa: E731
    assert "fzround_sub(" in fp.grad(loss).source(x)
    assert "fzround_sub(" not in fp.fuse(lambda x: fp.max(x * x - x, axis=-1)).source(x)


JOINED = """graph @f(%x: Tensor<float>[?], %y: Tensor<float>[?]) -> (Tensor<float>[?], Tensor<float>[?], Tensor<float>[?]) {
  %0 = const() {type = "float", value = 3.0} : weak float
  %1 = add(%x, %0) : Tensor<float>[?]
  %2 = mul(%1, %0) : Tensor<float>[?]
  %3 = add(%x, %y) : Tensor<float>[?]
  %4 = sub(%3, %y) : Tensor<float>[?]
  %5 = floordiv(%1, %y) : Tensor<float>[?]
  %6 = mul(%5, %y) : Tensor<float>[?]
  return %2, %4, %6
}"""
ROUNDED = {
    "software": (Target("software", spirv=True), NO_OPTIONS, []),
    "vulkan": (Target("vulkan", spirv=True), NO_OPTIONS, ["mul(v1, v0)", "sub(v3, a_y)", "div(v1, a_y)"]),
    "cuda": (Target("cuda"), NO_OPTIONS, ["div(v1, a_y)"]),
    "cuda with fast arithmetic": (Target("cuda"), replace(NO_OPTIONS, fast_math=True), []),
}


@pytest.mark.parametrize("case", ROUNDED)
def test_what_gpus_round_by_functions_of_their_own(case: str) -> None:
    target, options, called = ROUNDED[case]
    (region,) = run_pipeline(parse_graph(JOINED), ORACLE).nodes
    text = emit(region, Variant(True, 1), Emission(target, ACCESSES, {}, options=options), 4).text
    assert re.findall(r"fzround_(\w+\(.*?\))", text) == called


def test_cuda_knows_the_threads_of_large_groups() -> None:
    """NVRTC takes up to 255 registers for a thread, which are too many for 512."""
    first = [COMPUTE.first("", (threads, 1, 1), spirv=False, cuda=True) for threads in (256, 512)]
    assert first[0] == [INCLUDE]
    assert "__launch_bounds__(512)" in first[1][1]
    assert COMPUTE.first("", (512, 1, 1), spirv=False, cuda=False) == []


_INPUTS = "%x: Tensor<int>[?], %y: Tensor<int16_t>[?], %z: Tensor<int64_t>[?], %w: Tensor<float>[?]"
_RESULTS = (
    "Tensor<int>[?], Tensor<int>[?], Tensor<int>[?], Tensor<int16_t>[?], Tensor<int64_t>[?], Tensor<float>[?], Tensor<int>[?]"
)
NEGATED = f"""graph @f({_INPUTS}) -> ({_RESULTS}) {{
  %0 = const() {{type = "int", value = 0}} : weak int
  %1 = const() {{type = "int", value = -1}} : weak int
  %2 = neg(%x) : Tensor<int>[?]
  %3 = sub(%0, %x) : Tensor<int>[?]
  %4 = mul(%x, %1) : Tensor<int>[?]
  %5 = neg(%y) : Tensor<int16_t>[?]
  %6 = neg(%z) : Tensor<int64_t>[?]
  %7 = neg(%w) : Tensor<float>[?]
  %8 = sub(%x, %0) : Tensor<int>[?]
  return %2, %3, %4, %5, %6, %7, %8
}}"""


@pytest.mark.req("V1")
@pytest.mark.parametrize(("target", "called"), [(Target("cuda"), 5), (Target("vulkan", spirv=True), 0), (Target("software"), 0)])
def test_negative_integers_for_cudas_assembler(target: Target, called: int) -> None:
    (region,) = run_pipeline(parse_graph(NEGATED), ORACLE).nodes
    text = emit(region, Variant(True, 1), Emission(target, ACCESSES, {}), 4).text
    assert text.count("fzround_neg(") == called


@pytest.mark.req("V1")
@pytest.mark.parametrize("scalar", daily([np.int32, np.int16, np.int8, np.int64], "int32"))
def test_rows_of_negative_integers(device: fp.Device, scalar: Any) -> None:
    """CUDA's assembler took one of them without its sign: eight rows of ten were wrong on an H200."""
    for shape in ((40, 8), (40, 33), (1, 17)):
        x = RNG.integers(-5, 6, shape).astype(scalar)
        for of in (lambda x: -x, lambda x: 0 - x, lambda x: x * -1):
            apart = fp.fuse(lambda x, of=of: (of(x) - fp.min(of(x), -1, keepdims=True), fp.max(of(x), -1, keepdims=True) - of(x)))
            low, high = (np.asarray(found) for found in apart(x))
            wanted = -x.astype(np.int64)
            np.testing.assert_array_equal(low, wanted - wanted.min(-1, keepdims=True))
            np.testing.assert_array_equal(high, wanted.max(-1, keepdims=True) - wanted)
