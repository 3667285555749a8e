"""README.md and docs/ tell the truth: their Python blocks run, in order, and print what stands below them."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import fusepy as fp
from tests.support.lacking import lacking
from tests.support.selection import seldom

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/guide").glob("*.md"))]
# chapters whose programs train, or draw and trace pictures
LONG = [f"docs/guide/{name}.md" for name in ("gradients", "inspect", "numpy", "raster", "rays", "torch", "training")]
NAME = "example.py"  # what tracebacks, traces and messages call a block

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)


@dataclass(frozen=True)
class Block:
    """One Python block; `output` is the text block below it, if one follows directly."""

    line: int
    code: str
    output: str | None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = list(_BLOCK.finditer(text))
    made: list[Block] = []
    for i, match in enumerate(found):
        if match[1] != "python":
            continue
        below = found[i + 1] if i + 1 < len(found) else None
        follows = below is not None and below[1] == "text" and not text[match.end() : below.start()].strip()
        made.append(Block(text.count("\n", 0, match.start()) + 2, match[2], below[2] if below and follows else None))
    return made


def relative(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", seldom([pytest.param(page, id=relative(page)) for page in PAGES], *LONG))
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    if any("import torch" in block.code for block in blocks(page)):
        pytest.importorskip("torch")
    for block in blocks(page):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            try:
                exec(compile(block.code, NAME, "exec"), names)
            except Exception as error:  # noqa: BLE001  # whatever it is, it is said where
                if lacking(error):
                    pytest.skip(f"{relative(page)}: {error}")
                pytest.fail(f"{relative(page)}:{block.line}: {type(error).__name__}: {error}")
        if block.output is not None:
            same = doctest.OutputChecker().check_output(block.output, said.getvalue(), doctest.ELLIPSIS)
            assert same, f"{relative(page)}:{block.line} prints\n{said.getvalue()}"


def test_the_guide_is_right_about_what_binds_to_what():
    """The rows of the table under "What binds to what" in docs/guide/calls.md."""
    m = fp.Module.load_from_source(
        fp.default_device(),
        "binding",
        """
        struct Ray { float3 position; float3 direction; };
        float one(float x) { return x; }
        int whole(int x) { return x; }
        float three(float3 v) { return v.x; }
        float four(float4x4 m) { return m[0][0]; }
        float array(float a[3]) { return a[0]; }
        float ray(Ray r) { return r.position.x; }
        float pointer(float* p) { return p[0]; }
        float pixel(int2 p) { return p.x; }
        """,
    )

    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, np.float32)

    for function, argument, type, mapping, grid in [
        (m.one, 2, "float", (), 0),
        (m.one, 2.5, "float", (), 0),
        (m.three, 2.5, "float3", (), 0),
        (m.three, [1, 2, 3], "float3", (), 0),
        (m.one, [1, 2, 3], "float", (0,), 1),
        (m.whole, [1, 2, 3], "int", (0,), 1),
        (m.three, zeros(100, 3), "float3", (0,), 1),
        (m.one, zeros(100, 3), "float", (0, 1), 2),
        (m.four, zeros(9, 4, 4), "float4x4", (0,), 1),
        (m.array, zeros(5, 3), "float[3]", (0,), 1),
        (m.ray, np.zeros(7, m.Ray.dtype), "Ray", (0,), 1),
        (m.three, fp.Tensor.zeros(m.device, (4, 5), m.float3), "float3", (0, 1), 2),
        (m.pointer, zeros(10, 2), "Ptr<float>", (), 0),
        (m.pixel, fp.grid((4, 6)), "int2", (0, 1), 2),
    ]:
        found = fp.resolve(function, argument)
        assert ([t.name for t in found.types], found.bindings[0].mapping, found.grid) == ([type], mapping, grid), found
    with pytest.raises(fp.NoMatchError, match=r"float2(.|\n)*float3"):
        m.three(zeros(100, 2))


def test_the_first_screen_of_the_readme():
    first = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:40]
    assert any("make demo" in line for line in first)
    assert any("make test" in line for line in first)
    assert any("docs/images/before-after.jpg" in line for line in first)
    assert (ROOT / "docs/images/before-after.jpg").stat().st_size < 200_000
