"""The structs, shared memory and functions of kernels that sort."""

from __future__ import annotations

from fusepy.backend.emit.fold.accumulators import Accumulator
from fusepy.backend.emit.fold.partials import WAVE_BARRIER
from fusepy.backend.emit.fold.sorting.keys import key_function
from fusepy.backend.emit.fold.sorting.tuning import COPIES, VALUES, WAVE
from fusepy.backend.emit.fold.variant import FoldVariant
from fusepy.backend.emit.operand import BARRIER
from fusepy.ir.ops.control import block
from fusepy.ir.types import UINT
from fusepy.ir.value import declare


def sort_functions(accumulator: Accumulator, variant: FoldVariant, cuda: bool) -> list[str]:
    """Returns the struct of a pair, the shared memory of a group, and the functions that make keys and compare pairs."""
    piece, shape = accumulator.pieces[0], variant.shape
    keys = [*key_function(accumulator.j, accumulator.fold.kind, accumulator.have), ""]
    if variant.digits:
        shared = _for_digits(variant, piece.type is not UINT, cuda) if shape.group else []
        return [*shared, *(keys if variant.of_elements else ())]
    cells = shape.threads * shape.unroll
    shared = [f"groupshared {declare(piece.type, 'fz_keys')}[{cells}];", f"groupshared uint fz_places[{cells}];", ""]
    return [
        *("struct FzAcc", "{", *(f"    {declare(type, name)};" for name, type in accumulator.members()), "};", ""),
        *(shared if shape.group else ()),
        *keys,
        f"bool fz_before({piece.type} a, uint place_of_a, {piece.type} b, uint place_of_b)",
        *("{", "    return a < b || (a == b && place_of_a < place_of_b);", "}", ""),
    ]


def _for_digits(variant: FoldVariant, wide: bool, cuda: bool) -> list[str]:
    """Returns the shared memory of a group that sorts by a digit, and the functions in which its threads meet."""
    threads, tile = variant.shape.threads, variant.shape.threads * variant.shape.unroll
    count = [f"groupshared uint fz_cells[{COPIES * VALUES}];", ""]
    sums = [f"groupshared uint fz_sums[{2 * threads}];", "", *_sum_before(threads)]
    cells = max(2 * VALUES * threads // WAVE, tile * (1 + wide))
    arrays = [("fz_cells", cells), ("fz_starts", VALUES), ("fz_shifts", VALUES)]
    declared = [f"groupshared uint {name}[{length}];" for name, length in arrays]
    return variant.part(count, sums, [*declared, *sums, *_wave_meets(cuda)])


def _sum_before(threads: int) -> list[str]:
    """Returns the function that gives a thread the sum of the numbers of all threads before it."""
    step = [
        "uint sum = fz_sums[half + fz_lane];",
        "if (fz_lane >= n)",
        "    sum += fz_sums[half + fz_lane - n];",
        f"half = {threads} - half;",
        "fz_sums[half + fz_lane] = sum;",
        BARRIER,
    ]
    body = [
        "fz_sums[fz_lane] = own;",
        BARRIER,
        "uint half = 0;",
        f"for (uint n = 1; n < {threads}; n <<= 1)",
        *block(step),
        "return fz_sums[half + fz_lane] - own;",
    ]
    return ["uint fz_sum_before(uint fz_lane, uint own)", *block(body), ""]


def _wave_meets(cuda: bool) -> list[str]:
    """Returns the function in which threads that number equal digits together wait for each other; a wave may have fewer."""
    if cuda:
        return ["void fz_meet()", *block([WAVE_BARRIER]), ""]
    return ["void fz_meet()", *block([f"if (WaveGetLaneCount() < {WAVE})", f"    {BARRIER}", "else", f"    {WAVE_BARRIER}"]), ""]
