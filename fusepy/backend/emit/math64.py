"""The Slang modules that operations call: transcendental functions of double, powers, log1p and expm1, functions that keep NaN,
and tensor cores.

A kernel imports the modules that it uses.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence

from fusepy.backend.sources.libraries import FOLDER
from fusepy.ir.ops.arithmetic import ROUNDS
from fusepy.ir.ops.doubles import NEAR_ZERO, PREFIX
from fusepy.ir.ops.math import KEEPS_NAN
from fusepy.ir.ops.power import PREFIX as POWERS

CORES = "fzcore_"
_FILES = {
    PREFIX: "fusepy_math64",
    POWERS: "fusepy_powers",
    KEEPS_NAN: "fusepy_nan",
    NEAR_ZERO: "fusepy_near_zero",
    ROUNDS: "fusepy_rounded",
    CORES: "fusepy_cores",
}


def with_own_modules(program: Sequence[str], sources: Mapping[str, str]) -> dict[str, str]:
    """Returns the modules of a kernel by name: first those of `_FILES` that `program` or `sources` call, then `sources`."""
    own: dict[str, str] = {}
    spelled = dict(sources)
    text = "\n".join([*program, *sources.values()])
    for prefix in _FILES:
        if prefix in text:
            name, content = _module(prefix)
            own[name] = content  # loaded first, since others import it
            spelled = {n: f"import {name};\n{t}" if prefix in sources[n] else t for n, t in spelled.items()}
    return {**own, **spelled}


@functools.cache
def _module(prefix: str) -> tuple[str, str]:
    """Returns the name of a module, which contains a hash of its text, and the text. Both are part of a kernel's cache key."""
    file = _FILES[prefix]
    text = (FOLDER / f"{file}.slang").read_text(encoding="utf-8")
    text = text.replace('#include "fusepy_names.slangh"\n', "")  # a session undoes a user's defines in what it is given as text
    name = f"{file.removeprefix('fusepy_')}_{hashlib.sha256(text.encode()).hexdigest()[:20]}"
    return name, text.replace(f"module {file};", f"module {name};")
