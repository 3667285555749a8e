"""Every public word that computes has a place in the fuzzer, or a reason to have none."""

from __future__ import annotations

import re
import types
from pathlib import Path
from typing import Any

import pytest

import fusepy as fp
from tests.fuzz.elementwise import SEVERAL, UNARY
from tests.fuzz.generate import KINDS
from tests.fuzz.program import Arg, Program, Step
from tests.fuzz.run import Runner
from tests.fuzz.slopes import checked_slopes
from tests.fuzz.text import VECTOR
from tests.fuzz.vocabulary import CHOOSE, WORDS
from tests.fuzz.words import ROWS

# why a word has none; what `tests/vocabulary` and the guides test is tested there alone
NONE: dict[str, str] = {
    "asks about extents": "ndim shape size",
    "makes arrays of no other": "array asarray empty zeros ones linspace logspace geomspace indices",
    "makes generators; placed calls draw `grid` and others": "call_id grid rand_float thread_id wang_hash",
    "what differences of its meaning cannot show: its gradient is 0": "stop_gradient",
    "says how arguments are taken; programs have `vmap` and `vcast` of calls": "pack vdim vmapping",
    "transforms functions; `slopes` checks each program with `vjp` and `jvp`": "grad value_and_grad differentiable",
    "runs, shows, measures or checks programs": """autotune capture check_grads clear_cache explain fuse inspect_pixel
        profile resolve show stats lazy training_step""",
    "opens, loads, names or registers": """create_device default_device get_function init_device load register reload_all struct
        is_batchable_like is_differentiable_like""",
    "draws and rays, of which programs have none": """antialias get_ray_gen interpolate opposite_corners pixel_to_uv raster
        rasterize ray_gen""",
}


def test_every_word_that_computes_has_a_place() -> None:
    texts = "\n".join(path.read_text() for path in Path(__file__).parent.glob("*.py") if not path.name.startswith("test_"))
    drawn = {*re.findall(r"\bfp\.(\w+)\(", texts), *UNARY, *SEVERAL, *KINDS, *VECTOR, *ROWS, *WORDS}
    reasons = {name for names in NONE.values() for name in names.split()}
    words = {name: getattr(fp, name) for name in dir(fp) if not name.startswith("_")}
    known = {id(words[name]) for name in drawn & {*words}}
    computing = {name for name, word in words.items() if callable(word) and not isinstance(word, (type, types.ModuleType))}
    missing = {name for name in computing - reasons if id(words[name]) not in known}
    assert not missing, f"give them a place in a table of tests/fuzz, or a reason here: {sorted(missing)}"
    assert reasons <= computing, sorted(reasons - computing)
    assert not reasons & {*WORDS}
    assert {*WORDS} >= CHOOSE


def one(word: str, scalar: str = "float") -> Program:
    """The program of a word alone."""
    comp, data = (3,) if word == "distance" else (), "positive" if word.endswith("shift") else "small"
    args = [Arg(scalar, comp, ("a", "b"), data=data, seed=i + 1) for i in range(WORDS[word].count)]
    step = Step("vocabulary", list(range(len(args))), {"word": word, "axis": 1})
    return Program(args, [step], [len(args)], [{"a": 4, "b": 5}, {"a": 5, "b": 7}], seed=3)


@pytest.mark.long
@pytest.mark.parametrize("word", WORDS)
def test_each_word_has_its_meaning_and_its_gradient(device: Any, word: str) -> None:
    runner = Runner(device)
    program = one(word, "int" if word in ("invert", "left_shift", "right_shift") or word.startswith("bitwise") else "float")
    report = runner.check(program)
    assert (report.findings, report.refusals) == ([], {})
    assert report.calls
    for mode in ("vjp", "jvp"):
        report = checked_slopes(runner, program, mode)
        assert (report.findings, report.refusals) == ([], {})
