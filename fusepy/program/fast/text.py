"""The text of a fast path: a Python function without loops, for calls with tensors of one class, dtype and shape each.

For ``f(x, 2.0)`` with one kernel and a new result it is:

    def call(args, result):
        if result is not None or len(args) != 2 or recorder() is not None or captured() is not None:
            return None
        x0, x1 = args
        if x0.__class__ is not class_x0 or x0.shape != shape_x0 or x0.dtype is not dtype_x0 or x0.device != where:
            return None
        if not x0.is_contiguous() or x0.is_neg() or x0.requires_grad and is_grad_enabled():
            return None
        if x1.__class__ is not class_x1:
            return None
        try:
            p0 = x0.data_ptr()
            if p0 & 15:
                return None
            with lock:
                if stream() != at or queue.stream != at or queue.encoder is not None or device.lost is not None:
                    return None
                enter()
                t2 = empty(shape_t2, strides_t2, dtype=dtype_t2, device=where)
                p2 = t2.data_ptr()
                pack_0(block_0, 0, p0, p2, c0_2, x1)
                if launch_0():
                    return None
                counters.plan_hits += 1
                counters.dispatches += 1
        except unusual:
            return None
        return t2

The function returns None for a call that it does not take. Slot 0 is the first argument, and results follow the arguments:
``x0`` is the value in slot 0, ``p0`` its address, ``t2`` a new tensor, ``y2`` a destination. Names that the function does not
assign are constants of its namespace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class FastLaunch(NamedTuple):
    """One launch of a fast path.

    Attributes:
        frees: slots of new tensors that are not needed from here on.
        makes: slots of tensors to make before it.
        fields: the values of the parameter block, as Python expressions.
    """

    frees: Sequence[int]
    makes: Sequence[int]
    fields: Sequence[str]


@dataclass(frozen=True)
class FastText:
    """The facts that the text of a fast path depends on.

    Attributes:
        count: the number of arguments.
        tensors: the slots of arguments that are tensors; the other arguments are numbers.
        integers: the slots of integers, whose key depends on their size.
        checks: the slots of numbers with a check.
        given: the slots of destinations; empty if results are new.
        alone: the only destination is `result` itself, no tuple of one.
        onto: pairs of a destination and an argument in exactly the same memory; all others share none.
        launches: the launches in order.
        returned: what is returned, as a Python expression.
        strided: the slots of tensors whose elements lie apart, as those of views do.
        odd: the slots of tensors at addresses where no vectors begin; the last four bits of these stay the same.
    """

    count: int
    tensors: Sequence[int]
    integers: Sequence[int]
    checks: Sequence[int]
    given: Sequence[int]
    alone: bool
    onto: Sequence[tuple[int, int]]
    launches: Sequence[FastLaunch]
    returned: str
    strided: Sequence[int] = ()
    odd: Sequence[int] = ()

    def __str__(self) -> str:
        inner = [*(f"p{s} = {self._name(s)}.data_ptr()" for s in self._memory), *self._addresses(), *self._run()]
        lines = [*self._arguments(), "try:", *_indented(inner), "except unusual:", "    return None", f"return {self.returned}"]
        return "\n".join(["def call(args, result):", *_indented(lines), ""])

    @property
    def _memory(self) -> list[int]:
        return [*self.tensors, *self.given]

    def _name(self, slot: int) -> str:
        return f"y{slot}" if slot in self.given else f"x{slot}"

    def _arguments(self) -> Iterator[str]:
        """Yields the checks of all values but addresses."""
        wanted = "result is None or pending" if self.given else "result is not None"
        yield from _unless(f"{wanted} or len(args) != {self.count} or recorder() is not None or captured() is not None")
        yield f"{_listed(f'x{i}' for i in range(self.count))} = args"
        if self.alone:
            yield f"y{self.given[0]} = result"
        elif self.given:
            yield from _unless(f"result.__class__ is not class_result or len(result) != {len(self.given)}")
            yield f"{_listed(f'y{slot}' for slot in self.given)} = result"
        for i in range(self.count):
            if i in self.tensors:
                yield from self._tensor(i, f"x{i}.requires_grad and is_grad_enabled()")
            else:
                wide = f" or not -0x80000000 <= x{i} < 0x80000000" if i in self.integers else ""
                yield from _unless(f"x{i}.__class__ is not class_x{i}{wide}")
        for slot in self.given:
            yield from self._tensor(slot, f"y{slot}.requires_grad")

    def _tensor(self, slot: int, tracked: str) -> Iterator[str]:
        """Yields the checks of a tensor."""
        name = self._name(slot)
        same = f"{name}.shape != shape_{name} or {name}.dtype is not dtype_{name} or {name}.device != where"
        yield from _unless(f"{name}.__class__ is not class_{name} or {same}")
        apart = f"{name}.stride() != strides_{name}" if slot in self.strided else f"not {name}.is_contiguous()"
        yield from _unless(f"{apart} or {name}.is_neg() or {tracked}")

    def _addresses(self) -> Iterator[str]:
        """Yields the checks of addresses, and of numbers."""
        memory = " | ".join(f"p{slot}" for slot in self._memory if slot not in self.odd)
        aligned = [f"{f'({memory})' if '|' in memory else memory} & 15"] if memory else []
        yield from _unless(" or ".join([*aligned, *(f"p{slot} & 15 != bits_{slot}" for slot in self.odd)]))
        for k, slot in enumerate(self.given):
            for other in (*self.tensors, *self.given[:k]):
                if (slot, other) in self.onto:
                    yield from _unless(f"p{slot} != p{other}")
                else:
                    ends = f"p{other} + nbytes_{self._name(other)}", f"p{slot} + nbytes_y{slot}"
                    yield from _unless(f"p{slot} < {ends[0]} and p{other} < {ends[1]}")
        for i in self.checks:
            yield f"check_{i}(x{i})"

    def _run(self) -> Iterator[str]:
        """Yields the launches, under the device's lock."""
        yield "with lock:"
        at = "stream() != at or queue.stream != at or queue.encoder is not None or device.lost is not None"
        lines = [*_unless(at), "enter()", *(f"bump(y{slot})" for slot in self.given)]
        for n, launch in enumerate(self.launches):
            lines += [f"t{slot} = None" for slot in launch.frees]
            for s in launch.makes:
                lines += [f"t{s} = empty(shape_t{s}, strides_t{s}, dtype=dtype_t{s}, device=where)", f"p{s} = t{s}.data_ptr()"]
            lines += [f"pack_{n}(block_{n}, 0, {', '.join(launch.fields)})", *_unless(f"launch_{n}()")]
        yield from _indented([*lines, "counters.plan_hits += 1", f"counters.dispatches += {len(self.launches)}"])


def _unless(condition: str) -> tuple[str, str]:
    return f"if {condition}:", "    return None"


def _listed(names: Iterator[str]) -> str:
    found = [*names]
    return ", ".join(found) if len(found) > 1 else f"({found[0]},)"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]
