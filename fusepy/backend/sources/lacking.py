"""Functions of doubles that a target lacks, in user code: SPIR-V has no transcendental ones, and CUDA no `log10`.

Slang writes the instruction for 16 and 32 bits, drivers take it, and the results are wrong. Macros, aliases and generics hide
such calls in the text. So if a program with user code has doubles at all, Slang writes its code into a folder, and the
instructions in it decide. On CUDA and in C++ only `log10` is wrong, because it rounds a double to float; programs whose text has
that name are examined.

Conversions of a scalar double to bool are refused too: Slang compares with a zero of too few words, and the result is always
true.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
import slangpy as spy

from fusepy.backend.sources.closure import bare, imports
from fusepy.backend.sources.libraries import FOLDER, INCLUDE_DIRS
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import CompileError

# instructions of GLSL.std.450 for 16 and 32 bits, and the Slang functions that become one
INSTRUCTIONS: dict[int, tuple[str, ...]] = dict(
    [
        *[(11, ("radians",)), (12, ("degrees",)), (13, ("sin", "sincos", "sinpi")), (14, ("cos", "sincos", "cospi"))],
        *[(15, ("tan", "tanpi")), (16, ("asin",)), (17, ("acos",)), (18, ("atan",)), (19, ("sinh",)), (20, ("cosh",))],
        *[(21, ("tanh",)), (22, ("asinh",)), (23, ("acosh",)), (24, ("atanh",)), (25, ("atan2",)), (26, ("pow", "powr", "lit"))],
        *[(27, ("exp", "exp10")), (28, ("log", "log10")), (29, ("exp2", "ldexp")), (30, ("log2",))],
    ]
)
_NAMES = sorted({name for names in INSTRUCTIONS.values() for name in names})
_CALL = re.compile(rf"\b({'|'.join(_NAMES)})\s*(?:<[^()]*>\s*)?\(")
_NAME = re.compile(rf"\b({'|'.join(_NAMES)})\b")
_PASTED = "##"  # token pasting can build any name
_DOUBLE = re.compile(r"double|float64|[\d.]lf?\b", re.I)  # types, `asdouble`, and literals: 0.5lf, 0.5L
_EXP2_NAME = re.compile(r"\b(?:exp2|ldexp)\b")
_OF_FLOAT = re.compile(r"\s*\(\s*\(?\s*(?:float|half)\b")
_FLOAT, _VECTOR, _EXTENSION, _CONVERT, _CONSTANT = 22, 23, 12, 115, 43  # the SPIR-V instructions that matter
_EXP2 = 29
_LOG10 = re.compile(r"\(F64_log10\(")  # in C++ and CUDA: Slang's own function, which takes a float
_TRUTH = re.compile(r"\b(?:bool|if|while|for)\b|[?!]|&&|\|\|")  # where a number may be taken as a bool
_TEXTURE_BUFFER = re.compile(r"\b(?:tbuffer|TextureBuffer)\b")
CODE = {spy.DeviceType.vulkan: "*.spv", spy.DeviceType.cuda: "*.cu", spy.DeviceType.cpu: "*.cpp"}


def check_buffers(source: ModuleSource) -> None:
    """Raises `CompileError` for a module with texture buffers: linking its programs ends the process."""
    for label, text in own_texts(source):
        plain = bare(text, in_place=True)
        found = _TEXTURE_BUFFER.search(plain)
        if found is not None:
            line = plain.count("\n", 0, found.start()) + 1
            raise CompileError(
                f"{label}:{line}: the graphics layer has no {found[0]}",
                saw=plain.splitlines()[line - 1].strip(),
                hint="write cbuffer or ConstantBuffer, or a StructuredBuffer for many elements",
            )


@functools.lru_cache(256)
def _traits(source: ModuleSource) -> tuple[bool, bool]:
    """Returns two flags for the user's texts and defines of a module: they have doubles, and they may name `log10`."""
    texts = [*(bare(text, in_place=True) for _, text in own_texts(source)), *(value for _, value in source.defines)]
    return any(_DOUBLE.search(t) or _PASTED in t for t in texts), any("log10" in t or _PASTED in t for t in texts)


def suspect(kind: spy.DeviceType, sources: Sequence[ModuleSource], text: str = "") -> bool:
    """True if a program of these modules, called by the generated `text`, may call functions of doubles that the target lacks."""
    if kind not in CODE or not sources:
        return False
    traits = [_traits(source) for source in sources]
    named = kind is spy.DeviceType.vulkan or any(log10 for _, log10 in traits)
    return named and (any(doubles for doubles, _ in traits) or bool(_DOUBLE.search(text)))


def check(what: str, code: Path, sources: Sequence[ModuleSource]) -> None:
    """Examines the code that Slang has written.

    Raises:
        CompileError: if it calls a function that the target lacks; the error names it and the calling lines.
    """
    imported = any("fusepy_double.slang" in imports(text)[0] for source in sources for _, text in own_texts(source))
    spirv = code.suffix == ".spv"
    if spirv:
        words = np.fromfile(code, "<u4").tolist()
        _check_truths(what, words, sources)
        found = lacking(words)
    else:
        found = [28] if _LOG10.search(code.read_text(errors="replace")) else []
    if imported or not any(_has_exp2(source) for source in sources):
        found = [n for n in found if n != _EXP2]  # here the operand is a converted float already
    if not found:
        return
    names = list(INSTRUCTIONS[found[0]]) if spirv else ["log10"]
    lines = _lines(sources, names)
    called = [n for n in names if any(re.search(rf"\b{n}\b", line) for line in lines)] or names
    hint = "write `import fusepy_double;` in the module, and call it on doubles, not on a generic type; or convert to float first"
    if not re.search(rf"\b{called[0]}\b", (FOLDER / "fusepy_double.slang").read_text()):
        hint = f"fusepy_double has no {called[0]} either: write it by sin, cos or tan of that module, or convert to float first"
    elif imported:
        hint = (
            f"write the function for double: with a generic type, or in a module without `import fusepy_double;`, "
            f"{called[0]} is Slang's own"
        )
    target = "SPIR-V does" if spirv else "Slang's C++ and CUDA do"
    raise CompileError(
        f"{what} calls {' or '.join(called)} of double, which {target} not have",
        saw="; ".join(lines[:3]) or None,
        expected=f"{called[0]} of float or half",
        hint=hint,
    )


def _check_truths(what: str, words: Sequence[int], sources: Sequence[ModuleSource]) -> None:
    """Raises `CompileError` for constants of a double with one word of value, which is what Slang writes for ``bool(x)``."""
    doubles = {words[at + 1] for at in _instructions(words) if words[at] & 0xFFFF == _FLOAT and words[at + 2] == 64}
    if not any(words[at] == _CONSTANT | 4 << 16 and words[at + 1] in doubles for at in _instructions(words)):
        return
    lines = _where(sources, lambda line: bool(_TRUTH.search(line)))
    raise CompileError(
        f"{what} takes a double as a bool, for which Slang writes code that is always true",
        saw=("" if len(lines) == 1 else "one of ") + "; ".join(lines[:3]) if lines else None,
        expected="a comparison",
        hint="write x != 0 for bool(x), in `if (x)`, `!x`, `x && y` and `x ? a : b` too",
    )


def _instructions(words: Sequence[int]) -> Iterator[int]:
    """Yields the places of the instructions of a SPIR-V module."""
    at = 5  # after the header
    while at < len(words):
        yield at
        at += words[at] >> 16


def _has_exp2(source: ModuleSource) -> bool:
    """True if a module may call `exp2` or `ldexp` of an operand that is not converted to float in place."""
    texts = [*(bare(text, in_place=True) for _, text in own_texts(source)), *(value for _, value in source.defines)]
    behind = (part for text in texts for part in _EXP2_NAME.split(text)[1:])
    return any(_PASTED in text for text in texts) or any(not _OF_FLOAT.match(part) for part in behind)


def _lines(sources: Sequence[ModuleSource], names: Collection[str]) -> list[str]:
    """Returns the user's lines that call one of the functions; else the lines that name one, or that build names."""
    where = functools.partial(_where, sources)
    calls = where(lambda line: any(found[1] in names for found in _CALL.finditer(line)))
    return calls or where(lambda line: any(n in names for n in _NAME.findall(line))) or where(lambda line: _PASTED in line)


def _where(sources: Sequence[ModuleSource], test: Callable[[str], bool]) -> list[str]:
    """Returns the lines of the user's code that pass a test, with their places."""
    texts = [(label, bare(text, in_place=True).split("\n")) for source in sources for label, text in own_texts(source)]
    return [f"{label}:{n}: {line.strip()[:90]}" for label, text in texts for n, line in enumerate(text, 1) if test(line)]


def lacking(words: Sequence[int]) -> list[int]:
    """Returns the instructions of `INSTRUCTIONS` with double results in a SPIR-V module, in order.

    Slang's `exp2` of a double converts to float and back; it counts too.
    """
    doubles, converted, narrow = set[int](), set[int](), set[int]()
    found: list[int] = []
    for at in _instructions(words):
        code = words[at] & 0xFFFF
        if (code == _FLOAT and words[at + 2] == 64) or (code == _VECTOR and words[at + 2] in doubles):
            doubles.add(words[at + 1])
        elif code == _CONVERT and words[at + 1] not in doubles:
            converted.add(words[at + 2])
        elif code == _CONVERT and words[at + 3] in narrow:
            found.append(_EXP2)
        elif code == _EXTENSION and words[at + 1] in doubles and words[at + 4] in INSTRUCTIONS:
            found.append(words[at + 4])
        elif code == _EXTENSION and words[at + 4] == _EXP2 and words[at + 5] in converted:
            narrow.add(words[at + 2])
    return found


def own_texts(source: ModuleSource) -> Iterator[tuple[str, str]]:
    """Yields the user's own texts of a module: its source and its imports, without those of libraries."""
    yield source.label, source.text
    for name, _ in source.files:
        if not name.startswith(INCLUDE_DIRS) and (path := Path(name)).is_file():
            yield name, path.read_text(encoding="utf-8", errors="surrogateescape")
