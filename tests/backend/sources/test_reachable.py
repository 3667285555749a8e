"""Which globals a function reads, told from its text: what hides a global, and what does not."""

from __future__ import annotations

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.sources.reachable import reached_from

# what `f` is, and whether it reads the global `gain`
TEXTS = {
    "a read": ("float f(float x) { return x * gain; }", True),
    "a parameter": ("float f(float gain) { return gain; }", False),
    "a parameter with a default": ("float f(float x, float gain = 2) { return x * gain; }", False),
    "a local": ("float f(float x) { float gain = x; return gain * 2; }", False),
    "a constant local": ("float f(float x) { const float gain = x; return gain; }", False),
    "let": ("float f(float x) { let gain = x; return gain; }", False),
    "var with a type": ("float f(float x) { var gain : float = x; return gain; }", False),
    "a list of locals": ("float f(float x) { float a = min(x, 1), gain = a; return gain; }", False),
    "an array": ("float f(float x) { float gain[2] = { x, x }; return gain[0]; }", False),
    "a generic type": ("float f(float x) { vector<float, 2> gain = x; return gain.x; }", False),
    "a pointer": ("float f(float* x) { float* gain = x; return gain[0]; }", False),
    "an array type": ("float f(float x) { float[2] gain = { x, x }; return gain[1]; }", False),
    "initialised by the global": ("float f(float x) { float gain = gain * x; return gain; }", True),
    "before the local": ("float f(float x) { x *= gain; float gain = x; return gain; }", True),
    "behind the block": ("float f(float x) { { float gain = x; x = gain; } return x * gain; }", True),
    "inside the block": ("float f(float x) { float gain = x; { x = gain; } return x; }", False),
    "a loop": ("float f(float x) { for (int gain = 0; gain < 3; ++gain) { x += gain; } return x; }", False),
    "a loop without braces": ("float f(float x) { for (int gain = 0; gain < 3; ++gain) x += gain; return x; }", False),
    "nested loops": (
        "float f(float x) { for (int gain = 0; gain < 3; ++gain) for (int j = 0; j < 2; ++j) x += gain * j; return x; }",
        False,
    ),
    "behind a loop": ("float f(float x) { for (int gain = 0; gain < 3; ++gain) x += gain; return x * gain; }", True),
    "behind a loop with braces": ("float f(float x) { for (int gain = 0; gain < 3; ++gain) { x += 1; } return x * gain; }", True),
    "another branch": ("float f(float x) { if (x > 1) { float gain = x; x = gain; } else { x = gain; } return x; }", True),
    "a field": ("struct P { float gain; } float f(P p) { return p.gain; }", False),
    "a field of a call": ("struct P { float gain; } P made() { return { 1 }; } float f() { return made().gain; }", False),
    "a field in a method": ("struct P { float gain; float g() { return gain; } } float f(P p) { return p.g(); }", False),
    "a field in an extension": (
        "struct P { float gain; } extension P { float g() { return gain; } } float f(P p) { return p.g(); }",
        False,
    ),
    "a field through this": ("struct P { float gain; float g() { return this.gain; } } float f(P p) { return p.g(); }", False),
    "a field of a base": (
        "struct B { float gain; } struct P : B { float g() { return gain; } } float f(P p) { return p.g(); }",
        False,
    ),
    "a field of another type": (
        "struct O { float gain; } struct P { float s; float g() { return s * gain; } } float f(P p) { return p.g(); }",
        True,
    ),
    "a method": ("struct P { float s; float g() { return s * gain; } } float f(P p) { return p.g(); }", True),
    "a method named alike": ("struct P { float s; float gain() { return s; } } float f(P p) { return p.gain(); }", False),
    "a property": ("struct P { float s; property float h { get { return s * gain; } } } float f(P p) { return p.h; }", True),
    "a parameter named as a function": ("float g(float x) { return x * gain; } float f(float g) { return g * 2; }", False),
    "a local named as a function": ("float g(float x) { return x * gain; } float f(float x) { float g = x; return g; }", False),
    "a function": ("float g(float x) { return x * gain; } float f(float x) { return g(x); }", True),
    "a function of a namespace": (
        "namespace n { float g(float x) { return x * gain; } } float f(float x) { return n::g(x); }",
        True,
    ),
    "a global of a namespace": ("namespace n { uniform float gain; } float f(float x) { return x * n::gain; }", True),
    "a global of a namespace by a dot": ("namespace n { uniform float gain; } float f(float x) { return x * n.gain; }", True),
    "a namespace despite a local": (
        "namespace n { uniform float gain; } float f(float x) { float gain = x; return gain * n.gain; }",
        True,
    ),
    "a comparison in a call": ("float f(float a, float b) { return max(a < b, b > gain); }", True),
    "a product in a call": ("float f(float a) { return max(a * gain, a); }", True),
    "a cast": ("float f(int a) { return (float) gain; }", True),
    "a conditional": ("float f(float a) { return a > 0 ? gain : a; }", True),
    "an index": ("float f(int a) { float w[3]; return w[gain]; }", True),
    "an else without braces": ("float f(float a) { if (a > 0) a = 1; else gain = a; return a; }", True),
    "only a comment": ("float f(float a) { /* gain */ return a; // gain\n }", False),
}


@pytest.mark.parametrize("what", TEXTS)
def test_what_hides_a_global(what: str) -> None:
    text, reads = TEXTS[what]
    assert ("gain" in reached_from(["f"], ["uniform float gain;\n" + text])) is reads


def test_a_call_goes_without_a_global_that_a_local_hides(device: fp.Device) -> None:
    m = fp.Module.load_from_source(
        device,
        "hidden_by_locals",
        "uniform float gain; RWStructuredBuffer<float> log;\n"
        "struct P { float gain; float log() { return gain; } }\n"
        "float f(float x) { float gain = 2 * x; P p = { gain };"
        "    for (int log = 0; log < 2; ++log) gain += log; return gain + p.log() + p.gain; }\n",
    )
    x = np.arange(3, dtype=np.float32)
    assert m.f(x).tolist() == (6 * x + 1).tolist()


LIBRARY = """
struct View { float data; __subscript(int i) -> float { get { return load(i); } } float load(int i) { return data * GAIN; } }
float apply<T : ICurve>(T curve, float x) { return curve.height(scale(x)); }
float scale(float x) { return x * data; }
"""


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("struct P { float x; } float f(P p) { return p.x; }", False),  # words of a library are no globals of the user
        ("struct P { float x; float load(int i) { return x * data; } } float f(P p) { return p.load(1); }", True),
        ("float load(int i) { return data; } struct P { float x; } float f(P p) { return p.x; }", False),
        ("float scale(float x) { return data; } float f(float x) { return apply(x, x); }", False),  # a library sees its own
        ("struct P : ICurve { float height(float x) { return data; } } float f(P p) { return apply(p, 2); }", True),
        ("float f(View v) { return v[0] * data; }", True),
    ],
)
def test_libraries_read_no_globals_of_users(text: str, reads: bool) -> None:
    assert ("data" in reached_from(["f"], [text], [LIBRARY])) is reads


def test_a_global_named_as_in_a_library_need_not_be_set(device: fp.Device) -> None:
    source = """
    struct P { float x; };
    uniform Tensor<float, 1> data;
    float of(P p, float y) { return p.x + y; }
    float at(int i) { return data[i]; }
    """
    m = fp.Module.load_from_source(device, "global_named_data", source)
    assert m.of({"x": 2.0}, [1.0, 2.0]) == [3.0, 4.0]
    with pytest.raises(fp.ArgumentError, match="never set"):
        m.at([0, 1])
