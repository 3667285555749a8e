"""The operands of a region, as its kernel accesses them, and their names."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.emit.operand import Operand
from fusepy.backend.emit.stores import texel_of
from fusepy.ir.arrivals import TENSOR, Arrival, arrival_named
from fusepy.ir.graph import Node
from fusepy.ir.ops.region import spec_of
from fusepy.ir.resources import channels
from fusepy.ir.types import Kind, Type


def region_operands(region: Node, cuda: bool = False, plain: bool = False) -> list[Operand]:
    """Returns the operands of a region for its kernel. With `plain`, names are numbers instead of the user's."""
    assert region.body is not None
    names = identifiers([f"x{i}" if plain else v.name or f"x{i}" for i, v in enumerate(region.body.inputs)])
    spec = spec_of(region)
    operands: list[Operand] = []
    for i, (value, map, inner) in enumerate(zip(region.operands, region.maps, region.body.inputs)):
        label, dims = inner.name or f"x{i}", map.dims or ()
        shared = next((j for j, into in spec.textures.items() if i in into.shared), None)
        count = 0 if shared is None else channels(texel_of(spec.textures[shared]))
        context = (label, region.body.name, shared, count)
        arrival = value.arrival if value.name is not None else lying(inner.type)
        context = (*context, value.name is None, spec.near_of(i))
        operands.append(Operand(i, names[i], arrival, value.type, inner.type, dims, value.rank, cuda, *context))
    return operands


def lying(type: Type) -> Arrival:
    """Returns the arrival of a value that another region stores."""
    return arrival_named(type.head) if type.kind is Kind.RESOURCE and type.head.startswith("Texture") else TENSOR


def identifiers(labels: Sequence[str]) -> list[str]:
    """Returns a unique identifier for each label: ``ray.x`` becomes ``ray_x``, or ``ray_x_2`` if there is a ``ray_x``."""
    used = {label for label in labels if "." not in label}
    names: list[str] = []
    for label in labels:
        name = plain = label.replace(".", "_")
        count = 1
        while "." in label and name in used:
            count += 1
            name = f"{plain}_{count}"
        used.add(name)
        names.append(name)
    return names


def follows_index(operand: Operand, identity: tuple[int, ...]) -> bool:
    """True if a generator is the index of the thread and no more."""
    return operand.spread and operand.dims == identity and operand.near is None


def alignment(operand: Operand) -> int:
    """Returns the alignment in bytes that CUDA needs for an element: it loads vectors of 2 and 4 in one piece, or aborts."""
    scalar = operand.have.dtype
    if operand.is_whole or not operand.consumed or scalar is None or operand.want.shape[-1] not in (2, 4):
        return 1
    return min(16, scalar.itemsize * operand.want.shape[-1])
