"""What the compiler asks Slang, and the shape of the answers.

One implementation touches reflection (`backend.slang.oracle`); tests use a fake one that a contract test holds to it. Nothing
else in fusepy knows Slang's conversion or overload rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from fusepy.ir.types import Kind, Type

IN, OUT, INOUT = "in", "out", "inout"
THIS = "this"  # the first parameter of a method that is not static: a keyword, so no other parameter has this name


@dataclass(frozen=True)
class Param:
    """One parameter or member: ``type`` is ``None`` where it is generic, or a parameter's interface, and only a call can tell."""

    name: str
    type: Type | None
    direction: str = IN


@dataclass(frozen=True)
class Signature:
    """One declared overload, before any call."""

    params: tuple[Param, ...]
    result: Type | None


@dataclass(frozen=True)
class Answer:
    """Slang's choice for a call: the overload, specialised."""

    params: tuple[Param, ...]
    result: Type


@dataclass(frozen=True)
class Field:
    """One member of a struct: where it begins and how many bytes it takes on the device (a bool is one or four)."""

    name: str
    type: Type
    offset: int
    size: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Layout:
    """How a type lies in device memory behind a pointer. Sizes in bytes; `stride` is from one array element to the next.

    `origin` is the module that declares the type, as the oracle knows it; `scalar` the integer that an enum is.
    """

    type: Type
    size: int
    stride: int
    alignment: int
    fields: tuple[Field, ...] = ()
    origin: object = field(default=None, compare=False)
    scalar: Type | None = None

    def field(self, name: str) -> Field | None:
        return next((f for f in self.fields if f.name == name), None)


def enum_scalar(oracle: Oracle | None, type: Type) -> Type | None:
    """The integer scalar behind an enum; ``None`` where `type` is none."""
    layout = oracle.layout(type) if oracle is not None and type.kind is Kind.NAMED else None
    return layout.scalar if layout is not None else None


def number_type(oracle: Oracle, type: Type) -> Type:
    """What a Python number is checked and stored as for a parameter of `type`: the integer behind an enum, what is optional."""
    inner = type.optional or type
    return enum_scalar(oracle, inner) or inner


def parts(oracle: Oracle, type: Type) -> Sequence[Param] | None:
    """What a value is made of, by name: members of a struct, components of a vector, elements of an array, rows of a matrix."""
    if type.kind is Kind.ARRAY and type.element is not None:
        return [Param(str(i), type.element) for i in range(type.shape[0])]
    if type.kind is Kind.MATRIX and type.scalar is not None:
        return [Param(str(i), Type.vector(type.scalar, type.shape[1])) for i in range(type.shape[0])]
    return oracle.fields(type)


def member_types(oracle: Oracle | None, type: Type) -> dict[str, Type | None] | None:
    """The types of a struct's members by name, whether or not it can live in memory; ``None`` if `type` is none."""
    if oracle is None or type.kind is not Kind.NAMED:
        return None
    fields = oracle.fields(type)
    if fields is not None:
        return {p.name: p.type for p in fields}
    layout = oracle.layout(type)  # what is optional has no members in reflection, only a layout
    return None if layout is None else {f.name: f.type for f in layout.fields}


class Oracle(Protocol):
    """Questions about the functions and types of the modules of one graph; a callee is ``(module alias, name)``.

    Attributes:
        settled: what `ir.resolve.resolve` has found out about whole calls, which passes and the verifier ask for again and again;
            ``None`` where nothing is kept.
    """

    settled: dict[object, Any] | None

    def declared(self, module: str, function: str) -> Sequence[Signature]:
        """The overloads as written. Used for names, directions and to skip hopeless questions, never as an answer."""
        ...

    def resolve(self, module: str, function: str, types: Sequence[Type]) -> Answer | None:
        """The overload that Slang picks for arguments of these types; ``None`` if it picks none."""
        ...

    def diagnose(self, module: str, function: str, types: Sequence[Type]) -> str:
        """The compiler's own words about a call that it did not accept."""
        ...

    def fields(self, type: Type) -> Sequence[Param] | None:
        """The members of a struct or vector, in order; a type is ``None`` where only a value can tell it.

        ``None`` if `type` has no members. Asked only below a nested argument.
        """
        ...

    def layout(self, type: Type) -> Layout | None:
        """The memory layout of a struct or enum, ``None`` if no module of the graph declares it."""
        ...

    def array_libraries(self, module: str) -> Sequence[str]:
        """Whose types for whole arrays the module sees: ``"fusepy"``, ``"slangpy"``, both or none."""
        ...

    def price(self, module: str, function: str) -> float | None:
        """What one call takes, as bytes of memory traffic that take as long; ``None`` where no text of the function is known.

        The same for the same modules, whatever the machine: what is stored must not change from run to run.
        """
        ...

    def conforms(self, type: Type, interface: Type) -> bool:
        """Whether `type` is `interface` or implements it."""
        ...

    def conforming(self, interface: Type) -> Sequence[Type] | None:
        """Structs that implement `interface`, as far as modules list them, for messages; ``None`` if it is no interface."""
        ...
