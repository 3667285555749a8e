"""Programs after hints about views, indices and other movement of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hints.support import Program, X, fused
from tests.support.slang_functions import F32, ramp

IMAGE, AT = ramp(4, 6), np.array([2, 0], np.int32)
LARGE = np.broadcast_to(F32(1), (1 << 16, 1 << 15))  # one number
DEEP = ramp(2, 3).reshape(2, 3, *[1] * 7)


def moved_body(of: Any, x: Any) -> Any:
    return fp.fori_loop(0, 2, lambda i, s: s + of(s), x)


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "the length of a number": (
        lambda m: fused(lambda x, n: x * len(n), X, 2.0),
        "it is one number, without axes: write 1",
        lambda m: fused(lambda x, n: x * 1, X, 2.0),
        X,
    ),
    "a move of a value under vmap": (
        lambda m: fused(lambda x: fp.flip(fp.vmap(x, (1, 0)), 0) + 0, IMAGE),
        "say the map: fp.vmap(fp.flip(x, 0), (1, 0))",
        lambda m: fused(lambda x: fp.vmap(fp.flip(x, 0), (1, 0)) + 0, IMAGE),
        IMAGE[::-1].T,
    ),
    "an order of some axes": (
        lambda m: fused(lambda x: x.transpose(1) + 0, IMAGE),
        "name every axis once, in their new order",
        lambda m: fused(lambda x: x.transpose(1, 0) + 0, IMAGE),
        IMAGE.T,
    ),
    "a long axis that is dropped": (
        lambda m: fused(lambda x: fp.squeeze(x, 0) + 0, IMAGE),
        "index it: x[0]",
        lambda m: fused(lambda x: x[0] + 0, IMAGE),
        IMAGE[0],
    ),
    "a mask": (
        lambda m: fused(lambda x: fp.sum(x[x > 1]), X),
        "write fusepy.where(mask, x, 0.0)",
        lambda m: fused(lambda x: fp.sum(fp.where(x > 1, x, 0.0)), X),
        X[X > 1].sum(),
    ),
    "the places of a mask": (
        lambda m: fused(lambda x: np.where(x > 1), X),
        "write fusepy.where(condition, a, b)",
        lambda m: fused(lambda x: fp.where(x > 1, x, 0.0), X),
        np.where(X > 1, X, 0),
    ),
    "too many indices": (
        lambda m: fused(lambda x: x[0, 0, 0] + 0, IMAGE),
        "index each axis once",
        lambda m: fused(lambda x: x[0, 0] + 0, IMAGE),
        IMAGE[0, 0],
    ),
    "a number as an index": (
        lambda m: fused(lambda x: x[1.5] + 0, X),
        "round first",
        lambda m: fused(lambda x: x[1] + 0, X),
        X[1],
    ),
    "traced numbers as an index": (
        lambda m: fused(lambda x, i: x[i] + 0, X, F32(AT)),
        "convert it: fp.vcast(i, 'int')",
        lambda m: fused(lambda x, i: x[fp.vcast(i, "int")] + 0, X, F32(AT)),
        X[AT],
    ),
    "numbers as an index": (
        lambda m: fp.take(X, F32(AT)),
        "round first, e.g. i.astype(np.int32)",
        lambda m: fp.take(X, F32(AT).astype(np.int32)),
        X[AT],
    ),
    "a slice from a traced number": (
        lambda m: fused(lambda x, n: x[n + 0 :] + 0, X, 1),
        "take elements at indices, whose number is known",
        lambda m: fused(lambda x, n: fp.take(x, n + np.arange(2, dtype=np.int32)), X, 1),
        X[1:3],
    ),
    "a slice by steps of 0": (
        lambda m: fused(lambda x: x[::0] + 0, X),
        "its step is not 0",
        lambda m: fused(lambda x: x[::1] + 0, X),
        X,
    ),
    "an index of 64 bits": (
        lambda m: fp.take(X, np.array([1 << 40])),
        "mind the extents",
        lambda m: fp.take(X, np.array([1])),
        X[[1]],
    ),
    "a slice under vmap": (
        lambda m: fp.fuse(lambda x: x[1:] + 0).map(x=(1, 0))(IMAGE),
        "slice first, then say the map",
        lambda m: fused(lambda x: fp.vmap(x[1:], (1, 0)) + 0, IMAGE),
        IMAGE[1:].T,
    ),
    "arrays that differ": (
        lambda m: fp.concatenate([IMAGE, X[None]]),
        "reshape, pad or broadcast them first",
        lambda m: fp.concatenate([IMAGE, fp.pad(X[None], ((0, 0), (0, 3)))]),
        np.concatenate([IMAGE, np.pad(X[None], ((0, 0), (0, 3)))]),
    ),
    "a number that is joined": (
        lambda m: fp.concatenate(3.0),
        "write fp.concatenate([a, b])",
        lambda m: fp.concatenate([IMAGE, IMAGE]),
        np.concatenate([IMAGE, IMAGE]),
    ),
    "another way to pad": (
        lambda m: fp.pad(X, 1, mode="mirror"),
        "choose one of constant, edge, wrap, reflect, symmetric",
        lambda m: fp.pad(X, 1, mode="reflect"),
        np.pad(X, 1, mode="reflect"),
    ),
    "an edge of no elements": (
        lambda m: fp.pad(X[:0], 1, mode="edge"),
        "fp.pad(x, width) adds zeros",
        lambda m: fp.pad(X[:0], 1),
        F32([0, 0]),
    ),
    "widths below 0": (
        lambda m: fp.pad(X, (-1, 0)),
        "write (before, behind) for each axis",
        lambda m: fp.pad(X, (1, 0)),
        np.pad(X, (1, 0)),
    ),
    "widths of other axes": (
        lambda m: fp.pad(IMAGE, ((1, 0), (0, 1), (1, 1))),
        "write one pair for each of the 2 axes",
        lambda m: fp.pad(IMAGE, ((1, 0), (0, 1))),
        np.pad(IMAGE, ((1, 0), (0, 1))),
    ),
    "indices of other rows": (
        lambda m: fp.take_along_axis(IMAGE, AT[:, None], axis=1),
        "fp.take(x, i, axis) takes the same elements of every row",
        lambda m: fp.take(IMAGE, AT, axis=1),
        IMAGE[:, AT],
    ),
    "shifts of other axes": (
        lambda m: fp.roll(IMAGE, (1, 2, 3), axis=(0, 1)),
        "pair them",
        lambda m: fp.roll(IMAGE, (1, 2), axis=(0, 1)),
        np.roll(IMAGE, (1, 2), axis=(0, 1)),
    ),
    "repeated a negative number of times": (
        lambda m: fp.repeat(X, -1),
        "0 or more",
        lambda m: fp.repeat(X, 0),
        X[:0],
    ),
    "parts that an axis does not have": (
        lambda m: fp.split(IMAGE, 4, axis=1)[0],
        "name the indices at which to split",
        lambda m: fp.split(IMAGE, (2, 5), axis=1)[0],
        IMAGE[:, :2],
    ),
    "a slice of a generator": (
        lambda m: fused(lambda x: x + fp.fuse(lambda g: g[1:])(fp.linspace(0.0, 1.0, 4)), X),
        "generators compute each element of a grid",
        lambda m: fused(lambda x: x + fp.grid((3,), offset=(1,)), X),
        X + np.arange(1, 4),
    ),
    "a slice of a number": (
        lambda m: fused(lambda x, n: x + n[1:], X, 2.0),
        "add it to an array first, whose axes it then has",
        lambda m: fused(lambda x, n: (x + n)[1:], X, 2.0),
        X[1:] + 2,
    ),
    "a slice in a loop": (
        lambda m: fused(lambda x: fp.fori_loop(0, 2, lambda i, s: s + (i * 2)[:1], x), X),
        "slice arrays before the loop or branch",
        lambda m: fused(lambda x: moved_body(lambda s: x[:1], x), X),
        X + 2 * X[0],
    ),
    "the extents of what follows the grid": (
        lambda m: fused(lambda x, i: x * fp.shape(i)[0], X, fp.thread_id()),
        "ask an array of that grid",
        lambda m: fused(lambda x, i: x * fp.shape(x)[0], X, fp.thread_id()),
        3 * X,
    ),
    "a reshape of very many": (
        lambda m: fused(lambda x: (x + 1).reshape(-1, 4)[0], LARGE),
        "reshape the array before the call",
        lambda m: fused(lambda x: (x + 1)[0], LARGE[:4, :4].reshape(-1, 4)),
        F32([2, 2, 2, 2]),
    ),
    "elements of many axes": (
        lambda m: fused(lambda x, i: x[i] + 0, DEEP, AT // 2),
        "reshape it first",
        lambda m: fused(lambda x, i: x.reshape(2, 3)[i] + 0, DEEP, AT // 2),
        DEEP.reshape(2, 3)[AT // 2],
    ),
    "elements of an empty array": (
        lambda m: fused(lambda x, i: x[i] + 0, X[:0], AT),
        "check x.size before the call: NumPy raises IndexError here; no indices at all are fine",
        lambda m: fused(lambda x, i: x[i] + 0, X[:0], AT[:0]),
        [],
    ),
    "a roll by the index of a loop": (
        lambda m: fp.fuse(lambda x: fp.fori_loop(0, 2, lambda k, s: s + fp.roll(x, k), x))(X),
        "take elements at indices, x[(k - shift) % n], with k = fp.grid((n,)) from outside of the body",
        lambda m: fp.fuse(lambda x: fp.fori_loop(0, 2, lambda k, s: s + x[(fp.grid((X.size,)) - k) % X.size], x))(X),
        2 * X + np.roll(X, 1),
    ),
    "new axes at an index inside a loop": (
        lambda m: fused(lambda x, i: fp.fori_loop(0, 2, lambda k, s: s + x[k, None], 0.0) + i, X, AT),
        "write table[i], table[i, :] or table[i, j]",
        lambda m: fused(lambda x, i: fp.fori_loop(0, 2, lambda k, s: s + x[k], 0.0) + i, X, AT),
        X[0] + X[1] + AT,
    ),
}
