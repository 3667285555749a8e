"""A program in all the ways in which it can run, held to its meaning: values, types, extents, containers, refusals."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.fuzz.inputs import CALLS, container, given, meant
from tests.fuzz.meaning import evaluate
from tests.fuzz.module import SOURCE
from tests.fuzz.program import Program
from tests.fuzz.text import direct, function_text, name_of, parameters_of, step_text
from tests.fuzz.values import SCALARS, UNIT, Val, is_float

MODES = ("fused", "replay", "again", "eager", "lazy", "graph")


@dataclass
class Finding:
    """What went wrong: in which mode, of what kind, and the words."""

    kind: str
    mode: str
    words: str


@dataclass
class Report:
    """What running a program has shown."""

    findings: list[Finding] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)
    calls: int = 0


class Runner:
    """Runs programs on one device; the functions of single steps are kept between programs."""

    def __init__(self, device: Any = None):
        import fusepy as fp

        self.fp = fp
        self.device = fp.default_device() if device is None else device
        self.module = fp.Module.load_from_source(self.device, "fuzzed", SOURCE)
        self.steps: dict[str, Any] = {}

    # ---- the ways to run --------------------------------------------------------------------------------------------

    def scope(self) -> dict[str, Any]:
        return {"fp": self.fp, "m": self.module}

    def function(self, program: Program) -> Callable[..., Any]:
        scope = self.scope()
        exec(on_one_line(function_text(program)), scope)
        return scope["program"]

    def step(self, program: Program, i: int, traced: bool) -> Any:
        """The function of one step: fused, unless it is a call that can be made by itself."""
        step = program.steps[i]
        text = step_text(step)
        key = f"{traced}{text}"
        found = self.steps.get(key)
        if found is None:
            scope = self.scope()
            exec(on_one_line(text), scope)
            found = scope["step"] if direct(step) and not traced else self.fp.fuse(scope["step"])
            if len(self.steps) > 600:
                self.steps.clear()
            self.steps[key] = found
        return found

    def one_by_one(self, program: Program, arguments: Sequence[Any], wanted: Sequence[Val], lazy: bool) -> list[Any]:
        """Each step by a call of its own; what is handed out as an array becomes a tensor of its type again."""
        values = list(arguments)
        for i, places in enumerate(program.places()):
            result = self.step(program, i, False)(*(values[p] for p in parameters_of(program.steps[i])))
            made = list(result) if len(places) > 1 else [result]
            for place, one in zip(places, made, strict=True):
                values.append(one if lazy else self.typed(one, wanted[place]))
        return [values[p] for p in program.results]

    def typed(self, value: Any, want: Val) -> Any:
        """What a call has handed out, as something that has the type of the value in a fused program."""
        if isinstance(value, self.fp.Tensor):
            return value
        if want.weak and isinstance(value, (bool, int, float, list)):
            return value
        array = np.asarray(value)
        if array.shape != want.v.shape:
            return value  # wrong, and said so where it is compared
        return self.fp.Tensor.from_numpy(self.device, np.array(array, SCALARS[want.scalar], order="C"), dtype=want.name)

    def graph(self, program: Program) -> Any:
        g = self.fp.Graph(inputs=[f"x{i}" for i in range(len(program.args))], name="program")
        values = list(g.get_inputs())
        for i, places in enumerate(program.places()):
            operands = [values[p] for p in parameters_of(program.steps[i])]
            node = (
                self.step(program, i, True).node(outputs=len(places)) if len(places) > 1 else self.step(program, i, True).node()
            )
            made = node(*operands)
            values += [made[k] for k in range(len(places))] if len(places) > 1 else [made]
        g.set_outputs(tuple(values[p] for p in program.results))
        return g

    # ---- one program ------------------------------------------------------------------------------------------------

    def check(self, program: Program, modes: Sequence[str] = MODES) -> Report:
        """Runs a program in these modes and compares."""
        report = Report()
        wanted = [evaluate(program, meant(program, c)) for c in range(CALLS)]
        function = self.fp.fuse(self.function(program))
        held: list[Any] = []
        for mode in modes:
            call = 1 if mode == "replay" else 0
            lazy = mode == "lazy"
            try:
                arguments = given(program, call, self.device)
                if mode in ("fused", "replay", "again"):
                    found = self.leaves(program, function(*arguments), report, mode)
                elif mode == "graph":
                    found = list(self.graph(program)(*arguments))
                else:
                    if lazy:
                        tensors = [self.typed(self.plain(a), w) for a, w in zip(arguments, wanted[call])]
                        with self.fp.lazy():
                            found = self.one_by_one(program, tensors, wanted[call], True)
                        for one in found:
                            if isinstance(one, self.fp.Tensor):
                                one.compute()
                    else:
                        found = self.one_by_one(program, arguments, wanted[call], False)
                report.calls += 1
            except self.fp.FusepyError as error:
                report.refusals[mode] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
                if getattr(error, "hint", None) is None:
                    report.findings.append(Finding("no hint", mode, str(error)))
                if type(error).__name__ in ("CompileError", "VerifyError", "IRSyntaxError", "DeviceLostError", "DeviceError"):
                    report.findings.append(Finding(type(error).__name__, mode, str(error)))
                continue
            except Exception as error:  # noqa: BLE001  # whatever comes out is a finding
                words = "".join(traceback.format_exception(error)[-6:])
                report.findings.append(Finding(f"raw {type(error).__name__}", mode, words))
                continue
            held.append((mode, call, found))
            self.compare(program, mode, found, wanted[call], report)
        for mode, call, found in held[:1]:  # what the first call gave must be there still after all the others
            self.compare(program, f"{mode}, read later", found, wanted[call], report)
        refused = set(report.refusals)
        ran = {mode for mode, _, _ in held}
        if refused and ran and not report.findings:
            words = "; ".join(f"{k}: {v}" for k, v in report.refusals.items()) + f"; runs: {', '.join(sorted(ran))}"
            report.findings.append(Finding("refused in one mode", ", ".join(sorted(refused)), words))
        return report

    def plain(self, argument: Any) -> Any:
        """An argument without what `vcast` says of it."""
        from fusepy.mapping import unmapped

        return unmapped(argument)

    def leaves(self, program: Program, result: Any, report: Report, mode: str) -> list[Any]:
        """The results in their order, of the structure that the program returns."""
        kind = {"tuple": tuple, "list": list, "dict": dict}.get(program.structure)
        if kind is None:
            return [result]
        if type(result) is not kind or len(result) != len(program.results):
            report.findings.append(Finding("structure", mode, f"{type(result).__name__} for {program.structure}"))
            return []
        return list(result.values()) if kind is dict else list(result)

    def compare(self, program: Program, mode: str, found: Sequence[Any], wanted: Sequence[Val], report: Report) -> None:
        for place, got in zip(program.results, found):
            want = wanted[place]
            what = f"{name_of(program, place)}: {want.name} over {want.grid}"
            words = self.differs(
                got, want, container(program) if mode.split(",")[0] in ("fused", "replay", "again", "graph") else ""
            )
            if words is not None:
                report.findings.append(Finding(words[0], mode, f"{what}: {words[1]}"))

    def differs(self, got: Any, want: Val, expected: str) -> tuple[str, str] | None:
        """How a result differs from what is wanted, if it does."""
        kind = kind_of(got)
        if expected and kind != expected and not (expected == "number" and kind == "list" and want.comp):
            return "container", f"a {kind}, not a {expected}"
        shape = want.v.shape
        if kind == "tensor":
            if str(got.dtype) != want.name:
                return "type", f"a tensor of {got.dtype}"
            if tuple(got.shape) != want.grid:
                return "shape", f"a tensor of shape {tuple(got.shape)}"
        array = got.to_numpy() if kind == "tensor" else np.asarray(got)
        if array.shape != shape and not (kind == "list" and not array.size and not want.v.size):
            return "shape", f"shape {array.shape}, not {shape}"
        if kind in ("tensor", "numpy", "torch") and array.dtype != np.dtype(SCALARS[want.scalar]):
            return "type", f"dtype {array.dtype}"
        if kind in ("list", "number") and array.size and array.dtype.kind not in _KINDS[np.dtype(SCALARS[want.scalar]).kind]:
            return "type", f"a {kind} of {array.dtype}"
        return wrong_numbers(array, want)


def on_one_line(text: str) -> Any:
    """The code of a text, all on one line of one file: kernels have the line in them, and would else not be shared."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for name in ("lineno", "end_lineno"):
            if hasattr(node, name):
                setattr(node, name, 1)
    return compile(tree, "fuzzed.py", "exec")


_KINDS = {"b": "b", "i": "iu", "u": "iu", "f": "f"}


def wrong_numbers(array: Any, want: Val) -> tuple[str, str] | None:
    """Whether some number is further off than rounding explains."""
    if not want.v.size:
        return None
    if not is_float(want.scalar):
        bad = (array != want.v) & ~(want.e > 0)
    else:
        with np.errstate(all="ignore"):
            wide = array.astype(np.longdouble)
            slack = np.where(want.e > 0, UNIT[want.scalar] * np.abs(want.v).astype(np.float64), 0)
            bad = ~(np.abs(wide - want.v) <= want.e + slack) & np.isfinite(want.e)
    if not np.any(bad):
        return None
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    bound = f" within {float(want.e[at]):.3g}" if is_float(want.scalar) else ""
    return "values", f"{array[at]!r} at {at}, not {want.v[at]!r}{bound}; {int(bad.sum())} of {bad.size} are wrong"


def kind_of(value: Any) -> str:
    """The container of a result."""
    name = type(value).__module__.partition(".")[0]
    if name == "fusepy":
        return "tensor"
    if name == "torch":
        return "torch"
    if isinstance(value, np.ndarray):
        return "numpy"
    return "list" if isinstance(value, list) else "number"
