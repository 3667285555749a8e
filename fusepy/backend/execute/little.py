"""Little memory: what several launches leave for later ones lies in one block, and so do the small results of a launch.

A block of the pool costs a call 0.8 µs on the host, whatever its size. So memory of up to 64 KiB between launches is taken once
for all of them, and given back after the last one. Large memory is taken where it is filled, and given to the next launch once
nobody reads it. Gradients by twenty numbers are twenty results in one block, which lives as long as one of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.device.block import size_class
from fusepy.backend.execute.launch import Make, Row

SMALL = 1 << 16  # bytes; more is taken where it is needed
MOST = 1 << 20  # bytes of one call
RESULT, SHARED = 256, 1 << 13  # bytes of a result that shares a block, and of the block, which one that is kept keeps


def in_one_block(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Returns the launches with their little memory in one block, which the first of them that fills any takes."""
    places: dict[int, int] = {}  # bytes before the memory of a slot
    size = 0
    for make in (make for row in rows for make in row.makes if make.element is None):
        if size_class(make.nbytes) <= min(SMALL, MOST - size):
            places[make.slot] = size
            size += size_class(make.nbytes)
    if len(places) < 2:
        return tuple(rows)
    home = next(iter(places))

    def makes(row: Row) -> tuple[Make, ...]:
        left = tuple(make for make in row.makes if make.slot not in places)
        return (Make(home, size, None, (size,)), *left) if any(make.slot == home for make in row.makes) else left

    return tuple(
        row._replace(
            makes=makes(row),
            frees=tuple(slot for slot in row.frees if slot not in places),
            addresses=[(i, home, places[slot] + at) if slot in places else (i, slot, at) for i, slot, at in row.addresses],
        )
        for row in rows
    )


def with_parts(makes: Sequence[Make]) -> tuple[Make, ...]:
    """Returns the memory that a launch takes with its small results in one block, if there are several."""
    small = [make for make in makes if make.element is not None and 0 < make.nbytes <= RESULT]
    if len(small) < 2:
        return tuple(makes)
    most = SHARED // RESULT
    shares = [small[i : i + most] for i in range(0, len(small), most)]
    parts = [one._replace(part=(k * RESULT, len(share) * RESULT)) for share in shares for k, one in enumerate(share)]
    return (*(make for make in makes if make not in small), *parts)
