"""Generators over the grid of the call: `CallId`, `ThreadId`, and the random `WangHash` and `RandFloat`."""

from __future__ import annotations

from collections.abc import Hashable
from operator import attrgetter
from typing import Any

from fusepy.backend.device.device import Device
from fusepy.backend.emit.operand import BLOCK, Field, Operand, convert
from fusepy.backend.emit.variant import Variant
from fusepy.backend.marshals.base import Description
from fusepy.backend.marshals.generators import Generator
from fusepy.backend.marshals.grid import coordinates, followed_steps
from fusepy.errors import ResolveError
from fusepy.ir.types import FLOAT, INT, UINT, Kind, Type


class GeneratorMarshal:
    """A generator of integers or floats. It is weak, so that parameters such as ``uint`` or ``half`` accept it."""

    returns = "scalar"

    def __init__(self, scalar: Type):
        self.scalar = scalar

    def key(self, value: Generator) -> Hashable:
        return (value.container, value.dims, len(value.shape))

    def describe(self, value: Generator) -> Description:
        container = f"{value.container}1" if value.dims == 1 else value.container
        return Description(Type.vector(self.scalar, value.dims or 1), (None,) * len(value.shape), container, weak=True)

    def place(self, value: Generator, type: Type, device: Device) -> Any:
        return value


class CallIdAccess:
    """Access to the coordinates of the thread."""

    addressing = "computed"
    prelude = ""

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        return followed_steps(operand, variant)

    def load(self, operand: Operand, variant: Variant) -> str:
        want, rank = operand.want, len(operand.dims)
        wanted = want.shape[0] if want.shape else 1
        padded = want.kind is Kind.VECTOR and wanted == rank + 1  # like slangpy: a pixel for a uint3
        if wanted != rank and not padded:
            raise ResolveError(
                f"argument {(operand.label or operand.name)!r}: call_id() is taken as {want} in a grid of {rank} dimensions",
                saw=want,
                expected=f"{rank} coordinates",
                hint=f"write the Slang parameter as {Type.vector(INT, max(rank, 1))}, or pass thread_id(), which counts through",
            )
        parts = [f"int(d{d})" for d in operand.dims]
        if operand.near is not None:
            parts = [f"({BLOCK}.{step.name} == 0 ? 0 : {part})" for step, part in zip(followed_steps(operand, variant), parts)]
        if padded:
            return f"{want}({', '.join([*reversed(parts), '0'])})"
        return coordinates(operand, parts)


def _place(operand: Operand, variant: Variant) -> str:
    """Returns the linear index of the thread, in C order, over the dimensions that the operand varies along."""
    if operand.near is not None:
        steps = " + ".join(f"d{d} * {BLOCK}.{step.name}" for d, step in zip(operand.dims, followed_steps(operand, variant)))
        return f"uint({steps or '0'})"
    if operand.dims == tuple(range(variant.rank)):
        return "uint(i)"
    index = ""
    for d in operand.dims:
        index = f"({index} * {BLOCK}.extent{d} + d{d})" if index else f"d{d}"
    return f"uint({index or '0'})"


class ThreadIdAccess:
    """Access to the linear index of the thread in the grid, as ``.x``."""

    addressing = "index"
    prelude = ""

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        return followed_steps(operand, variant)

    def load(self, operand: Operand, variant: Variant) -> str:
        place, want = _place(operand, variant), operand.want
        if not want.shape:
            return convert(place, UINT, want)
        return f"{want}({', '.join([place, *['0'] * (want.shape[0] - 1)])})"


# slangpy's algorithm: scale the index by the number of components, hash it `rounds` times, xor with the seed, hash again
_HASH = """uint fz_wang_hash(uint x)
{
    x = (x ^ 61) ^ (x >> 16);
    x *= 9;
    x ^= x >> 4;
    x *= 0x27d4eb2d;
    return x ^ (x >> 15);
}

uint fz_warmed_up(uint place, uint seed, uint rounds)
{
    for (uint i = 0; i < rounds; ++i)
        place = fz_wang_hash(place);
    return place ^ seed;
}

vector<uint, N> fz_hashes<let N : int>(uint place, uint seed, uint rounds)
{
    uint hash = fz_warmed_up(place * N, seed, rounds);
    vector<uint, N> value;
    [ForceUnroll] for (int c = 0; c < N; ++c)
    {
        hash = fz_wang_hash(hash);
        value[c] = hash;
    }
    return value;
}
"""


class WangHashAccess:
    """Access to a hash of the thread's index per component."""

    addressing = "index"
    prelude = _HASH
    parameters = ("seed", "warmup")

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        name = f"a_{operand.name}"
        return [
            Field("uint" if p in ("seed", "warmup") else "float", f"{name}_{p}", p, operand.position, 0, attrgetter(p))
            for p in self.parameters
        ] + followed_steps(operand, variant)

    def hashes(self, operand: Operand, variant: Variant) -> str:
        name, want = f"{BLOCK}.a_{operand.name}", operand.want
        rest = f"{_place(operand, variant)}, {name}_seed, {name}_warmup"
        return f"fz_hashes<{want.shape[0]}>({rest})" if want.shape else f"fz_wang_hash(fz_warmed_up({rest}))"

    def load(self, operand: Operand, variant: Variant) -> str:
        return convert(self.hashes(operand, variant), operand.want.with_scalar(UINT), operand.want)


class RandFloatAccess(WangHashAccess):
    """Access to floats from 23 bits of the hash, from ``low`` up to ``high`` (exclusive)."""

    parameters = ("seed", "warmup", "low", "high")

    def load(self, operand: Operand, variant: Variant) -> str:
        name, floats = f"{BLOCK}.a_{operand.name}", operand.want.with_scalar(FLOAT)
        unit = f"{floats}({self.hashes(operand, variant)} & 0x7fffff) / 8388608.0f"
        return convert(f"({name}_low + ({name}_high - {name}_low) * ({unit}))", floats, operand.want)
