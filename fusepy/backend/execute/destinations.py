"""Checks of destinations: memory of the caller that results are written to. They run before any kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fusepy.backend.device.bound import Bound
from fusepy.backend.device.device import Device
from fusepy.backend.emit.operand import Operand
from fusepy.backend.kernels.overlap import shares
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.memory.views import stretches
from fusepy.errors import ShapeError

# the advice for a destination that is one value for several calls
ONE_FOR_ALL = "f.accumulate(result='sum') adds the values of all calls up, also with max, min, mean, first; or give one for each"


class Spreadable(ShapeError):
    """A destination that could take the result if it were repeated along more axes, or if its integers were converted."""


def _spreads(given: Tensor, element: Element, shape: tuple[int, ...]) -> bool:
    want, have = given.element, element
    signs = want.dtype.kind in "iu" and have.dtype.kind in "iu" and want.nbytes == have.nbytes
    integers = have.dtype.kind in "biu" and (want.type.is_float or signs) and want.shape == have.shape
    return (want.same(have) or integers) and stretches(shape, given.shape)


@dataclass(frozen=True)
class DestinationChecks:
    """The checks of the destinations of one plan.

    Attributes:
        name: the name of the function, for messages.
        elements: the element of each result.
        targets: the name of each result's destination, for messages.
        operands: the operands of the kernels.
        positions: the argument of each operand.
        dims: the dimensions of the grid that each result runs along.
        sinks: the results that are stored into textures.
    """

    name: str
    device: Device
    elements: Sequence[Element]
    targets: Sequence[str]
    operands: Sequence[Operand]
    positions: Sequence[int]
    dims: Sequence[Sequence[int]]
    sinks: Sequence[int]

    def check(
        self,
        args: Sequence[Any],
        outs: list[Any],
        shapes: Sequence[tuple[int, ...]],
        grid: Sequence[int],
        between: Sequence[bool],
        copies: bool,
    ) -> Sequence[int]:
        """Returns the results that must not be written to their destinations before the end of the program.

        Args:
            shapes: of the results.
            between: the results in textures of the program.
            copies: true if a program can copy such results, since it has several kernels.

        Raises:
            ShapeError: for destinations that do not fit the results; if nothing is copied, also for those that other threads
                still read.
        """
        for j, (out, shape) in enumerate(zip(outs, shapes)):
            if out is not None:
                self.checked(j, out, shape)
            elif between[j]:
                outs[j] = Bound(None, shape)
        if copies and (beside := self.overlapping(args, outs, grid)):
            return list(beside)
        self.check_overlap(args, outs, grid)
        if all(outs[j] is not None for j in self.sinks):
            self.check_textures(outs, grid)
        return ()

    def checked(self, j: int, given: Any, shape: tuple[int, ...]) -> Any:
        """Returns the tensor or texture `given` for result `j`, which has this shape.

        Raises:
            ShapeError: if it does not fit.
        """
        if isinstance(given, Bound):
            if given.shape != shape:
                raise ShapeError(
                    f"{self.name}: the given texture does not fit the result",
                    saw=f"texels {list(given.shape)}",
                    expected=f"texels {list(shape)}",
                    hint="create one of that size, or let _result='texture' do so",
                )
            return given
        if given.device is not self.device:
            raise ShapeError(
                f"{self.name}: {self.targets[j]} lies on another device",
                saw=given.device.opened,
                expected=self.device.opened,
                hint="make it with Tensor.empty on the device of the module and of the other arguments",
            )
        if not given.element.same(self.elements[j]) or given.shape != shape:
            spreads = _spreads(given, self.elements[j], shape)
            raise (Spreadable if spreads else ShapeError)(
                f"{self.name}: {self.targets[j]} does not fit the result",
                saw=f"{given.dtype}{list(given.shape)}",
                expected=f"{self.elements[j].type}{list(shape)}",
                hint=ONE_FOR_ALL
                if given.shape != shape and stretches(given.shape, shape)
                else "make it with Tensor.empty(device, shape, dtype), or omit it",
            )
        if given.size and 0 in given.strides and any(n > 1 for n, s in zip(given.shape, given.strides) if s == 0):
            raise ShapeError(
                f"{self.name}: {self.targets[j]} repeats elements", saw=f"strides {given.strides}", hint="give a real tensor"
            )
        return given

    def check_overlap(self, args: Sequence[Any], outs: Sequence[Any], grid: Sequence[int] = ()) -> None:
        """Raises `ShapeError` for a result in memory of an argument that other threads may still read; see `overlapping`."""
        for label in self.overlapping(args, outs, grid).values():
            raise ShapeError(
                f"{self.name}: the result overlaps argument {label!r}, which other threads still read",
                saw="shared memory at different positions",
                hint="pass a copy of the argument, x.copy(); or write into another tensor, or exactly over the argument",
            )

    def overlapping(self, args: Sequence[Any], outs: Sequence[Any], grid: Sequence[int] = ()) -> dict[int, str]:
        """Returns the results that share memory with an argument of which a thread reads more than the element that it writes.

        Args:
            grid: the extents of the grid, which tell the arguments that are stretched; omit it if none is.

        Returns:
            for each of these results the name of the argument.
        """
        found: dict[int, str] = {}
        for j, out in enumerate(outs):
            if out is None or isinstance(out, Bound):
                continue
            for operand, position in zip(self.operands, self.positions):
                tensor = args[position]
                if tensor.__class__ is Tensor and (tensor.high <= out.low or out.high <= tensor.low):
                    continue
                if not shares(tensor, out):
                    continue
                alike = sorted(operand.dims) == sorted(self.dims[j]) and not operand.is_whole and not operand.is_resource
                stretched = grid and any(n == 1 != grid[d] for n, d in zip(tensor.shape, operand.dims))
                same = isinstance(tensor, Tensor) and _same_places(tensor, operand.dims, out, self.dims[j])
                if not alike or stretched or not same:
                    found.setdefault(j, operand.label)
        return found

    def check_textures(self, outs: Sequence[Any], grid: Sequence[int]) -> None:
        """Rejects textures that a result would only partly fill, or that other threads still read."""
        for j in self.sinks:
            dims, shape = self.dims[j], outs[j].shape
            for operand in self.operands:
                if operand.shared == j and (operand.is_resource or operand.dims != dims or len(dims) != len(grid)):
                    raise ShapeError(
                        f"{self.name}: argument {operand.label!r} and the result are one texture, which is written to",
                        saw="texels that other threads read",
                        expected="each thread reads the texel that it writes",
                        hint="write into another texture",
                    )
            if any(n == 1 != grid[d] for n, d in zip(shape, dims)):
                raise ShapeError(
                    f"{self.name}: a result that is the same along an axis cannot go into a texture",
                    saw=f"texels {list(shape)} on a grid {list(grid)}",
                    expected="a result for each point of the grid",
                    hint="take a tensor, or compute this result in a call of its own",
                )


def _same_places(tensor: Tensor, dims: Sequence[int], out: Tensor, out_dims: Sequence[int]) -> bool:
    """True if the elements that a thread reads and writes have one address; further axes of `tensor` are components."""
    if tensor.address != out.address or tensor.size * tensor.element.nbytes != out.size * out.element.nbytes:
        return False
    if tensor.linear and out.linear and tuple(dims) == tuple(out_dims):
        return True
    return _steps(tensor, dims) == _steps(out, out_dims)


def _steps(tensor: Tensor, dims: Sequence[int]) -> dict[int, int]:
    """Returns the distance of elements in bytes along each dimension of the grid that is longer than 1."""
    return {d: s * tensor.element.nbytes for d, s, n in zip(dims, tensor.strides, tensor.shape) if n != 1}
