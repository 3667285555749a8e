"""`LentCall`: a program of one launch on torch's CUDA tensors, with the least work on the host.

Addresses go from torch's tensors into the parameters of the kernel, and no tensor of fusepy is made. A call that this cannot run
takes the ordinary way, which also raises the errors.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from fusepy.backend.device.sink import Sink
from fusepy.backend.execute.linear import LinearTape
from fusepy.backend.execute.recipe import LINEAR_LIMIT
from fusepy.backend.kernels.globals import Bindings
from fusepy.backend.torch import need_torch, torch_dtype
from fusepy.ir.strides import contiguous_strides


class LentCall:
    """Runs a program whose key was found; see `lent_call`.

    Args:
        program: a `Program` that `lent_call` found fit.
        where: torch's device.
    """

    def __init__(self, program: Any, tape: LinearTape, dtype: Any, where: Any):
        torch = need_torch()
        self._tape, self._device, self._checks = tape, program.device, program.inputs.checks
        self._dtype, self._where, self._inner = dtype, where, program.element.shape
        (self._unaligned,) = tape.result_masks
        self._empty, self._strided = torch.empty_strided, torch.strided
        self._bump, self._tensor = torch.autograd.graph.increment_version, torch.Tensor

    def __call__(self, args: Sequence[Any], result: Any, sink: Sink, bindings: Bindings | None) -> Any:
        """Runs the call on the stream that the queue follows, and returns its result; None if it must take the ordinary way.

        The device's lock must be held.
        """
        tape = self._tape
        kernel = tape.kernel
        if kernel is None:  # of the first call
            return None
        values, shape = self._addresses(args)
        if shape is None:
            return None
        full = shape + self._inner
        if result is None:
            made = self._empty(full, contiguous_strides(full), dtype=self._dtype, device=self._where)
        elif self._fits(result, full) and self._is_free(result, shape, args, values):
            made = result
            if not made.is_inference():
                self._bump(made)
        else:
            return None
        count = math.prod(shape)
        if count >= LINEAR_LIMIT:
            return None
        for position, check in self._checks:
            check(args[position])
        if count:
            values += (made.data_ptr(), count)
            for position, read in tape.reads:
                values.append(args[position] if read is None else read(args[position]))
            try:
                kernel.launch(sink, bindings, values, count)
            except (struct.error, OverflowError, TypeError):  # a number that does not fit
                return None
        return made

    def _addresses(self, args: Sequence[Any]) -> tuple[list[Any], Any]:
        """Returns the addresses of the arguments in memory, and the extents of the grid; None if they are not of one shape."""
        values: list[Any] = []
        shape: Any = None
        for position, _, consumed, unaligned in self._tape.steps:
            tensor = args[position]
            address = tensor.data_ptr()
            if address & unaligned or not tensor.is_contiguous() or tensor.is_neg():
                return values, None
            values.append(address)
            extents = tensor.shape
            if consumed:
                cut = len(extents) - len(consumed)
                if extents[cut:] != consumed:
                    return values, None
                extents = extents[:cut]
            if not shape:
                shape = extents
            elif extents and extents != shape:
                return values, None
        return values, shape

    def _fits(self, result: Any, shape: Any) -> bool:
        """True if a destination is memory that the kernel can write as it is."""
        return (
            isinstance(result, self._tensor)
            and result.dtype is self._dtype
            and result.layout is self._strided
            and result.device == self._where
            and result.shape == shape
            and not result.requires_grad
            and result.is_contiguous()
            and not result.is_neg()
            and not result.data_ptr() & self._unaligned
        )

    def _is_free(self, result: Any, shape: Any, args: Sequence[Any], values: Sequence[int]) -> bool:
        """True if no argument shares memory with the destination, or each that does is exactly the destination.

        A single vector of as many bytes is not: all threads read it. `shape` are the extents of the grid.
        """
        low = result.data_ptr()
        high = low + result.nbytes
        for (position, _, consumed, _), address in zip(self._tape.plan.steps, values):
            tensor = args[position]
            if address < high and low < address + tensor.nbytes:
                alike = address == low and tensor.nbytes == result.nbytes
                if not alike or tensor.shape != (*shape, *consumed):
                    return False
        return True


def lent_call(program: Any, args: Sequence[Any]) -> LentCall | None:
    """Returns the quick way of a program for arguments like these; None if there is none.

    The arguments in memory must be torch's own tensors, numbers must reach the parameters as they are, and the only result must
    be torch's.
    """
    tape, inputs = program.executable.linear, program.inputs
    if tape is None or not tape.plain or not program.simple or program.returns != "torch":
        return None
    if inputs.captures or inputs.narrows or inputs.moved or program.element.dtype.names is not None:
        return None
    torch, lent = need_torch(), {position for position, *_ in tape.plan.steps}
    if not lent or any(place is not None and i not in lent for i, place in enumerate(inputs.places)):
        return None
    taken = [args[i] for i in lent]
    if not all(getattr(t, "is_cuda", False) and t.dtype is not torch.bool for t in taken):
        return None
    if program.element.stored != program.element.dtype or any(t.device != taken[0].device for t in taken):
        return None
    return LentCall(program, tape, torch_dtype(program.element), taken[0].device)
