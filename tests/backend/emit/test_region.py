# ruff: noqa: E501  # the textual IR has one line per graph header
"""Generated kernels against golden texts. No device: regions come from textual IR, answers from the fake oracle.

``FUSEPY_UPDATE_GOLDEN=1`` writes what is emitted; read the difference before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fusepy.backend.device.target import Target
from fusepy.backend.emit.operands import region_operands
from fusepy.backend.emit.options import NO_OPTIONS, Options
from fusepy.backend.emit.region import emit
from fusepy.backend.emit.text import Emission, KernelSource
from fusepy.backend.emit.variant import Variant
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.backend.memory.element import Element
from fusepy.ir.ops.region import StoredInto, spec_of, with_spec
from fusepy.ir.parse import parse_graph
from fusepy.ir.types import Kind, Type
from fusepy.passes.pipeline import run_pipeline
from tests.support.reference import ORACLE

GOLDEN = Path(__file__).parent / "golden"

CHAIN = """import @m = "0123"
graph @look(%img: Tensor<float>[?,?,3], %gain: weak float) -> (Tensor<float3>[?,?]) {
  %0 = slang.call @m.exposure(%img, %gain) : Tensor<float3>[?,?]  // look.py:12
  %1 = mul(%0, %gain) : Tensor<float3>[?,?]  // look.py:13
  %2 = member(%1) {name = "zyx"} : Tensor<float3>[?,?]  // look.py:13
  return %2
}"""
ADD = """import @m = "0123"
graph @add(%a: Tensor<float>[?], %b: Tensor<float>[?]) -> (Tensor<float>[?]) {
  %0 = slang.call @m.plus(%a, %b) : Tensor<float>[?]
  return %0
}"""
ADD_2D = ADD.replace("[?]", "[?,?]")
OUTER = """import @m = "0123"
graph @outer(%a: Tensor<float>[?], %b: Tensor<float>[?]) -> (Tensor<float>[?,?]) {
  %0 = slang.call @m.plus(%a vmap(d1), %b vmap(d0)) : Tensor<float>[?,?]
  return %0
}"""
SEVERAL = """graph @several(%m: Tensor<float>[?,?], %row: Tensor<float>[?], %k: weak float) -> (Tensor<float>[?], Tensor<bool>[?,?], weak float) {
  %0 = neg(%row) : Tensor<float>[?]
  %1 = lt(%m, %0) : Tensor<bool>[?,?]
  %2 = neg(%k) : weak float
  return %0, %1, %2
}"""
STRUCTS = """import @m = "0123"
graph @shoot(%p: Tensor<float>[?,3], %rays: Tensor<Ray>[?], %t: Tensor<float>[?]) -> (Tensor<Ray>[?], Tensor<float3>[?], Tensor<double>[?]) {
  %0 = slang.call @m.at(%rays, %t) : Tensor<float3>[?]
  %1 = slang.call @m.make_ray(%p, %0) : Tensor<Ray>[?]
  %2 = member(%rays) {name = "tmax"} : Tensor<double>[?]
  return %1, %0, %2
}"""
POINTER = """import @m = "0123"
graph @gather(%table: Tensor<float>[?,?], %i: Tensor<int>[?]) -> (Tensor<float>[?]) {
  %0 = slang.call @m.fetch(%table, %i) : Tensor<float>[?]
  return %0
}"""
OUTS = """import @m = "0123"
graph @parts(%x: Tensor<float>[?]) -> (Tensor<float>[?], Tensor<float>[?], Tensor<float>[?], Tensor<float>[?]) {
  %0, %1 = slang.call @m.split(%x) : Tensor<float>[?], Tensor<float>[?]
  %2, %3 = slang.call @m.bump(%0, %1) : Tensor<float>[?], Tensor<float>[?]
  return %0, %1, %2, %3
}"""
KINDS = """import @m = "0123"
graph @kinds(%flags: Tensor<bool>[?], %d: Tensor<double>[?], %h: Tensor<half3>[?], %mat: Tensor<float>[?,3,3], %four: Tensor<float>[?,4], %k: weak bool) -> (Tensor<bool>[?], Tensor<double>[?], Tensor<half3>[?], Tensor<float3>[?], Tensor<float>[?]) {
  %0 = slang.call @m.flip(%flags) : Tensor<bool>[?]
  %1 = slang.call @m.twice(%d) : Tensor<double>[?]
  %2 = add(%h, %h) : Tensor<half3>[?]
  %3 = cast(%h) {type = "float3"} : Tensor<float3>[?]
  %4 = slang.call @m.transform(%mat, %3) : Tensor<float3>[?]
  %5 = slang.call @m.sum4(%four) : Tensor<float>[?]
  %6 = bitand(%0, %k) : Tensor<bool>[?]
  return %6, %1, %2, %4, %5
}"""
PIXELS = """import @m = "0123"
graph @pixels(%at: weak Grid<int2>[?,?], %img: Tensor<float3>[?,?]) -> (Tensor<int2>[?,?], Tensor<float3>[?,?]) {
  %0 = slang.call @m.coord(%at) : Tensor<int2>[?,?]
  %1 = neg(%img) : Tensor<float3>[?,?]
  return %0, %1
}"""
TWO_MODULES = """import @m = "0123"
import @n = "4567"
graph @both(%x: Tensor<float>[?]) -> (Tensor<float>[?]) {
  %0 = slang.call @m.plus(%x, %x) : Tensor<float>[?]
  %1 = slang.call @n.plus(%0, %x) : Tensor<float>[?]
  return %1
}"""
METHODS = """import @m = "0123"
graph @go(%r: Tensor<Ray>[?], %t: Tensor<float>[?]) -> (Tensor<float>[?], Tensor<Ray>[?]) {
  %0 = slang.call @m."Ray::ahead"(%r, %t) : Tensor<float3>[?]
  %1 = slang.call @m."Ray::aim"(%0, %0) : Tensor<Ray>[?]
  %2, %3 = slang.call @m."Ray::move"(%1, %t) : Tensor<float>[?], Tensor<Ray>[?]
  return %2, %3
}"""
TWO_MODULES_METHODS = METHODS.replace("graph", 'import @n = "4567"\ngraph').replace('@m."Ray::move', '@n."Ray::move')
OPERATORS = """graph @ops(%n: Tensor<int>[?], %d: Tensor<int>[?], %x: Tensor<float>[?]) -> (Tensor<int>[?], Tensor<int>[?], Tensor<float>[?], Tensor<float>[?]) {
  %0 = floordiv(%n, %d) : Tensor<int>[?]
  %1 = mod(%n, %d) : Tensor<int>[?]
  %2 = mod(%x, %n) : Tensor<float>[?]
  %3 = gt(%x, %2) : Tensor<bool>[?]
  %4 = const() {type = "float", value = 0.1} : weak float
  %5 = select(%3, %x, %4) : Tensor<float>[?]
  return %0, %1, %2, %5
}"""

NESTED = """import @m = "0123"
graph @at(%r.origin.x: weak float, %r.origin.y: weak int, %r.origin.z: Tensor<float>[?], %r.dir: Tensor<float>[?,3], %r.tmax: weak float, %r.weight: weak float, %r_dir: Tensor<float>[?]) -> (Tensor<float3>[?]) {
  %0 = struct(%r.origin.x, %r.origin.y, %r.origin.z) {fields = ["x", "y", "z"], path = "r.origin", type = "float3"} : Tensor<float3>[?]  // look.py:12
  %1 = struct(%0, %r.dir, %r.tmax, %r.weight) {fields = ["origin", "dir", "tmax", "weight"], path = "r", type = "Ray"} : Tensor<Ray>[?]  // look.py:12
  %2 = slang.call @m.at(%1, %r_dir) : Tensor<float3>[?]  // look.py:12
  return %2
}"""
TEXTURES = """import @m = "0123"
graph @grade(%img: Texture2D<float3>[?,?], %lut: Texture2D<float4>[?,?], %s: Resource<SamplerState>[], %uv: Tensor<float>[?,2]) -> (Tensor<float3>[?,?], Tensor<float3>[?,?]) {
  %0 = slang.call @m.grade(%img, %lut, %s, %uv) : Tensor<float3>[?,?]
  %1 = neg(%0) : Tensor<float3>[?,?]
  return %0, %1
}"""
CUBE = """import @m = "0123"
graph @cube(%sky: TextureCubeArray<float4>[?,?,?,?], %k: weak float) -> (Tensor<float>[?,?,?,?]) {
  %0 = cast(%sky) {type = "float3"} : Tensor<float3>[?,?,?,?]
  %1 = slang.call @m.luma(%0) : Tensor<float>[?,?,?,?]
  return %1
}"""
BUFFERS = """import @m = "0123"
graph @items(%all: Tensor<float3>[?], %raw: Buffer<ByteAddressBuffer>[], %i: Tensor<int>[?]) -> (Tensor<float3>[?]) {
  %0 = slang.call @m.pick_item(%all, %i) : Tensor<float3>[?]
  %1 = slang.call @m.pick_item(%raw, %i) : Tensor<float3>[?]
  %2 = add(%0, %1) : Tensor<float3>[?]
  return %2
}"""
MARKED = """import @m = "0123"
graph @mark(%t: Texture2D<float>[?,?], %at: weak Grid<int2>[?,?], %x: weak float) -> () {
  slang.call @m.mark(%t, %at, %x)
  return
}"""

LOOPS = """import @m = "0123"
import @n = "4567"
graph @solve(%x: Tensor<float>[?], %p: Tensor<float>[?], %n: weak int) -> (Tensor<float>[?], Tensor<int>[?]) {
  %0 = const() {type = "int", value = 0} : weak int
  %1, %2 = while_loop(%x, %0, %p vmap() vcast(Ptr<float>), %n) {max_steps = 64} : Tensor<float>[?], Tensor<int>[?]  // look.py:8
  body @test(%"c[0]": float, %"c[1]": int, %p: Ptr<float>, %n: weak int) -> (bool) {
    %0 = lt(%"c[1]", %n) : bool  // look.py:8
    return %0
  }
  body @body(%"c[0]": float, %"c[1]": int, %p: Ptr<float>, %n: weak int) -> (float, int) {
    %0 = const() {type = "int", value = 0} : weak int
    %1, %2 = fori_loop(%0, %"c[1]", %"c[0]", %"c[0]", %p) : float, float  // look.py:9
    body @body(%i: int, %a: float, %b: float, %p: Ptr<float>) -> (float, float) {
      %0 = slang.call @m.fetch(%p, %i) : float  // look.py:10
      %1 = slang.call @n.plus(%a, %0) : float  // look.py:11
      return %b, %1
    }
    %3 = const() {type = "int", value = 1} : weak int  // look.py:12
    %4 = add(%"c[1]", %3) : int  // look.py:12
    return %1, %4
  }
  %3 = gt(%1, %0) : Tensor<bool>[?]
  %4 = cond(%3, %1) : Tensor<float>[?]  // look.py:14
  body @if_true(%x: float) -> (float) {
    %0 = neg(%x) : float  // look.py:14
    return %0
  }
  body @if_false(%x: float) -> (float) {
    return %x
  }
  cond(%3, %4)  // look.py:15
  body @if_true(%x: float) -> () {
    slang.call @m.note(%x)  // look.py:15
    return
  }
  body @if_false(%x: float) -> () {
    return
  }
  return %4, %2
}"""
UNROLLED = """graph @power(%x: Tensor<float>[?]) -> (Tensor<float>[?]) {
  %0 = const() {type = "int", value = 0} : weak int
  %1 = const() {type = "int", value = 4} : weak int
  %2 = fori_loop(%0, %1, %x, %x) {unroll = true} : Tensor<float>[?]
  body @body(%i: int, %c: float, %x: float) -> (float) {
    %0 = mul(%c, %x) : float
    return %0
  }
  return %2
}"""


class Case(NamedTuple):
    text: str
    target: str
    variant: Variant
    options: Options = NO_OPTIONS
    into: dict[int, StoredInto] = {}


CASES = {
    "chain_linear_software": Case(CHAIN, "software", Variant(True, 2)),
    "chain_linear_vulkan": Case(CHAIN, "vulkan", Variant(True, 2)),
    "chain_blocks_vulkan": Case(CHAIN, "vulkan", Variant(False, 2, space="blocks light")),
    "add_squares_cuda": Case(ADD_2D, "cuda", Variant(False, 2, space="blocks in squares", turned=(0,))),
    "chain_linear_64": Case(CHAIN, "vulkan", Variant(True, 2, True)),
    "chain_strided_64": Case(CHAIN, "vulkan", Variant(False, 2, True)),
    "add_batched_vulkan": Case(ADD, "vulkan", Variant(True, 1)),
    "add_batched_cuda": Case(ADD, "cuda", Variant(True, 1)),
    "add_linear_software": Case(ADD, "software", Variant(True, 1)),
    "add_strided_software": Case(ADD, "software", Variant(False, 1)),
    "chain_tiled": Case(
        CHAIN, "vulkan", Variant(False, 2, tile=(16, 8)), Options((16, 8), (("int", "N", 3), ("float3", "TINT", (1.0, 0.5, 0.0))))
    ),
    "chain_tiled_64": Case(CHAIN, "vulkan", Variant(False, 2, True, (8, 8, 4)), Options((8, 8, 4))),
    "chain_group_of_128": Case(CHAIN, "vulkan", Variant(True, 2), Options((128,))),
    "outer_strided": Case(OUTER, "vulkan", Variant(False, 2)),
    "several_guarded": Case(SEVERAL, "vulkan", Variant(False, 2)),
    "structs_linear": Case(STRUCTS, "vulkan", Variant(True, 1)),
    "structs_strided": Case(STRUCTS, "vulkan", Variant(False, 1)),
    "pointer_linear": Case(POINTER, "cuda", Variant(True, 1)),
    "pointer_strided": Case(POINTER, "vulkan", Variant(False, 1)),
    "outs_linear": Case(OUTS, "vulkan", Variant(True, 1)),
    "kinds_linear": Case(KINDS, "vulkan", Variant(True, 1)),
    "kinds_strided": Case(KINDS, "vulkan", Variant(False, 1)),
    "pixels_strided": Case(PIXELS, "software", Variant(False, 2)),
    "methods": Case(METHODS, "vulkan", Variant(True, 1)),
    "two_modules_methods": Case(TWO_MODULES_METHODS, "vulkan", Variant(True, 1)),
    "two_modules": Case(TWO_MODULES, "vulkan", Variant(True, 1)),
    "nested_linear": Case(NESTED, "vulkan", Variant(True, 1)),
    "nested_strided": Case(NESTED, "vulkan", Variant(False, 1)),
    "operators": Case(OPERATORS, "software", Variant(True, 1)),
    "textures_strided": Case(TEXTURES, "vulkan", Variant(False, 2)),
    "textures_squares": Case(
        TEXTURES, "vulkan", Variant(False, 2, space="squares"), into={1: StoredInto(Type.parse("RWTexture2D<float4>"))}
    ),
    "textures_shared": Case(
        TEXTURES, "software", Variant(False, 2, space="rows"), into={0: StoredInto(Type.parse("RWTexture2D<float4>"), (0,))}
    ),
    "textures_cuda": Case(TEXTURES, "cuda", Variant(False, 2, space="squares")),
    "cube_rows": Case(CUBE, "software", Variant(False, 4, space="rows")),
    "buffers_linear": Case(BUFFERS, "vulkan", Variant(True, 1)),
    "marked_strided": Case(MARKED, "vulkan", Variant(False, 2)),
    "loops": Case(LOOPS, "vulkan", Variant(True, 1)),
    "unrolled": Case(UNROLLED, "software", Variant(True, 1)),
}


def emitted(case: Case) -> KernelSource:
    graph = run_pipeline(parse_graph(case.text), ORACLE)
    (region,) = graph.nodes
    region = with_spec(region, spec_of(region).storing(case.into))
    types = [o.want for o in region_operands(region) if o.dims and o.want.kind is not Kind.POINTER] + [
        v.type for v in region.results
    ]
    widest = max((Element.of(t, ORACLE).nbytes for t in types), default=4)
    imports = {alias: [f"{alias}_{key}"] for alias, key in graph.modules}
    return emit(region, case.variant, Emission(Target(case.target), ACCESSES, imports, options=case.options), widest)


@pytest.mark.req("N1", "V11")
@pytest.mark.parametrize("name", CASES)
def test_golden(name: str) -> None:
    source = emitted(CASES[name])
    path = GOLDEN / f"{name}.slang"
    text = source.text
    for shim, content in source.shims:
        text += f"\n// ---- {shim}\n{content}"
    if os.environ.get("FUSEPY_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


def test_every_golden_file_has_a_case() -> None:
    assert {p.stem for p in GOLDEN.glob("*.slang")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_text_is_deterministic_and_holds_no_sizes(name: str) -> None:
    first, second = emitted(CASES[name]), emitted(CASES[name])
    assert first == second
    declared = first.text.split("struct FzArguments")[1].split("};")[0].replace("::", "")  # names of the global scope
    assert [f"{f.declared} {f.name};" for f in first.fields] == [
        line.strip() for line in declared.splitlines() if line.strip(" {")
    ]


def text_of(name: str) -> str:
    return emitted(CASES[name]).text


def test_what_the_variants_differ_in() -> None:
    """What the golden texts are about, so that an update by hand cannot lose it unseen."""
    cuda, vulkan = text_of("add_batched_cuda"), text_of("add_batched_vulkan")
    assert "uniform FzArguments fz_args)" in cuda
    assert "\nuniform FzArguments fz_args;" in vulkan
    assert vulkan.index("a_b[k] = fz_args.a_b[i]") < vulkan.index("fz_args.r_0[i] =")
    assert "[4];" in vulkan
    assert "void main" not in cuda + vulkan
    assert "uint64_t i" in text_of("chain_linear_64")
    assert "int64_t d1" in text_of("chain_strided_64")
    assert "float3* a_img" in text_of("chain_linear_vulkan")  # wide loads where the components are contiguous
    assert "float* a_img" in text_of("chain_blocks_vulkan")
    assert "d0 == 0" in text_of("several_guarded")  # only one thread stores what does not vary along d0
    assert "uint* r_" in text_of("kinds_linear")  # bool takes four bytes
    assert '#line 12 "look.py"' in text_of("chain_linear_vulkan")
    assert text_of("chain_linear_vulkan").count("exposure(") == 1
    assert "float a_r_origin_y;" in text_of("nested_linear")  # a constant leaf is a uniform
    assert "float3* a_r_dir_2;" in text_of("nested_linear")  # and a leaf may not take the name of another argument


@pytest.mark.parametrize("name", CASES)
def test_slang_takes_it(name: str, device: Any) -> None:
    """The golden texts are no fiction: the compiler accepts them together with the declarations that the fake speaks of."""
    from fusepy.backend.sources.source import ModuleSource
    from tests.support.fake_oracle import SOURCE

    if CASES[name].target == "cuda" and device.target.kind != "cuda":
        pytest.skip("the entry-point block is CUDA's; elsewhere it would be a push constant")
    source = emitted(CASES[name])
    text = source.text
    sources = []
    for alias in ("m", "n"):
        made = ModuleSource.make(f"emit_{alias}", f"// {alias}\n{SOURCE}")
        sources.append(made)
        text = text.replace(f"import {alias}_0123;", f"import {made.name};").replace(
            f"import {alias}_4567;", f"import {made.name};"
        )
    if source.shims:
        pytest.skip("tests/functions/test_fused.py runs a kernel with shims")
    if "import" not in text:
        sources = []
    device.compiler.compile(f"emitted_{name}_{os.getpid()}", text, (), sources[:1], source.entry_point)
