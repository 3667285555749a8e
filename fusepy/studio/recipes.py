"""Recipes: how the node of a kind is called in a graph, and written in a program."""

from __future__ import annotations

import builtins
import json
import keyword
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, cast

import fusepy as fp
from fusepy.ir.oracle import IN, OUT, Param, Signature
from fusepy.ir.types import Kind, Type
from fusepy.studio.comments import FunctionNotes
from fusepy.studio.kinds import ANY, NodeKind, Port, PortValue

Values = Mapping[str, PortValue]
RESULT = "result"


class NodeRecipe:
    """The way from a kind of nodes to calls. This one is of a function with one argument for each input, in their order.

    Attributes:
        node: makes the node in a graph; `alone` does so in a graph that has no other, whose kernel should compile fast.
        module: the name of the Slang file that it needs; empty for others.
        needs: the definitions that an exported program needs for it.
        calls: the lines of a Python function of the user's, which stand in errors and kernels in place of the node's.
    """

    module = ""
    calls: frozenset[str] = frozenset()
    needs: tuple[str, ...] = ()

    def __init__(self, kind: NodeKind, node: Callable[..., Any], spelled: str):
        self.kind = kind
        self.node = self.alone = node
        self.spelled = spelled

    def arguments(self, values: Values) -> dict[str, Any]:
        """Returns the arguments that the graph gets for this node. Values are arguments, so that another one compiles nothing."""
        return {name: passed(cast("Port", self.kind.input(name)), value) for name, value in values.items()}

    def stamp(self, arguments: Mapping[str, Any]) -> object:
        """Returns the part of the arguments that can change while the values stay, such as the contents of a file."""
        return None

    def written(self, values: Values) -> dict[str, str]:
        """Returns the arguments as Python expressions."""
        return {name: spelled_value(cast("Port", self.kind.input(name)), value) for name, value in values.items()}

    def by_itself(self) -> NodeRecipe:
        """Returns this recipe for a graph that has no other node."""
        found = copy(self)
        found.node = self.alone
        return found

    def build(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Calls the node with values of a graph by the names of inputs and arguments; returns its outputs by name."""
        made = self.node(*[given[port.name] for port in self.kind.inputs])
        names = [port.name for port in self.kind.outputs]
        return {names[0]: made} if len(names) == 1 else dict(zip(names, made or ()))

    def lines(self, given: Mapping[str, str], names: Mapping[str, str]) -> list[str]:
        """Returns the lines of a program that compute outputs; `names` are the variables for those that are used."""
        call = f"{self.spelled}({', '.join(given[port.name] for port in self.kind.inputs)})"
        return [f"{', '.join(names.get(port.name, '_') for port in self.kind.outputs)} = {call}"]


def passed(port: Port, value: PortValue) -> Any:
    """Returns the argument of a graph for the value of a port."""
    return fp.vcast(list(value), port.type) if isinstance(value, tuple) else value


def spelled_value(port: Port, value: PortValue) -> str:
    """Returns the value of a port as a Python expression."""
    return f'fp.vcast({list(value)}, "{port.type}")' if isinstance(value, tuple) else quoted(value)


def quoted(value: Any) -> str:
    """Returns a number, or a text in double quotes, as Python source."""
    return json.dumps(value) if isinstance(value, str) else repr(value)


def slang_recipe(
    node: fp.Node, name: str, signature: Signature, module: str, notes: FunctionNotes, defaults: Values, number: int = 0
) -> NodeRecipe:
    """Returns the recipe of a Slang function, with the parameters of one of its overloads.

    Args:
        number: that of the overload, which the name of its kind has from 1 on.
        module: the Slang file, relative to the folder of the studio.
        defaults: the defaults of parameters that are plain numbers.
    """
    inputs = [slang_port(p, notes, defaults.get(p.name)) for p in signature.params if p.direction != OUT]
    returns = signature.result is None or signature.result.kind is not Kind.VOID
    outputs = [Port(RESULT, type_text(signature.result))] if returns else []
    outputs += [Port(p.name, type_text(p.type)) for p in signature.params if p.direction != IN]
    label = name.replace("::", "_").partition("<")[0]
    kind = NodeKind(f"{module}/{name}{f'#{number + 1}' * (number > 0)}", label, module, tuple(inputs), tuple(outputs), notes.doc)
    alias = alias_of(module)
    plain = name.isidentifier() and not keyword.iskeyword(name) and not hasattr(fp.Module, name)
    made = NodeRecipe(kind, node, f"{alias}.{name}" if plain else f'{alias}["{name}"]')
    made.module = module
    return made


def alias_of(file: str) -> str:
    """Returns the variable for a file in an exported program.

    Example:
        >>> alias_of("lib/look.slang"), alias_of("look.py"), alias_of("2.slang"), alias_of("print.slang")
        ('lib__look', 'look_py', 'module_2', 'module_print')
    """
    stem, _, ending = file.rpartition(".")
    text = "".join(c if c.isalnum() and c.isascii() else "_" for c in stem.replace("/", "__")) + "_py" * (ending == "py")
    return text if text.isidentifier() and not keyword.iskeyword(text) and not hasattr(builtins, text) else f"module_{text}"


def type_text(type: Type | None) -> str:
    """Returns a type as ports show it, without the name of fusepy's own module."""
    return ANY if type is None else type.name.removeprefix("fusepy::")


def slang_port(param: Param, notes: FunctionNotes, default: PortValue | None) -> Port:
    """Returns the input for a parameter. A number without a default begins in the middle of its range."""
    type = type_text(param.type)
    port = Port(param.name, type, doc=notes.words.get(param.name, ""), described=None if param.type is None else param.type.name)
    scalar = None if port.slang is None else port.slang.scalar
    if port.slang is None or scalar is None or scalar.dtype is None:
        return port
    whole = scalar.dtype.kind
    size = port.slang.shape[0] if port.slang.kind is Kind.VECTOR else 0
    if default is None and param.name in notes.vectors:
        numbers = notes.vectors[param.name]
        default = numbers if len(numbers) == size else numbers * size if len(numbers) == 1 else None
    near = default if isinstance(default, (int, float)) and not isinstance(default, bool) else None
    ends = notes.ranges.get(param.name) or slider(near, whole)
    if default is None:
        middle = (ends[0] + ends[1]) / 2 if whole == "f" else round((ends[0] + ends[1]) / 2)
        one: PortValue = False if whole == "b" else middle
        default = cast("PortValue", (one,) * size) if size else one
    checked = port.checked(list(default) if isinstance(default, tuple) else default, param.name)
    return replace(port, default=checked, range=None if whole == "b" else ends)


def slider(default: float | None, kind: str) -> tuple[float, float]:
    """Returns the ends of a slider around a default: from 0 to its double.

    Example:
        >>> slider(1.5, "f"), slider(None, "f"), slider(None, "i")
        ((0.0, 3.0), (0.0, 1.0), (0, 10))
    """
    if not default:
        return (0, 10) if kind in "iu" else (0.0, 1.0) if default is None else (-1.0, 1.0)
    return (min(0, 2 * default), max(0, 2 * default)) if kind in "iu" else (min(0.0, 2.0 * default), max(0.0, 2.0 * default))


def distinct(signatures: Sequence[Signature]) -> list[Signature]:
    """Returns the overloads with different names of parameters, those with the most parameters first."""
    found: dict[tuple[str, ...], Signature] = {}
    for signature in sorted(signatures, key=lambda s: -len(s.params)):
        found.setdefault(tuple(p.name for p in signature.params), signature)
    return list(found.values())
