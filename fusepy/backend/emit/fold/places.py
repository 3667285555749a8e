"""Which thread of a kernel that folds has which results and chunks."""

from __future__ import annotations

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.operand import BLOCK


class FoldPlaces(FoldElements):
    """What a thread knows of its place before its first element, and what the threads of a group tell each other."""

    def grouped(self) -> list[str]:
        """Which result and chunk a thread of a group works on. Threads beyond the last result have no elements, but must wait."""
        index, shape = self.variant.index, self.variant.shape
        if not shape.shared:
            return [
                f"{index} fz_out = {index}(fz_at / uint({BLOCK}.chunks));",
                f"{index} fz_chunk = {index}(fz_at % uint({BLOCK}.chunks));",
                f"if (fz_out >= {BLOCK}.outputs)",
                "    return;",
                *self.decoded(self.kept, "fz_out"),
                *self.bounds("fz_chunk"),
            ]
        lines = [f"uint fz_lanes = {BLOCK}.lanes;", f"uint fz_beside = {shape.threads} / fz_lanes;"]
        if shape.inner:
            lines += [
                "uint fz_in = fz_lane % fz_lanes;",
                "uint fz_number = fz_at * fz_beside + fz_lane / fz_lanes;",
                f"{index} fz_out = {index}(fz_number / uint({BLOCK}.chunks));",
                f"{index} fz_chunk = {index}(fz_number % uint({BLOCK}.chunks));",
            ]
        else:
            lines += [
                "uint fz_in = fz_lane / fz_beside;",
                f"uint fz_across = (uint({BLOCK}.outputs) + fz_beside - 1) / fz_beside;",
                f"{index} fz_chunk = {index}(fz_at / fz_across);",
                f"{index} fz_out = {index}((fz_at % fz_across) * fz_beside + fz_lane % fz_beside);",
                f"if (fz_chunk >= {BLOCK}.chunks)",
                "    return;",
            ]
        lines += [*self.decoded(self.kept, "fz_out"), *self.bounds("fz_chunk")]
        return [*lines, f"if (fz_out >= {BLOCK}.outputs)", "    fz_last = fz_e;"]

    def placed(self) -> list[str]:
        """Which result and which chunk a thread has; neighbours in a group are neighbours in memory."""
        index, shape = self.variant.index, self.variant.shape
        if shape.columns > 1:
            across = shape.threads * shape.columns
            lines = [
                f"uint fz_across = (uint({BLOCK}.outputs) + {across - 1}) / {across};",
                f"{index} fz_chunk = {index}(fz_at / fz_across);",
                *self.first_result(across),
                f"if (fz_chunk >= {BLOCK}.chunks)",
                "    return;",
            ]
        else:
            near, far, count = ("fz_chunk", "fz_out", "chunks") if shape.inner else ("fz_out", "fz_chunk", "outputs")
            lines = [
                f"uint fz_number = fz_at * {shape.threads} + fz_lane;",
                f"{index} {near} = {index}(fz_number % uint({BLOCK}.{count}));",
                f"{index} {far} = {index}(fz_number / uint({BLOCK}.{count}));",
                f"if ({far} >= {BLOCK}.{'outputs' if shape.inner else 'chunks'})",
                "    return;",
            ]
        return [*lines, *self.decoded(self.kept, "fz_out"), *self.bounds("fz_chunk")]

    def first_result(self, across: int) -> list[str]:
        """The first result that a thread has, in a group for results from ``fz_first``.

        A last group that would reach past the end starts earlier instead, so that no thread has to ask at each element.
        """
        index = self.variant.index
        return [
            f"uint fz_first = (fz_at % fz_across) * {across};",
            f"{index} fz_out = {index}(min(fz_first, uint({BLOCK}.outputs) - {across}) + fz_lane);",
        ]

    def bounds(self, chunk: str) -> list[str]:
        """The elements of a chunk."""
        index = self.variant.index
        return [
            f"{index} fz_e = {chunk} * {BLOCK}.chunk;",
            f"{index} fz_last = {BLOCK}.reduced - fz_e < {BLOCK}.chunk ? {BLOCK}.reduced : fz_e + {BLOCK}.chunk;",
        ]

    def told(self, acc: str) -> list[str]:
        """What a thread has, for the others of its group to see."""
        return [f"fz_s_{name}[fz_lane] = {acc}.{name};" for name, _ in self.members]

    def heard(self, lane: str, acc: str) -> list[str]:
        """What another thread has."""
        return [f"{acc}.{name} = fz_s_{name}[{lane}];" for name, _ in self.members]
