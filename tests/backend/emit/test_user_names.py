"""Functions, structs, methods and members of users that are called as generated code calls its own locals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

F32 = np.float32
GOLDEN = sorted((Path(__file__).parent).rglob("golden/**/*.slang"))
# what Slang itself declares or reserves, what is written from contents, and what begins with fusepy's prefixes
OTHERS = re.compile(
    r"(?:fz|Fz|SV_|shim_|pairs_|nan_|Op[A-Z]|Wave|Group|__|0?x[0-9a-f]+u?l*\Z|.*_kernel\Z|a_.*_[sbnto]\d*\Z|(?:bool|u?int|half|float|double)"
    r"(?:\d.*|64_t)?\Z|as(?:double|float|uint)\Z|(?:RW)?(?:Texture|Structured)|[A-Z]{2})"
)
TAKEN = frozenset((
    "if", "else", "for", "while", "do", "return", "void", "struct", "uniform", "inout", "out", "in", "const", "static",
    "import", "var", "let", "true", "false", "case", "default", "define", "export", "switch", "continue", "break", "error",
    "line", "unroll", "loop", "module", "public", "none", "vector", "matrix", "f16tof32", "max", "min", "saturate",
    "select", "sign", "floor", "format", "spirv_asm", "diffPair", "DifferentialPair", "Differential", "Ptr", "SamplerState",
    "shader", "numthreads", "compute", "groupshared", "Differentiable", "ForceInline", "ForceUnroll",
))  # fmt: skip
# generated for gradients, scans and reductions, which the golden texts do not all show
MORE = ["a1", "a0_x_0", "v4_pair", "v3_d_x_0", "main", "P", "T", "r", "e", "x0", "f1_0_c"]


def identifiers() -> list[str]:
    texts = (re.sub(r'//[^\n]*|"[^"]*"', "", path.read_text(encoding="utf-8")) for path in GOLDEN)
    found = {word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text)}
    return sorted({word for word in found if not OTHERS.match(word)} - TAKEN | {*MORE})


@pytest.mark.parametrize("part", daily(range(18), 0))
def test_functions_called_like_generated_names(device: Any, part: int) -> None:
    names = identifiers()[part::18]
    assert len(names) > 7
    source = "".join(f"[Differentiable] float {name}(float x) {{ return x * x; }}\n" for name in names)
    m = fp.Module.load_from_source(device, f"called_like_locals_{part}", source)

    def total(x: Any) -> Any:
        return sum((m[name](x) for name in names), 0.0)

    x, count = F32([0.5, 2]), len(names)
    loop = fp.fuse(lambda x: fp.fori_loop(0, 2, lambda i, c: fp.cond(c > 1e9, lambda: c, lambda: total(x)), x))
    np.testing.assert_allclose(fp.fuse(total)(x), count * x * x, rtol=1e-5)
    np.testing.assert_allclose(loop(x), count * x * x, rtol=1e-5)
    np.testing.assert_allclose(fp.grad(lambda x: fp.sum(total(x)))(x), 2 * count * x, rtol=1e-5)
    np.testing.assert_allclose(fp.jvp(total, (x,), (np.ones_like(x),)).d, 2 * count * x, rtol=1e-5)


FEW = ["a0", "a_x", "v0", "v1", "r_0", "f0", "k", "count", "first", "s", "main", "T"]


@pytest.mark.parametrize("few", [FEW[:4], pytest.param(FEW[4:], marks=pytest.mark.rest)], ids=["four", "others"])
def test_structs_methods_members_and_namespaces(device: Any, few: list[str]) -> None:
    source = "".join(
        f"struct {n} : IDifferentiable {{ float z; [Differentiable] float go(float x) {{ return z * x; }} }};\n"
        f"[Differentiable] {n} make_{n}(float x) {{ {n} made; made.z = x; return made; }}\n"
        f"namespace in_{n} {{ [Differentiable] float {n}(float x) {{ return x * x; }} }}\n"
        for n in few
    )
    members = "".join(f"float {n};" for n in few)
    sets = "".join(f"made.{n} = x * x;" for n in few)
    source += (
        f"struct All : IDifferentiable {{ {members} }};\n[Differentiable] All all_of(float x) {{ All made; {sets} return made; }}"
    )
    m = fp.Module.load_from_source(device, "structs_like_locals", source)

    def total(x: Any) -> Any:
        every = m.all_of(x)
        return sum((m[f"make_{n}"](x).go(x) + m[f"in_{n}::{n}"](x) + getattr(every, n) for n in few), 0.0)

    x, count = F32([0.5, 2]), 3 * len(few)
    np.testing.assert_allclose(fp.fuse(total)(x), count * x * x, rtol=1e-5)
    np.testing.assert_allclose(fp.grad(lambda x: fp.sum(total(x)))(x), 2 * count * x, rtol=1e-5)


@pytest.mark.rest
def test_functions_that_combine(device: Any) -> None:
    source = "".join(f"[Differentiable] float {n}(float a, float b) {{ return a + b; }}\n" for n in FEW)
    m = fp.Module.load_from_source(device, "folds_like_locals", source)
    x = F32([0.5, 2])
    fused = fp.fuse(lambda x: [(fp.reduce(m[n], 0.0, x), fp.scan(m[n], 0.0, x)[1]) for n in FEW])
    assert all((float(a), float(b)) == (2.5, 2.5) for a, b in fused(x))


def test_structs_of_one_name_in_kernels_of_their_own(device: Any) -> None:
    source = "import fusepy; struct S {{ {kind} at; }}; S make(float x) {{ return {{ {kind}(x) }}; }}"
    one, two = (
        fp.Module.load_from_source(device, f"of_one_name_{kind}", source.format(kind=kind) + text)
        for kind, text in (
            ("float", "float value(S s) { return 2 * s.at; }"),
            (
                "float2",
                "float last(int i, Tensor<float, 1> t) { S s = make(t[2 - i]); return s.at.y; } float y(S s) { return s.at.y; }",
            ),
        )
    )

    @fp.fuse
    def reversed(x: Any) -> Any:
        return two.y(two.make(two.last(fp.grid((3,)), one.value(one.make(x)))))

    np.testing.assert_allclose(reversed(F32([1, 2, 3])), [6, 4, 2])
