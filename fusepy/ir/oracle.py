"""`Oracle`: the compiler's questions to Slang, and the types of the answers.

`backend.slang.oracle` implements it with reflection. Tests use a fake oracle; a contract test compares both. Nothing else in
fusepy knows Slang's conversion or overload rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from fusepy.ir.types import Kind, Type

IN, OUT, INOUT = "in", "out", "inout"
THIS = "this"  # the first parameter of a method that is not static; a keyword in Slang, so no other parameter has this name


@dataclass(frozen=True)
class Param:
    """One parameter or member. ``type`` is ``None`` if it is generic or an interface, so that only a call decides it.

    Attributes:
        array: True if a generic type is an array for any arguments: ``float[N]``, ``Tensor<T,1>``.
    """

    name: str
    type: Type | None
    direction: str = IN
    array: bool = False


@dataclass(frozen=True)
class Signature:
    """One declared overload, before any call."""

    params: tuple[Param, ...]
    result: Type | None

    def filled(self, count: int) -> tuple[Param, ...] | None:
        """Returns the leading parameters that `count` arguments fill, with outputs between and after them.

        ``None`` if there are more arguments than inputs. Parameters left over need defaults, which only Slang knows.
        """
        params: list[Param] = []
        left = count
        for param in self.params:
            if param.direction != OUT:
                if left == 0:
                    break
                left -= 1
            params.append(param)
        return None if left else tuple(params)


@dataclass(frozen=True)
class Answer:
    """The overload that Slang chooses for a call, specialised."""

    params: tuple[Param, ...]
    result: Type


@dataclass(frozen=True)
class CallTypes:
    """One call of a function, with the types as which it takes its arguments.

    Attributes:
        params: for each parameter direction and type, and whether its gradient is asked for.
        method: True if the first parameter is the object of a method.
        graded: True if textures, buffers and pointers are passed with gradients; see `ir.resources`.
        order: how often it is differentiated; all but the last time in forward mode.
        queried: the payloads of rays that are queries, see `pipelines.queries`.
    """

    function: str
    params: tuple[tuple[str, Type, bool], ...]
    result: Type | None
    method: bool = False
    graded: bool = False
    order: int = 1
    queried: tuple[str, ...] = ()

    def __str__(self) -> str:
        params = ",".join(f"{direction} {type}{'+' * wanted}" for direction, type, wanted in self.params)
        more = f"{' graded' * self.graded}{f' order {self.order}' * (self.order > 1)}{self.queried or ''}"
        return f"{self.function}({params})->{self.result}{more}"


@dataclass(frozen=True)
class StructMember:
    """One member of a struct: its offset and its size on the device, in bytes (a bool has one or four)."""

    name: str
    type: Type
    offset: int
    size: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Layout:
    """The layout of a type in device memory, behind a pointer. Sizes are in bytes; `stride` is the distance of array elements.

    `origin` is the module that declares the type, as the oracle knows it; `scalar` is the integer type of an enum.
    """

    type: Type
    size: int
    stride: int
    alignment: int
    fields: tuple[StructMember, ...] = ()
    origin: object = field(default=None, compare=False)
    scalar: Type | None = None

    def field(self, name: str) -> StructMember | None:
        return next((f for f in self.fields if f.name == name), None)


def enum_scalar(oracle: Oracle | None, type: Type) -> Type | None:
    """Returns the integer scalar of an enum; ``None`` if `type` is not an enum."""
    layout = oracle.layout(type) if oracle is not None and type.kind is Kind.NAMED else None
    return layout.scalar if layout is not None else None


def number_type(oracle: Oracle, type: Type) -> Type:
    """Returns the type in which a Python number is checked and stored for a parameter of `type`, also an enum or ``Optional``."""
    inner = type.optional or type
    return enum_scalar(oracle, inner) or inner


def parts(oracle: Oracle, type: Type) -> Sequence[Param] | None:
    """Returns the parts of a value: members of a struct, components of a vector, elements of an array, rows of a matrix."""
    if type.kind is Kind.ARRAY and type.element is not None:
        return [Param(str(i), type.element) for i in range(type.shape[0])]
    if type.kind is Kind.MATRIX and type.scalar is not None:
        return [Param(str(i), Type.vector(type.scalar, type.shape[1])) for i in range(type.shape[0])]
    return oracle.fields(type)


def member_types(oracle: Oracle | None, type: Type) -> dict[str, Type | None] | None:
    """Returns the types of a struct's members by name; ``None`` if `type` is not a struct."""
    if oracle is None or type.kind is not Kind.NAMED:
        return None
    fields = oracle.fields(type)
    if fields is not None:
        return {p.name: p.type for p in fields}
    layout = oracle.layout(type)  # reflection gives no members of an optional type, only a layout
    return None if layout is None else {f.name: f.type for f in layout.fields}


class Oracle(Protocol):
    """Questions about the functions and types of the modules of one graph; a callee is ``(module alias, name)``.

    Attributes:
        settled: a cache of `ir.resolve.resolve` for whole calls, which passes and the verifier resolve repeatedly; ``None`` to
        keep nothing.
    """

    settled: dict[object, Any] | None

    def declared(self, module: str, function: str) -> Sequence[Signature]:
        """Returns the overloads as written: for names, directions and to skip useless questions, never as an answer."""
        ...

    def resolve(self, module: str, function: str, types: Sequence[Type]) -> Answer | None:
        """Returns the overload that Slang picks for arguments of these types; ``None`` if it picks none."""
        ...

    def diagnose(self, module: str, function: str, types: Sequence[Type]) -> str:
        """Returns the compiler's diagnostics for a call that it does not accept."""
        ...

    def fields(self, type: Type) -> Sequence[Param] | None:
        """Returns the members of a struct or vector, in order; a type is ``None`` if only a value decides it.

        ``None`` if `type` has no members. Asked only below a nested argument.
        """
        ...

    def layout(self, type: Type) -> Layout | None:
        """Returns the memory layout of a struct or enum, ``None`` if no module of the graph declares it."""
        ...

    def array_libraries(self, module: str) -> Sequence[str]:
        """Returns the libraries whose whole arrays the module imports: ``"fusepy"``, ``"slangpy"``, both or none."""
        ...

    def price(self, module: str, function: str) -> float | None:
        """Returns the cost of one call in bytes of memory traffic; ``None`` if the text of the function is not known.

        The same for the same modules on every machine: the choice of stored values must not change from run to run.
        """
        ...

    def conforms(self, type: Type, interface: Type) -> bool:
        """True if `type` is `interface` or implements it."""
        ...

    def conforming(self, interface: Type) -> Sequence[Type] | None:
        """Returns structs that implement `interface`, as far as modules list them; ``None`` if it is no interface."""
        ...

    def undifferentiable(self, module: str, call: CallTypes, forward: bool = False) -> Sequence[str] | None:
        """Returns words and a hint if Slang cannot differentiate a call, or does so wrongly, else ``None``."""
        ...
