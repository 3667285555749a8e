"""Integers of Python's numbers in loops and branches: they have 64 bits, and an error beyond them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.functions.test_modes_numbers import LARGE, SOURCE
from tests.functions.test_modes_table import PARTS, findings, part_of


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "modes_of_numbers", SOURCE)


def carried(x: Any, k: Any) -> Any:
    return fp.fori_loop(0, 2, lambda i, c: (c[0] + x + k, c[1] + k), (x, k))


def chosen(x: Any, k: Any) -> Any:
    return fp.cond(x > 1, lambda: k, lambda: 0)


LOOPS: dict[str, Callable[[Any, Any], Any]] = {
    "power": lambda m, n: fp.fori_loop(0, 2, lambda i, c: c * n, n),
    "sum": lambda m, n: fp.fori_loop(0, 100, lambda i, c: c + i * n * n, 0),
    "search": lambda m, n: fp.while_loop(lambda c: c < 10**12, lambda c: c * n, n),
    "two": lambda m, n: fp.fori_loop(0, 8, lambda i, c: (c[0] * 0.5, c[1] * 9), (1.0, n)),
    "branch": lambda m, n: fp.cond(m.whole(n) > 3, lambda: m.whole(n) * m.whole(n), lambda: 0),
    "branch in a loop": lambda m, n: fp.fori_loop(0, 2, lambda i, c: fp.cond(c > n, lambda: c * 7, lambda: c * n), n),
    "call": lambda m, n: fp.fori_loop(0, 3, lambda i, c: m.whole(c) + m.natural(i) + 1, n),
    "of an array": lambda m, n: carried(np.int32([1, 2]), m.whole(n) * 3),
    "choice of an array": lambda m, n: chosen(np.int32([1, 2]), m.whole(n) * 3),
    "counter": lambda m, n: fp.fori_loop(0, 3, lambda i, c: (c[0] + m.whole(n), c[1] + 1), (np.int32([1, 2]), 0)),
}
OVERFLOWS: dict[str, Callable[[Any, Any], Any]] = {
    "power": lambda m, n: fp.fori_loop(0, 4, lambda i, c: c * n, n),
    "sum": lambda m, n: fp.fori_loop(0, 100, lambda i, c: c + 2**62, n),
    "shift": lambda m, n: fp.fori_loop(0, 9, lambda i, c: c << 9, n),
    "search": lambda m, n: fp.while_loop(lambda c: c < 2**63 - 1, lambda c: c * n, n),
    "call": lambda m, n: fp.fori_loop(0, 3, lambda i, c: m.whole(c) * n, n),
    "unsigned": lambda m, n: fp.fori_loop(0, 3, lambda i, c: m.natural(c) - n, n),
    "branch": lambda m, n: fp.cond(m.whole(n) > 3, lambda: m.large(n) * m.large(n) * m.large(n) * m.large(n), lambda: 0),
    "branch in a loop": lambda m, n: fp.fori_loop(0, 4, lambda i, c: fp.cond(c > 0, lambda: c * n, lambda: c), n),
}


@pytest.mark.req("V1", "V15")
@PARTS
def test_integers_in_bodies_have_64_bits_and_an_error_beyond(m: Any, part: int) -> None:
    found = [w for name, of in part_of(LOOPS, part).items() for w in findings(name, lambda n, of=of: of(m, n), LARGE)]
    assert not found, "\n".join(found)
    n = LARGE
    wanted = (n**3, 4950 * n * n, 10**15, (2**-8, n * 9**8), n * n, n * n * 7, n + 6)
    for (name, of), expected in [*zip(LOOPS.items(), wanted)][part::3]:
        assert of(m, n) == expected, name
    for name, of in part_of(OVERFLOWS, part).items():
        with pytest.raises(fp.RangeError):
            fp.fuse(lambda n, of=of: of(m, n))(n)
        if name != "branch":  # which Python takes call by call
            with pytest.raises(fp.RangeError):
                of(m, n)
    with pytest.raises(fp.RangeError):  # for each element, of 32 bits
        fp.fori_loop(0, 2, lambda i, c: c + m.whole(n) * m.whole(n), np.int32([1, 2]))
    assert fp.fori_loop(0, 2, lambda i, c: c + m.whole(3) * m.whole(3), np.int32([1, 2])).tolist() == [19, 20]
