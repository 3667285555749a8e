"""Texts that use fusepy's arrays without an import get it, and a user's own types of these names mean what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.sources.provided import with_arrays
from fusepy.backend.sources.source import ModuleSource

READ = "float read(Tensor<float, 1> a, int i) { return a[i]; }"
ARRAY = np.float32([3, 4, 5, 6])
STEPS = np.arange(4, dtype=np.int32)


@pytest.mark.parametrize(
    "text",
    [
        READ,
        f"{READ} // the end",
        f"#define N 1\n{READ}",
        f"module arrays;\npublic {READ}",
        "uniform RWTensor<float, 1> a;\nfloat read(NDBuffer<float, 1> b, int i) { return b[i]; }",
        "float read(ITensor<float, 1> a, int i) { return a[i]; }",
        f"import fusepy_random;\n{READ}",
    ],
)
def test_arrays_need_no_import(device: fp.Device, text: str) -> None:
    m = fp.Module.load_from_source(device, "provided", text)
    assert np.array_equal(m.read(fp.Tensor.from_numpy(device, ARRAY), STEPS).to_numpy(), ARRAY)


@pytest.mark.parametrize(
    "text",
    [
        "float read(float a, int i) { return a; } // Tensor<float, 1>",
        f"import fusepy;\n{READ}",
        f"import slangpy;\n{READ}",
        f"struct Tensor<T, let D : int> {{ T x; T read() {{ return x; }} }};\n{READ}",
        f"typedef float Tensor;\n{READ}",
        f"MADE(Tensor)\n{READ}",
        f"#define Tensor StructuredBuffer\n{READ}",
        "float read(mine::Tensor<float, 1> a, int i) { return a.x; }",
        f"struct ITensor {{ float x; }};\n{READ}",
    ],
)
def test_other_meanings_are_kept(text: str) -> None:
    files = ModuleSource.make("m", text).files
    assert with_arrays(text, None, (), [file for file, _ in files], ()) == text


def test_defines_and_files_with_a_meaning(tmp_path: Path) -> None:
    (own := tmp_path / "own.slang").write_text("public struct Tensor<T, let D : int> { T x; }")
    (exports := tmp_path / "exports.slang").write_text("__exported import fusepy;")
    (uses := tmp_path / "uses.slang").write_text("import fusepy; public float use(Tensor<float, 1> a) { return a[0]; }")
    assert with_arrays(READ, None, (), [str(own)], ()) == READ
    assert with_arrays(READ, None, (), [str(exports)], ()) == READ
    assert with_arrays(READ, None, (), [], ("NAME", "struct Tensor")) == READ
    assert with_arrays(READ, None, (), [str(uses)], ()) != READ


def test_lines_are_the_users(device: fp.Device) -> None:
    with pytest.raises(fp.CompileError, match=r"provided_lines\.slang:3:8"):
        fp.Module.load_from_source(device, "provided_lines", "float read(Tensor<float, 1> a)\n{\nreturn b;\n}")


def test_included_and_reloaded(device: fp.Device, tmp_path: Path) -> None:
    (tmp_path / "read.slangh").write_text(READ)
    file = tmp_path / "main.slang"
    file.write_text('#include "read.slangh"\n')
    m = fp.Module.load_from_file(device, file)
    assert m.read(fp.Tensor.from_numpy(device, ARRAY), 2) == 5
    assert not m.reload()
    (tmp_path / "read.slangh").write_text("struct Tensor<T> { T x; };\nfloat read(Tensor<float> a, int i) { return a.x * i; }")
    assert m.reload()
    assert m.read({"x": 2.0}, 2) == 4


@pytest.mark.rest
def test_a_text_from_memory_is_read_again(device: fp.Device) -> None:
    m = fp.Module.load_from_source(device, "provided_again", READ)
    assert not m.reload()
    assert not m.reload(READ)
    assert m.reload("struct Tensor { float x; };\nfloat read(Tensor a, int i) { return a.x + i; }")
    assert m.read({"x": 2.0}, 2) == 4
