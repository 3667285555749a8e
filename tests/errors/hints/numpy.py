"""Programs after hints about NumPy's words, arrays that are made, and random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusepy as fp
from fusepy.random.keys import philox
from tests.errors.hints.support import Program, X, fused
from tests.support.slang_functions import F32

KEY = fp.random.key(1)
PAIRS = """
struct Inner { float3 a; float b; };
struct Outer { Inner inner; float c; };
Outer outer(float x) { Outer o; o.inner.a = x; o.inner.b = x; o.c = x; return o; }
"""


def outers() -> Any:
    return fp.Module.load_from_source(fp.default_device(), "pairs", PAIRS).outer(fp.Tensor([1.0, 2.0]))


def drawn(result: Any, low: float, high: float) -> Any:
    """Whether random numbers are in their range."""
    numbers = result.numpy().astype(float)
    return float(numbers.size and numbers.min() >= low and numbers.max() < high)


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "a function that only NumPy has": (
        lambda m: fp.unwrap(fp.Tensor([1.0, 2.0])),
        "write np.unwrap, with np.asarray(x) as its array",
        lambda m: np.unwrap(np.asarray(fp.Tensor([1.0, 2.0]))),
        [1, 2],
    ),
    "numpy.sum with an argument that fusepy's lacks": (
        lambda m: fused(lambda x: np.sum(x, initial=2.0), X),
        "use fusepy.sum, and only the arguments that it has",
        lambda m: fused(lambda x: np.sum(x), X),
        X.sum(),
    ),
    "a field that cannot be viewed": (
        lambda m: outers().inner,
        "compute it: fp.fuse(lambda t: t.inner)(t)",
        lambda m: fp.fuse(lambda t: t.inner)(outers()).b,
        np.float32([1, 2]),
    ),
    "slopes with other spacings": (
        lambda m: fp.gradient(X, 1.0, 2.0, 3.0),
        "write one spacing for each axis, or one for all",
        lambda m: fp.gradient(X, 1.0),
        np.gradient(X),
    ),
    "a convolution of another mode": (
        lambda m: fp.convolve(X, X, "all"),
        "leave out mode",
        lambda m: fp.convolve(X, X),
        np.convolve(X, X),
    ),
    "a norm of another order": (
        lambda m: fp.norm(X, 3),
        "leave out ord",
        lambda m: fp.norm(X),
        np.sqrt((X * X).sum(dtype=float)),
    ),
    "a row with the step 0": (lambda m: fp.arange(1, 3, 0), "another step than 0", lambda m: fp.arange(1, 3, 1), [1, 2]),
    "a row as long as a traced number": (
        lambda m: fused(lambda x: fp.arange(x), X),
        "for a row as long as an array, write fp.grid(x)",
        lambda m: fused(lambda x: fp.grid(x), X),
        np.arange(len(X)),
    ),
    "zeros on a device in a fused function": (
        lambda m: fused(lambda x: x + fp.zeros(1, device=fp.default_device()), X),
        "leave out device: the call has one",
        lambda m: fused(lambda x: x + fp.zeros(1), X),
        X,
    ),
    "a seed that is no integer": (
        lambda m: fp.random.key(np.array([1, 2])),
        "write fp.random.key(7)",
        lambda m: fp.random.bits(fp.random.key(7), 2).tolist() == fp.random.bits(fp.random.key(np.int64(7)), 2).tolist(),
        True,
    ),
    "a seed of more than 64 bits": (
        lambda m: fp.random.key(2**64),
        "take it modulo 2**64",
        lambda m: fp.random.bits(fp.random.key(2**64 % 2**64), 2),
        [philox((i, 0, 0, 0), (0, 0))[0] for i in range(2)],
    ),
    "a key for each of an array": (
        lambda m: fp.random.split(KEY, X),
        "for a key per element write fp.random.fold_in(key, fp.arange(n))",
        lambda m: fp.random.fold_in(KEY, fp.arange(1))[0],
        np.array([fp.random.fold_in(KEY, 0).x, fp.random.fold_in(KEY, 0).y]),
    ),
    "random floats that are integers": (
        lambda m: fp.random.uniform(KEY, 2, "int"),
        "leave out dtype",
        lambda m: drawn(fp.random.uniform(KEY, 2), 0, 1),
        1,
    ),
    "random numbers over five axes": (
        lambda m: fp.random.uniform(KEY, (1, 1, 1, 1, 3)),
        "draw fewer, and reshape",
        lambda m: drawn(fp.random.uniform(KEY, 3).reshape(1, 1, 1, 1, 3), 0, 1),
        1,
    ),
    "random integers up to a float": (
        lambda m: fp.random.integers(KEY, 0, 2.5, 3),
        "pass integers of Python",
        lambda m: drawn(fp.random.integers(KEY, 0, 2, 3), 0, 2),
        1,
    ),
    "random integers of an empty range": (
        lambda m: fp.random.integers(KEY, 2, 2, 3),
        "give two integers, the first below the second",
        lambda m: drawn(fp.random.integers(KEY, 2, 5, 3), 2, 5),
        1,
    ),
    "a permutation of an array": (
        lambda m: fp.random.permutation(KEY, X),
        "pass the number of elements, and index the array by the result",
        lambda m: np.sort(X[fp.random.permutation(KEY, len(X)).numpy()]),
        np.sort(X).astype(F32),
    ),
    "extents in the place of a key": (
        lambda m: fp.random.uniform((2, 3)),
        "write fp.random.uniform(fp.random.key(0), (2, 3))",
        lambda m: drawn(fp.random.uniform(fp.random.key(0), (2, 3)), 0, 1),
        1.0,
    ),
    "an extent in the place of a type": (
        lambda m: fp.zeros(2, 3),
        "write fp.zeros((2, 3)), with the extents as one argument",
        lambda m: fp.zeros((2, 3)),
        np.zeros((2, 3)),
    ),
    "a keyword of NumPy's sum": (
        lambda m: fp.sum(X, where=X > 1),
        "write fp.sum(fp.where(x > 1, x, 0.0))",
        lambda m: fp.sum(fp.where(X > 1, X, 0.0)),
        X.sum(where=X > 1),
    ),
    "JAX's static arguments": (
        lambda m: fp.fuse(lambda x: x, static_argnums=(0,))(1.0),  # pyright: ignore
        'write fp.fuse(f, static=["x"]), with the names of static parameters',
        lambda m: fp.fuse(lambda y, x: y * x, static=["x"])(X, 2),
        X * 2,
    ),
}
