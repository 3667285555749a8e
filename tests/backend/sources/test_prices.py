"""Prices of Slang functions, told from their texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from fusepy.backend.sources.prices import MOST, price
from fusepy.backend.sources.source import ModuleSource

pytestmark = pytest.mark.req("C8")
SOURCE = """
static const int RADIUS = 2 + 3;
#define STEP 2
float cheap(float x) { return x / (1 + x); }
float wave(float x) { /* for (int i = 0; i < 99; ++i) */ return sin(x); }
float waves(float x) { for (int i = 0; i < 16; ++i) x += wave(x); return x; }
float twice_waves(float x) { return waves(x) + waves(x); }
float taps(int2 p, Tensor<float,2> t)
{
    float sum = 0;
    for (int i = -RADIUS; i <= RADIUS; ++i)
        for (int j = -RADIUS; j <= RADIUS; ++j)
            sum += t[p.y + i, p.x + j];
    return sum;
}
float down(float x) { [unroll] for (uint i = 3 * STEP; i > 0; i -= STEP) x *= 2; return x; }
float all_of(float x, Tensor<float,1> t) { for (int i = 0; i < int(t.shape[0]); ++i) x += t[i]; return x; }
float halved(float x) { while (x > 1) x *= 0.5; return x; }
float halved_first(float x) { do { x *= 0.5; } while (x > 1); return x; }
float either(float x) { if (x > 0) return sin(x); else return cos(x); }
float deeper(float x) { return x > 1 ? deeper(x - 1) : 0; }
float texel(Texture2D<float4> t, SamplerState s, float2 uv) { return t.SampleLevel(s, uv, 0).r; }
struct Curve { float gain; float at(float x) { return gain * x; } };
float curved(Curve c, float x) { return c.at(x); }
namespace deep { float inner(float x) { return 2 * x; } }
T same<T>(T x) { return x; }
float either_of(float x) { return x; }
float either_of(float3 x) { return exp(x.x) + exp(x.y); }
float elsewhere(float x) { return of_another_module(x); }
"""
PRICES = {
    "cheap": 0.5,
    "wave": 2.0,
    "waves": 16 * (0.25 + 2 + 0.5),  # an addition, the sine, and a comparison and a step
    "twice_waves": 2 * 44 + 0.25,
    "taps": None,
    "down": 3 * 0.75,
    "all_of": 32 * (0.25 + 1 + 1.5),  # the bound is an element, too
    "halved": 16.0,
    "halved_first": 16.0,
    "either": 4.25,
    "deeper": MOST,
    "texel": 8.0,
    "Curve::at": 0.25,
    "curved": 0.25,
    "deep::inner": 0.25,
    "same<float>": 0.0,
    "either_of": 4.25,
    "elsewhere": 8.0,
}


@pytest.mark.parametrize("function", PRICES)
def test_a_price_follows_what_the_function_does(function: str) -> None:
    source = ModuleSource.make("m", SOURCE)
    found, wanted = price(function, source), PRICES[function]
    assert found is not None
    if wanted is not None:
        assert found == wanted
    else:
        assert 121 < found < 121 * 8


def test_imports_are_followed_and_unknown_names_have_no_price(tmp_path: Path) -> None:
    (tmp_path / "other.slang").write_text("static const int N = 8;\npublic float far(float x) { return sin(x); }\n")
    text = "import other;\nfloat near(float x) { for (int i = 0; i < N; i++) x += far(x); return x; }\n"
    source = ModuleSource.make("m", text, include_dirs=[str(tmp_path)])
    assert price("near", source) == 8 * 2.75
    assert price("far", source) == 2
    assert price("farther", source) is None


@pytest.mark.parametrize("text", ["float f(float x) { return x", "float f(float x) { for (;;) { } }", "float f() { while ("])
def test_odd_texts_have_prices(text: str) -> None:
    found = price("f", ModuleSource.make("m", text))
    assert found is None or 0 <= found <= MOST


def test_constants_of_constants_are_worked_out_once():
    """Each of two others, a chain longer than Python's recursion goes, squares of squares, and two that name each other."""
    text = "static const int A60 = 1; static const int A61 = 1;\n"
    text += "".join(f"static const int A{i} = A{i + 1} + A{i + 2};\n" for i in range(60))
    text += "#define C0 3\n" + "".join(f"#define C{i + 1} (C{i} + 1)\n" for i in range(2000))
    text += "#define S0 2\n" + "".join(f"#define S{i + 1} S{i} * S{i}\n" for i in range(50))
    text += "#define ROUND ROUNDER\n#define ROUNDER ROUND + 1\n"
    loops = {"A53": 34, "C2000": 2003, "S2": 16, "S50": 32, "ROUND": 32, "A0": 4052739537881}
    text += "".join(f"float by_{n}(float x) {{ for (int i = 0; i < {n}; ++i) x += sin(x); return x; }}\n" for n in loops)
    source = ModuleSource.make("constants", text)
    for name, steps in loops.items():
        assert price(f"by_{name}", source) == pytest.approx(min(steps * 2.75, MOST)), name
