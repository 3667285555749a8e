"""Comparisons of whole matrices in user code: Slang's own code generation aborts the process for some.

Slang 2026 corrupts its heap when it writes SPIR-V for ``m < x`` of a float matrix, or for ``bool3x3(m)``. Kernels of fusepy
compare rows, but user code may not. If a text has matrices and a comparison that may not be one of scalars, vectors or rows, the
kernel is first compiled in another process, and refused if that process ends. The result is kept on disk.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Sequence
from functools import partial

import slangpy as spy

from fusepy.backend.slang.facts import Facts
from fusepy.backend.slang.stage import COMPUTE, PipelineStage
from fusepy.backend.slang.trial import tried
from fusepy.backend.sources.lacking import own_texts
from fusepy.backend.sources.libraries import INCLUDE_DIRS
from fusepy.backend.sources.matrix_comparisons import by_rows, line_of, mentions_matrices, reached_words, suspicion
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import CompileError


def check_comparisons(
    kind: spy.DeviceType,
    sources: Sequence[ModuleSource],
    arguments: tuple[object, ...],
    text: str,
    facts: Facts | None = None,
    stage: PipelineStage = COMPUTE,
) -> None:
    """Compiles a program in another process first if the compilation may end this one.

    Args:
        kind: the API of the device; only Vulkan is affected.
        arguments: the arguments of `Compiler.compile`, or of `Compiler.link_existing`.
        text: the text that names the functions that the program calls.
        facts: the store of earlier results.
        stage: the stage of the program.

    Raises:
        CompileError: if the other process ended in the compilation, or could not be started.
    """
    if kind != spy.DeviceType.vulkan:
        return
    users = [source for source in sources if not source.path.startswith(INCLUDE_DIRS)]  # libraries are known to compile
    named = [found for source in users for found in own_texts(source)]
    texts = [own for _, own in named]
    defined = [value for source in sources for _, value in source.defines]
    about = "\n".join((text, *texts, *defined))
    if not mentions_matrices(about):
        return
    called = reached_words(texts, re.findall(r"\w+", " ".join((text, *defined))))
    found = next(((s, *of) for of in named if (s := suspicion(of[1], called, about)) is not None), None)
    if found is None:
        return
    statement, label, own = found
    asked = (spy.SGL_VERSION, arguments) if stage is COMPUTE else (spy.SGL_VERSION, arguments, stage)
    key = hashlib.sha256(repr(asked).encode()).hexdigest()[:32]
    ask = partial(_survives, kind, arguments, stage)
    if ask() if facts is None else facts.get("compared", key, ask):
        return
    line = line_of(statement, own)
    raise CompileError(
        "Slang's compiler crashes where matrices are compared as a whole",
        saw=f"{label}{f':{line}' if line else ''}: {statement}",
        hint=by_rows(statement, about),
    )


def _survives(kind: spy.DeviceType, arguments: tuple[object, ...], stage: PipelineStage) -> bool:
    """True if another process survives the compilation. A compile error counts as survival: this process will report it."""
    try:
        return tried(kind, arguments, stage)[0] in (0, 1)
    except (OSError, subprocess.TimeoutExpired) as error:
        what = "a kernel with matrices and comparisons cannot be tried in a process of its own, where Slang may crash"
        hint = "compare row by row, the first as a[0] < b[0], in a function without other comparisons"
        raise CompileError(what, saw=error, hint=hint) from error
