"""Programs after hints about sorted rows, histograms, and products over labelled axes."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hints.support import Program, X, fused
from tests.support.slang_functions import ramp

A, B = ramp(4, 5), ramp(5, 6)
COLOURS = ramp(4, 3)

PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "a descending sort": (
        lambda m: fp.sort(A, descending=True, axis=0),
        "write -fp.sort(-x, axis=0)",
        lambda m: -fp.sort(-A, axis=0),
        -np.sort(-A, axis=0),
    ),
    "descending places": (
        lambda m: fp.argsort(A, reverse=True),
        "write fp.argsort(-x)",
        lambda m: fp.argsort(-A),
        np.argsort(-A),
    ),
    "a sort of vectors": (
        lambda m: fused(lambda c: fp.sort(fp.vcast(c, "float3")), COLOURS),
        "sort an array of numbers, such as one member of the elements",
        lambda m: fused(lambda c: fp.sort(fp.vcast(c, "float3").y), COLOURS),
        np.sort(COLOURS[:, 1]),
    ),
    "more elements than there are": (
        lambda m: fp.topk(A, 6)[0],
        "lower k",
        lambda m: fp.topk(A, 5)[0],
        -np.sort(-A),
    ),
    "a histogram without bins": (
        lambda m: fp.histogram(X, 0)[0],
        "write bins=10",
        lambda m: fp.histogram(X, bins=10)[0],
        np.histogram(X, bins=10)[0],
    ),
    "labelled axes of vectors": (
        lambda m: fused(lambda c: fp.einsum("i->", fp.vcast(c, "float3")), COLOURS),
        "take members of vectors first",
        lambda m: fused(lambda c: fp.einsum("i->", fp.vcast(c, "float3").y), COLOURS),
        COLOURS[:, 1].sum(),
    ),
    "axes of one label that differ": (
        lambda m: fp.einsum("ij,ij->i", A, B),
        "axes of one label are equally long",
        lambda m: fp.einsum("ij,jk->ik", A, B),
        A @ B,
    ),
    "labels that do not fit": (
        lambda m: fp.einsum("ijk,jk->ik", A, B),
        "such as ij,jk->ik for a product of matrices",
        lambda m: fp.einsum("ij,jk->ik", A, B),
        A @ B,
    ),
    "a quantile beyond 1": (
        lambda m: fp.quantile(X, 25),
        "write fp.quantile(x, 0.25)",
        lambda m: fp.quantile(X, 0.25),
        np.quantile(X, 0.25),
    ),
    "a median of nothing": (
        lambda m: fp.median(X[:0]),
        "check the size first",
        lambda m: fp.median(X[:0]) if X[:0].size else 0.0,
        0.0,
    ),
    "conditions without choices": (
        lambda m: fp.select([X > 1, X > 0], [X]),
        "pair them",
        lambda m: fp.select([X > 1, X > 0], [X, -X]),
        np.select([X > 1, X > 0], [X, -X]),
    ),
    "a grid in another order": (
        lambda m: fp.meshgrid(X, X, indexing="yx")[0],
        "write indexing='ij'",
        lambda m: fp.meshgrid(X, X, indexing="ij")[0],
        np.meshgrid(X, X, indexing="ij")[0],
    ),
}
