"""Slang's diagnostics: cleaning, and hints about their causes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fusepy.backend.sources.derivatives import INSTEAD
from fusepy.errors import CompileError, FusepyError, UnsupportedArgumentError
from fusepy.ir.names import spell_function_call
from fusepy.ir.resolve.spelling import flat_matrix_hint
from fusepy.ir.types import Kind, Type
from fusepy.ir.whole import library, spelled

_NOISE = re.compile(
    r"^(?:Failed to load slang module .* from source|.*error\[E39999\].*|.*E40003.*|--'|abort compilation.*"
    r"|warning\[E\d+\].*\n +--> .*[\\/]fusepy[\\/]slang[\\/](?:.*\n)*?-+')\n?",  # any other warning about one of them
    re.M,
)


_NARROW_MATRIX = re.compile(r"\bmatrix\s*<\s*u?int(?:8|16|64)_t\b|\bu?int(?:8|16|64)_t[1-4]x[1-4]\b")


_FLAT_MATRIX = re.compile(r"(?:1x[1-4]|[2-4]x1)\b|, *1>")
_ARRAY_TYPE = re.compile(r"undefined identifier '(?:W|RW|Atomic)?(?:Diff)?(?:Tensor|NDBuffer)'")
_WITHOUT = re.compile(r"call to non-(?:backward-|forward-)?differentiable function `(\w+)`")
_OF_TEXTURES = ("Load", "SampleLevel", "Sample", "SampleBias", "SampleGrad", "Gather", "GetDimensions")
_FIRST_LINE = re.compile(r"^(?=(?:fatal )?(?:error|warning)\b)", re.M)  # of a diagnostic
_FLAT = ("ceil", "floor", "modf", "rint", "round", "step", "trunc")
_UNSIZED_GLOBAL = re.compile(r"\b(\w+)\s*\[\s*\]\s*;")


def clean(words: str) -> str:
    """Removes repeated lines from Slang's diagnostics, and puts errors before warnings."""
    parts = _FIRST_LINE.split(_NOISE.sub("", words).strip())
    return "\n".join(part.strip("\n") for part in sorted(parts, key=lambda part: part.startswith("warning")) if part)


def cleaned(error: Exception) -> str:
    """Returns the cleaned diagnostics of an error of Slang, which is printed without the rest from then on, as a cause too."""
    words = clean(str(error))
    error.args = (words,)
    return words


def called(imports: Sequence[str], function: str, types: Sequence[Type], method: bool) -> str:
    """Returns a module that calls a function, or a `method` of the first argument, with arguments of these types."""
    declared = [f"    {spelled(t)} a{i};" for i, t in enumerate(types) if t.kind not in (Kind.POINTER, Kind.RESOURCE)]
    pointers = [f"    Ptr<{t.element}> a{i} = {{}};" for i, t in enumerate(types) if t.kind is Kind.POINTER]
    resources = ", ".join(f"{t} a{i}" for i, t in enumerate(types) if t.kind is Kind.RESOURCE)
    given = [f"a{i}" for i in range(len(types))]
    libraries = dict.fromkeys(library(t) for t in types if t.kind is Kind.WHOLE)
    head = [*(f"import {name};" for name in (*imports, *libraries)), f"void probe({resources})", "{"]
    return "\n".join([*head, *declared, *pointers, f"    {spell_function_call(function, given, method)};", "}"]) + "\n"


def advice(words: str, searched: Sequence[object]) -> str:
    """Returns the hint for Slang's diagnostics; `searched` are the folders of imports and includes."""
    if "cannot open file" in words or "include file not found" in words:
        return f"paths searched: {', '.join(map(str, searched))}; add others with init_device(include_paths=[…])"
    if re.search(r"^(?:command line\(| *--> command line(?:$|:))", words, re.M):  # where Slang has the values of defines from
        return "mend the value of the define in defines={…} when the module is loaded: it is the line at 'command line'"
    if _ARRAY_TYPE.search(words):
        return "whole arrays are types of fusepy's Slang library: write import fusepy; in the first line of the module"
    if "is not accessible from the current context" in words:
        return "where anything in a module is public, the rest is its own: write public before what is called from Python"
    if "ambiguous reference to" in words or "ambiguous call to" in words:
        return "two modules declare this name, and a kernel can use one of them; let both import it from a third, or rename it"
    if "not available in 'compute' stage" in words and re.search(r"'(?:TraceRay|CallShader|DispatchRays\w+)'", words):
        return (
            "make a pipeline of the function: fp.ray_gen(m, name, miss=…, closesthit=…); or ask a RayQuery, which runs anywhere"
        )
    if "for 'cpp' compilation target" in words or "unexpected IR opcode during code emit" in words:
        return (
            "Slang's C++, of the cpu device, has no barriers and atomics, as sorts, histograms and gradients of reads need them:"
            " open fp.init_device('vulkan'), which lavapipe runs on a CPU"
        )
    if "see using of 'matrix.init'" in words and _FLAT_MATRIX.search(words):
        return flat_matrix_hint()
    if "'_indices'" in words:  # the name of a parameter of fusepy's Tensor, which an assertion there repeats
        return "a tensor takes one index per axis: t[y, x], or t[int2(x, y)]"
    if "error[E30002]" in words:  # Slang 2026.12 evaluates a loop's variables before their first step as if they never changed
        return "if this divisor is 0 only before the first step of a loop, Slang is mistaken: divide by max(d, d) in its place"
    if "createSet called with non-global operands" in words:  # an assertion of Slang 2026.12 in bwd_diff
        return "Slang cannot differentiate an interface value with vectors in it: make the parameter generic, f<T : IFace>(T x)"
    if "Unhandled global inst" in words and "void_constant" in words:  # Slang 2026.12, in forward mode
        return (
            "Slang's forward mode fails where a function with no_diff parameters alone makes a vector with a constant in it, as"
            " float2(p, 1): take no_diff away there, and write detach(p) where it is called; gradients (fp.grad) work as it is"
        )
    if (found := _WITHOUT.search(words)) is not None:
        return _underived(found[1])
    if "Slang internal compiler error" in words and re.search(r"^ *\d+ \| .*[\w)] % ", words, re.M):
        return "Slang cannot differentiate % of floats: write fmod(x, y)"
    return "mend the Slang source and load it again"


def _underived(name: str) -> str:
    """Returns the hint for a differentiable function that calls `name`, which has no derivative."""
    if name in INSTEAD:
        return f"Slang has no derivative of {name}: write {INSTEAD[name]}"
    if name in _FLAT:
        return f"the derivative of {name} is 0: write no_diff {name}(…)"
    if name in _OF_TEXTURES:
        return "remove [Differentiable] from the function that reads the texture: without it, fusepy makes the derivative"
    return f"write [Differentiable] before {name}, or no_diff {name}(…) if the derivative does not depend on it"


def unsized(name: str, type: str | None = None) -> UnsupportedArgumentError:
    """Returns the error for a global that is an array without a size."""
    return UnsupportedArgumentError(
        f"the global {name!r} holds an array without a size",
        saw=type,
        hint="declare it with a size, such as [4], or as a StructuredBuffer",
    )


def unlinked(module: str, text: str, words: str) -> FusepyError:
    """Returns the error for a module that Slang compiles and the driver does not link, from its texts.

    NVIDIA's Vulkan driver refuses arrays of resources without a size here; others end the process later.
    """
    found = _UNSIZED_GLOBAL.search(text)
    if found:
        return unsized(found[1])
    what, hint = unbuilt(text, words)
    return CompileError(f"{what} the globals of module {module}", saw=words, hint=hint)


def unbuilt(text: str, words: str) -> tuple[str, str]:
    """Returns the error text for a kernel that Slang compiles and the driver refuses, from the texts of its modules; and the
    hint.
    """
    if "matrices with 1 column or row" in words:
        return "the driver cannot build", flat_matrix_hint()
    if _NARROW_MATRIX.search(text):
        what = "a matrix of 8, 16 or 64-bit integers that a function returns or keeps, of which Slang makes bad SPIR-V, is in"
        return what, "use arrays of vectors in the place of such matrices"
    return (
        "the driver cannot build",
        "update the driver; if that does not help, report it with what the function's source() prints",
    )
