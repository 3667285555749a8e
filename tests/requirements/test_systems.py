"""Devices, files and the disk cache: rows S of tests/requirements.ini."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support import child
from tests.support.slang_functions import F32, ramp, same


@pytest.mark.req("S1")
def test_s1_init_device_chooses_and_hides(device: Any) -> None:
    kind, name = device.raw.info.type.name, device.raw.info.adapter_name
    for opened in (fp.init_device(kind), fp.init_device(kind, adapter=0), fp.init_device(kind, adapter=name.split()[0])):
        try:
            assert opened.sgl.info.type.name == kind
            m = fp.Module.load_from_source(opened, "chosen", "float add(float a, float b) { return a + b; }")
            same(m.add(ramp(5), 1.0), ramp(5) + 1)  # neither encoders nor parameters are the caller's business
        finally:
            opened.close()
    with pytest.raises(fp.FusepyError, match="voodoo"):
        fp.init_device("voodoo")
    with pytest.raises(fp.FusepyError, match="hint"):
        fp.init_device(kind, adapter="no such adapter")


@pytest.mark.req("S2")
def test_s2_modules_from_files(device: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "curves.slang").write_text("public float curve(float x) { return x * x; }")
    (tmp_path / "look.slang").write_text("import curves;\nfloat look(float x, float k) { return curve(x) * k; }")
    m = fp.Module.load_from_file(device, tmp_path / "look.slang")
    same(m.look(ramp(5), 2.0), ramp(5) ** 2 * 2)
    monkeypatch.chdir(tmp_path)
    same(fp.load("look.slang").look(ramp(5), 2.0), ramp(5) ** 2 * 2)
    assert m.name == "look"


PROGRAM = """
import json
import numpy as np
import fusepy as fp
m = fp.Module.load_from_source(fp.default_device(), "twice", "float add(float a, float b) { return a + b; }")
x = np.arange(10, dtype=np.float32)
assert (m.add(x, 1.0) == x + 1).all()
assert (fp.fuse(lambda x: m.add(x, 1.0) * 2)(x) == 2 * x + 2).all()
stats = fp.stats()
print(json.dumps([stats.kernels_compiled, stats.disk_hits, stats.disk_misses]))
"""


@pytest.mark.req("S3")
def test_s3_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    runs = [child.run(PROGRAM, FUSEPY_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    assert [r.returncode for r in runs] == [0, 0], runs[0].stderr + runs[1].stderr
    first, second = (json.loads(r.stdout) for r in runs)
    assert first == [2, 0, 2]
    assert second == [0, 2, 0]


FEATURES = """
interface ICurve { float at(float x); float twice(float x) { return 2 * at(x); } };
struct Square : ICurve { float at(float x) { return x * x; } };
struct Line { float slope; };
extension Line : ICurve { float at(float x) { return slope * x; } };
float default_method(float x) { Square s; return s.twice(x); }
float by_extension(Line l, float x) { return l.at(x); }

struct Celsius { float degrees; property float kelvin { get { return degrees + 273; } set { degrees = newValue - 273; } } };
float warmer(Celsius c, float by) { c.kelvin = c.kelvin + by; return c.degrees; }

struct Table { float entries[3]; __subscript(int i) -> float { get { return entries[clamp(i, 0, 2)]; } } };
float clamped(float x, int i) { Table t; t.entries = { x, 2 * x, 3 * x }; return t[i]; }

struct Complex { float re; float im; };
Complex operator*(Complex a, Complex b) { return { a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re }; }
Complex squared(Complex c) { return c * c; }

void add_to(inout float sum, float value) { sum += value; }
float sum_of<each T>(expand each T values) where T == float { float sum = 0; expand add_to(sum, each values); return sum; }
float three(float x) { return sum_of(x, 2 * x, 3 * x); }

Optional<float> root(float x) { if (x < 0) return none; return sqrt(x); }
float root_or(float x, float otherwise) { if (let r = root(x)) return r; return otherwise; }
"""


@pytest.mark.req("S6")
def test_s6_features_of_slang_that_fusepy_knows_nothing_about(device: Any) -> None:
    """Interfaces with default methods, extensions, properties, subscripts, operators, parameter packs, optionals."""
    m = fp.Module.load_from_source(device, "features", FEATURES)
    x = ramp(6, start=-0.5)
    same(m.default_method(x), 2 * x * x)
    lines = np.zeros(6, m.Line.dtype)
    lines["slope"] = 3
    same(m.by_extension(lines, x), 3 * x)
    warm = np.zeros(6, m.Celsius.dtype)
    same(m.warmer(warm, ramp(6)), (F32(273) + ramp(6)) - F32(273))
    same(m.clamped(x, 7), 3 * x)
    c = np.zeros(6, m.Complex.dtype)
    c["re"], c["im"] = 1, x
    same(m.squared(c)["im"], 2 * x)
    same(m.three(x), x + 2 * x + 3 * x)
    np.testing.assert_allclose(m.root_or(x, 7.0), np.where(x < 0, 7, np.sqrt(np.abs(x))), rtol=1e-6)
    same(fp.fuse(lambda x: m.three(m.clamped(x, 1)) + m.default_method(x))(x), 12 * x + 2 * x * x)
