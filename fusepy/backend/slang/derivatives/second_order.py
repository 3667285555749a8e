"""The question whether Slang can differentiate a call more than once. It is asked in another process, which Slang may end.

The first derivatives are taken forwards: of a call ``f`` a differentiable function calls ``fwd_diff(f)``, and so on.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

import slangpy as spy

from fusepy.backend.slang.prelude import INCLUDE
from fusepy.backend.slang.session import digest_name
from fusepy.backend.slang.stage import COMPUTE, THREAD_INDEX
from fusepy.backend.slang.trial import tried
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import CompileError
from fusepy.ir.names import spell_function_call
from fusepy.ir.oracle import IN, OUT, CallTypes
from fusepy.ir.types import AS_ONE, Kind, Type
from fusepy.ir.value import declare
from fusepy.ir.whole import library, spelled

ENTRY = "fz_probe"
DIRECTLY = (
    "give it a result in place of out and inout parameters, and no interface as a parameter; take pow of components; "
    "or write the function with operators and functions of fusepy"
)
Typed = tuple[str, Type, bool]  # a name, its type, and whether it is differentiated


def refused_twice(kind: spy.DeviceType, sources: Sequence[ModuleSource], text: str) -> tuple[str, str] | None:
    """Returns why a kernel `text` with derivatives of derivatives does not compile, and a hint; ``None`` if it does.

    Raises:
        CompileError: if the other process could not be started.
    """
    arguments = (digest_name("twice", text), text, (), list(sources), ENTRY)
    try:
        ended, words = tried(kind, arguments)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompileError(
            "a second derivative cannot be tried in a process of sys.executable, where Slang may crash", saw=error
        ) from error
    if not ended:
        return None
    said = [line for line in words.splitlines() if "error[" in line] if ended == 1 else []
    what = said[0].partition("error[")[2].partition("] ")[2] or said[0] if said else "Slang's compiler crashes"
    return f"its derivative cannot be differentiated again: {what[:160]}", DIRECTLY


def kernel_of(imports: Sequence[str], call: CallTypes, forward: bool) -> str:
    """Returns a kernel that computes the derivative of a call of its order, the last time forwards or backwards."""
    inputs = [(f"a{i}", type, wanted) for i, (way, type, wanted) in enumerate(call.params) if way != OUT]
    outputs = [(f"r{i}", type, True) for i, (way, type, _) in enumerate(call.params) if way != IN]
    if call.result is not None:
        outputs.insert(0, ("r", call.result, True))
    outputs = [(name, type, True) for name, type, _ in outputs if _differential(type) is not None]
    lines = _function("fz_1", inputs, outputs, _called(call))
    for level in range(2, call.order + 1):
        passed = [f"q_{name}" if wanted else name for name, _, wanted in inputs]
        pairs = [f"let q_{name} = diffPair({name}, d{level}_{name});" for name, _, wanted in inputs if wanted]
        called = _applied("fwd_diff", f"fz_{level - 1}", passed, outputs)
        inputs += [
            (f"d{level}_{name}", derived, True) for name, type, wanted in inputs if wanted and (derived := _differential(type))
        ]
        moved = [(f"d{level}_{name}", derived, True) for name, type, _ in outputs if (derived := _differential(type))]
        parts = [f"{declare(derived, d)} = p_{name}.d;" for (d, derived, _), (name, _, _) in zip(moved, outputs)]
        outputs = moved
        lines += _function(f"fz_{level}", inputs, outputs, [*pairs, *called, *parts])
    libraries = {library(type) for _, type, _ in call.params if type.kind is Kind.WHOLE}
    head = [f"import {name};" for name in (*imports, *sorted(libraries))]
    return "\n".join([*head, *lines, *_entry(f"fz_{call.order}", inputs, outputs, forward)]) + "\n"


def _called(call: CallTypes) -> list[str]:
    """Returns the statements of the call; its results are ``r``, and ``r0`` for the first parameter if that is an output."""
    lines: list[str] = []
    passed: list[str] = []
    for i, (way, type, _) in enumerate(call.params):
        if way != IN:
            lines.append(declare(type, f"r{i}") + (";" if way == OUT else f" = a{i};"))
        passed.append(f"a{i}" if way == IN else f"r{i}")
    spelled_call = spell_function_call(call.function, passed, call.method)
    return [*lines, f"{declare(call.result, 'r')} = {spelled_call};" if call.result else f"{spelled_call};"]


def _function(name: str, inputs: Sequence[Typed], outputs: Sequence[Typed], lines: Sequence[str]) -> list[str]:
    """Returns a differentiable function, which returns one output and has several as ``out`` parameters, as kernels do."""
    params = [_parameter(*each) for each in inputs]
    result = _returned(outputs)
    if result is None:
        params += [f"out {declare(type, f'o_{name}')}" for name, type, _ in outputs]
    ends = [f"return {outputs[0][0]};"] if result else [f"o_{name} = {name};" for name, _, _ in outputs]
    return ["[Differentiable]", f"{result or 'void'} {name}({', '.join(params)})", "{", *lines, *ends, "}"]


def _applied(way: str, function: str, passed: Sequence[str], outputs: Sequence[Typed]) -> list[str]:
    """Returns a call of the derivative of a function, with pairs ``p_…`` of its outputs."""
    pairs = [f"DifferentialPair<{type}> p_{name}" for name, type, _ in outputs]
    if _returned(outputs) is not None:
        return [f"{pairs[0]} = {way}({function})({', '.join(passed)});"]
    given = ", ".join([*passed, *(f"p_{name}" for name, _, _ in outputs)])
    return [*(f"{pair};" for pair in pairs), f"{way}({function})({given});"]


def _entry(function: str, inputs: Sequence[Typed], outputs: Sequence[Typed], forward: bool) -> list[str]:
    """Returns the entry point: everything comes from its parameters, and goes to pointers."""
    params = [f"uniform {_parameter(name, type, True)}" for name, type, _ in inputs]
    moved = [(name, type) for name, type, wanted in inputs if wanted]
    passed = [f"q_{name}" if wanted else name for name, _, wanted in inputs]
    if forward:
        pairs = [f"let q_{name} = diffPair({name}, {name}_to);" for name, _ in moved]
        params += [f"uniform {declare(d, f'{name}_to')}" for name, type in moved if (d := _differential(type))]
        params += [f"uniform Ptr<{_differential(type)}> s_{name}" for name, type, _ in outputs]
        stores = [f"*s_{name} = p_{name}.d;" for name, _, _ in outputs]
        lines = [*pairs, *_applied("fwd_diff", function, passed, outputs), *stores]
    else:
        pairs = [f"DifferentialPair<{type}> q_{name} = diffPair({name});" for name, type in moved]
        params += [f"uniform {declare(d, f'{name}_to')}" for name, type, _ in outputs if (d := _differential(type))]
        params += [f"uniform Ptr<{_differential(type)}> s_{name}" for name, type in moved]
        given = ", ".join([*passed, *(f"{name}_to" for name, _, _ in outputs)])
        lines = [*pairs, f"bwd_diff({function})({given});", *(f"*s_{name} = q_{name}.d;" for name, _ in moved)]
    head = COMPUTE.head(ENTRY, THREAD_INDEX, "".join(f", {param}" for param in params))
    return [*COMPUTE.attributes((1, 1, 1)), head, "{", INCLUDE, *lines, "}"]


def _parameter(name: str, type: Type, wanted: bool) -> str:
    shown = f"{spelled(type)} {name}" if type.kind is Kind.WHOLE else declare(type, name)
    return shown if wanted or type.kind in AS_ONE else f"no_diff {shown}"


def _returned(outputs: Sequence[Typed]) -> Type | None:
    """Returns the type of the only output, if a function returns it."""
    return outputs[0][1] if len(outputs) == 1 and outputs[0][1].kind is not Kind.ARRAY else None


def _differential(type: Type) -> Type | None:
    """Returns the type of the gradient of a value that is differentiated; ``None`` for other numbers."""
    if type.kind is Kind.ARRAY and type.element is not None:
        inner = _differential(type.element)
        return None if inner is None else Type.array(inner, type.shape[0])
    if type.kind is Kind.NAMED and not type.name.endswith("::Differential"):
        return Type.parse(f"{type}::Differential")
    return type if type.is_float or type.kind is Kind.NAMED else None
