"""Every name in the words of any hint is there: functions, methods, keywords, words in quotes, files, and commands."""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.util
import inspect
import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
import fusepy.testing  # a name of hints
from fusepy.backend.device.open import _PREFERENCE
from fusepy.backend.marshals.registry import RESULTS
from fusepy.backend.slang.codegen import FAST_MATH
from fusepy.cli import parser
from fusepy.cli.doctor import _SETTINGS
from fusepy.drawing.options import NAMES as _OF_DRAWS
from fusepy.functions.configure import OPTIONS
from fusepy.ir.types import Kind, Type
from tests.errors.skeletons import skeletons

PROJECT = Path(__file__).parents[2]
TORCH = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
PACKAGES = {"fp": fp, "fusepy": fp, "np": np, "numpy": np, "math": math, "sys": sys, "slangpy": spy, "torch": TORCH}
TENSORS = [fp.Tensor, *([TORCH.Tensor] if TORCH else [])]
# what stands in hints for an object, and the classes that it may be of
VARIABLES: dict[str, list[Any]] = {
    "net": [fp.nn.MLP],
    "grid": [fp.nn.HashGrid],
    **dict.fromkeys(("t", "target", "source"), TENSORS),
    "a": [np.ma.MaskedArray],
    "a.dtype": [np.dtype],
    "array": [np.ndarray],
    "i": [np.ndarray],
    "x": [np.ndarray, *TENSORS],
    "x.grad": [fp.Tensor],
    "graph": [fp.Graph],
    "encoder": [spy.CommandEncoder],
    "texture": [spy.Texture],
    "f": [fp.Function],
    "g": [fp.Graph],
    "device": [fp.Device],
    "device.sgl": [spy.Device],
}
# what users name, their modules, structs with members, functions, arguments and globals; and what is of no interface
USERS = """
net grid IFace
    m.f m.Name m.Name.dtype m.Ray m.combine m.ns m.float m.float3 module.Name module.float3 ray.tmax Name Ray Box Circle IShape
    mesh.refit light _ _type exposure k x callback f<float> ray_gen lit glass name pull
"""
SLANG = (
    "BackwardDerivative Differentiable IDiffTensor IDifferentiable ConstantBuffer StructuredBuffer SampleLevel fusepy_double RW"
    " TraceRay ReportHit int64_t"
)
OTHERS = """
    e.g slang.call IntEnum NumPy CUDA CPU GPU RayQuery SV_Position JSON NUL NVRTC UTF macOS libX11 png jpg webp tif md py venv so
    = -t libnvrtc.so resolve_maps max_payload_size fusepy_rays Tensor<float>[?,3]
    look.json look.slang look.slan look.slang/exposure g.result node.output node.input
    json modules at photograph to kind from ij step.lr step.optimiser dataclasses.replace no_diff super
"""
PUBLIC = [getattr(package, name) for package in (fp, fp.nn, fp.render) for name in package.__all__]
CLASSES = [c for c in [*PUBLIC, *TENSORS, *vars(spy).values(), np.ndarray, np.ma.MaskedArray] if inspect.isclass(c)]


def known(path: str) -> bool:
    """True for what a package or a public class has by that name; of a name that is cut, for the beginning of one."""
    owner, _, name = path.rpartition(".")
    if owner in VARIABLES:
        return any(n.startswith(name) if name.endswith("_") else n == name for of in VARIABLES[owner] for n in dir(of))
    first, *rest = path.split(".")
    found: Any = PACKAGES.get(first) or getattr(fp, first, None) or getattr(spy, first, None)
    return functools.reduce(lambda of, part: getattr(of, part, None), rest, found) is not None


def member(name: str) -> bool:
    return any(hasattr(of, name) for of in CLASSES) or set(name) <= {*"xyzw"}


def callable_(name: str) -> bool:
    return hasattr(fp, name) or member(name) or Type.parse(name).is_numeric


def keyword(words: str) -> bool:
    """True if the function before the name takes it; without one, if anything public does."""
    function, _, name = words.rpartition(" ")
    owners = [getattr(of, function) for of in (fp, fp.nn, *CLASSES) if hasattr(of, function)] if function else []
    return name in ("_result", "groups", *OPTIONS, *_OF_DRAWS) or any(
        name in parameters(of) for of in [*owners, *PUBLIC, spy.Device]
    )


@functools.cache
def parameters(of: Any) -> set[str]:
    """What a function takes by name; of a class, what its methods take."""
    return {*_parameters(of)}


def _parameters(of: Any) -> Iterator[str]:
    members = [getattr(of, n) for n in dir(of) if n == "__init__" or n[0] != "_"] if inspect.isclass(of) else [of]
    for one in members:
        if callable(one) and not inspect.isclass(one):
            try:
                yield from inspect.signature(one).parameters
            except (TypeError, ValueError):  # slangpy's say in words what they take
                yield from re.findall(r"\b(\w+):", one.__doc__ or "")


def quoted(word: str) -> bool:
    """True for a type, a number, a kind of results or of devices, an operation of a scan, an option, and a package to install."""
    extra = re.fullmatch(r"fusepy-slang\[(\w+)\]", word)
    if extra:
        return f"\n{extra[1]} = [" in (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
    return (
        word.strip("-") in (*RESULTS, *_PREFERENCE, FAST_MATH, "sum", "nan", "inf")
        or hasattr(np, word)
        or Type.parse(word).kind is not Kind.NAMED
    )


def command(words: str) -> bool:
    """True if the command line takes these words."""
    with pytest.raises(SystemExit) as ended:
        parser().parse_args([*words.split(), "--help"])
    return not ended.value.code


def option(word: str) -> bool:
    """True if the usage of a command has an option, or the word for what follows one."""
    (commands,) = (a.choices for a in parser()._actions if isinstance(a.choices, dict))
    return any(re.search(rf"(?<!\S){word}\b", of.format_help()) for of in commands.values())


def public(name: str) -> bool:
    return hasattr(fp, name) or hasattr(spy, name) or hasattr(builtins, name) or option(name) or name in _SETTINGS


def of_any(name: str) -> bool:
    return hasattr(fp, name) or member(name) or keyword(name)


# by kind of names: what finds them in the words of a hint, and what tells that they are there
KINDS: dict[str, tuple[str, Callable[[str], bool]]] = {
    "dotted names": (r"(?<![\w.\])/}@])([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?!/)", known),
    "members": (r"(?<![\w.*])[)\]\"'}]?\.([A-Za-z_]\w*)", member),
    "calls": (r"(?<![\w.}@])([A-Za-z_]\w*)\(", callable_),
    "keywords": (r"(?:([A-Za-z_]\w*)\((?:[^()=]|\([^()]*\))*|\b)(?<!\w)([a-z_]\w*)=(?!=)", keyword),
    "quotations": (r"(?<!\w)(?:'([^' {}]+)'|\"([^\" {}]+)\")", quoted),
    "words with capitals": (r"(?<![\w.])(\w*[a-z][A-Z]\w*|[A-Z]{2}\w*)", public),
    "words with lines": (r"(?<![\w/.])([a-z]\w*_\w*[a-z0-9])(?![\w(=])", of_any),
    "files": (r"((?:docs|tools)/[\w/]+\.\w+)", lambda path: (PROJECT / path).is_file()),
    "commands": (r"'fusepy ([^']+)'", command),
    "options": (r"(?<![\w\"])(-{1,2}[a-z][\w-]*) ", option),
}


@pytest.mark.skipif(TORCH is None, reason="some hints name torch's functions")
def test_names_in_hints_are_there() -> None:
    texts = sorted({words for of in skeletons().values() for words in of})
    fine = {*USERS.split(), *SLANG.split(), *OTHERS.split(), "set exposure"}
    for kind, (pattern, there) in KINDS.items():
        names = {" ".join(filter(None, found.groups())): words for words in texts for found in re.finditer(pattern, words)}
        assert names, kind
        gone = {name: words for name, words in names.items() if name not in fine and not there(name)}
        assert not gone, (kind, gone)
        assert not there("nothing_of_that_name")


def test_types_of_slang_in_hints_are_there(device: Any) -> None:
    source = """import fusepy; import fusepy_double; struct S : IDifferentiable { float x; }
    ConstantBuffer<S> c; StructuredBuffer<float> b; RWTexture2D<float> t; float f(IDiffTensor<float, 1> t) { return 1; }
    void back(inout DifferentialPair<float> x, float g) {} [BackwardDerivative(back)] float g(float x) { return x; }
    [Differentiable] float h(Texture2D<float> t, SamplerState s) { return t.SampleLevel(s, float2(0), 0); }
    RWTexture2D<int> counts; int64_t many; void cast(RaytracingAccelerationStructure scene, RayDesc ray, inout S found) {
        TraceRay(scene, 0, 255, 0, 0, 0, ray, found); }
    void within(inout S found) { ReportHit(1.0, 0, found); }"""
    assert all(name in source for name in SLANG.split())
    assert fp.Module.load_from_source(device, "named_in_hints", source).f
