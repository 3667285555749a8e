"""How faults are planted: attributes of fusepy replaced for a while."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np

from fusepy.arguments.key import KEYS
from fusepy.backend.device.block import Block, size_class
from fusepy.backend.execute import plan
from fusepy.backend.execute.tape import LinkedTape
from fusepy.ir.ops import OPS
from fusepy.ir.strides import contiguous_strides
from fusepy.ir.types import Kind, Type

Plant = Callable[[], Any]  # what makes a context in which the fault is there


def put(target: Any, name: str, value: Any) -> Plant:
    """Another value for an attribute."""
    return lambda: mock.patch.object(target, name, value)


def wrap(target: Any, name: str, made: Callable[[Any], Any]) -> Plant:
    """An attribute made of the old one."""
    return lambda: mock.patch.object(target, name, made(getattr(target, name)))


def both(*plants: Plant) -> Plant:
    """Several at once."""

    @contextlib.contextmanager
    def context() -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for plant in plants:
                stack.enter_context(plant())
            yield

    return context


def operator(name: str, text: str) -> Plant:
    """Another text for an operator, also for integers."""
    return both(put(OPS[name], "slang", text), put(OPS[name], "slang_int", text))


def swapped(op: Any, *order: int) -> Plant:
    """Operands of an operation in another order."""

    def made(old: Any) -> Any:
        return lambda *a: old(*a[:-1], [a[-1][i] for i in order])

    return wrap(op, "expression", made)


def edited(owner: Any, name: str, old_text: str, new_text: str) -> Plant:
    """Text in the lines that a method gives."""

    def made(old: Any) -> Any:
        def run(*args: Any) -> Any:
            found = old(*args)
            if isinstance(found, str):
                return found.replace(old_text, new_text)
            return [line.replace(old_text, new_text) for line in found]

        return run

    return wrap(owner, name, made)


def int_cast(name: str, have: Type, want: Type) -> str:
    return f"{want}(int({name}))" if want.name == "int64_t" else name if have is want else f"{want}({name})"


def whole_literal(value: Any, type: Type) -> str:
    return f"{type}({int(value)})"


def first_type(types: Any) -> Any:
    return types[0][0].scalar


def recipe(change: Callable[[Any, Any], Any]) -> Plant:
    def made(old: Any) -> Any:
        return lambda operands, shapes, *rest: change(old(operands, shapes, *rest), shapes)

    return wrap(plan, "make_recipe", made)


def forward(recipe: Any, shapes: Any) -> Any:
    return dataclasses.replace(recipe, strides=tuple(tuple(abs(s) for s in st) for st in recipe.strides))


def unstretched(recipe: Any, shapes: Any) -> Any:
    return dataclasses.replace(recipe, strides=tuple(contiguous_strides(s) for s in shapes))


def turned_strides(recipe: Any, shapes: Any) -> Any:
    return dataclasses.replace(recipe, strides=tuple(st[::-1] for st in recipe.strides))


def stale(**fields: Any) -> Plant:
    """A tape whose launches keep from its first run on what changes from call to call."""
    ran: dict[int, Any] = {}  # by the tape, which the value keeps alive

    def made(old: Any) -> Any:
        def run(self: Any, *args: Any) -> Any:
            found = old(ran.get(id(self.tape), self), *args)
            ran[id(self.tape)] = self._replace(rows=tuple(row._replace(**fields) for row in self.rows))
            return found

        return run

    return wrap(LinkedTape, "run", made)


def no_barriers(old: Any) -> Any:
    return lambda launches, kept: [(i == 0, release) for i, (_, release) in enumerate(old(launches, kept))]


def early(old: Any) -> Any:
    """Blocks of a pool that are handed out again while they are held."""
    known: dict[int, list[Any]] = {}

    def allocate(self: Any, nbytes: int) -> Any:
        spans = known.setdefault(size_class(nbytes), [])
        if len(spans) < 2:
            block = old(self, nbytes)
            kept.append(block)
            spans.append(block._span)
            return Block(block._span, nbytes, [])
        spans.append(spans.pop(0))
        return Block(spans[-1], nbytes, [])

    kept: list[Any] = []
    return allocate


def best(old: Any) -> Any:
    return lambda self: [line.replace("place < at", "place > at") for line in old(self)]


def inclusive(old: Any) -> Any:
    return staticmethod(lambda *args: dataclasses.replace(old(*args), exclusive=False))


def other_way(old: Any) -> Any:
    """What a fold by a call combines, the other way round."""

    def run(self: Any, mine: str, value: str, *rest: Any) -> Any:
        if self.fold.kind == "call":
            return [f"fz_join_{self.j}({value}, {mine}, {mine});"]
        return old(self, mine, value, *rest)

    return run


def wrong_axis(old: Any) -> Any:
    """Negative axes that are one too far."""

    def run(given: Any, rank: int, name: str) -> Any:
        if not given:
            return old(given, rank, name)
        return tuple(sorted((a + 1) % rank if a < 0 else a for a in given))

    return run


def key(key: Callable[[Any], Any]) -> Plant:
    return lambda: mock.patch.dict(KEYS, {np.ndarray: key})


def turned_outputs(old: Any) -> Any:
    return lambda self, *outputs: old(self, tuple(reversed(outputs[0])))


def columns(old: Any) -> Any:
    """An index of a matrix as if it lay by columns."""

    def run(self: Any, node: Any, args: Any) -> str:
        if node.operands[0].type.kind is Kind.MATRIX:
            return f"transpose({args[0]})[{args[1]}]"
        return old(self, node, args)

    return run


def first_only(old: Any) -> Any:
    """An index that is always 0."""
    return lambda self, node, args: f"{args[0]}[0]"


def backwards(old: Any) -> Any:
    """A swizzle read from the right."""
    return lambda self, node, args: f"{args[0]}.{node.text('name')[::-1]}"


def other_product(old: Any) -> Any:
    """A product of matrices with its operands swapped."""
    return lambda node, args: f"mul({args[1]}, {args[0]})"


def blind() -> Any:
    """Common subexpressions told by anything but their attributes."""
    return mock.patch.object(module("fusepy.passes.cse"), "repr", str_of_nothing, create=True)


def str_of_nothing(value: Any) -> str:
    return ""


def module(name: str) -> Any:
    """A module whose name its package gives to a function as well."""
    return sys.modules[name]


def any_view(old: Any) -> Any:
    return lambda self, element, shape, strides, start=0: old(self, element, shape, strides, 0)


def without_keepdims(old: Any) -> Any:
    return lambda kind, axis, keepdims=False, *rest, **more: old(kind, axis, False, *rest, **more)


def always(shape: Any, strides: Any) -> bool:
    """A check that lets everything through."""
    return True
