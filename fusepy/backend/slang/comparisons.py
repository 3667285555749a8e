"""Comparisons of whole matrices in user code: Slang's own code generation aborts the process for some.

Slang 2026 corrupts its heap when it writes SPIR-V for ``m < x`` of a float matrix, or for ``bool3x3(m)``. Kernels of fusepy
compare rows, but user code may not. If a text has matrices and a comparison that may not be one of scalars, vectors or rows, the
kernel is first compiled in another process, and refused if that process ends. The result is kept on disk.
"""

from __future__ import annotations

import hashlib
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import partial

import slangpy as spy

from fusepy.backend.slang.facts import Facts
from fusepy.backend.slang.stage import COMPUTE, PipelineStage
from fusepy.backend.sources.lacking import own_texts
from fusepy.backend.sources.matrix_comparisons import by_rows, suspicion
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import CompileError

TIMEOUT = 120.0  # seconds for the other process; it compiles a kernel


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
    called = set(re.findall(r"\w+", text))
    texts = [own for source in sources for _, own in own_texts(source)]  # texts of libraries are known to compile
    about = "\n".join((text, *texts, *(value for source in sources for _, value in source.defines)))
    if len(texts) > 1:  # texts may call each other's functions
        called.update(re.findall(r"\w+", "\n".join(texts)))
    found = next((s for own in texts if (s := suspicion(own, called, about)) is not None), None)
    if found is None:
        return
    asked = (spy.SGL_VERSION, arguments) if stage is COMPUTE else (spy.SGL_VERSION, arguments, stage)
    key = hashlib.sha256(repr(asked).encode()).hexdigest()[:32]
    tried = partial(_survives, kind, arguments, stage)
    if tried() if facts is None else facts.get("compared", key, tried):
        return
    raise CompileError("Slang's compiler crashes where matrices are compared as a whole", saw=found, hint=by_rows(found, about))


def _survives(kind: spy.DeviceType, arguments: tuple[object, ...], stage: PipelineStage) -> bool:
    """True if another process survives the compilation. A compile error counts as survival: this process will report it."""
    what = "a kernel with matrices and comparisons cannot be tried in a process of its own, where Slang may crash"
    hint = "compare row by row, the first as a[0] < b[0], in a function without other comparisons"
    if not sys.executable:
        raise CompileError(what, saw="an empty sys.executable", hint=f"set sys.executable; or {hint}")
    try:
        child = subprocess.run(
            [sys.executable, "-c", "from fusepy.backend.slang.comparisons import trial; trial()"],
            input=pickle.dumps((sys.path, kind.name, arguments, stage)),
            capture_output=True,
            check=False,
            timeout=TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompileError(what, saw=error, hint=hint) from error
    return child.returncode in (0, 1)


def trial() -> None:
    """Runs in the other process: compiles the program in its standard input."""
    from fusepy.backend.slang.compiler import Compiler

    path, kind, arguments, stage = pickle.load(sys.stdin.buffer)
    sys.path[:] = path
    spy.Logger.get().remove_all_outputs()
    device = spy.Device(type=spy.DeviceType[kind], enable_hot_reload=False, compiler_options={"include_paths": [spy.SHADER_PATH]})
    compiler = Compiler(device, threading.RLock())
    make = compiler.link_existing if isinstance(arguments[0], ModuleSource) else compiler.compile
    stage.pipeline(device, make(*arguments).program)
