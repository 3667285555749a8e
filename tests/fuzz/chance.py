"""Random numbers of keys: what ``fp.random`` means, written out here a second time, its texts, and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.fuzz.elementwise import add, multiply
from tests.fuzz.program import Step
from tests.fuzz.values import INTS, WIDE, Refused, Val, make, number

if TYPE_CHECKING:
    from tests.fuzz.generate import Draw

WORD = 0xFFFFFFFF
DERIVES, SHUFFLES = 0x80000000, 0xC0000000  # the last word of counters that are no places of an array
FOLDS = 1
BITS = {"half": 11, "float": 24, "double": 53}
KINDS = ("uniform", "uniform", "between", "integers", "bits", "bernoulli", "permutation")


def philox(counter: tuple[Any, ...], key: tuple[Any, Any]) -> list[Any]:
    """Philox-4x32-10: four words of 32 bits, in arrays of 64."""
    a, b, c, d = (np.asarray(n, np.uint64) for n in counter)
    low, high = (np.asarray(n, np.uint64) for n in key)
    mask, half = np.uint64(WORD), np.uint64(32)
    for _ in range(10):
        p, q = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b, c, d = (q >> half) ^ b ^ low, q & mask, (p >> half) ^ d ^ high, p & mask
        low, high = (low + np.uint64(0x9E3779B9)) & mask, (high + np.uint64(0xBB67AE85)) & mask
    return [a, b, c, d]


def chance(attrs: dict[str, Any], x: Val, keys: Val | None = None) -> list[Val]:
    """Numbers over the extents of `x`, of one key or of one for each element of `keys`."""
    if x.weak or x.comp or not 1 <= x.rank <= 4:
        raise Refused("extents")
    key: tuple[Any, Any] = (attrs["seed"], 0)
    doubt: Any = 0
    if keys is not None:
        if keys.scalar not in INTS or keys.scalar == "uint64_t" or keys.weak or keys.comp or keys.rank > x.rank:
            raise Refused("keys")
        data = keys.v.astype(np.int64).astype(np.uint64)
        words = philox((data & np.uint64(WORD), data >> np.uint64(32), FOLDS, DERIVES), key)
        key, doubt = (words[0], words[1]), keys.e
    if attrs["kind"] == "permutation":
        return [_permutation(key, x.grid[0])] if keys is None else []
    if np.broadcast_shapes(x.grid, np.shape(key[0])) != x.grid:
        raise Refused("more keys than numbers")
    at = [*np.indices(x.grid), 0, 0, 0, 0][:4]
    first, second, *_ = (np.broadcast_to(word, x.grid) for word in philox(tuple(at), key))
    doubt = np.broadcast_to(doubt, x.grid)
    return [_numbers(attrs, first, second, doubt)]


def _numbers(attrs: dict[str, Any], first: Any, second: Any, doubt: Any) -> Val:
    kind = attrs["kind"]
    if kind == "bits":
        return make("uint", (), first, doubt)
    if kind == "integers":
        span = np.uint64(attrs["hi"] - attrs["lo"])
        below = (second * span + ((first * span) >> np.uint64(32))) >> np.uint64(32)
        return make("int", (), below.astype(np.int64) + attrs["lo"], doubt)
    scalar = "float" if kind == "bernoulli" else attrs["scalar"]
    bits = BITS[scalar]
    words = (first << np.uint64(21)) | (second >> np.uint64(11)) if bits == 53 else first >> np.uint64(32 - bits)
    unit = make(scalar, (), words.astype(WIDE) * WIDE(2) ** -bits, doubt)
    if kind == "bernoulli":
        return make("bool", (), unit.v < attrs["p"], doubt)
    if kind == "uniform":
        return unit
    low, high = attrs["lo"], attrs["hi"]
    found = add(number(low), multiply(number(high - low), unit))
    return Val(found.scalar, (), found.v, np.where(found.v + found.e >= high, np.inf, found.e))


def _permutation(key: tuple[Any, Any], count: int) -> Val:
    """Up to 256 numbers: the ranks of random numbers of 64 bits."""
    if count > 256:
        raise Refused("a network of Feistel's")
    first, second, *_ = philox((np.arange(count), 0, 1, SHUFFLES), key)
    size = (first << np.uint64(32)) | second
    return make("int", (), np.argsort(np.argsort(size, kind="stable"), kind="stable"))


def text(attrs: dict[str, Any], names: list[str]) -> str:
    kind = attrs["kind"]
    key = f"fp.random.key({attrs['seed']})"
    if len(names) > 1:
        key = f"fp.random.fold_in({key}, {names[1]})"
    if kind == "permutation":
        return f"fp.random.permutation({key}, fp.shape({names[0]})[0])"
    shape = f"fp.shape({names[0]})"
    if kind == "integers":
        return f"fp.random.integers({key}, {attrs['lo']}, {attrs['hi']}, {shape})"
    if kind == "bernoulli":
        return f"fp.random.bernoulli({key}, {attrs['p']}, {shape})"
    if kind == "bits":
        return f"fp.random.bits({key}, {shape})"
    ends = f", lo={attrs['lo']}, hi={attrs['hi']}" if kind == "between" else ""
    return f'fp.random.uniform({key}, {shape}, "{attrs["scalar"]}"{ends})'


def draw_chance(d: Draw, a: int, x: Val) -> Step | None:
    if x.weak or x.comp or not x.rank:
        return None
    kind = d.one(KINDS)
    low = d.one([-2, 0, 1])
    attrs = {"kind": kind, "seed": d.one([0, 7, WORD]), "scalar": d.one(["float", "float", "half", "double"]), "p": 0.25}
    attrs |= {"lo": low, "hi": low + d.one([1, 2, 4, 7])}
    keys = [i for i, v in enumerate(d.values[0]) if v.scalar in INTS and not v.weak and not v.comp and v.rank <= x.rank]
    return Step("chance", [a, d.one(keys)] if keys and kind != "permutation" and d.chance(0.6) else [a], attrs)
