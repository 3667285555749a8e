"""Copies of modules with the files that they import and include."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.sources.copies.scalars import scalar_source
from fusepy.backend.sources.source import ModuleSource
from tests.support.selection import daily

FILES = {
    "deep/tints.slang": '[Differentiable] public float3 tint(float a, float3 v) { return a * v; }\n#include "../shared.slangh"\n',
    "whole.slang": "module whole; __include part;\n"
    "[Differentiable] public float3 all(float a, float3 v) { return in_part(a, v) + a; }",
    "part.slang": "implementing whole;\n[Differentiable] float3 in_part(float a, float3 v) { return a - v; }",
    "shared.slangh": "#pragma once\n[Differentiable] public float3 shared(float a, float3 v) { return a / v; }\n",
    "fields.slangh": "[Differentiable] float3 grown(float a) { return a + v; }",
    "look.slang": """
        import deep.tints; import whole;
        #include "words.slangh"
        struct Box : IDifferentiable
        { float3 v;
        #include "fields.slangh"
        }
        [Differentiable] float3 f(float3 v, Real a) { Box b = {v}; return tint(a, v) + all(a, v) + shared(a, v) + b.grown(a); }
    """,
    "words.slangh": "typealias Real = float;\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("way", daily(["by its folder", "by its whole path"], "by its folder"))
def test_scalars_beside_vectors_in_imported_and_included_files(device: Any, folder: Path, way: str) -> None:
    if way == "by its folder":
        module = fp.Module.load_from_file(device, str(folder / "look.slang"))
    else:
        text = (
            f'#include "{folder}/shared.slangh"\n[Differentiable] public float3 f(float3 v, float a) {{ return shared(a, v); }}'
        )
        module = fp.Module.load_from_source(device, "including", text)

    def loss(v: Any, a: Any) -> Any:
        made = module.f(fp.vcast(v, "float3"), a)
        return fp.sum(made.x + 2 * made.y - made.z * made.z)

    fp.check_grads(loss, np.float32([[0.5, 1.5, 0.7], [1, 2, 0.3]]), np.float32([0.8, 1.3]))


def test_a_copy_reaches_no_original(folder: Path) -> None:
    (folder / "linked").symlink_to(folder / "deep")
    source = ModuleSource.make("m", "import linked.tints; import whole;", "", [str(folder)])
    made = scalar_source(source)
    kept = {str(folder.resolve() / name) for name in FILES}
    assert not kept & {path for path, _ in made.files}
    assert len(made.files) > 4
    assert made.text.startswith('#line 1 "m.slang"\nimport linked.tints;')
    assert scalar_source(ModuleSource.make("n", "import fusepy;")).text == "import fusepy;"


TINT = "[Differentiable] public float3 tint(float a, float3 v) { return a * v; }"
USED = "[Differentiable] public float3 f(float3 v, float a) { return a * v + used(a, v); }"
LAYOUTS = {
    "one name in two folders": {
        "p/util.slang": "module util; " + TINT,
        "q/util.slang": TINT.replace("tint", "other"),
        "look.slang": 'import p.util;\n#include "q/util.slang"\n' + USED.replace("used", "tint(a, v) + other"),
    },
    "imported and included": {
        "util.slang": TINT + "\n",
        "b.slang": 'module b;\nnamespace n {\n#include "util.slang"\n}\n' + USED.replace("f(", "g(").replace("used", "n::tint"),
        "look.slang": "import util; import b;\n" + USED.replace("used(a, v)", "tint(a, v) + g(v, a)"),
    },
    "in the folder above": {
        "lib.slang": "module lib; " + TINT,
        "lib.slangh": TINT.replace("tint", "own"),
        "s/b.slang": 'module b;\nimport "../lib.slang";\n#include "../s/../lib.slangh"\n'
        + USED.replace("used", "tint(a, v) + own").replace("f(", "g("),
        "look.slang": 'import "s/b.slang";\n#include "s/../lib.slangh"\n' + USED.replace("used(a, v)", "g(v, a)"),
    },
    "a name in a macro": {
        "deep/h.slangh": TINT.replace("a * v", "v * v"),
        "deep/b.slang": 'module b;\n#define H "h.slangh"\n#include H\n' + TINT.replace("tint", "own").replace("a * v", "v"),
        "look.slang": "import deep.b;\n" + USED.replace("used", "tint"),
    },
}


@pytest.mark.parametrize("layout", daily(LAYOUTS))
def test_layouts_of_files(device: Any, tmp_path: Path, layout: str) -> None:
    for name, text in LAYOUTS[layout].items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    module = fp.Module.load_from_file(device, str(tmp_path / "look.slang"))

    def loss(v: Any, a: Any) -> Any:
        made = module.f(fp.vcast(v, "float3"), a)
        return fp.sum(made.x + 2 * made.y - made.z * made.z)

    fp.check_grads(loss, np.float32([[0.5, 1.5, 0.7]]), np.float32([0.8]))


def test_a_file_that_is_gone_before_the_first_gradient(device: Any, tmp_path: Path) -> None:
    (tmp_path / "gone.slang").write_text("module gone; " + TINT)
    (tmp_path / "look.slang").write_text("import gone; " + USED.replace("used", "tint"))
    module = fp.Module.load_from_file(device, str(tmp_path / "look.slang"))
    (tmp_path / "gone.slang").unlink()
    with pytest.raises(fp.CompileError, match="gone"):
        np.asarray(fp.grad(lambda v, a: fp.sum(module.f(fp.vcast(v, "float3"), a).x))(np.float32([[1, 2, 3]]), np.float32([1])))


@pytest.mark.parametrize("file", daily(["lib.slang", "lib.slangh"], "lib.slangh"))
def test_a_file_in_the_folder_above_the_module(device: Any, tmp_path: Path, file: str) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / file).write_text(TINT)
    taken = f'import "../{file}";' if file == "lib.slang" else f'#include "../{file}"'
    (tmp_path / "s/look.slang").write_text(
        f"{taken}\n[Differentiable] public float3 f(float3 v, float a) {{ return tint(a, v); }}"
    )
    module = fp.Module.load_from_file(device, str(tmp_path / "s/look.slang"))
    v, a = np.float32([[1, 2, 3]]), np.float32([1])
    assert fp.grad(lambda v, a: fp.sum(module.f(fp.vcast(v, "float3"), a).x), argnums=1)(v, a).tolist() == [1]


@pytest.mark.parametrize("deep", daily(["", "q."], "q."))
def test_a_copy_beside_a_module_that_stays_as_it_is(device: Any, tmp_path: Path, deep: str) -> None:
    (tmp_path / "q").mkdir()
    (tmp_path / f"{deep.replace('.', '/')}tints.slang").write_text("module tints; " + TINT)
    (tmp_path / "plain.slang").write_text("[Differentiable] public float3 plain(float3 v) { return v; }")
    (tmp_path / "look.slang").write_text(f"import {deep}tints; " + USED.replace("a * v + used", "tint"))
    plain, look = (fp.Module.load_from_file(device, str(tmp_path / f"{name}.slang")) for name in ("plain", "look"))
    loss = fp.fuse(lambda v, a: fp.sum(look.f(plain.plain(fp.vcast(v, "float3")), a).x))
    assert fp.grad(loss, argnums=1)(np.float32([[1, 2, 3]]), np.float32([1])).tolist() == [1]
