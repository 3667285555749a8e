"""`Destinations`: the memory of the caller that a program's results are written to, checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.arguments.nested import flat
from fusepy.backend.device.device import Device
from fusepy.backend.execute.destinations import ONE_FOR_ALL
from fusepy.backend.execute.texture_results import Into, TextureTarget, into, into_texture
from fusepy.backend.kernels.overlap import apart
from fusepy.backend.marshals.registry import host_array, kind_of_class
from fusepy.backend.marshals.result_kinds import container_named, destination, dimensions, in_grid_order, is_writable
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.host_arrays import share_elements
from fusepy.backend.memory.recast import reinterpret
from fusepy.backend.memory.storage import Storage, overlap
from fusepy.backend.memory.tensor import Tensor, computed
from fusepy.backend.memory.views import stretches
from fusepy.errors import ArgumentError, ShapeError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Graph
from fusepy.pytree import container_of

Array = np.ndarray[Any, np.dtype[Any]]
Shapes = Callable[[], list[tuple[int, ...]]]
_TENSORS = {Tensor}


@dataclass(frozen=True)
class Destinations:
    """The destinations of one program.

    Attributes:
        names: the names of the arguments.
        outs: for each result the ``out`` argument that it is written to, if any.
        targets: the results that are stored into textures.
        said: the mappings of destinations.
        printed: the number of results at the end that have none, since they are printed.
        paths: the path of each result in ``_result=``, for messages.
    """

    device: Device
    graph: Graph
    names: Sequence[str]
    outs: Sequence[int | None]
    elements: Sequence[Element]
    targets: Mapping[int, TextureTarget]
    said: Mapping[int, ArgMap]
    printed: int
    paths: Sequence[str]

    def memory(self, given: Sequence[Any], shapes: Shapes) -> tuple[list[Any], dict[int, Array]]:
        """Returns for each result the tensor or texture that it is written to, if there is one; and the arrays to copy to.

        Args:
            shapes: returns the shapes of the results, without the components of an element.

        Raises:
            ArgumentError, UnsupportedArgumentError: for a destination that cannot take its result.
            ShapeError: for one of another shape or device, or that overlaps another one.
        """
        memory, outs = (given, [*given]) if self._plain(given) else self._placed(given, shapes)
        if not apart([out for out in outs if isinstance(out, Storage)]):
            for j, out in enumerate(outs):
                for k, other in enumerate(outs[:j]):
                    if overlap(other, out):
                        raise self._shared(j, k)
        arrays: dict[int, Array] = {j: t for j, (t, out) in enumerate(zip(memory, outs)) if out is None and t is not None}
        extents = shapes() if arrays else []
        for j, array in arrays.items():  # before anything runs: a call that fails changes nothing
            self._check_target(array, extents[j], self.elements[j], self.target(j))
            for k, other in arrays.items():
                if k < j and share_elements(array, other):
                    raise self._shared(j, k)
        return outs, arrays

    def are_memory(self, given: Any) -> bool:
        """True for a tuple of one tensor for each result, which have nothing in common: nothing is to convert or to check."""
        known = given.__class__ is tuple and len(given) == len(self.elements) and self._plain(given)
        return known and apart(given)

    def _plain(self, given: Sequence[Any]) -> bool:
        """True if all destinations are tensors of the elements of the results: most often they are, and nothing is to convert."""
        for g, element in zip(given, self.elements):
            if g.__class__ is not Tensor or g.element is not element or g.device is not self.device:
                return False
        return not (self.targets or self.said)

    def _placed(self, given: Sequence[Any], shapes: Shapes) -> tuple[list[Any], list[Any]]:
        """Returns the memory of each destination, and the tensor or texture that its result is written to."""
        memory: list[Any] = [
            g if g is None or j in self.targets else destination(g, self.device, self.named(j), self.elements[j])
            for j, g in enumerate(given)
        ]
        for j, said in self.said.items():
            if memory[j] is not None:
                memory[j] = self._turned(j, said, memory[j], shapes)
        outs: list[Any] = [
            t if t is None else self.targets[j].place(t, self.device) if j in self.targets else self._destination(j, t)
            for j, t in enumerate(memory)
        ]
        return memory, outs

    def joined(self, result: Any, given: list[Any]) -> list[Any]:
        """Returns all destinations: those of ``_result=`` go to the results that have none yet, in order.

        Raises:
            ArgumentError: for more or fewer destinations than results.
        """
        returned = len(given) - self.printed
        count = len(cast("Sequence[Any]", result)) if isinstance(result, (tuple, list)) else 0
        several = count > 0 and (returned > 1 or count == 1)
        wanted: list[Any] = list(cast("Sequence[Any]", result)) if several else [result]
        free = [j for j, g in enumerate(given[:returned]) if g is None]
        if len(wanted) > len(free) or (several and len(wanted) != len(free)):
            raise ArgumentError(
                f"{self.graph.name}: {len(wanted)} results are given, there are {len(free)}", hint="give one tensor per result"
            )
        for j, target in zip(free, wanted):
            given[j] = target
        return given

    def _turned(self, j: int, said: ArgMap, target: Any, shapes: Shapes) -> Any:
        """Returns the destination of result `j` with its axes in the order of the grid."""
        rank = self.graph.outputs[j].rank
        if j not in self.targets:
            shape = shapes()[j]
            return in_grid_order(target, dimensions(said, rank, target.ndim, self.named(j)), shape, self.named(j))
        if dimensions(said, rank, rank, self.named(j)) != tuple(range(rank)):
            raise ShapeError(
                f"{self.named(j)} is a texture, which is written in the order of the grid",
                saw=ArgMap(said.dims),
                expected=ArgMap(tuple(range(rank))),
                hint="map the arguments along the axes of the texture instead, or write to a tensor",
            )
        return target

    def target(self, j: int) -> str:
        """Returns the name of result `j`'s destination, for messages."""
        position = self.outs[j] if self.outs else None
        return self.paths[j] if position is None else f"argument {self.names[position]!r}"

    def named(self, j: int) -> str:
        """Returns the name of the function and of result `j`'s destination, for messages."""
        return f"{self.graph.name}: {self.target(j)}"

    def _check_target(self, target: Array, batch: tuple[int, ...], element: Element, name: str) -> None:
        """Raises `ShapeError` if an array that receives a result has another shape or dtype."""
        shape, dtype = batch + element.shape, element.dtype
        if target.shape != shape or target.dtype != dtype:
            raise ShapeError(
                f"{self.graph.name}: {name} does not fit the result",
                saw=f"{target.dtype}{list(target.shape)}",
                expected=f"{dtype}{list(shape)}",
                hint="give it an element per thread, or pass a list or number, which are not written to"
                if "." in name and self.outs
                else ONE_FOR_ALL
                if target.shape != shape and stretches(target.shape, shape)
                else "make it with np.empty(shape, dtype), or omit it",
            )
        if target.size and any(n > 1 and not s for n, s in zip(target.shape, target.strides)):
            raise ShapeError(
                f"{self.graph.name}: {name} repeats elements", saw=f"strides {target.strides}", hint="give a real array"
            )

    def _destination(self, j: int, given: Tensor | Array) -> Tensor | None:
        """Returns the tensor that a result is written to directly; ``None`` for an array that is copied to afterwards."""
        host = host_array(given)
        if host is None:
            tensor = cast("Tensor", given)
            seen = None if tensor.element.same(self.elements[j]) else reinterpret(tensor, self.elements[j])
            return tensor if seen is None else seen
        if not host.flags.writeable:
            raise ShapeError(
                f"{self.named(j)} is read-only",
                saw=f"{host.dtype}{list(host.shape)}",
                hint="pass a writable array; numbers that are read as structs lie together and have the types of the members",
            )
        return None

    def _shared(self, j: int, k: int) -> ShapeError:
        """Returns the error for two results that share memory."""
        what = f"{self.graph.name}: {self.target(j)} shares memory with another result, {self.target(k)}"
        return ShapeError(what, saw=f"results {k} and {j} of {len(self.elements)}", hint="give each its own")


NESTED = object()  # stands for destinations in containers, whose order the results alone say


def nests(value: Any) -> bool:
    """True for a container of destinations; False for a destination."""
    return not (isinstance(value, Mapped) or is_writable(value)) and container_of(value) is not None


def destinations(result: Any, args: Sequence[Any]) -> tuple[str | Into | None, Any]:
    """Reads ``_result=``: the container that it names, or its destinations. Texture destinations change the program."""
    if isinstance(result, (str, type)):
        return container_named(result), None
    if result.__class__ is tuple and set(map(type, cast("tuple[Any, ...]", result))) == _TENSORS:
        return None, result
    if (texture := into_texture(result, args)) is not None:
        return texture, result
    if (kind := kind_of_class(result.__class__)) and kind.follows is not None:  # no texture, no mapping, not several
        return None, result
    if nests(result) and (not isinstance(result, (tuple, list)) or any(map(nests, cast("Sequence[Any]", result)))):
        return None, NESTED
    result = computed(result)
    several = isinstance(result, (tuple, list))
    given: Sequence[Any] = cast("Sequence[Any]", result) if several else [result]
    plain = tuple(map(unmapped, given)) if several else unmapped(result)
    return into(plain, list(map(unmapped, flat(args))), [r.map if isinstance(r, Mapped) else UNSAID for r in given]), plain
