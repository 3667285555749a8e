"""Whatever a user of Python, NumPy or torch tries with a traced or mapped value is an error of fusepy, or has a meaning."""

from __future__ import annotations

import copy
import json
import math
import operator
import os
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp, same

HERE = os.path.basename(__file__)
X = ramp(5, start=-0.5)


def _assign(a: Any) -> None:
    a[0] = 1


def _attribute(a: Any) -> None:
    a.x = 1


def _delete(a: Any) -> None:
    del a[0]


def _loop(a: Any) -> None:
    for v in a:
        print(v)


def _with(a: Any) -> Any:
    with a:
        return a


def _unpack(a: Any) -> Any:
    p, q = a
    return p + q


def _store(a: Any) -> Any:
    np.zeros(5)[0] = a


# ruff: noqa: E501, UP031, SIM115
NEVER: list[Callable[[Any], Any]] = [
    _assign, _attribute, _delete, _with, _store, int, float, complex, bool, sorted,
    bytes, hex, chr, range, round, math.sin, math.sqrt, math.floor, math.isnan, math.fsum, json.dumps, operator.index, any,
    lambda a: "%d" % a, lambda a: f"{a:.2f}", lambda a: [1, 2, 3][a], lambda a: [1, 2, 3][:a], lambda a: "ab" * a,
    lambda a: math.pow(a, 2), lambda a: math.hypot(a, a), lambda a: pow(a, 2, 3), lambda a: 1.0 in a, lambda a: a in {1.0}, lambda a: {1.0: 2}[a], hash,
    lambda a: next(a), lambda a: a(1), lambda a: open(a), lambda a: a + "x", lambda a: "x" + a, lambda a: a + None,
    lambda a: a == "x", lambda a: a + {}, lambda a: a + 1j, lambda a: a["x"],
    lambda a: a[1.5], lambda a: a[a > 0], lambda a: np.array([a, a]), lambda a: np.asarray(a), lambda a: np.zeros(a),
    lambda a: np.float32(a),
    lambda a: np.arange(5)[a], lambda a: np.full(3, a),
    lambda a: a._data, lambda a: a.sin(), lambda a: setattr(a, "foo", 1),
    *(operator.attrgetter(name) for name in (
        "dtype", "at", "numpy", "cpu", "clone", "detach", "item", "tolist",
        "view", "copy", "to", "device", "real", "imag", "grad", "backward", "foo",
    )),
]  # fmt: skip
# what arrays are asked for, and mapped values are not
ARRAYS: list[Callable[[Any], Any]] = [
    len, list, tuple, dict, iter, _loop, _unpack, enumerate, lambda a: zip(a, a), np.shape, np.transpose, lambda a: np.concatenate([a, a]), lambda a: a[1:], lambda a: a[None], lambda a: a[[0, 1]],
    *(operator.attrgetter(name) for name in ("T", "shape", "ndim", "size", "reshape", "ravel", "flatten", "squeeze")),
]  # fmt: skip
BOOLS = [lambda a: (a > 0) and (a < 1), lambda a: (a > 0) or 1, lambda a: not a, lambda a: 0 < a < 1, lambda a: min(a, 1.0)]
BOOLS += [lambda a: max(1.0, a), lambda a: sorted([a, a]), lambda a: a in [1.0, 2.0], lambda a: [1.0].index(a), all]


def _refused(use: Callable[[Any], Any], call: Callable[[], Any]) -> None:
    with pytest.raises(fp.FusepyError) as caught:
        call()
    assert caught.value.hint, str(caught.value)
    assert re.match(rf"{re.escape(HERE)}:\d+: ", str(caught.value)), str(caught.value)
    code = getattr(use, "__code__", None)
    if code is not None and code.co_filename == __file__:
        lines = {line for _, _, line in code.co_lines() if line}
        assert int(str(caught.value).split(":")[1]) in lines, f"not the user's own line: {caught.value}"


def test_what_a_traced_value_cannot_be(device: Any) -> None:
    for use in (*NEVER, *BOOLS, pickle.dumps):
        _refused(use, lambda: fp.fuse(lambda a: use(a))(X))  # noqa: B023
        if use not in (
            pickle.dumps,
            *BOOLS,
        ):  # a mapped value is pickled as its parts; comparisons give arrays outside of a trace
            _refused(use, lambda: fp.fuse(lambda a: use(fp.vmap(a, 0)))(X))  # noqa: B023
    for use in ARRAYS:
        _refused(use, lambda: fp.fuse(lambda a: use(fp.vmap(a, 0)))(X))  # noqa: B023
    same(fp.fuse(lambda a: a + 1)(X), X + 1)


def test_copies_of_traced_values_are_the_values(device: Any) -> None:
    same(fp.fuse(lambda a: copy.deepcopy({"a": a})["a"] + copy.copy(a))(X), 2 * X)


def test_what_a_mapped_value_cannot_be_outside_of_a_trace(device: Any) -> None:
    python = {json.dumps, reversed, open}  # what Python itself says of any object
    for use in NEVER[: NEVER.index(operator.index)]:
        if use not in python and use is not _store:
            _refused(use, lambda: use(fp.vmap(X, 0)))  # noqa: B023
    same(abs(fp.vmap(X, 0)), abs(X))


def test_what_torch_cannot_take(device: Any) -> None:
    torch = pytest.importorskip("torch")
    for use in (
        torch.sin,
        torch.sum,
        torch.relu,
        lambda a: torch.stack([a, a]),
        lambda a: torch.where(a > 0, a, a),
        torch.from_numpy,
    ):
        _refused(use, lambda: fp.fuse(lambda a: use(a))(X))  # noqa: B023
    same(fp.fuse(lambda a: torch.ones(5) + a)(X), X + 1)


def test_errors_of_the_user_pass_as_they_are(device: Any) -> None:
    """Also those that show a traced value."""

    def raises(error: Exception) -> Callable[[Any], Any]:
        def run(a: Any) -> Any:
            error.args = (f"not for me: {a!r}",)
            raise error

        return run

    for error in (TypeError(), ValueError(), AttributeError(), KeyError(), RuntimeError()):
        with pytest.raises(type(error), match="not for me") as caught:
            fp.fuse(raises(error))(X)
        assert caught.value is error
    with pytest.raises(TypeError, match="unsupported operand"):
        fp.fuse(lambda a: a + len(None + 1))(X)  # type: ignore[operator]


def test_functions_that_can_be_fused(device: Any) -> None:
    same(fp.fuse(operator.add)(X, F32(1)), X + 1)
    same(fp.fuse(lambda a, /, b: a - b)(X, b=F32(1)), X - 1)
    same(fp.fuse(lambda a, n, /, *, k=2: a * n * k, static=("n",))(X, 3), X * 6)
    for function in (int, str, max, np.add, "text", 3):
        with pytest.raises(fp.ArgumentError, match=rf"{HERE}:\d+: fuse\(\)") as caught:
            fp.fuse(function)
        assert caught.value.hint
    with pytest.raises(fp.ArgumentError, match="positional only"):
        fp.fuse(lambda a, /: a)(a=X)


def test_the_identity_of_a_fold_by_its_name(lib: Any) -> None:
    for given in (X, fp.vmap(X, 0)):
        assert fp.reduce(lib.add, given, identity=0) == fp.reduce(lib.add, 0, given) == fp.reduce(lib.add, identity=0, x=given)
    same(fp.scan(lib.add, X, identity=0), fp.scan(lib.add, 0, X))
    same(fp.reduce(lib.add, ramp(2, 3), 1, identity=0), fp.reduce(lib.add, 0, ramp(2, 3), axis=1))
