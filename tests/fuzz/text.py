"""Programs as Python text: statements over ``x0, x1, …`` (arguments) and ``v3, v4, …`` (what steps give)."""

from __future__ import annotations

from typing import Any

from tests.fuzz import chance, movement, numbers, vocabulary, words
from tests.fuzz.elementwise import OPERATORS, SEVERAL, UNARY
from tests.fuzz.program import Program, Step
from tests.fuzz.values import type_name

VECTOR = ("dot", "cross", "length", "normalize", "reflect")


def name_of(program: Program, place: Any) -> str:
    """How the text calls an operand."""
    if isinstance(place, list):
        shown = repr(place[0]) if not isinstance(place[0], (int, float)) or place[0] >= 0 else f"({place[0]!r})"
        return shown if len(place) == 1 else f'fp.vcast({shown}, "{place[1]}")'
    return f"x{place}" if place < len(program.args) else f"v{place}"


def _type_in_text(scalar: str, comp: Any) -> str:
    name = type_name(scalar, tuple(comp))
    return f"m.{name}" if name.isidentifier() else f'm["{name}"]'


def expression(step: Step, names: list[str]) -> str:
    """What a step computes, over the names of its operands; not for loops and branches."""
    op, a = step.op, step.attrs
    given = ", ".join(names)
    if op in OPERATORS:
        return OPERATORS[op][0].format(*names)
    if op in UNARY or op in SEVERAL or op in VECTOR:
        return f"fp.{op}({given})"
    if op == "member":
        return f"{names[0]}.{a['name']}"
    if op == "index":
        return f"fp.vcast({names[0]}, {names[0]}.dtype)[{a['at'] if len(names) == 1 else names[1]}]"  # else an index of its axes
    if op == "matmul":
        return f"{names[0]} @ {names[1]}"
    if op in ("cast", "channels"):
        return f'fp.vcast({names[0]}, "{type_name(a["scalar"], tuple(a["comp"]))}")'
    if op == "construct":
        return f"{_type_in_text(a['scalar'], a['comp'])}({given})"
    if op == "reduce":
        axis = tuple(a["axis"]) if isinstance(a["axis"], list) else a["axis"]
        of = f"fp.vcast({names[0]}, {names[0]}.dtype)" if a.get("vectors") else names[0]  # a list of numbers is a vector
        return f"fp.{a['kind']}({of}, axis={axis!r}, keepdims={bool(a.get('keepdims'))})"
    if op == "scan":
        return f"fp.scan({a['kind']!r}, {names[0]}, axis={a['axis']}, exclusive={bool(a.get('exclusive'))})"
    if op == "move":
        return movement.text(a, names[0])
    if op == "chance":
        return chance.text(a, names)
    if op == "vocabulary":
        return vocabulary.text(a, names)
    if op == "numbers":
        return numbers.text(a, names)
    if op == "word":
        return words.text(a, names)
    if op == "fold":
        identity = {"add": 0.0, "big": -3.0e38, "chain": [1.0, 0.0]}[a["function"]]
        if a["scan"]:
            return f"fp.scan(m.{a['function']}, {identity!r}, {names[0]}, axis={a['axis']}, exclusive={bool(a.get('exclusive'))})"
        axis = tuple(a["axis"]) if isinstance(a["axis"], list) else a["axis"]
        return f"fp.reduce(m.{a['function']}, {identity!r}, {names[0]}, axis={axis!r}, keepdims={bool(a.get('keepdims'))})"
    if op == "call" and "." in a["name"]:
        return f"{names[0]}.{a['name'].split('.')[1]}({', '.join(names[1:])})"
    if op in ("call", "image"):
        return f"m.{a['name']}({given})"
    if op == "accumulate":
        return f"m.{a['name']}.accumulate(result={a['kind']!r})({given})"
    if op == "next":
        return f"m.next(fp.grid({names[0]}), {names[0]})"
    if op == "placed":
        return f"m.{a['function']}({a['generator'].format(*names)}, {names[0]})"
    if op == "outer":
        return f"m.less(fp.vmap({names[0]}, {tuple(a['a'])}), fp.vmap({names[1]}, {tuple(a['b'])}))"
    if op == "field":
        return f"{names[0]}.{a['name']}"
    if op == "choose":
        return f"fp.where({given})"
    raise KeyError(op)


def direct(step: Step) -> bool:
    """Whether the step is a call that may be made outside of a fused function, and that writes no argument."""
    if step.op == "call":
        return step.attrs["name"] not in ("bump", "exchange", "drift") and "." not in step.attrs["name"]
    if step.op == "placed":
        return "grid" not in step.attrs["generator"]  # that of a traced value
    if step.op == "vocabulary":
        return vocabulary.direct(step.attrs)
    return step.op in (
        *UNARY,
        *SEVERAL,
        *VECTOR,
        "reduce",
        "scan",
        "fold",
        "move",
        "word",
        "numbers",
        "outer",
        "accumulate",
        "image",
    )


def statements(step: Step, names: list[str], out: list[str]) -> list[str]:
    """The lines that name what a step gives."""
    if step.op in ("fori", "while", "cond"):
        from tests.fuzz.control import lines

        return lines(step, names, out)
    return [f"{', '.join(out)} = {expression(step, names)}"]


def function_text(program: Program, name: str = "program") -> str:
    """The whole program as a function of its arguments."""
    lines = [f"def {name}({', '.join(f'x{i}' for i in range(len(program.args)))}):"]
    for step, places in zip(program.steps, program.places()):
        found = statements(step, [name_of(program, p) for p in step.operands], [f"v{p}" for p in places])
        lines += ["    " + line for line in found]
    results = [name_of(program, p) for p in program.results]
    structure = {
        "tuple": f"({', '.join(results)},)",
        "list": f"[{', '.join(results)}]",
        "dict": "{" + ", ".join(f"'r{i}': {r}" for i, r in enumerate(results)) + "}",
        "single": results[0],
    }[program.structure]
    return "\n".join([*lines, f"    return {structure}"]) + "\n"


def step_text(step: Step) -> str:
    """One step as a function ``step`` of its operands that are values; equal steps have equal texts."""
    names, parameters = [], []
    seen: dict[Any, str] = {}
    for p in step.operands:
        if isinstance(p, list):
            names.append(name_of(Program([], [], [], []), p))
            continue
        if p not in seen:
            seen[p] = f"p{len(seen)}"
            parameters.append(seen[p])
        names.append(seen[p])
    out = [f"r{i}" for i in range(step.gives)]
    body = "".join(f"    {line}\n" for line in statements(step, names, out))
    return f"def step({', '.join(parameters)}):\n{body}    return {', '.join(out)}\n"


def parameters_of(step: Step) -> list[int]:
    """The operands of `step_text`'s function."""
    return list(dict.fromkeys(p for p in step.operands if not isinstance(p, list)))
