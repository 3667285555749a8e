"""What `explain` says of programs of several kernels: golden texts of reasons, bytes, edits and cache misses."""

from __future__ import annotations

import re
from typing import Any

import pytest

import fusepy as fp
from tests.functions import ramp

SOURCE = """
import fusepy;
float luminance(float3 c) { return dot(c, float3(0.2126, 0.7152, 0.0722)); }
float blur(int2 p, Tensor<float,2> t) { return t[p] * 0.5 + t[int2(0, 0)] * 0.5; }
float3 grade(float3 c, float detail) { return c + detail; }
float bump(int2 p, RWTensor<float,2> t) { float old = t[p]; t[p] = old + 1; return old; }
"""
G = fp.grid((4, 8))
IMAGE = ramp(4, 8, 3)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "reasoned", SOURCE)


def text(explanation: Any) -> str:
    """Without lines and names of files, which are this test's."""
    return re.sub(r" \(test_\S+:\d+\)", "", str(explanation))


DETAIL = """detail: 2 kernels
  argument image: float over 3 axes
  argument p: int2 over 2 axes
  kernel 0: linear, since all arguments are contiguous and of one shape
  kernel 1: strided2 by rows, since an argument is mapped to some of the grid's dimensions only, or is a grid() or texture
  luminance: fused: elementwise on the grid of the results
  blur: fused: elementwise on the grid of the results
  sub: fused: elementwise on the grid of the results
  grade: fused: elementwise on the grid of the results
  luminance -> blur: split: blur reads the array as a whole, so all of it must be there; to fuse them, let blur compute \
luminance in Slang for each element that it reads
  luminance -> sub: split: an earlier kernel computes luminance too, and loading 4 bytes an element costs less than computing \
it again
  blur -> sub: fused: kernel 1 computes both element by element, on one grid
  sub -> grade: fused: kernel 1 computes both element by element, on one grid
  stored: luminance by kernel 0, 4 bytes for each of 32 elements, for kernel 1
  memory: 512 bytes at most, for results and values between kernels"""


def test_a_whole_read(m: Any) -> None:
    @fp.fuse
    def detail(image: Any) -> Any:
        light = m.luminance(image)
        return m.grade(image, light - m.blur(G, light))

    along = "strided2 by rows" if m.device.target.kind == "software" else "strided2"
    assert text(detail.explain(IMAGE)) == DETAIL.replace("strided2 by rows", along)


SOFTMAX = """softmax: 3 kernels
  argument x: float over 2 axes
  {variants}
  max -> sub: split: sub needs the result of max, which is known when all elements have been combined
  sub -> exp: fused: kernel 1 computes both element by element, on one grid
  exp -> sum: fused: kernel 1 combines elements as it computes them
  max -> sub: split: sub needs the result of max, which is known when all elements have been combined
  sub -> exp: fused: kernel 2 computes both element by element, on one grid; computed again, for 4.25 bytes an element, where \
storing it moves 8
  exp -> div: fused: kernel 2 computes both element by element, on one grid; computed again, for 4.5 bytes an element, where \
storing it moves 8
  sum -> div: split: div needs the result of sum, which is known when all elements have been combined
  stored: max by kernel 0, 4 bytes for each of 4 elements, for kernels 1, 2
  stored: sum by kernel 1, 4 bytes for each of 4 elements, for kernel 2
  memory: 160 bytes at most, for results and values between kernels"""


def test_reductions_and_what_is_computed_again(device: Any) -> None:
    @fp.fuse
    def softmax(x: Any) -> Any:
        e = fp.exp(x - fp.max(x, axis=-1, keepdims=True))
        return e / fp.sum(e, axis=-1, keepdims=True)

    said = text(softmax.explain(ramp(4, 8)))
    kept = [line for line in said.split("\n") if not re.match(r"  (kernel \d:|\w+: fused)", line)]
    assert "\n".join(kept) == SOFTMAX.replace("  {variants}\n", "")


def test_an_epilogue_is_fused(device: Any) -> None:
    @fp.fuse
    def rms(x: Any) -> Any:
        return fp.sqrt(fp.mean(x * x))

    explained = rms.explain(ramp(4, 8))
    assert explained.kernels == 1
    assert [(p.fused, p.why) for p in explained.neighbours] == [
        (True, "kernel 0 combines elements as it computes them"),
        (True, "kernel 0 goes on with what it has reduced, on the small grid"),
    ]


def test_writes_split_and_say_what_to_do(m: Any, device: Any) -> None:
    @fp.fuse
    def f(a: Any) -> Any:
        before = a * 2
        return m.bump(G, a) + before

    pairs = f.explain(fp.Tensor.zeros(device, (4, 8))).neighbours
    why = {(re.sub(r" \(.*", "", p.first), re.sub(r" \(.*", "", p.second)): (p.why, p.edit) for p in pairs if not p.fused}
    assert why == {
        ("bump", "add"): ("bump writes an array, and nothing else may run beside it", "take add into bump"),
        ("mul", "add"): ("an array is written between mul and add", "call add before what writes"),
    }


def test_a_cache_miss_names_what_differs(m: Any, device: Any) -> None:
    @fp.fuse
    def f(image: Any, gain: Any) -> Any:
        return m.luminance(image) * gain

    assert f.explain(IMAGE, 2.0).cache == "no program is there yet; the first call compiles one"
    f(IMAGE, 2.0)
    there = "a program for such arguments is there"
    assert f.explain(ramp(7, 5, 3), 3.0).cache == there
    assert f.explain(gain=3.0, image=IMAGE).cache != there  # named arguments are another way to call
    found = f.explain(IMAGE[0], 2.0).cache
    assert found == "a new program: argument 'image' is ndarray Tensor<float>[?,3], and was ndarray Tensor<float>[?,?,3]"
    found = f.explain(fp.Tensor.from_numpy(device, IMAGE), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]).cache
    assert found.count("argument") == 2
    assert "is Tensor Tensor<float>[?,?,3], and was ndarray" in found
    assert "'gain' is list List<float>[?], and was float weak float" in found
