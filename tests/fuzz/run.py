"""A program in all the ways in which it can run, held to its meaning: values, types, extents, containers, refusals."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.fuzz.calls import WRITES
from tests.fuzz.compare import KINDS, from_slangpy, kind_of, watched, wrong_numbers
from tests.fuzz.inputs import CALLS, container, given, meant, of_tensors
from tests.fuzz.known import KERNELS_NUMBER, LACKING, has_no_class, is_long
from tests.fuzz.limits import limits_of
from tests.fuzz.meaning import evaluate
from tests.fuzz.module import SOURCE
from tests.fuzz.program import Program, Step
from tests.fuzz.text import direct, function_text, name_of, parameters_of, step_text
from tests.fuzz.values import SCALARS, Refused, Val

MODES = ("fused", "replay", "again", "given", "eager", "lazy", "graph", "frozen")
HANDED = ("fused", "replay", "again", "graph", "frozen")  # the modes whose results are in the container of the arguments
GUARD = 77  # what lies around a destination, and must lie there afterwards


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

    def add(self, other: Report) -> None:
        self.findings += other.findings
        self.refusals |= other.refusals
        self.calls += other.calls


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
            given = [values[p] for p in parameters_of(program.steps[i])]
            step = program.steps[i]
            if not lazy and step.attrs.get("name") in WRITES and len(given) == 2 and isinstance(given[0], self.fp.Tensor):
                values += self.in_place(step, given, wanted[places[0]].grid)
                continue
            result = self.step(program, i, False)(*given)
            made = list(result) if len(places) > 1 else [result]
            for place, one in zip(places, made, strict=True):
                values.append(one if lazy and isinstance(one, self.fp.Tensor) else self.typed(one, wanted[place]))
        return [values[p] for p in program.results]

    def in_place(self, step: Step, given: Sequence[Any], grid: tuple[int, ...]) -> list[Any]:
        """A call of the Slang function itself, which writes copies of its arguments: what it returns, then these."""
        name = step.attrs["name"]
        copies = []
        for value, written in zip(given, WRITES[name]):
            array = np.broadcast_to(value.to_numpy() if isinstance(value, self.fp.Tensor) else np.asarray(value), grid)
            copies.append(self.fp.Tensor.from_numpy(self.device, np.array(array, array.dtype)) if written else value)
        result = getattr(self.module, name)(*copies)
        changed = [c for c, written in zip(copies, WRITES[name]) if written]
        return [result, *changed] if result is not None else changed

    def typed(self, value: Any, want: Val) -> Any:
        """What a call has handed out, as something that has the type of the value in a fused program."""
        if want.arrives:
            return value  # a texture, or what the call converts
        if isinstance(value, self.fp.Tensor):
            return value.to_numpy().tolist() if want.weak and not want.comp else value  # a tensor is not weak
        if want.weak and isinstance(value, (bool, int, float, list)):
            return value
        array = np.asarray(value)
        if array.dtype.names is not None:
            return self.fp.Tensor.from_numpy(self.device, np.array(array, order="C"), dtype=self.module.Ray)
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

    def check(self, program: Program, modes: Sequence[str] = MODES, watch: bool = False) -> Report:
        """Runs a program in these modes and compares; with `watch` the launches of each call are looked at as well."""
        with limits_of(program.seed):
            return self._checked(program, modes, watch)

    def _checked(self, program: Program, modes: Sequence[str], watch: bool) -> Report:
        report = Report()
        if watch:
            with watched() as seen:
                report = self._checked(program, modes, watch=False)
            report.findings += [Finding("barrier", "", words) for words in seen]
            return report
        program = of_tensors(program, evaluate(program, meant(program, 0)))
        try:
            wanted = [evaluate(program, meant(program, c)) for c in range(CALLS)]
        except Refused:  # NumPy's default dtypes are converted, those of tensors are not
            return report
        function = self.fp.fuse(self.function(program))
        held: list[Any] = []
        by_shape: set[str] = set()  # modes that refuse these extents, which say nothing about other ones
        for mode in modes:
            call = 1 if mode == "replay" else 0
            lazy = mode == "lazy"
            made = wanted[call][len(program.args) :]
            if lazy and any(v.weak for v in made):  # lazy calls give tensors, which are not weak
                continue
            if mode == "eager" and any((v.weak or v.named) and v.comp for v in made):  # lists, without components
                continue
            replaced = mode != "frozen" or all(a.passed == "tensor" and a.layout != "repeated" for a in program.args)
            if mode in ("given", "frozen") and not (replaced and self.takes_destinations(program, wanted[call])):
                continue
            try:
                arguments = given(program, call, self.module)
                if mode in ("fused", "replay", "again"):
                    found = self.leaves(program, function(*arguments), report, mode)
                elif mode == "frozen":
                    found = self.leaves(program, self.frozen(program, function, arguments), report, mode)
                elif mode == "given":
                    found = self.into(program, function, arguments, wanted[call], report)
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
                if LACKING in str(error) or (KERNELS_NUMBER in str(error) and any(map(is_long, made))):
                    continue
                if (
                    mode == "eager"
                    and isinstance(error, self.fp.RangeError)
                    and any(v.weak and np.isinf(v.e).any() for v in made)
                ):
                    continue  # a list holds what is not known, NaN perhaps: undefined inside a kernel, refused outside
                by_shape |= {mode} if isinstance(error, self.fp.ShapeError) else set()
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
        ran = {mode for mode, _, _ in held}
        refused = {
            mode for mode in report.refusals if mode not in by_shape or any((m == "replay") == (mode == "replay") for m in ran)
        }
        if refused and ran and not report.findings:
            words = "; ".join(f"{k}: {v}" for k, v in report.refusals.items()) + f"; runs: {', '.join(sorted(ran))}"
            report.findings.append(Finding("refused in one mode", ", ".join(sorted(refused)), words))
        return report

    def takes_destinations(self, program: Program, wanted: Sequence[Val]) -> bool:
        """Whether all results are arrays of numbers of their own."""
        results = [wanted[p] for p in program.results]
        own = len(set(program.results)) == len(results) and min(program.results) >= len(program.args)
        own = own and not (makes_arrays(program) and any(r.comp for r in results))
        return own and all(r.scalar in SCALARS and r.v.size and not r.weak for r in results)

    def into(self, program: Program, function: Any, arguments: Sequence[Any], wanted: Sequence[Val], report: Report) -> list[Any]:
        """Calls with destinations inside larger tensors: contiguous ones, and ones with gaps."""
        holders, views = [], []
        for k, place in enumerate(program.results):
            want = wanted[place]
            dtype = SCALARS[want.scalar]
            gaps = bool(want.rank) and (program.seed + k) % 2 == 1
            if gaps:
                array = np.full((*want.grid[:-1], 2 * want.grid[-1], *want.comp), GUARD).astype(dtype)
                holder = self.fp.Tensor.from_numpy(self.device, array, dtype=want.name)
                view = holder[(*(slice(None),) * (want.rank - 1), slice(0, None, 2))]
            else:
                count = int(np.prod(want.grid))
                array = np.full((count + 16, *want.comp), GUARD).astype(dtype)
                holder = self.fp.Tensor.from_numpy(self.device, array, dtype=want.name)
                view = holder[8 : 8 + count].reshape(*want.grid) if want.rank else holder[8]
            holders.append((holder, gaps, want))
            views.append(view)
        function(*arguments, _result=views[0] if len(views) == 1 else tuple(views))
        for holder, gaps, want in holders:
            array = holder.to_numpy()
            around = (
                array[(*(slice(None),) * (want.rank - 1), slice(1, None, 2))]
                if gaps
                else np.concatenate([array[:8], array[len(array) - 8 :]])
            )
            if not np.all(around == np.asarray(GUARD).astype(array.dtype)):
                report.findings.append(Finding("guard", "given", f"what lies around a {want.name} over {want.grid} was written"))
        return views

    def frozen(self, program: Program, function: Any, arguments: Sequence[Any]) -> Any:
        """The result of launches that were recorded on other numbers of the same extents, run again on these."""
        other = replace(program, seed=program.seed + 1)
        return self.fp.capture(function, *given(other, 0, self.module)).replay(*arguments)

    def plain(self, argument: Any) -> Any:
        """An argument without what `vcast` says of it."""
        from fusepy.arguments.mapped import unmapped

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
            if (
                kind_of(got) == "tensor"
                and want.comp
                and want.scalar in SCALARS
                and makes_arrays(program)
                and str(got.dtype) == want.scalar
            ):
                want = along_axes(want, tuple(got.shape))
            handed = container(program) if mode.split(",")[0] in ("fused", "replay", "again", "graph") else ""
            if handed == "numpy" and want.weak:  # beside NumPy arrays what is computed of numbers and lists alone stays such
                handed = "list" if want.grid else "number"
            elif want.comp and (handed == "number" or (handed in ("numpy", "list") and (want.named or want.weak))):
                handed = ""  # slangpy's objects, arrays or lists
            words = self.differs(from_slangpy(got), want, handed)
            if words is not None:
                report.findings.append(Finding(words[0], mode, f"{what}: {words[1]}"))

    def differs(self, got: Any, want: Val, expected: str) -> tuple[str, str] | None:
        """How a result differs from what is wanted, if it does."""
        if isinstance(got, dict):  # a struct of numbers and lists alone
            members, got = got, np.zeros((), self.module.Ray.dtype)
            got["at"], got["t"] = members["at"], members["t"]
        kind = kind_of(got)
        one = (
            {"number": "list"} if want.comp else {"list": "number"} if not want.grid else {}
        )  # one value among numbers and lists
        if want.scalar == "Ray":  # structs say which one they are
            one = {"number": "numpy", "list": "numpy"}
        if expected and kind != expected and one.get(expected) != kind:
            return "container", f"a {kind}, not a {expected}"
        shape = want.v.shape
        if want.weak and want.scalar == "int" and str(getattr(got, "dtype", "")).startswith("int64"):
            want = Val("int64_t", want.comp, want.v.astype(np.int64), want.e)  # integers that kernels compute of numbers
        if kind == "tensor":
            if str(got.dtype) != want.name:
                return "type", f"a tensor of {got.dtype}"
            if tuple(got.shape) != want.grid:
                return "shape", f"a tensor of shape {tuple(got.shape)}"
        array = got.to_numpy() if kind == "tensor" else np.asarray(got)
        if want.scalar == "uint64_t" and array.dtype.kind == "f" and all(type(n) is int for n in np.array(got, object).flat):
            array = np.array(got, np.uint64)  # NumPy takes integers beside those beyond 2^63 as floats
        if want.scalar == "Ray":
            if array.dtype != self.module.Ray.dtype:
                return "type", f"dtype {array.dtype}"
            array = np.concatenate([array["at"], array["t"][..., None]], axis=-1)
            want = Val("float", (4,), want.v, want.e)
        if array.shape != shape and not (kind == "list" and not array.size and not want.v.size):
            return "shape", f"shape {array.shape}, not {shape}"
        if kind in ("tensor", "numpy", "torch") and array.dtype != np.dtype(SCALARS[want.scalar]):
            return "type", f"dtype {array.dtype}"
        if kind in ("list", "number") and array.size and array.dtype.kind not in KINDS[np.dtype(SCALARS[want.scalar]).kind]:
            return "type", f"a {kind} of {array.dtype}"
        return wrong_numbers(array, want)


def along_axes(want: Val, shape: tuple[int, ...]) -> Val:
    """Vectors or matrices as an array of numbers: words go along its axes, and one of extent 1 may join with a component's."""
    same = [n for n in want.v.shape if n != 1] == [n for n in shape if n != 1]
    return Val(want.scalar, (), *(a.reshape(shape) if same and np.shape(a) else a for a in (want.v, want.e)))


def makes_arrays(program: Program) -> bool:
    """Whether a vector or matrix of numbers may be an array of NumPy, since slangpy has no class for it."""
    made = (s.attrs for s in program.steps if s.op == "construct")
    return any(has_no_class(attrs["scalar"], attrs["comp"]) for attrs in made)


def on_one_line(text: str) -> Any:
    """The code of a text, all on one line of one file: kernels have the line in them, and would else not be shared."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for name in ("lineno", "end_lineno"):
            if hasattr(node, name):
                setattr(node, name, 1)
    return compile(tree, "fuzzed.py", "exec")
