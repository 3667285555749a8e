"""Programs that have slopes at their arguments: float results of numbers that are seldom at a kink."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tests.fuzz.inputs import meant
from tests.fuzz.meaning import evaluate
from tests.fuzz.program import Arg, Program
from tests.fuzz.values import TEXTURE, Refused, Val, is_float
from tests.fuzz.vocabulary import CHOOSE


def moved(arg: Arg, array: Any, jitter: float) -> Any:
    """The numbers of an argument, moved a little, so that none is at a kink; those that are one in memory stay equal."""
    if not jitter or not (is_float(arg.scalar) or arg.scalar == "Ray"):
        return array
    one = array[:1] if arg.layout == "repeated" and arg.dims else array
    moved = one + np.random.default_rng(arg.seed).uniform(0.3, 1, one.shape) * jitter
    return np.array(np.broadcast_to(moved, array.shape), array.dtype)


def untied(program: Program) -> Program:
    """The program with elements of their own in place of repeated ones, if it chooses among elements: each is a tie then."""
    chooses = any(
        s.attrs.get("kind") in ("max", "min")
        or s.op in ("maximum", "minimum")
        or s.attrs.get("word") in ("sort", "topk", *CHOOSE)
        for s in program.steps
    )
    if not chooses:
        return program
    args = [dataclasses.replace(a, layout="C") if a.layout == "repeated" else a for a in program.args]
    return dataclasses.replace(program, args=args)


def known(v: Val) -> Any:
    """Where the numbers of a value are known and finite."""
    return np.isfinite(v.v) & np.isfinite(np.broadcast_to(v.e, v.v.shape))


def smooth(program: Program) -> Program:
    """The program with float results only, and arguments that are seldom on a kink."""
    given = [dataclasses.replace(a, layout="C") if a.passed == TEXTURE else a for a in program.args]  # texels of 32 bits
    args = [
        dataclasses.replace(a, data="small" if a.passed in ("number", "list") else "rough") if changes else a
        for a, changes in ((a, is_float(a.scalar) and a.data in ("small", "special", "large")) for a in given)
    ]
    for changed in (args, [dataclasses.replace(a, data="small") if a.data == "special" else a for a in given]):
        one = dataclasses.replace(program, args=changed, structure="tuple")
        try:
            values = evaluate(one, meant(one, 0))
        except (Refused, ValueError):
            continue
        results = [p for p in dict.fromkeys(program.results) if is_float(values[p].scalar)]
        made = [p for p in range(len(program.args), len(values)) if is_float(values[p].scalar) and not values[p].weak]
        results = [p for p in results if p in made] or made[-1:]
        return dataclasses.replace(one, results=results)
    raise Refused("on these numbers")
