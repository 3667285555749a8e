"""Gradients of programs, held to differences of their meaning, which is computed in more digits than any device has."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.fuzz.inputs import meant, numbers, of_tensors, passed
from tests.fuzz.known import LACKING
from tests.fuzz.limits import limits_of
from tests.fuzz.meaning import evaluate, run_step
from tests.fuzz.program import Program, Step
from tests.fuzz.run import Finding, Report, Runner
from tests.fuzz.smooth import known, moved, smooth, untied
from tests.fuzz.values import SCALARS, TEXTURE, WIDE, Refused, Val, is_float

STEP = 2.0**-17
ROUNDING = ("floor", "ceil", "trunc", "round", "frac", "floordiv", "mod", "fmod")
ELEMENTS = 5  # of each argument, beside all of them in one random direction
# what has no gradient, and says so
REFUSED = (
    "combines has no gradient",
    "whose bounds are no Python integers",
    "is read whole",
    "has no tangent: it reads",
    "cannot differentiate",
)
CLOSE = {"half": 0.1, "float": 2e-3, "double": 2e-6}


class Slopes:
    """One program with random weights of its results, and the differences of the weighted sum."""

    def __init__(self, program: Program, jitter: float = 0):
        program = smooth(program)
        if jitter:
            program = untied(program)
        self.program = of_tensors(program, evaluate(program, meant(program, 0)))
        self.arrays = [moved(a, numbers(a, i, self.program, 0), jitter) for i, a in enumerate(self.program.args)]
        self.inputs = [dataclasses.replace(x, v=array.astype(x.v.dtype)) for x, array in zip(meant(self.program, 0), self.arrays)]
        self.values = evaluate(self.program, self.inputs)
        results = [self.values[p] for p in self.program.results]
        rng = np.random.default_rng([program.seed, 11, jitter > 0])  # others the second time: sums of some cancel at a kink
        self.rng = rng
        self.weights = [
            np.where(known(v), rng.integers(1, 8, v.v.shape) / 4 * rng.choice([-1, 1], v.v.shape), 0) for v in results
        ]

    @property
    def telling(self) -> bool:
        """True if some number of the results depends on floats."""
        return any(np.any(w) for w in self.weights) and any(is_float(a.scalar) or a.scalar == "Ray" for a in self.program.args)

    @property
    def broken(self) -> bool:
        """True if some value on the way is infinite or none, also one that no result uses."""
        return any(is_float(v.scalar) and not np.all(known(v)) for v in self.values)

    @property
    def steep(self) -> bool:
        """True if some step has an infinite slope, as a root at 0 has, or two slopes, as a length at 0 has; times 0 it is NaN."""
        by, made = WIDE(2.0**-30), len(self.program.args)

        def nudged(by: Any) -> list[Val]:
            return [dataclasses.replace(v, v=v.v + by) if is_float(v.scalar) else v for v in self.values]

        for step in self.program.steps:
            if step.attrs.get("word") == "distance" and len({p if isinstance(p, int) else str(p) for p in step.operands}) == 1:
                return True  # of a value and itself: both move together
            try:
                after, before = ([v.v for v in run_step(step, nudged(h))] for h in (by, -by))
            except (Refused, ValueError):
                return True
            for here, up, down in zip(self.values[made:], after, before):
                if is_float(here.scalar):
                    size = by * (1 + np.abs(here.v))
                    if np.any(np.abs(up - here.v) > 1e4 * size) or np.any(np.abs(up + down - 2 * here.v) > 0.1 * size):
                        return True
            made += len(after)
        return False

    def excused(self, mine: float, want: float) -> bool:
        """True if a derivative is no number where it is none in other frameworks either: at poles, and beyond its type."""
        if np.isfinite(mine):
            return False
        coarsest = max((v.scalar for v in self.values if is_float(v.scalar)), key=CLOSE.__getitem__)
        return self.broken or abs(want) > float(np.finfo(SCALARS[coarsest]).max) / 64 or self.steep

    def leaps(self, values: Sequence[Val]) -> bool:
        """True if what is rounded is far from its value here: differences are those of the slope that rounding takes away."""
        for step in self.program.steps:
            if step.op in ROUNDING:
                there, here = (_rounded(step, known) for known in (values, self.values))
                with np.errstate(all="ignore"):
                    if np.any(np.abs(there - here) > 0.25):
                        return True
        return False

    def total(self, values: Sequence[Val]) -> Any:
        """The weighted sum of the results."""
        return sum(np.sum(w * np.where(w == 0, 0, values[p].v)) for w, p in zip(self.weights, self.program.results))

    def slope(self, directions: dict[int, Any]) -> float | None:
        """The derivative along directions of some arguments; ``None`` at a kink or a jump."""

        def total_at(by: float) -> Any:
            inputs = list(self.inputs)
            for place, direction in directions.items():
                x = inputs[place]
                inputs[place] = dataclasses.replace(x, v=x.v + WIDE(by) * direction)
            values = evaluate(self.program, inputs)
            if self.leaps(values):
                raise Refused("rounded numbers are too large")
            return self.total(values)

        try:
            here, found = total_at(0), []
            for h in (STEP, STEP / 8):
                found += [(total_at(h) - here) / h, (here - total_at(-h)) / h]
        except (Refused, ValueError):
            return None
        low, high = min(found), max(found)
        if np.finfo(WIDE).eps * abs(here) / STEP > 1e-3 * (1 + abs(high)):
            return None  # lost in the rounding of a large sum
        if not np.isfinite(high - low) or high - low > 1e-3 * (1 + abs(high)):
            return None
        return float((found[2] + found[3]) / 2)


def _rounded(step: Step, values: Sequence[Val]) -> Any:
    """The numbers that a step rounds: its operand, or a quotient."""
    if len(step.operands) > 1:
        return run_step(Step("div", step.operands), values)[0].v
    (place,) = step.operands
    return values[place].v.astype(WIDE) if isinstance(place, int) else np.zeros(())


def check(runner: Runner, program: Program, forward: bool = False) -> tuple[str, Finding | None]:
    """Compares the gradients of a program with differences; returns what came of it: ``checked``, ``skipped`` or ``refused``.

    A gradient that is wrong near by as well is a finding: at a tie each framework chooses for itself.

    Args:
        forward: compare the tangents of its results instead.
    """
    one = _check_tangents if forward else _check
    outcome, finding = one(runner, program, 0)
    return one(runner, program, 0.01) if finding is not None and finding.kind == "gradient" else (outcome, finding)


def checked_slopes(runner: Runner, program: Program, mode: str) -> Report:
    """What ``vjp`` or ``jvp`` of a program has shown."""
    report = Report()
    with limits_of(program.seed):
        outcome, finding = check(runner, program, mode == "jvp")
    report.calls += outcome == "checked"
    if finding is not None:
        report.findings.append(finding)
    if outcome.startswith("refused"):
        report.refusals[mode] = f"GradientError: {outcome.removeprefix('refused: ')}"
        if not any(words in outcome for words in REFUSED):
            report.findings.append(Finding("refused gradient", mode, outcome))
    return report


def _slopes(program: Program, jitter: float) -> Slopes | None:
    """The slopes of a program; ``None`` if it is refused, or says nothing of gradients."""
    try:
        slopes = Slopes(program, jitter)
    except Refused:
        return None
    return slopes if slopes.program.results and slopes.telling else None


def _unsupported(error: Exception, mode: str) -> tuple[str, Finding | None]:
    """What came of a refused argument: no finding where the device lacks its kind of texture."""
    if LACKING in str(error):
        return "skipped", None
    return "checked", Finding("raw UnsupportedArgumentError", mode, str(error))


def _check_tangents(runner: Runner, program: Program, jitter: float) -> tuple[str, Finding | None]:
    fp, slopes = runner.fp, _slopes(program, jitter)
    if slopes is None:
        return "skipped", None
    program = slopes.program
    chosen = {i: slopes.inputs[i].v.shape for i, a in enumerate(program.args) if is_float(a.scalar)}
    directions = {i: slopes.rng.choice([-1.0, 1.0], shape) for i, shape in chosen.items()}
    want = slopes.slope(directions) if directions else None
    if want is None:
        return "skipped", None
    arguments = [passed(arg, array, runner.module) for arg, array in zip(program.args, slopes.arrays)]
    plain = [dataclasses.replace(a, layout="C", passed="tensor" if a.passed == TEXTURE else a.passed) for a in program.args]
    moved = [
        passed(arg, directions[i].astype(SCALARS[arg.scalar]), runner.module) if i in directions else None
        for i, arg in enumerate(plain)
    ]
    try:
        made = fp.jvp(runner.function(program), arguments, moved).d
    except fp.GradientError as error:
        return f"refused: {error}", None
    except fp.UnsupportedArgumentError as error:
        return _unsupported(error, "jvp")
    except Exception as error:  # noqa: BLE001  # whatever comes out is a finding
        return "checked", Finding(f"raw {type(error).__name__}", "jvp", "".join(traceback.format_exception(error)[-6:]))
    mine = size = 0.0
    for tangent, weights in zip(made, slopes.weights):
        array = tangent.to_numpy() if hasattr(tangent, "to_numpy") else np.asarray(tangent)
        if array.shape != weights.shape:
            return "checked", Finding("shape", "jvp", f"shape {array.shape}, not {weights.shape}")
        with np.errstate(all="ignore"):
            parts = np.where(weights == 0, 0, array.astype(WIDE) * weights)
        mine, size = mine + float(parts.sum()), size + float(np.abs(parts).sum())
    if slopes.excused(mine, want):
        return "skipped", None
    if abs(mine - want) <= closeness(slopes) * (abs(want) + max(1.0, size)):
        return "checked", None
    return "checked", Finding("gradient", "jvp", f"{mine:.9g}, differences give {want:.9g}")


def closeness(slopes: Slopes) -> float:
    """How close derivatives are to differences, by the coarsest float of a program."""
    return max(CLOSE[v.scalar] for v in slopes.values if is_float(v.scalar))


def _check(runner: Runner, program: Program, jitter: float) -> tuple[str, Finding | None]:
    fp, slopes = runner.fp, _slopes(program, jitter)
    if slopes is None:
        return "skipped", None
    program = slopes.program
    try:
        arguments = [passed(arg, array, runner.module) for arg, array in zip(program.args, slopes.arrays)]
        weights = [np.asarray(w, SCALARS[slopes.values[p].scalar]) for w, p in zip(slopes.weights, program.results)]
        gradients = pulled(runner, program)(*arguments, *weights)
    except fp.GradientError as error:
        return f"refused: {error}", None
    except fp.UnsupportedArgumentError as error:
        return _unsupported(error, "vjp")
    except fp.CompileError as error:
        if "an interface value with vectors" in str(error):  # Slang cannot, and the hint says so
            return f"refused: {error.hint}", None
        return "checked", Finding("CompileError", "vjp", str(error))
    except Exception as error:  # noqa: BLE001  # whatever comes out is a finding
        return "checked", Finding(f"raw {type(error).__name__}", "vjp", "".join(traceback.format_exception(error)[-6:]))
    compared = 0
    for place, gradient in enumerate(gradients):
        words, count = differs(slopes, place, gradient)
        compared += count
        if words:
            return "checked", Finding("gradient", "vjp", f"x{place}, {program.args[place].type}: {words}")
    return "checked" if compared else "skipped", None


def pulled(runner: Runner, program: Program) -> Any:
    """The gradients of a program as a fused function of its arguments and the weights of its results."""
    function, count = runner.function(program), len(program.args)
    names = [f"x{i}" for i in range(count)] + [f"w{i}" for i in range(len(program.results))]
    scope = {"vjp": lambda args, weights: runner.fp.vjp(function, *args)[1](weights)}
    exec(f"def gradient({', '.join(names)}): return vjp(({', '.join(names[:count])},), ({', '.join(names[count:])},))", scope)
    return runner.fp.fuse(scope["gradient"])


def differs(slopes: Slopes, place: int, gradient: Any) -> tuple[str | None, int]:
    """How the gradient of an argument differs from differences, and the number of slopes that were compared."""
    arg, x = slopes.program.args[place], slopes.inputs[place]
    if not (is_float(arg.scalar) or arg.scalar == "Ray"):
        return None if gradient is None or x.weak else "an integer has a gradient", 0
    if gradient is None:
        return "no gradient", 0
    array = gradient.to_numpy() if hasattr(gradient, "to_numpy") else np.asarray(gradient)
    if arg.scalar == "Ray":
        array = np.concatenate([array["at"], array["t"][..., None]], axis=-1)
    if array.shape != x.v.shape:
        return f"shape {array.shape}, not {x.v.shape}", 0
    if not array.size:
        return None, 1
    flat = slopes.rng.permutation(x.v.size)[:ELEMENTS]
    directions = [np.eye(1, x.v.size, int(i)).reshape(x.v.shape) for i in flat]
    if x.v.size > 1:
        one = (1, *x.v.shape[1:]) if arg.layout == "repeated" and arg.dims else x.v.shape  # what is one in memory stays equal
        directions.append(np.broadcast_to(slopes.rng.choice([-1.0, 1.0], one), x.v.shape))
    compared, size = 0, 1.0
    pairs = []
    for direction in directions:
        want = slopes.slope({place: direction})
        if want is not None:
            with np.errstate(all="ignore"):
                mine = float(np.sum(np.where(direction == 0, 0, array.astype(WIDE) * direction)))
            pairs.append((direction, mine, want))
            size = max(size, abs(want) / np.count_nonzero(direction) ** 0.5)
    pairs = [pair for pair in pairs if not slopes.excused(*pair[1:])]
    close = closeness(slopes) if any(is_float(v.scalar) for v in slopes.values) else CLOSE["float"]
    for direction, mine, want in pairs:
        compared += 1
        many = np.count_nonzero(direction)
        if not abs(mine - want) <= close * (abs(want) + size * many**0.5):
            where = "in a random direction" if many > 1 else f"at {tuple(int(i) for i in np.argwhere(direction)[0])}"
            return f"{mine:.9g} {where}, differences give {want:.9g}", compared
    return None, compared
