"""The last step of a fold in the launch that folds: the group of a result's last chunk merges the accumulators of all chunks.

A group stores its accumulator, then a flag. Flags lie in memory that holds anything before: the flag is a number of 64 bits that
is not there by chance, and whoever has seen it takes it away, so that memory that is used again has none. So nothing must be set to
zero before a launch, and recorded launches can run again. No group waits for one that starts after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fusepy.backend.emit.operand import BARRIER, BLOCK
from fusepy.ir.ops.control import block

if TYPE_CHECKING:
    from fusepy.backend.emit.fold.elements import FoldElements

FLAGS = "flags"  # the field of the array of flags, each of two numbers
FLAG = (0xA3C59AC3, 0x1D8E4E27)
FLAG_BYTES = 8
# On CUDA a store that waits for the thread's earlier ones: a fence waits for more, and ends a group a microsecond later.
_CUDA = r"""
void fz_raise(uint* flag)
{
    __intrinsic_asm "([](unsigned int* p) { asm volatile(\"st.release.gpu.b64 [%0], %1;\" :: \"l\"(p), \"l\"(FLAGull) : \"memory\"); }($0))";
}

bool fz_raised(uint* flag)
{
    __intrinsic_asm "([](unsigned int* p) { unsigned long long f; asm volatile(\"ld.acquire.gpu.b64 %0, [%1];\" : \"=l\"(f) : \"l\"(p) : \"memory\"); return f == FLAGull; }($0))";
}
""".replace("FLAG", f"{FLAG[1] << 32 | FLAG[0]:#x}")  # fmt: skip
# elsewhere atomics of 32 bits, which all devices have, behind a fence
_OTHERS = f"""
void fz_raise(uint* flag)
{{
    uint before;
    DeviceMemoryBarrier();
    InterlockedExchange(flag[0], {FLAG[0]:#x}, before);
    InterlockedExchange(flag[1], {FLAG[1]:#x}, before);
}}

bool fz_raised(uint* flag)
{{
    uint low, high;
    InterlockedOr(flag[0], 0u, low);
    InterlockedOr(flag[1], 0u, high);
    return low == {FLAG[0]:#x} && high == {FLAG[1]:#x};
}}
"""


def flag_functions(cuda: bool) -> list[str]:
    """Returns the functions that raise a flag after all earlier stores of a thread, and that see one before all later loads."""
    return (_CUDA if cuda else _OTHERS).splitlines()[1:]


class LastGroup:
    """The lines of a group that has one chunk of several, behind those that merge ``fz_acc`` of its threads."""

    def __init__(self, elements: FoldElements):
        self.after, self.threads, self.index = elements.after, elements.variant.shape.threads, elements.chunks.index
        self.cuda = elements.text.cuda

    def merged(self, within: Sequence[str]) -> list[str]:
        """Returns lines that merge the accumulators of all chunks in the first thread of the last group; other groups end here.

        Args:
            within: lines that merge the accumulators of a group's threads.
        """
        lines = [
            f"{self.index} fz_first = fz_out * {BLOCK}.chunks;",
            f"if (fz_in == 0 && fz_out < {BLOCK}.outputs)",
            *block([f"{self.index} at = fz_first + fz_chunk;", *self.after.store("at", "fz_acc"), f"fz_raise({self.flag});"]),
            f"if (fz_chunk + 1 < {BLOCK}.chunks || fz_out >= {BLOCK}.outputs)",
            "    return;",
            *self.each([f"while (!fz_raised({self.flag})) {{}}", f"*{self.flag} = 0;"]),
            *([] if self.cuda else ["DeviceMemoryBarrier();"]),
            BARRIER,  # a cache that is not coherent may have got lines of accumulators before the last flag: loads come after it
            "fz_acc = fz_none();",
            *self.each([*self.after.load("at"), f"fz_merge(fz_acc, found, {BLOCK}.zero);"]),
            *within,
        ]
        return [f"if ({BLOCK}.chunks > 1)", *block(lines)]

    def each(self, lines: Sequence[str]) -> list[str]:
        """Returns a loop over the chunks of a thread."""
        loop = f"for ({self.index} n = {self.index}(fz_lane); n < {BLOCK}.chunks; n += {self.threads})"
        return [loop, *block([f"{self.index} at = fz_first + n;", *lines])]

    @property
    def flag(self) -> str:
        return f"({BLOCK}.{FLAGS} + 2 * at)"
