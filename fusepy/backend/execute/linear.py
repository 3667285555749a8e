"""`LinearTape`: the tape of one launch over contiguous arguments of one shape, for all sizes. The hot path of fusepy.

The number of elements is a field like the addresses, so calls with new sizes lower nothing.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from fusepy.backend.device.sink import Sink
from fusepy.backend.emit.operand import addressing
from fusepy.backend.emit.variant import Variant
from fusepy.backend.execute.number_range import bad_number
from fusepy.backend.execute.plan import Plan
from fusepy.backend.execute.recipe import LINEAR_LIMIT
from fusepy.backend.kernels.globals import Bindings
from fusepy.backend.kernels.kernel import Kernel
from fusepy.backend.marshals.base import Maker
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.backend.marshals.whole import check_written
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import FusepyError


class Runner(Protocol):
    """The `Executable`, which runs calls of all layouts."""

    def run(
        self, args: Sequence[Any], outs: Sequence[Any] | None, sink: Sink, bindings: Bindings | None, make: Maker | None = None
    ) -> list[Any]:
        """Runs a call and returns its results."""
        ...

    def register(self) -> None:
        """Counts a new kernel among those that may be dropped."""
        ...


class LinearTape:
    """Runs a plan that is `linear` in one launch; passes calls of other layouts to `otherwise`.

    Attributes:
        plain: no argument is passed whole, written, or bound by name.
        kernel: the kernel of calls below `LINEAR_LIMIT` elements, from the first on.
        reads: the arguments that are read as numbers, with the functions that read them.
        steps: the steps of the plan, with the bits of addresses that must be zero for its kernels.
        result_masks: such bits of each result.
    """

    __slots__ = (
        "_disjoint", "_disjoint_shape", "_made_last", "_otherwise", "_resources", "_whole", "device", "kernel", "plain", "plan",
        "reads", "result_masks", "steps",
    )  # fmt: skip

    def __init__(self, plan: Plan, otherwise: Runner):
        self.device = plan.device
        self.plan = plan
        self._otherwise = otherwise
        self.kernel: Kernel | None = None
        together, steps = plan.together, plan.steps
        self.result_masks = together.results or (0,) * len(plan.elements)
        self.steps = [(*step[:3], step[3] | mask) for step, mask in zip(steps, together.operands)] if together.space else steps
        self._disjoint: list[int] = []  # addresses and shape of the last call with destinations that was checked for overlap
        self._disjoint_shape: tuple[int, ...] = ()
        # the shape of the last new results, and what makes them
        self._made_last: tuple[tuple[int, ...] | None, list[tuple[int, Element, Callable[[Any], Tensor]]]] = (None, [])
        ways = {o: addressing(ACCESSES, o) for o in plan.operands}
        self._whole = any(o.is_whole for o in plan.memory) or any(o.arrival.raw for o in plan.operands)
        self._resources = "resource" in ways.values()
        self.plain = not (self._whole or self._resources or plan.written)
        self.reads = [
            (plan.positions[o.position], field.read)
            for o, way in ways.items()
            if way in ("uniform", "index", "memory") or o.is_whole
            for field in ACCESSES[o.arrival].fields(o, Variant(True, plan.rank))
            if field.role != "pointer"
        ]

    def evict(self) -> None:
        """Drops the kernel."""
        self.kernel = None

    def run(
        self, args: Sequence[Any], outs: Sequence[Any] | None, sink: Sink, bindings: Bindings | None, make: Maker | None = None
    ) -> list[Any]:
        """Runs the region and returns its results; a tensor in `outs` is written instead of a new one, which `make` makes.

        Raises:
            ShapeError, RangeError: if the arguments do not fit together or their parameters.
        """
        plan = self.plan
        shape: tuple[int, ...] | None = None
        values: list[Any] = []
        for position, mapped, consumed, unaligned in self.steps:
            tensor: Tensor = args[position]
            if not tensor.linear or tensor.address & unaligned:
                return self._otherwise.run(args, outs, sink, bindings, make)
            values.append(tensor.address)
            if mapped:
                extents = tensor.shape
                if consumed:
                    cut = len(extents) - len(consumed)
                    if extents[cut:] != consumed:
                        return self._otherwise.run(args, outs, sink, bindings, make)  # which raises
                    extents = extents[:cut]
                if not shape:
                    shape = extents
                elif extents and extents != shape:
                    return self._otherwise.run(args, outs, sink, bindings, make)
        if (plan.whole and not plan.packs(args)) or any(0 in args[i].shape for i in plan.taken):
            return self._otherwise.run(args, outs, sink, bindings, make)
        if plan.written:
            check_written(plan.written, plan.memory, plan.positions, args)
        if shape is None:
            shape = ()
        device = self.device
        results: list[Tensor] = []
        if outs is None:
            known, makers = self._made_last
            if shape != known:
                makers = []
                for element in plan.elements:
                    makers.append((math.prod(shape) * element.nbytes, element, Tensor.maker(device, element, shape)))
                self._made_last = shape, makers
            for nbytes, element, new in makers:
                result = new(device.pool.allocate(nbytes)) if make is None else make(element, shape)
                results.append(result)
                values.append(result.address)
        else:
            for j, (element, given, unaligned) in enumerate(zip(plan.elements, outs, self.result_masks)):
                if given is not None:
                    plain = given.__class__ is Tensor and given.linear and given.element is element and given.device is device
                    result = given if plain and given.shape == shape else plan.given.checked(j, given, shape)
                else:
                    result = Tensor(device, element, shape) if make is None else make(element, shape)
                if not result.linear or result.address & unaligned:
                    return self._otherwise.run(args, outs, sink, bindings, make)
                results.append(result)
                values.append(result.address)
            if self._whole or values != self._disjoint or shape != self._disjoint_shape:
                plan.given.check_overlap(args, outs)  # those of the last call are known not to overlap
                self._disjoint, self._disjoint_shape = values.copy(), shape
        count = 1
        for extent in shape:
            count *= extent
        if count == 0:
            return results
        values.append(count)
        for position, read in self.reads:
            values.append(args[position] if read is None else read(args[position]))
        kernel = self.kernel
        if kernel is None or count >= LINEAR_LIMIT:
            kernel = self._made(count >= LINEAR_LIMIT)
        try:
            objects: Sequence[Any] = ()
            if self._resources:
                objects = [f.read(args[plan.positions[f.source]]) for f in kernel.resources if f.read is not None]
            with device.lock:
                kernel.launch(sink, bindings, values, count, objects=objects)
        except FusepyError:  # about a global: some are TypeErrors, too
            raise
        except (struct.error, OverflowError, TypeError) as error:
            raise bad_number(plan, args, error) from error
        return results

    def _made(self, wide: bool) -> Kernel:
        kernel = self.plan.kernel(
            Variant(True, self.plan.rank, wide, packed=bool(self.plan.whole), space=self.plan.together.space)
        )
        self._otherwise.register()
        kernel.eager = not self.plan.rank
        if not wide:
            self.kernel = kernel
        return kernel
