"""The index space of most kernels: threads number elements in C order, and compute coordinates from the number if needed."""

from __future__ import annotations

from dataclasses import dataclass

from fusepy.backend.emit.operand import BLOCK, Field
from fusepy.backend.emit.spaces.space import ElementWork, decoded, extents
from fusepy.backend.emit.tuning import GROUPS_PER_ROW, LANES, Shape
from fusepy.backend.emit.variant import Variant
from fusepy.backend.slang.stage import THREAD_INDEX
from fusepy.ir.ops.control import block

# Elements in each turn of a thread's loop on lavapipe, which masks the variables that a loop changes in every turn. Runs of 4 are
# as fast as all 32 elements in a row, and compile in a quarter of the time (decision 002).
RUN = 4


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
        if steps > RUN and self.kind == "software" and work.light:
            one[0] = f"{index} i = first + (k + u) * {step};"
            run = ["[unroll]", f"for (uint u = 0; u < {RUN}; ++u)", *block(one)]
            return [*lines, "[loop]", f"for (uint k = 0; k < {steps}; k += {RUN})", *block(run)]
        return [*lines, "[ForceUnroll]" if steps <= RUN else "[loop]", f"for (uint k = 0; k < {steps}; ++k)", *block(one)]

    def _coordinates(self, work: ElementWork) -> list[str]:
        if self.variant.linear and not work.placed:
            return []
        return decoded(self.variant, f"{self.variant.index}(i)", range(self.variant.rank))

    def _batched(self, work: ElementWork) -> list[str]:
        """Returns statements that load all elements of a thread before its first store."""
        index, steps = self._index, self.shape.per_thread
        at, last = f"first + k * {self.shape.threads}", f"{BLOCK}.count - 1"
        # past the end, load the last element again: user code never sees a value that is not in the data
        load = [f"{index} i = {work.nearest(at, last)};", *self._coordinates(work)]
        store = [f"{index} i = {at};", f"if (i < {BLOCK}.count)", *block([*self._coordinates(work), *work.store("{}[k]".format)])]
        return work.batched(steps, f"{at} < {BLOCK}.count", load, store)
