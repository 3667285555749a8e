"""The index space of most kernels: threads number elements in C order, and compute coordinates from the number if needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fusepy.backend.emit.operand import BLOCK, Field
from fusepy.backend.emit.spaces.space import ElementWork, decoded, extents
from fusepy.backend.emit.tuning import GROUPS_PER_ROW, LANES, RUN, Shape
from fusepy.backend.emit.variant import Variant
from fusepy.backend.slang.stage import THREAD_INDEX
from fusepy.ir.ops.control import block


@dataclass(frozen=True)
class Counted:
    """Elements by their number. Neighbouring threads access neighbours.

    Those of one thread lie a group apart. On a CPU, which runs the lanes of a vector through all their elements before the next
    ones, they lie a vector apart: so it goes through one range of memory, and uses each cache line while it is there.
    """

    variant: Variant
    shape: Shape
    kind: str
    lane: str = THREAD_INDEX

    @property
    def threads(self) -> tuple[int, ...]:
        return (self.shape.threads, 1, 1)

    @property
    def _index(self) -> str:
        return "uint64_t" if self.variant.wide else "uint"

    def fields(self, work: ElementWork) -> list[Field]:
        return extents(self.variant) if not self.variant.linear or work.placed else []

    def lines(self, work: ElementWork) -> list[str]:
        index, steps = self._index, self.shape.per_thread
        group = f"{index}(fz_group.y * {GROUPS_PER_ROW} + fz_group.x)"
        step, lane = self.shape.threads, "fz_lane"
        if self.kind == "software" and step % LANES == 0 and not self.shape.batched:
            step, lane = LANES, f"fz_lane / {LANES} * {LANES * steps} + fz_lane % {LANES}"
        lines = [*work.before(), f"{index} first = {group} * {self.shape.per_group} + {lane};"]
        element = [*self._coordinates(work), *work.element()]
        if steps == 1:
            return [*lines, f"{index} i = first;", f"if (i >= {BLOCK}.count)", "    return;", *element]
        if self.shape.batched and not work.arrays:
            return [*lines, *self._batched(work)]
        one = [f"{index} i = first + k * {step};", f"if (i >= {BLOCK}.count)", "    return;", *element]
        if self.shape.run > 1 and steps % self.shape.run == 0 and not work.arrays:
            return [*lines, "[loop]", f"for (uint n = 0; n < {steps}; n += {self.shape.run})", *block(self._run(work, step, one))]
        return [*lines, "[ForceUnroll]" if steps <= RUN else "[loop]", f"for (uint k = 0; k < {steps}; ++k)", *block(one)]

    def _coordinates(self, work: ElementWork) -> list[str]:
        if self.variant.linear and not work.placed:
            return []
        return decoded(self.variant, f"{self.variant.index}(i)", range(self.variant.rank))

    def _batched(self, work: ElementWork) -> list[str]:
        """Returns statements that load all elements of a thread before its first store."""
        index, at, last = self._index, f"first + k * {self.shape.threads}", f"{BLOCK}.count - 1"
        # past the end, load the last element again: user code never sees a value that is not in the data
        load = [f"{index} i = {work.nearest(at, last)};", *self._coordinates(work)]
        store = [f"{index} i = {at};", f"if (i < {BLOCK}.count)", *block([*self._coordinates(work), *work.store("{}[k]".format)])]
        return work.batched(self.shape.per_thread, f"{at} < {BLOCK}.count", load, store)

    def _run(self, work: ElementWork, step: int, one: Sequence[str]) -> list[str]:
        """Returns statements for a run of elements on a CPU: all together, or one by one where the data end."""
        run, at = self.shape.run, f"first + (n + k) * {step}"
        together = work.run(run, [f"{self._index} i = {at};", *self._coordinates(work)])
        rest = [f"[loop] for (uint k = n; k < n + {run}; ++k)", *block(one)]
        return [f"if (first + (n + {run - 1}) * {step} < {BLOCK}.count)", *block(together), "else", *block(rest)]
