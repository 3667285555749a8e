"""User code that compares matrices, where Slang's own code generation aborts the process.

Slang 2026 corrupts its heap when it writes SPIR-V for ``m < x`` of a float matrix, or for ``bool3x3(m)``. What fusepy emits
compares rows; user code is another matter. Where its text looks like such a comparison, the kernel is compiled once in a
process of its own first, and refused if that dies.
"""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator, Sequence

import slangpy as spy

from fusepy.backend.lacking import own_texts
from fusepy.backend.source import ModuleSource
from fusepy.errors import CompileError

_SCALAR = r"(?:half|float|double|float(?:16|32|64)_t|u?int(?:8|16|32|64)?(?:_t)?)"
_MATRIX = rf"(?:{_SCALAR}[1-4]x[1-4]|matrix\s*<[^<>]*>)"
_DECLARED = re.compile(rf"\b{_MATRIX}\s+(\w+)")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_GENERIC = re.compile(r"\b\w+\s*<[\w\s,]*>")
_COMPARED = re.compile(r"(?<![<>-])(?:[<>](?![<>])|[=!]=|!|&&|\|\|)|\b(?:any|all)\s*\(")
_FUNCTION = re.compile(r"[^({;]*?\b(\w+)\s*(?:<[^()]*>)?\s*\(")
_TO_BOOL = re.compile(r"\bbool[1-4]x[1-4]\b|\bmatrix\s*<\s*bool\b")


def suspicion(text: str, called: Collection[str]) -> str | None:
    """The first statement that may compare a whole matrix, in the functions of a Slang text that a program calling these reaches.

    Example:
        >>> suspicion("bool2x2 f(float2x2 m, float x) { return m < x; }", ["f"])
        'return m < x'
        >>> suspicion("bool f(float2x2 m, int i) { return m[i].x < 2; }", ["f"])
    """
    blocks = list(_blocks(_COMMENT.sub(" ", text)))
    names = {name for block in blocks for name in _DECLARED.findall(block)}
    if not names:
        return None
    whole = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b(?!\s*[\[.])")
    for block in _reached(blocks, called):
        for statement in re.split(r"[;{}]", block):
            used = _GENERIC.sub(" ", re.sub(rf"\b{_MATRIX}\s+\w+", " ", statement))  # a declaration by itself compares nothing
            if whole.search(used) and (_COMPARED.search(used) or _TO_BOOL.search(statement)):
                return " ".join(statement.split())
    return None


def _blocks(text: str) -> Iterator[str]:
    """What stands at the top level of a text: declarations, and functions and types with their bodies."""
    start = depth = 0
    for found in re.finditer(r"[{};]", text):
        depth += {"{": 1, "}": -1, ";": 0}[found[0]]
        if depth <= 0 and found[0] != "{":
            yield text[start : found.end()]
            start = found.end()
    yield text[start:]


def _reached(blocks: Sequence[str], called: Collection[str]) -> list[str]:
    """The blocks of the functions among `called` and of all that they name; types and namespaces always."""
    words, left = set(called), list(blocks)
    found: list[str] = []
    while True:
        now = [b for b in left if (head := _FUNCTION.match(b)) is None or head[1] in words]
        if not now:
            return found
        found += now
        left = [b for b in left if b not in now]
        words.update(word for block in now for word in re.findall(r"\w+", block))


def check_comparisons(kind: spy.DeviceType, sources: Sequence[ModuleSource], arguments: tuple[object, ...], text: str) -> None:
    """Compiles a program in another process first, if compiling it may end this one.

    Args:
        kind: what the device speaks; Slang writes CUDA in another way.
        arguments: those of `Compiler.compile`, or of `Compiler.link_existing`.
        text: where the program names what it calls.

    Raises:
        CompileError: if compiling it ended the other process.
    """
    if kind != spy.DeviceType.vulkan:
        return
    called = set(re.findall(r"\w+", text))
    texts = (text for source in sources for _, text in own_texts(source))  # what comes with libraries is known to compile
    found = next((s for module in texts if (s := suspicion(module, called)) is not None), None)
    if found is None:
        return
    child = subprocess.run(
        [sys.executable, "-c", "from fusepy.backend.comparisons import trial; trial()"],
        input=pickle.dumps((sys.path, kind.name, arguments)),
        capture_output=True,
        check=False,
    )
    if child.returncode in (0, 1):  # done, or refused in words that this process will see too
        return
    raise CompileError(
        "Slang's compiler crashes where matrices are compared as a whole",
        saw=found,
        hint="compare row by row: bool3x3(a[0] < b[0], a[1] < b[1], a[2] < b[2])",
    )


def trial() -> None:
    """What the other process does: compiles what stands in its standard input."""
    from fusepy.backend.compiler import Compiler

    path, kind, arguments = pickle.load(sys.stdin.buffer)
    sys.path[:] = path
    spy.Logger.get().remove_all_outputs()
    device = spy.Device(type=spy.DeviceType[kind], enable_hot_reload=False, compiler_options={"include_paths": [spy.SHADER_PATH]})
    compiler = Compiler(device, threading.RLock())
    if isinstance(arguments[0], ModuleSource):
        device.create_compute_pipeline(compiler.link_existing(*arguments))
    else:
        device.create_compute_pipeline(compiler.compile(*arguments).program)
