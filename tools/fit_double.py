"""The constants of ``fusepy/slang/fusepy_math64.slang``, printed: polynomials, split logarithms, and the bits of 2/pi.

Each polynomial is the Chebyshev interpolant of a function on its interval, in 60 digits, which is almost optimal. The second
column is its error relative to the function that it is part of; it should be less than 2 ** -56.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp

mp.mp.dps = 60
Function = Callable[[Any], Any]


def series(terms: Function, count: int = 60) -> Function:
    """Returns a function given by its power series, for a formula that would cancel near 0."""
    return lambda u: mp.fsum(terms(n) * u**n for n in range(count))


def odd(f: Function) -> Function:
    """Returns ``(f(x) / x - 1) / x**2`` as a function of ``u = x**2`` above 0."""
    return lambda u: (f(mp.sqrt(u)) / mp.sqrt(u) - 1) / u


# name, function of u, interval, number of coefficients, weight of an error in it
FITS: list[tuple[str, Function, tuple[Any, Any], int, Function]] = [
    ("exp_tail", series(lambda n: 1 / mp.factorial(n + 2)), (-0.348, 0.348), 11, lambda r: r * r / mp.exp(r)),
    ("sin_tail", series(lambda n: (-1) ** (n + 1) / mp.factorial(2 * n + 3)), (0, 0.617), 7, lambda u: u),
    ("cos_tail", series(lambda n: (-1) ** n / mp.factorial(2 * n + 4)), (0, 0.617), 7, lambda u: u * u / mp.cos(mp.sqrt(u))),
    ("sinh_tail", series(lambda n: 1 / mp.factorial(2 * n + 3)), (0, 1), 8, lambda u: u / mp.sqrt(1 + u / 6)),
    ("tanh_tail", odd(mp.tanh), (0, 0.31), 12, lambda u: u),
    ("atan_tail", series(lambda n: mp.mpf((-1) ** (n + 1)) / (2 * n + 3), 140), (0, 0.1717), 12, lambda u: u),
    ("log_tail", series(lambda n: mp.mpf(1) / (2 * n + 7), 80), (0, 0.0295), 7, lambda u: u**3 * 2**12),
]


def split(name: str, value: Any, *bits: int) -> None:
    """Prints a constant as a sum of doubles. All but the last have so few bits that products with small integers are exact."""
    parts = []
    rest = value
    for count in bits:
        scale = mp.mpf(2) ** (count - 1 - int(mp.floor(mp.log(abs(rest), 2))))
        part = float(mp.nint(rest * scale) / scale) if count < 53 else float(rest)
        parts.append(part)
        rest -= part
    for i, part in enumerate([*parts, float(rest)]):
        print(f"static const double {name}_{i} = {part!r}L;")


def main() -> None:
    for name, f, (a, b), count, weight in FITS:
        coefficients = [float(c) for c in mp.chebyfit(f, [a, b], count)[::-1]]
        points = [a + (b - a) * mp.mpf(i) / 400 for i in range(1, 400)]
        error = max(abs((mp.polyval(coefficients[::-1], u) - f(u)) * weight(u)) for u in points)
        print(f"// off by 2 ** {float(mp.log(error, 2)):.1f}")
        print(f"double {name}(double u)\n{{\n    double p = {coefficients[-1]!r}L;")
        for c in coefficients[-2::-1]:
            print(f"    p = p * u {'-' if c < 0 else '+'} {abs(c)!r}L;")
        print("    return p;\n}\n")
    split("LN2", mp.log(2), 40)
    split("LN2_FULL", mp.log(2), 53)
    split("LN10", mp.log(10), 53)
    split("THIRD", mp.mpf(1) / 3, 53)
    split("FIFTH", mp.mpf(1) / 5, 53)
    split("LOG2E", 1 / mp.log(2), 53)
    split("LOG10E", 1 / mp.log(10), 53)
    split("PIO2", mp.pi / 2, 32, 32, 32)
    split("PI_HALF", mp.pi / 2, 53)
    split("PI", mp.pi, 53)
    split("PI_QUARTER", mp.pi / 4, 53)
    with mp.workdps(420):
        words = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (40 * 32)))
    print(", ".join(f"0x{words >> (32 * (39 - i)) & 0xFFFFFFFF:08x}u" for i in range(40)))


if __name__ == "__main__":
    main()
