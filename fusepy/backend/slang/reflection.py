"""Types and parameters in the words of `ir`, from Slang's reflection."""

from __future__ import annotations

from typing import Any

import slangpy as spy

from fusepy.backend.slang.diagnostics import unlinked
from fusepy.backend.sources.libraries import array_name, found, is_array
from fusepy.errors import InvalidNameError
from fusepy.ir.oracle import IN, INOUT, OUT
from fusepy.ir.types import VOID, Kind, Type

TypeKind = spy.TypeReflection.Kind
ENUM = "enum"
_KNOWN_KINDS = (
    ENUM,
    TypeKind.scalar,
    TypeKind.vector,
    TypeKind.matrix,
    TypeKind.array,
    TypeKind.pointer,
    TypeKind.struct,
    TypeKind.resource,
    TypeKind.sampler_state,
)
RawParam = list[Any]  # name, type or None, direction, True if it is a generic array: plain data for JSON


def reflected(module: spy.SlangModule) -> spy.ProgramLayout:
    """Returns the layout of a module, as that of a program of the module alone.

    `SlangModule.layout` keeps the module's session for good: 1.5 MB for each module that is asked (sgl of slangpy 0.43.1).

    Raises:
        UnsupportedArgumentError: if the driver refuses a global array without a size, as NVIDIA's Vulkan driver does.
        CompileError: if it refuses the globals for another reason, with its words.
    """
    try:
        return module.session.link_program([module], []).layout
    except RuntimeError as error:
        parameters = module.layout.parameters  # without the driver
        listed = [parameters[i] for i in range(len(parameters))]
        text = "".join(f"{p.name}[];" for p in listed if holds_unsized(p.type_layout))
        raise unlinked(module.name, text, str(error)) from error


def holds_unsized(layout: spy.TypeLayoutReflection) -> bool:
    """True if a type is an array without a size, or has one inside."""
    kind = layout.kind
    if kind == TypeKind.struct:
        return any(holds_unsized(layout.fields[i].type_layout) for i in range(len(layout.fields)))
    if kind in (TypeKind.parameter_block, TypeKind.constant_buffer):
        return holds_unsized(layout.element_type_layout)
    return kind == TypeKind.array and (not sized(layout) or holds_unsized(layout.element_type_layout))


def sized(array: spy.TypeLayoutReflection) -> bool:
    """True if an array has a number of elements."""
    return 0 < array.type.element_count < 1 << 31


def parameters(function: spy.FunctionReflection) -> list[spy.VariableReflection]:
    return [function.parameters[i] for i in range(len(function.parameters))]


def param(variable: spy.VariableReflection, layout: spy.ProgramLayout, interfaces: bool = False) -> RawParam:
    """Returns name, type and direction of a parameter. An interface is a type only in an answer; in a declaration it is open."""
    # `inout` also reports itself as `out`, so it is tested first
    direction = INOUT if variable.has_modifier(spy.ModifierID.inout) else OUT if variable.has_modifier(spy.ModifierID.out) else IN
    if interfaces and kind_of(variable.type) == TypeKind.interface:
        return [variable.name, Type.parse(variable.type.full_name).name, direction]
    type = declared_type(variable.type, layout)
    generic_array = type is None and (kind_of(variable.type) == TypeKind.array or is_array(variable.type))
    return [variable.name, type, direction, *[True] * generic_array]


def declared_type(type: spy.TypeReflection | None, layout: spy.ProgramLayout) -> str | None:
    """Returns the canonical name of a type, or None for a generic type or interface, which only a call decides."""
    if type is None:
        return VOID.name
    return type_name(type, layout)


def kind_of(type: spy.TypeReflection) -> object:
    """Returns the kind of a type."""
    try:
        return type.kind
    except ValueError:  # the only kind that the bindings do not know
        return ENUM


def conforms(layout: spy.ProgramLayout, type: spy.TypeReflection, interface: spy.TypeReflection) -> bool:
    """True if a type is an interface or implements it. The process ends if Slang is asked about other types than interfaces."""
    if type.full_name == interface.full_name:
        return True
    return kind_of(interface) == TypeKind.interface and layout.is_sub_type(type, interface)


def type_name(type: spy.TypeReflection, layout: spy.ProgramLayout) -> str | None:
    kind = kind_of(type)
    if kind == TypeKind.struct and is_array(type):
        return array_name(type, layout)
    if kind == TypeKind.scalar or type.full_name == "void":
        return Type.parse(type.full_name).name
    if kind not in _KNOWN_KINDS:
        return None
    try:
        name = Type.parse(type.full_name)
    except InvalidNameError:  # an extent that is a generic parameter: float[N]
        return None
    if kind in (TypeKind.resource, TypeKind.sampler_state):
        return _resource_name(type, name)
    bottom = name
    while bottom.element is not None:
        bottom = bottom.element
    if kind in (TypeKind.vector, TypeKind.matrix) and name.scalar is None:
        return None  # vector<T, N> of a generic type
    if bottom.kind is Kind.NAMED and kind in (TypeKind.vector, TypeKind.matrix):
        return None
    open = bottom.kind is Kind.NAMED and (bottom is not name or "<" in name.name)  # Gen<T> or T[4] may belong to a generic type
    return None if open and found(layout.find_type_by_name(bottom.name)) is None else name.name


def _resource_name(type: spy.TypeReflection, name: Type) -> str | None:
    """Returns the name of a texture, buffer or sampler, or None if its element is generic. Resources do not convert."""
    if name.element is None:
        return name.name
    held = found(type.resource_result_type)
    known = held is not None and kind_of(held) in _KNOWN_KINDS
    return name.name if known and (name.head.endswith("StructuredBuffer") or name.element.dtype is not None) else None
