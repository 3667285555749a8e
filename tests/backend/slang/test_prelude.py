"""The short prelude for CUDA's compiler: code behind it is the code behind Slang's own, and what it lacks has Slang's."""

from __future__ import annotations

import ctypes
import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from fusepy.backend.device.selfcheck import KERNEL
from fusepy.backend.device.target import Target
from fusepy.backend.slang import prelude
from fusepy.backend.slang.codegen import PRECISE, Codegen
from fusepy.backend.slang.derivatives.second_order import ENTRY, kernel_of
from fusepy.backend.slang.prelude import INCLUDE, SHORT, needs_all
from fusepy.backend.slang.session import _session_key
from fusepy.backend.sources.libraries import FOLDER
from fusepy.backend.sources.source import ModuleSource
from fusepy.ir.oracle import IN, CallTypes
from fusepy.ir.types import Type
from fusepy.program import lowering
from tests.support import nvrtc
from tests.support.selection import daily

needs_nvrtc = pytest.mark.skipif(
    nvrtc.LIBRARY is None or nvrtc.HEADER is None, reason="needs the packages nvidia-cuda-nvrtc-cu12 and nvidia-cuda-runtime-cu12"
)
HALFS = {"SLANG_CUDA_ENABLE_HALF": "1"}  # Slang defines it for a kernel that has them
SLANG = """
uniform float gain;
float louder(float x) { return x * gain; }
float3 shade(float3 c, float2 uv) { return lerp(c, sqrt(abs(c)) * dot(uv, uv), step(0.5, c)) + fmod(c, 0.3) / (1 + uv.xyx); }
float3x3 turned(float3x3 a, float3x3 b, float s) { return transpose(mul(a, b)) * s + (a - b) / 3 - float3x3(s) % a; }
half3 halved(half3 a, half2 b) { return (a + half3(b * b - b, 1)) / exp(a) + half3(min(a.x, b.y)); }
int4 bits(int4 a, uint4 b)
{
    return (a << 2) ^ int4(b >> 3u) % 7 | ~a & select(a > int4(b), a, -a) + countbits(b.x) + firstbithigh(a.y);
}
double2 wide(double2 a, int64_t n) { return floor(a * double(n)) + sign(a) * asdouble(1u, asuint(float(a.x))) + max(n, 3L); }
bool3 truth(bool3 a, float3 b) { return (a && b > 0) || !(a != (b == 2)); }
[Differentiable] float2 curve(float2 x, float k)
{
    float2 y[2] = { x * k, sin(x) };
    return y[0] * pow(abs(y[1]), 1.5) + atan2(x, 2.0);
}
"""
FLOATS = ("float", "double", "half")
INTEGERS = ("int", "uint", "int16_t", "uint8_t", "int64_t", "uint64_t")
X, XY, BOOLS, MATRICES = np.ones((5, 7, 3), "f4"), np.ones((5, 7, 2), "f4"), np.ones((5, 3), "?"), np.ones((4, 3, 3), "f4")
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "floats": lambda m: fp.fuse(m.shade)(X, XY),
    "globals": lambda m: fp.fuse(m.louder.set(gain=2.0))(X),
    "matrices": lambda m: fp.fuse(m.turned)(MATRICES, MATRICES, np.float32(2)),
    "halfs": lambda m: fp.fuse(m.halved)(np.ones((4, 3), "f2"), np.ones((4, 2), "f2")),
    "integers": lambda m: fp.fuse(m.bits)(np.ones((4, 4), "i4"), np.ones((4, 4), "u4")),
    "doubles": lambda m: fp.fuse(m.wide)(np.ones((4, 2)), np.ones(4, "i8")),
    "bools": lambda m: fp.fuse(m.truth)(BOOLS, X[0, :5]),
    "rows": lambda m: fp.fuse(lambda x: fp.exp(x - fp.max(x, -1, keepdims=True)) / fp.sum(x, -1, keepdims=True))(
        X[:, :, 0].copy()
    ),
    "sums": lambda m: fp.fuse(lambda x: fp.sum(m.shade(x, 0.5)))(X),
    "sums of vectors": lambda m: fp.fuse(lambda x: fp.sum(m.shade(x, 0.5)))(fp.Tensor.from_numpy(m.device, X)),
    "sums of matrices": lambda m: fp.fuse(lambda x: fp.sum(m.turned(x, x, 2.0)))(fp.Tensor.from_numpy(m.device, MATRICES)),
    "scans": lambda m: fp.fuse(lambda x: fp.cumsum(x))(np.ones(1000, "i4")),
    "random": lambda m: fp.fuse(lambda x: x + fp.random.normal(fp.random.key(1), (100,)))(np.ones(100, "f4")),
    "gradients": lambda m: fp.grad(lambda x, k: fp.sum(m.curve(x, k)), (0, 1))(np.ones((9, 2), "f4"), np.float32(2)),
}


class _Seen(Exception):
    """The first kernel of a program has been emitted."""


def both(text: str) -> tuple[str, str]:
    """Returns the PTX of a CUDA text behind the short prelude, and behind Slang's."""
    return nvrtc.ptx(text, {**SHORT, **HALFS}, ["-minimal"]), nvrtc.ptx(text, HALFS)


@pytest.fixture
def emitted(device: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Any]:
    """Returns a function that gives the text for CUDA of the first kernel that a call needs, and the modules that it imports."""

    def kernel(call: Callable[[], Any]) -> Any:
        def seen(_device: Any, source: Any, sources: Sequence[ModuleSource], *_: Any) -> Any:
            raise _Seen(source, sources)

        monkeypatch.setattr(device, "target", Target("cuda"))
        monkeypatch.setattr(lowering, "build_kernel", seen)
        with pytest.raises(_Seen) as found:
            call()
        return found.value.args

    return kernel


@needs_nvrtc
@pytest.mark.parametrize("name", daily(PROGRAMS, "floats", "matrices"))
def test_code_is_the_same_behind_the_short_prelude(name: str, device: Any, emitted: Any, tmp_path: Path) -> None:
    m = fp.Module.load_from_source(device, "preluded", SLANG)
    source, modules = emitted(lambda: PROGRAMS[name](m))
    assert source.text.count(INCLUDE) == 1
    for module, text in [*((s.name, s.text) for s in modules), *source.shims]:
        (tmp_path / f"{module}.slang").write_text(text)
    text = nvrtc.cuda(source.text, source.entry_point, [tmp_path, FOLDER])
    short, whole = both(text)
    codes = nvrtc.code(short), nvrtc.code(whole)
    if name.startswith("sums of"):  # NVRTC numbers the registers of threads' exchanges otherwise, and swaps two moves
        codes = tuple(sorted(re.findall(r"^\s*(?:@\S+ )?([a-z][\w.]+)", code, re.MULTILINE)) for code in codes)
    assert codes[0] == codes[1]
    assert len(short) < len(whole)  # which has globals of Slang's prelude


@needs_nvrtc
def test_the_kernel_that_checks_a_device() -> None:
    text = nvrtc.cuda(KERNEL, "selfcheck", [])
    short, whole = both(text)
    assert nvrtc.code(short) == nvrtc.code(whole)


@pytest.mark.req("B5")
@needs_nvrtc
@pytest.mark.parametrize("forward", [False, True])
def test_the_kernel_that_tries_a_second_derivative(forward: bool, tmp_path: Path) -> None:
    """It did not include the short prelude, so that CUDA refused the second derivative of every function."""
    (tmp_path / "twice.slang").write_text("[Differentiable] float3 bent(float3 x, float k) { return sin(x) * k; }")
    params = ((IN, Type.parse("float3"), True), (IN, Type.parse("float"), True))
    text = kernel_of(["twice"], CallTypes("bent", params, Type.parse("float3"), order=2), forward)
    short, whole = both(nvrtc.cuda(text, ENTRY, [tmp_path, FOLDER]))
    assert nvrtc.code(short) == nvrtc.code(whole)


@pytest.mark.rest
@needs_nvrtc
def test_every_operator_of_every_vector() -> None:
    """As Slang has them, since the code is the same."""
    lines, names = [], []
    for element, n in [*itertools.product(FLOATS + INTEGERS, (3,)), *itertools.product(("half", "int"), (2, 4))]:
        v, name = f"vector<{element}, {n}>", f"{element}_{n}"
        integer = element in INTEGERS
        body = [f"r = r {op} (a {op} b);" for op in ("+", "-", "*", "/", *("%&|^" if integer else ()))]
        chosen = (
            "r += {0}({1})" if "64" in element else "r = select({1}, r, a)"
        )  # Slang's prelude has no choice of 64-bit vectors
        body += [f"{chosen.format(v, f'a {op} b')};" for op in ("<", ">", "<=", ">=", "==", "!=")]
        body += ["r = -r;", *(["r = ~r;"] if integer else [])]
        body += ["r = r << (a & 3);", "r = r >> (b & 3);"] if element in ("int", "uint") else []  # others Slang's refuses
        body += ["r[int(p[0].x) & 1] = a[int(p[1].x) & 1];", f"r += {v}(bool{n}(a > b) && !bool{n}(b > a));"]
        lines += [f"void all_{name}({v}* p) {{ {v} a = p[1], b = p[2], r = p[3]; {' '.join(body)} p[0] = r; }}"]
        lines += [f"struct P_{name} {{ {v}* p; }};"]
        names += [name]
    fields = " ".join(f"P_{name} {name};" for name in names)
    calls = " ".join(f"all_{name}(b.{name}.p);" for name in names)
    text = "\n".join([*lines, f"struct Block {{ {fields} }};", '[shader("compute")] [numthreads(1, 1, 1)]'])
    text += f"\nvoid every(uniform Block b) {{ {INCLUDE} {calls} }}"
    short, whole = both(nvrtc.cuda(text, "every", []))
    assert nvrtc.code(short) == nvrtc.code(whole)
    assert len(nvrtc.code(short)) > 20_000


@needs_nvrtc
def test_functions_of_integers_that_slangs_prelude_lacks() -> None:
    types = ("int8_t", "uint8_t", "int16_t", "uint16_t", "int", "int64_t")
    lines = [
        f"vector<{t}, 3> of_{i}(vector<{t}, 3> a) {{ return (abs(a) + min(a, -a) * max(a, 7) + vector<{t}, 3>(sign(a))) << 2; }}"
        for i, t in enumerate(types)
    ]
    fields = " ".join(f"vector<{t}, 3>* p{i};" for i, t in enumerate(types))
    body = " ".join(f"b.p{i}[0] = of_{i}(b.p{i}[1]);" for i in range(len(types)))
    lines += [f"struct Block {{ {fields} }};", '[shader("compute")] [numthreads(1, 1, 1)]']
    text = nvrtc.cuda("\n".join([*lines, f"void every(uniform Block b) {{ {INCLUDE} {body} }}"]), "every", [])
    assert "shl.b32" in nvrtc.ptx(text, SHORT)
    with pytest.raises(ValueError, match="I8_abs"):  # else fusepy need not have them
        nvrtc.ptx(text, {})


@pytest.mark.parametrize(
    ("source", "text", "whole"),
    [
        (SLANG, "", False),
        ("float f(Texture2D<float> t) { return t.Load(int3(0)); }", "", True),
        ('void main() { printf("x"); }', "", True),
        ("float f(float x) { return WaveActiveSum(x); }", "", True),
        ('[shader("compute")] [numthreads(1, 1, 1)] void main() {}', "", True),
        (SLANG, "uniform RWTexture2D<float4> r_0;", True),
        (SLANG, "float v = WaveReadLaneAt(x, 1);", False),  # what fusepy writes itself the short text has
    ],
)
def test_which_programs_have_the_whole_prelude(source: str, text: str, whole: bool) -> None:
    sources = [ModuleSource.make("preludes", source)]
    assert needs_all(sources, text) == whole
    cuda, vulkan = spy.DeviceType.cuda, spy.DeviceType.vulkan
    assert _session_key(sources, PRECISE, cuda, True, text).short != whole
    assert not _session_key(sources, Codegen(whole_prelude=True), cuda, True, text).short
    assert not _session_key(sources, PRECISE, vulkan, True, text).short


def test_what_cudas_compiler_refuses_is_compiled_with_the_whole_prelude() -> None:
    done = Codegen(optimised=True)
    made, again = PRECISE.ways(done, lambda codegen: codegen)
    assert (made.whole_prelude, again()) == (False, Codegen(whole_prelude=True))
    made, again = Codegen(whole_prelude=True).ways(Codegen(True, whole_prelude=True), lambda codegen: codegen)
    assert made.whole_prelude
    assert again().optimised is False  # the other way on Vulkan


def test_the_arguments_of_cudas_compiler_are_those_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-minimal` is refused before CUDA 12.4; a user's own arguments stay."""

    class Library:
        def __init__(self, *version: int):
            self.version = version

        def nvrtcVersion(self, major: Any, minor: Any) -> None:  # noqa: N802  # NVRTC's name
            ctypes.cast(major, ctypes.POINTER(ctypes.c_int))[0] = self.version[0]
            ctypes.cast(minor, ctypes.POINTER(ctypes.c_int))[0] = self.version[1]

    def absent(name: str) -> Any:
        raise OSError(name)

    for found, wanted in ((Library(12, 3), ()), (Library(12, 8), ("-minimal",)), (Library(13, 0), ("-minimal",))):
        monkeypatch.setattr(ctypes, "CDLL", lambda name, found=found: found)
        assert prelude.arguments.__wrapped__() == wanted
    monkeypatch.setattr(ctypes, "CDLL", absent)
    assert prelude.arguments.__wrapped__() == ()
