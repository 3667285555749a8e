"""Which programs are compiled in another process first, for what Slang does to comparisons of matrices."""

from __future__ import annotations

from typing import Any

import pytest
import slangpy as spy

from fusepy.backend.slang import comparisons
from fusepy.backend.slang.stage import COMPUTE
from fusepy.backend.sources.libraries import FOLDER
from fusepy.backend.sources.source import ModuleSource

MATRICES = "float3x3 turn(float3x3 m) { return m; }"
BELOW = "bool3x3 below(float3x3 m) { return m < 2; }"
RANDOM = FOLDER / "fusepy_random.slang"


def tried(sources: list[ModuleSource], text: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """True if a kernel of this text would be compiled in another process first."""
    seen: list[Any] = []
    monkeypatch.setattr(comparisons, "tried", lambda *given: seen.append(given) or (0, ""))
    comparisons.check_comparisons(spy.DeviceType.vulkan, sources, (), text, None, COMPUTE)
    return bool(seen)


def test_libraries_are_known_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ModuleSource.make("own", MATRICES)
    library = ModuleSource.make("fusepy_random", RANDOM.read_text(), str(RANDOM))
    assert not tried([own, library], "turn(m); permutation(k, n, i);", monkeypatch)


def test_only_what_the_kernel_reaches_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = ModuleSource.make("own", MATRICES), ModuleSource.make("other", f"{BELOW} float near() {{ return 1; }}")
    assert not tried([own, other], "turn(m); near();", monkeypatch)
    assert tried([own, other], "turn(m); below(m);", monkeypatch)


@pytest.mark.parametrize(
    "caller",
    [
        "float both(float3x3 m) { return below(m)[0].x ? 1 : 0; }",
        "#define LESS(m) below(m)\nfloat both(float3x3 m) { return LESS(m)[0].x ? 1 : 0; }",
        "#define LESS \\\n below\nfloat both(float3x3 m) { return LESS(m)[0].x ? 1 : 0; }",
        "float inner(float3x3 m) { return below(m)[0].x ? 1 : 0; } float both(float3x3 m) { return inner(m); }",
        "struct S { float3x3 m; bool3x3 of() { return below(m); } } float both(S s) { return s.of()[0].x ? 1 : 0; }",
    ],
)
def test_texts_that_call_each_other(caller: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tried([ModuleSource.make("own", caller), ModuleSource.make("other", BELOW)], "both(m);", monkeypatch)
    assert tried([ModuleSource.make("own", f"{caller}\n{BELOW}")], "both(m);", monkeypatch)
    assert tried([ModuleSource.make("own", BELOW, defines={"LESS": "below"})], "float x = LESS(m);", monkeypatch)
