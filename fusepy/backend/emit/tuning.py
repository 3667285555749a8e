"""The thread shapes of elementwise kernels, per device kind; every number is measured (decision 002).

On an H100, one element per thread streams at full bandwidth if elements have 8 bytes or more; 4-byte elements need several in
flight: four if a thread has one or two streams of them, two if there are more. 16,384 loops over as many elements take 3,370 µs
with two a thread in groups of 256, which are 32 groups for 132 multiprocessors, 1,150 with one, and 1,070 in groups of 64.
Lavapipe runs a group as vectorised loops on one CPU thread. It is fastest with large groups and many elements per thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fusepy.ir.graph import Node
from fusepy.ir.ops.doubles import FUNCTIONS, is_long

LANES = 8  # the width of lavapipe's vectors
SHARED_BYTES = 1 << 14  # shared memory of a group that every Vulkan device has
GROUPS_PER_ROW = 32768  # lavapipe dispatches at most 65,535 groups along one axis; longer grids fold into rows

# prices of user code, in bytes of memory traffic that take as long (`backend.sources.prices`)
LIGHT_PRICE = 48.0  # up to it, a thread may have several rows
HEAVY_PRICE = (
    64.0  # from it on, code takes longer than loads: on GPUs each thread has one element, so that few elements fill the device
)
# Elements that a thread on a CPU computes together, if their code is short, see `run_of`: the processor works on several at a
# time, and the driver masks the variables that a loop changes once for all of them (decision 002).
RUN, BRIEF_PRICE, BRIEF_WEIGHT = 4, 16.0, 48
LIGHT_NODES = 12  # a body of so many nodes is unrolled, see `backend.emit.spaces.linear`; for folds `backend.emit.fold.tuning`
# Simple operations that lavapipe compiles in the time of one call: of a function of floats, of a power, which may loop, of a
# function of doubles, and of a double's sine, which takes a second
CALL_WEIGHT, POWER_WEIGHT, LONG_WEIGHT, ANGLE_WEIGHT = 5, 16, 20, 100


@dataclass(frozen=True)
class Shape:
    """Threads per group, and elements per thread.

    Attributes:
        batched: all loads of a thread are issued before the first store.
        run: the elements of a thread on a CPU that are loaded, computed and stored together.
    """

    threads: int
    per_thread: int
    batched: bool
    run: int = 1

    @property
    def per_group(self) -> int:
        return self.threads * self.per_thread


def choose(kind: str, element_bytes: int, linear: bool, moved_bytes: int = 0, price: float = 0.0, light: bool = False) -> Shape:
    """Returns the shape for a device ``kind`` (``"software"``, ``"cuda"``, or anything else for a GPU).

    Args:
        element_bytes: the largest element that a thread loads or stores.
        linear: the arguments are indexed linearly; others compute an index by divisions and gain nothing from batches.
        price: the price of user code for one element.
        moved_bytes: bytes that a thread loads and stores for one element; by default twice `element_bytes`.
        light: the body is a few operations.
    """
    if kind == "software":
        if not linear:
            return Shape(512, 8, False)
        return Shape(512, 32 if element_bytes <= 4 and (moved_bytes or 2 * element_bytes) <= 16 else 16, False)
    if price >= HEAVY_PRICE:
        return Shape(64, 1, False)
    if not linear:
        return Shape(256, 1, False)
    if element_bytes <= 4:
        several = price <= LIGHT_PRICE and (moved_bytes or 2 * element_bytes) <= (16 if light else 12)
        return Shape(256, 4 if several else 2, True)
    if kind == "cuda" and element_bytes == 12:
        return Shape(256, 2, False)
    return Shape(256, 1, False)


def is_light(region: Node) -> bool:
    """True if the body is a few operations. A user's function may be any amount of code, and a loop takes long anyway."""
    assert region.body is not None
    nodes = region.body.nodes
    return len(nodes) <= LIGHT_NODES and not any(n.bodies or n.op.name == "slang.call" or is_long(n) for n in nodes)


def run_of(region: Node, price: float) -> int:
    """Returns the elements that a thread on a CPU computes together: several if they compile in little time.

    Four hyperbolic tangents in a row take 1.3 times as long as one after the other.
    """
    assert region.body is not None
    nodes = region.body.nodes
    brief = price <= BRIEF_PRICE and not [n for n in nodes if n.bodies or n.op.name == "tanh"]
    return RUN if brief and weight_of(nodes) <= BRIEF_WEIGHT else 1


def weight_of(nodes: Iterable[Node]) -> int:
    """Returns the number of simple operations that compile in the time of these nodes. The bodies of loops count once."""
    return sum([_weight(n) + sum(map(weight_of, [body.nodes for body in n.bodies])) for n in nodes])


def _weight(node: Node) -> int:
    if is_long(node):
        return ANGLE_WEIGHT if node.op.name in ("sin", "cos", "tan") else LONG_WEIGHT
    return POWER_WEIGHT if node.op.name == "pow" else CALL_WEIGHT if node.op.name in FUNCTIONS else 1


def power_above(number: int) -> int:
    """Returns the power of two at or above `number`."""
    return 1 << max(number - 1, 0).bit_length()
