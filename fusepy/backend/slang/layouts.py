"""Members and layouts of structs, and the globals of a program, from Slang's reflection, as plain data for JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import slangpy as spy

from fusepy.backend.slang.diagnostics import unlinked
from fusepy.backend.slang.reflection import ENUM, kind_of, type_name
from fusepy.backend.sources.libraries import found
from fusepy.backend.sources.reachable import texts_of
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import FusepyError, UnsupportedArgumentError
from fusepy.ir.types import BOOL, Type, pair_of

_K = spy.TypeReflection.Kind


def members_of(type: Type, layout: spy.ProgramLayout) -> list[Any] | None:
    """Returns names and types of the members of a struct, or None for other types."""
    struct = found(layout.find_type_by_name(type.name))
    if struct is None or kind_of(struct) != _K.struct or type.optional is not None:
        return None
    value = pair_of(type)
    if value is not None:
        pair = _pair_layout(layout, value)
        return pair and [[name, member] for name, member, _, _ in pair[3]]
    return [[f.name, f.type.full_name if kind_of(f.type) == _K.interface else type_name(f.type, layout)] for f in struct.fields]


def layout_of(type: Type, layout: spy.ProgramLayout) -> list[Any] | None:
    """Returns size, stride, alignment, members and scalar of a struct or enum, or None for other types.

    Raises:
        UnsupportedArgumentError: for a struct with a member that cannot live in memory.
    """
    struct = found(layout.find_type_by_name(type.name))
    if struct is None or kind_of(struct) not in (_K.struct, ENUM):
        return None
    value = pair_of(type)
    if value is not None:
        return _pair_layout(layout, value)
    laid = layout.get_type_layout(struct)
    if kind_of(struct) == ENUM:
        return [laid.size, laid.stride, laid.alignment, [], layout.find_type_by_name(f"{type.name}.__Tag").full_name]
    fields = [laid.fields[i] for i in range(len(laid.fields))]
    listed = [[*_member(type, i, f, layout), f.offset, f.type_layout.size] for i, f in enumerate(fields)]
    for name, kind, _, _ in listed:
        if kind is None:
            raise UnsupportedArgumentError(
                f"member {name!r} of struct {type} cannot live in memory",
                saw=fields[[n for n, *_ in listed].index(name)].variable.type.full_name,
                expected="numbers, vectors, matrices, arrays, enums, Optional, pointers, and structs of them",
                hint="keep resources out of it; for an interface, name the concrete struct, or make the struct generic",
            )
    return [laid.size, laid.stride, laid.alignment, listed, None]


def _pair_layout(layout: spy.ProgramLayout, value: Type) -> list[Any] | None:
    """Returns the layout of a ``DifferentialPair``, which reflection does not report: the value, then its derivative."""
    derived = found(layout.find_type_by_name(f"{value.name}.Differential"))
    first, name = found(layout.find_type_by_name(value.name)), derived and type_name(derived, layout)
    if derived is None or first is None or name is None:
        return None
    p, d = layout.get_type_layout(first), layout.get_type_layout(derived)
    offset = -(-p.size // d.alignment) * d.alignment
    alignment = max(p.alignment, d.alignment)
    size = offset + d.size
    return [size, -(-size // alignment) * alignment, alignment, [["p", value.name, 0, p.size], ["d", name, offset, d.size]], None]


def _member(owner: Type, position: int, field: spy.VariableLayoutReflection, layout: spy.ProgramLayout) -> tuple[str, str | None]:
    """Returns name and type of a member. Reflection reports neither for ``Optional``, and no names for ``Tuple``."""
    variable = found(field.variable)
    if variable is None:
        if owner.name.startswith("Tuple<"):
            return f"_{position}", type_name(field.type_layout.type, layout)
        return (
            (f"item{position}", None)
            if owner.optional is None
            else [("value", owner.optional.name), ("hasValue", BOOL.name)][position]
        )
    return variable.name, type_name(variable.type, layout)


def globals_of(source: ModuleSource, link: Callable[[ModuleSource], spy.ShaderProgram]) -> dict[str, bool]:
    """Returns the globals of a module, each with true if a kernel can write to it. `link` makes a program of the module.

    Raises:
        UnsupportedArgumentError: if the driver refuses a global array without a size.
        CompileError: if it refuses the globals for another reason, with its words.
        DeviceLostError: if another thread closes the device meanwhile.
    """
    try:
        parameters = link(source).layout.parameters
    except FusepyError:
        raise
    except RuntimeError as error:
        raise unlinked(source.alias, "\n".join(texts_of([source])), str(error)) from error
    listed = [parameters[i] for i in range(len(parameters))]
    return {p.name: _can_write(p.type_layout) for p in listed}


def _can_write(layout: spy.TypeLayoutReflection) -> bool:
    """True if memory can be written through a parameter: a writable resource, or a pointer."""
    if layout.kind == _K.resource:
        read = (spy.TypeReflection.ResourceAccess.read, spy.TypeReflection.ResourceAccess.none)
        return layout.type.resource_access not in read
    if layout.kind == _K.struct:
        return any(_can_write(layout.fields[i].type_layout) for i in range(len(layout.fields)))
    if layout.kind in (_K.array, _K.parameter_block, _K.constant_buffer):
        return _can_write(layout.element_type_layout)
    return layout.kind == _K.pointer
