"""Derivatives that Slang loses by the order of calls into imported modules: refused, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

import fusepy as fp
from fusepy.backend.sources.link_order import lost_in
from tests.support.selection import daily

F = "[Differentiable] public float f(float x) { return x * x; }\n"
PLAIN = "public float plain(float x) { return f(x) + 1; }\n"
OWN = """[BackwardDerivative(back)] public float f(float x) { return x * x; }
void back(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2 * x.p * d); }
"""
METHOD = "public struct S { public float k; [Differentiable] public float f(float x) { return x * x; } };\n"
OF_S = "public float plain(float x) { S s; s.k = 1; return s.f(x) + 1; }\n"
TWO = METHOD.replace("struct S", "struct A") + METHOD.replace("struct S", "struct B")
LATE = "[Differentiable] float late(float x) { float r = no_diff plain(x); return f(x) * r; }"

# what is imported, and what imports it
LOST = {
    "before": (F + PLAIN, LATE),
    "deeper": (F + "float mid(float x) { return f(x); } public float plain(float x) { return mid(x) + 1; }", LATE),
    "behind a function of the importing module": (
        F + PLAIN,
        "float own(float x) { return plain(x); } " + LATE.replace("plain", "own"),
    ),
    "in a wrapper": (F + PLAIN, "[Differentiable] float w(float x) { return f(x); } " + LATE.replace("return f", "return w")),
    "an argument": (F + PLAIN, "[Differentiable] float late(float x) { return f(x * (no_diff plain(x))); }"),
    "a derivative of its own": (OWN + PLAIN, LATE),
    "a method": (METHOD + OF_S, LATE.replace("return f", "S s; s.k = 1; return s.f")),
}
KEPT = {
    "after": (F + PLAIN, "[Differentiable] float late(float x) { return f(x) * (no_diff plain(x)); }"),
    "a differentiable function beside it": (F + PLAIN + "[Differentiable] float g(float x) { return f(x); }", LATE),
    "something else": (F + "float g(float x) { return x * x; } public float plain(float x) { return g(x) + 1; }", LATE),
    "in the importing module": (F, PLAIN.replace("public ", "") + LATE),
    "a method of that name in another struct": (
        TWO + "public float plain(float x) { A a; a.k = 1; return a.f(x) + 1; }",
        LATE.replace("return f", "B b; b.k = 1; return b.f"),
    ),
    "a method of that name on the way": (
        F + PLAIN + "public struct A { public float k; public float g(float x) { return x * x + 1; } };\n"
        "public struct B { public float k; public float g(float x) { return plain(x); } };\n",
        LATE.replace("float r = no_diff plain(x)", "A a; a.k = 1; float r = no_diff a.g(x)"),
    ),
    "an overload": (
        F + PLAIN.replace("f(x)", "f(x, 1)") + "[Differentiable] public float f(float x, int n) { return x * x; }",
        LATE,
    ),
    "in one module": ("public float other(float x) { return x; }", (F + PLAIN).replace("public ", "") + LATE),
}


def loaded(device: fp.Device, folder: Path, name: str, imported: str, importing: str) -> fp.Module:
    (folder / f"{name}_inner.slang").write_text(f"module {name}_inner;\n{imported}")
    (folder / f"{name}.slang").write_text(f"import {name}_inner;\n{importing}")
    return fp.Module.load_from_file(device, str(folder / f"{name}.slang"))


@pytest.mark.parametrize("name", LOST)
def test_what_slang_would_lose_is_refused(device: fp.Device, tmp_path: Path, name: str) -> None:
    m = loaded(device, tmp_path, f"lost{[*LOST].index(name)}", *LOST[name])
    with pytest.raises(fp.GradientError, match=r"loses the derivative of f[^~]*in late, call f before (plain|own)"):
        fp.grad(m.late)(1.5)
    with pytest.raises(fp.GradientError):
        fp.jvp(m.late, (1.5,), (1.0,))
    assert float(m.late(1.5)) > 0


@pytest.mark.parametrize("name", daily(KEPT, "in one module"))
def test_what_is_right_is_taken(device: fp.Device, tmp_path: Path, name: str) -> None:
    m = loaded(device, tmp_path, f"kept{[*KEPT].index(name)}", *KEPT[name])
    assert float(fp.grad(m.late)(1.5)) == 2 * 1.5 * (1.5 * 1.5 + 1)


def test_included_files_are_no_modules(device: fp.Device, tmp_path: Path) -> None:
    (tmp_path / "both.slangh").write_text((F + PLAIN).replace("public ", ""))
    (tmp_path / "including.slang").write_text(f'#include "both.slangh"\n{LATE}')
    m = fp.Module.load_from_file(device, str(tmp_path / "including.slang"))
    assert float(fp.grad(m.late)(1.5)) == 9.75
    assert lost_in("late", [(LATE, False), (F + PLAIN, True)]) is not None
