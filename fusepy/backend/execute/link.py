"""Linking of a tape: launches get their kernels, and parameter blocks the values that are the same in all calls."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fusepy.backend.device.block import size_class
from fusepy.backend.device.sink import Sink
from fusepy.backend.emit.operand import Field
from fusepy.backend.execute.folds.between import made_between
from fusepy.backend.execute.folds.plan import ReducePlan
from fusepy.backend.execute.launch import Launch, Make, Read, Row
from fusepy.backend.execute.layouts import Layout
from fusepy.backend.execute.little import in_one_block, with_parts
from fusepy.backend.execute.tape import LinkedTape, Tape, shown
from fusepy.backend.kernels.kernel import Kernel
from fusepy.backend.memory.tensor import Tensor
from fusepy.ir.strides import reciprocal

_INTEGERS = ("uint", "int", "int64_t")
_OF_LAYOUT = ("out_base", "out_stride", "count", "extent", "factor", "shift", "zero", "stride")


class Patches(NamedTuple):
    """The fields of a block that change from call to call, and the bound resources; see `Row`."""

    addresses: list[tuple[int, int, int]]
    numbers: list[tuple[int, int]]
    reads: list[tuple[int, int, Read]]
    bound: list[tuple[int, Read]]


class _Linker:
    """Links one tape.

    Args:
        args, outs: the arguments and destinations of the first call; only properties that follow from their layouts are read.
    """

    def __init__(self, tape: Tape, args: Sequence[Any], outs: Sequence[Any]):
        self.device, self.textures = tape.owner.device, tape.owner.between
        self.tape, self.args = tape, args
        self.reads: list[tuple[int, Read]] = []
        self.wanted = {slot for slot, _ in tape.owner.outputs}  # slots that need a tensor, not only memory
        self.kernels: set[Kernel] = set()
        self.lengths = {slot: n for launch in tape.launches for slot, n in launch.made}  # of accumulators
        self.elements = {s: e for piece in tape.pieces for s, e in zip(piece.results, piece.plan.elements)}
        self.objects: dict[int, Any] = dict(enumerate(args))  # the values in slots in a call of these layouts
        for j, slot in tape.given:
            self.objects[slot] = tape.owner.destination(j, outs[j])
        self.unread = tape.unread - self.objects.keys()
        self.made = [slot for slot in self.elements if not (slot in self.objects or slot in self.textures or slot in self.unread)]

    def linked(self) -> LinkedTape:
        tape = self.tape
        launches = tape.launches
        blocks = [self.block(launch) for launch in launches]
        makes = {slot: self.make(slot) for slot in self.made} | made_between(launches)
        left = makes.copy()
        rows: list[Row] = []
        homes: dict[int, int] = {}  # slots that lie in the memory of an earlier one
        for i, (launch, (kernel, values, patches)) in enumerate(zip(launches, blocks)):
            first = [left.pop(slot) for slot in launch.touched if slot in left]
            moves = dict(_moves(first, [makes[slot] for slot in launch.release if slot in makes]))
            homes |= {slot: homes.get(old, old) for slot, old in moves.items()}
            own = tuple(m for m in first if m.slot not in moves)
            frees = tuple(homes.get(slot, slot) for slot in launch.release if slot not in moves.values())
            patches.addresses[:] = [(at, homes.get(slot, slot), offset) for at, slot, offset in patches.addresses]
            count = launch.plan.elements_of(launch, kernel)
            beside, more = tape.free and not launch.barrier, i + 1 < len(launches)
            own = with_parts(own) if len(own) > 1 else own
            rows.append(Row(kernel, values, count, launch.groups, beside, more, frees, own, *patches, plan=launch.plan))
        if any(not tape.slots[slot].shape for slot, _ in tape.owner.outputs):
            for row in rows:
                row.kernel.eager = True
        between = tuple((slot, tape.slots[slot].shape) for slot in sorted(self.textures))
        tensors = tuple(i for i, a in enumerate(self.args) if isinstance(a, Tensor))
        blank = [None] * (len(tape.slots) - len(self.args))
        empty = tuple(m._replace(element=self.elements[m.slot]) for m in left.values())
        return LinkedTape(tape, in_one_block(rows), empty, tuple(self.reads), tensors, between, blank)

    def make(self, slot: int) -> Make:
        """Returns the memory of a slot."""
        element, shape = self.elements[slot], self.tape.slots[slot].shape
        nbytes = element.nbytes * math.prod(shape)
        if slot not in self.wanted:
            return Make(slot, nbytes, None, shape)
        return Make(slot, nbytes, element, shape, Tensor.maker(self.device, element, shape))

    def object(self, slot: int) -> Any:
        """Returns the value in a slot: an argument, a destination, or a tensor of the layout that a call makes."""
        if slot not in self.objects and slot in self.elements and slot not in self.textures:
            self.objects[slot] = Tensor(self.device, self.elements[slot], self.tape.slots[slot].shape, block=_NOWHERE)
        return self.objects.get(slot)

    def block(self, launch: Launch) -> tuple[Kernel, list[Any], Patches]:
        """Returns the kernel of a launch, the template of its block, and the fields that change from call to call."""
        kernel = launch.plan.kernel(launch.variant)
        if kernel in self.kernels:  # addresses stay the same in a stream of calls, and each launch keeps its packed block
            kernel = kernel.twin(self.device)
        self.kernels.add(kernel)
        # if a field of an operand is no integer, such as a handle, all fields of the operand are read in each call
        changing = {f.source for f in kernel.fields if f.read is not None and f.role != "pointer" and f.type not in _INTEGERS}
        values: list[Any] = [0] * len(kernel.fields)
        patches = Patches([], [], [], [self.bound(launch, field) for field in (*kernel.resources, *kernel.objects)])
        for i, field in enumerate(kernel.fields):
            if field.role in ("from", "into"):
                slot = launch.partials[field.role == "into"]
                if slot >= 0:  # one chunk leaves no accumulators in memory
                    assert isinstance(launch.plan, ReducePlan)
                    patches.addresses.append((i, slot, launch.plan.partial_offset(self.lengths[slot], field.source)))
            elif field.role == "out":
                patches.addresses.append((i, launch.results[field.source], 0))
            elif field.name in launch.sizes:  # by name: an operand has fields of roles such as "size", too
                values[i] = launch.sizes[field.name]
            elif field.role in _OF_LAYOUT and field.read is None:
                values[i] = _of_layout(field, launch, self.tape.slots)
            else:
                values[i] = self.operand(i, launch, field, field.source in changing, patches)
        return kernel, values, patches

    def operand(self, i: int, launch: Launch, field: Field, changes: bool, patches: Patches) -> Any:
        """Returns the value of field `i`, which is read from an operand; adds it to `patches` if it changes from call to call."""
        slot, held, read = self.source(launch.plan.positions[field.source], field.read)
        if field.role == "pointer" and isinstance(held, Tensor):
            patches.addresses.append((i, slot, 0))
        elif isinstance(held, Tensor) and read is not None and not changes:
            return read(held)
        elif slot < len(self.args):
            if (slot, read) not in self.reads:  # several launches may take one number
                self.reads.append((slot, read))
            patches.numbers.append((i, self.reads.index((slot, read))))
        else:
            self.wanted.add(slot)
            patches.reads.append((i, slot, read))
        return 0

    def bound(self, launch: Launch, field: Field) -> tuple[int, Read]:
        """Returns the slot of a resource that is bound by name, and the function that reads the resource from its value."""
        if field.read is None:  # a texture that a result goes into
            return launch.results[field.source], None
        if field.role == "image":  # a result that a pass fills; None if nothing reads it
            self.wanted.update({launch.results[field.source]} - self.unread)
            return launch.results[field.source], field.read
        slot, _, read = self.source(launch.plan.positions[field.source], field.read)
        self.wanted.add(slot)
        return slot, read

    def source(self, slot: int, read: Read) -> tuple[int, Any, Read]:
        """Returns the slot whose memory an operand reads, the value in it, and the function that reads the field from it."""
        view = self.tape.views.get(slot)
        if view is None:
            return slot, self.object(slot), read
        other, axes = view
        return other, self.object(other), read and (lambda held: read(shown(held, axes)))


class _Nowhere:
    """The block of a tensor that has a layout and no memory."""

    address = 0
    offset = 0


_NOWHERE: Any = _Nowhere()


def link(tape: Tape, args: Sequence[Any], outs: Sequence[Any]) -> LinkedTape:
    """Returns the tape with its kernels. `args` and `outs` are those of a call; the device's lock must be held."""
    return _Linker(tape, args, outs).linked()


def compile_others(tape: Tape, sink: Sink) -> None:
    """Compiles the kernels that other sizes need, while the device works. Calls of other sizes then compile nothing."""
    folds = [(p.plan, p.launches) for p in tape.pieces if isinstance(p.plan, ReducePlan)]
    others = [(plan, variant) for plan, launches in folds for variant in plan.others(launches)]
    if others:
        sink.flush()
    for plan, variant in others:
        plan.kernel(variant)


def _of_layout(field: Field, launch: Launch, slots: Sequence[Layout]) -> int:
    """Returns the value of a field that follows from the layouts alone."""
    role, source, axis, recipe = field.role, field.source, field.axis, launch.recipe
    if role == "out_base":
        return slots[launch.results[source]].base
    if role == "out_stride":
        layout = slots[launch.results[source]]
        return 0 if layout.shape[axis] == 1 and recipe.grid[launch.plan.out_dims[source][axis]] != 1 else layout.strides[axis]
    if role == "count":
        return recipe.count
    if role == "extent":
        return recipe.grid[source]
    if role in ("factor", "shift"):
        return reciprocal(max(recipe.grid[source], 1))[role == "shift"]
    if role == "zero":
        return 0
    assert role == "stride", role
    return recipe.strides[source][axis]


def _moves(makes: Sequence[Make], free: Sequence[Make]) -> Iterator[tuple[int, int]]:
    """Yields pairs of a new slot and a free slot whose memory of the same size it takes over; users see neither."""
    unseen = [old for old in free if old.element is None]
    for new in makes:
        size = size_class(new.nbytes)
        old = next((old for old in unseen if size_class(old.nbytes) == size), None)
        if new.element is None and old is not None:
            unseen.remove(old)
            yield new.slot, old.slot
