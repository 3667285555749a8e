"""Placement of arguments on the device, and the warning about arrays that are converted to smaller types."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.backend.device.device import Device
from fusepy.backend.marshals.array import check_narrower
from fusepy.backend.marshals.constant import array_components
from fusepy.backend.marshals.generators import Grid
from fusepy.backend.marshals.registry import host_array, kind_of_value
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import FusepyError, PrecisionWarning, ShapeError
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.power import given_exponents, refuse_negative
from fusepy.ir.ranges import Check, in_range
from fusepy.ir.types import Type
from fusepy.location import warn_once

Place = Callable[[Any], Any]


def place_of(device: Device, value: Any, wanted: Value, what: str, narrows: Sequence[Type] = ()) -> Place | None:
    """Returns the function that places arguments like `value` as the input `wanted`; ``None`` if they are passed as they are.

    Args:
        what: the argument, for messages.
        narrows: the smaller types that it is converted to.
    """
    inner = unmapped(value)
    type = wanted.type
    kind = kind_of_value(inner)
    put = kind.place
    uniform = wanted.arrival.uniform
    # types that kernels convert to, and those in the parameter block; the marshal of arrays checks the other types
    checked = [narrow for narrow in narrows if narrow is not type.scalar or uniform]

    def place(value: Any) -> Any:
        given = unmapped(value)
        try:
            numbers = host_array(given) if checked or uniform else None
            if numbers is not None:
                for narrow in checked:
                    check_narrower(numbers, narrow)
                if uniform:
                    return array_components(numbers, type, device)
            return put(given, type, device)
        except FusepyError as error:
            error.what = f"{what}: {error.what}"
            raise

    plain = inner is value and not checked and not uniform
    quick = kind.placer(inner, device) if plain and kind.placer is not None else None
    if quick is not None:
        place(inner)  # a check for all values of this key
        return quick
    if kind.direct(inner, type):
        place(inner)  # a check for all values of this key, such as that of a tensor's device
        return (lambda v: v.value) if isinstance(value, Mapped) else None
    return _kept(place) if plain and kind.texture is not None else place


def _kept(place: Place) -> Place:
    """Returns the same for textures: that of the last call is checked and described already."""
    last: Any = None

    def again(value: Any) -> Any:
        nonlocal last
        if last is None or last.value is not value:
            last = place(value)
        return last

    return again


def number_checks(graph: Graph, recorded: Graph, positions: Sequence[int]) -> list[tuple[int, Check]]:
    """Returns the checks of the numbers of a call, with their positions among its arguments.

    A number that a kernel converts must fit the converted type too; packing checks only the stored type. An exponent of integers
    must not be negative.

    Args:
        graph: the program in regions.
        recorded: the program as it was traced.
        positions: the positions of the inputs among the arguments.
    """
    converted = [
        (positions[graph.inputs.index(v)], in_range(m.type, f"{graph.name}: argument {v.name!r}"))
        for n in graph.nodes
        for v, m in zip(n.operands, n.maps)
        if v.name is not None and v.arrival.plain and m.type is not None
    ]
    exponents = given_exponents(recorded)
    return converted + [(positions[recorded.inputs.index(v)], functools.partial(refuse_negative, type)) for v, type in exponents]


def warn_narrowed(narrows: Mapping[int, Sequence[Type]]) -> None:
    """Warns about a conversion, once for each line of the user's program.

    Args:
        narrows: for each argument the smaller types that it is converted to.
    """
    text = _narrowed_to(frozenset(type for types in narrows.values() for type in types))
    warn_once(text, PrecisionWarning)


@functools.lru_cache(maxsize=64)
def _narrowed_to(types: frozenset[Type]) -> str:
    """Returns the text of the warning: the types of Slang, and the NumPy calls that convert to them."""
    found = sorted(types, key=str)
    names = " and ".join(map(str, found))
    made = " or ".join(f".astype(np.{type.dtype})" for type in found)
    return (
        f"NumPy arrays of float64 or int64 are converted to {names} as they are uploaded, since Slang takes"
        f" nothing else here; make them so with {made}, or refuse such arrays with .strict()"
    )


def refuse_copies(graph: Graph, positions: Sequence[int], values: Sequence[Any]) -> None:
    """Raises `ShapeError` if Slang code would write into the copy of an array or list, which is lost."""
    for node in graph.nodes:
        for value, map in zip(node.operands, node.maps):
            if map.type is None or not map.type.writes or not value.arrival.array or value not in _written(node):
                continue
            given = unmapped(values[positions[graph.inputs.index(value)]])
            if not isinstance(given, Tensor):
                raise ShapeError(
                    f"{graph.name}: argument {value.name!r} is written to through {map.type}",
                    saw=type(given).__name__,
                    expected="a Tensor, or slangpy's Buffer",
                    hint="copy it to the device: Tensor.from_numpy(device, array)",
                )


def _written(node: Node) -> set[Value]:
    """Returns the operands of a node that calls in it may write through pointers, buffers or textures."""
    if not node.bodies:
        types = [(v, m.type or v.type) for v, m in zip(node.operands, node.maps) if node.op.name == "slang.call"]
        return {v for v, type in types if type.writes and (type.name.startswith("RW") or not node.attrs.get("reads"))}
    found: set[Value] = set()
    for body in node.bodies:
        inner = {v for n in body.nodes for v in _written(n)}
        ahead = getattr(node.op, "ahead", 0) - getattr(node.op, "own", 0)
        if node.op.name == "region":  # what follows a fold takes its results first
            ahead = len(node.operands) - len(body.inputs)
        places = [i + ahead for i, v in enumerate(body.inputs) if v in inner]
        found |= {node.operands[i] for i in places if 0 <= i < len(node.operands)}
    return found


def all_open(values: Sequence[Any]) -> bool:
    """True if only open grids could give the size of the grid: `values` are the arguments with axes."""
    return bool(values) and all(isinstance(v, Grid) and any(v.open) for v in map(unmapped, values))
