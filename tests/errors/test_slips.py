"""Slips of users of slangpy, NumPy, torch and JAX: each is refused with the line to write, and the line runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.elsewhere import NAMES, OF_FUNCTIONS, OF_NN, OF_RANDOM, OF_TENSORS, OF_TRACED
from fusepy.methods import METHODS
from tests.errors.skeletons import ledger
from tests.support.selection import seldom

SOURCE = """
float add(float a, float b) { return a + b; }
float luma(float3 c) { return dot(c, float3(0.25, 0.5, 0.25)); }
uniform float gain; float gained(float x) { return gain * x; }
interface IShape { float area(); }; struct Box : IShape { float a; float area() { return a * a; } };
float area(IShape s) { return s.area(); }
"""
X = np.float32([[0.5, 2.0], [1.0, 4.0]])
ATTRIBUTES = {
    **{f"fp.{name}": None for name in NAMES},
    **{f"fp.random.{name}": None for name in OF_RANDOM},
    **{f"fp.nn.{name}": None for name in OF_NN},
    **{f"t.{name}": None for name in OF_TENSORS},
    **{f"g.{name}": None for name in OF_FUNCTIONS},
}
# the code, and what the line gives; what a fused function of t makes follows "fused: "
SLIPS: dict[str, Any] = {
    **ATTRIBUTES,
    **{f"fused: t.{name}": None for name, hint in OF_TRACED.items() if hint.startswith("write ") and name not in METHODS},
    # JAX
    "fp.vmap(f, 0)": None,
    "fp.vmap(f, in_axes=0)": None,
    "fp.vmap(m.add, (0, 0))": None,
    # torch
    "fp.sum(x, dim=1)": X.sum(1),
    "fp.sum(x, axis=1, keepdim=True)": X.sum(1, keepdims=True),
    "t.sum(dim=0)": 2.5,
    "t.cumsum(dim=0)": np.float32([0.5, 2.5]),
    "fp.std(x, correction=1)": X.std(ddof=1),
    "fp.softmax(x, dim=0)": None,
    "fp.stack([x, y], dim=1)": np.stack([X, X + 1], 1),
    "fp.concatenate([x, y], dim=1)": np.concatenate([X, X + 1], 1),
    # NumPy and JAX
    "fp.mean(x, where=x > 1)": X.mean(where=X > 1),
    "fp.max(x, initial=5.0)": 5.0,
    "fp.max(x, dtype=float)": 4.0,
    "fp.fuse(f, static_argnums=(0,))": None,
    "fp.random.uniform((2, 3))": None,
    "fp.random.normal(0, 1, (2, 3))": None,
    "fp.zeros(2, 3)": np.zeros((2, 3)),
    "fp.max(x, dim=0)": X.max(0),
    # Python and NumPy of traced values
    "fused: 1.0 if t > 1 else t": "where",
    "fused: t > 0 and t < 2": "where",
    "fused: 0 < t < 2": "where",
    "fused: float(t)": "cast",
    "fused: int(t)": "cast",
    "fused: round(t)": np.float32([0, 2]),
    "fused: math.sin(t)": "cast",
    "fused: pow(t, 2, 3)": "modulus",
    "fused: t.item()": "return",
    "fused: t.numpy()": "return",
    "fused: t.tolist()": "return",
    "fused: f'{t:.2f}'": "return",
    "fused: np.asarray(t)": "where",
    "fused: np.where(t > 1)": "where",
    # slangpy and Slang
    "m.lum": "did",
    "m.add.grad": 2 * X,
    "m.add(1.0)": "missing",
    "m.gained(x)": "set",
    "m.area({'a': 2.0})": "type",
}
NUMPYS = {  # names of NumPy's, and what NumPy gives
    "fp.permute_dims": X.T,
    "fp.mm": X @ (X + 1),
    "fp.append": np.append(X, X + 1, 0),
    "t.clamp": np.float32([0.5, 1.0]),
    "t.norm": np.linalg.norm([0.5, 2.0]),
    "t.median": 1.25,
    "t.searchsorted": 1,
    "fp.linalg": np.linalg.norm(X),
    "fp.dstack": np.dstack([X, X + 1]),
    "fp.identity": np.eye(3),
    "fp.unique": np.unique(X),
    "fp.column_stack": np.column_stack([X[0], X[0] + 1]),
    "t.add_": np.float32([2.5, 4.0]),
    "t.zero_": np.float32([0, 0]),
    "t.at": np.float32([1, 2]),
}
FINE = {  # what the hints that are no single line say, as a line
    "where": "fp.where(t > 1, 1.0, t)",
    "cast": "fp.vcast(t, 'float')",
    "modulus": "pow(t, 2) % 3",
    "return": "t",
    "did": "m.luma",
    "missing": "m.add(1.0, b=2.0)",
    "set": "m.gained.set(gain=2.0)(x)",
    "type": "m.area({'_type': 'Box', 'a': 2.0})",
}
SAYS = {  # the words of these hints
    "where": "where",
    "cast": "fp.vcast(value, '",
    "modulus": "write pow(a, b) % c",
    "return": "no number yet",
    "did": "did you mean 'luma'?",
    "missing": "pass b=",
    "set": "call .set(gain=",
    "type": "say which struct it is: {'_type': 'Name'",
}


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "slips", SOURCE)


def names(m: Any) -> dict[str, Any]:
    t, f = fp.Tensor([0.5, 2.0]), lambda x: fp.sum(x * x)
    return {"fp": fp, "np": np, "math": __import__("math"), "m": m, "x": X, "y": X + 1, "t": t, "f": f, "g": fp.fuse(f)}


def run(code: str, given: dict[str, Any]) -> Any:
    """Runs a line of Python; one that begins with "fused: " in a fused function of t."""
    if code.startswith("fused: "):
        inner = code.removeprefix("fused: ")
        return fp.fuse(lambda t: run(inner, {**given, "t": t, "value": t}))(given["t"])
    try:
        compile(code, "line", "eval")
    except SyntaxError:  # an assignment
        exec(code, given)
        return given["t"]
    return eval(code, given)


def line_of(hint: str) -> str:
    """Returns the line that a hint says to write: up to the comma that is in no bracket and in no string."""
    text = re.search(r"(?:write|use) (.*)", hint)
    assert text is not None, hint
    found = text[1].replace("fusepy.", "fp.")
    ends = [*(match.start() for match in re.finditer(", |; ", found)), len(found)]
    return next(found[:end] for end in ends if all(found[:end].count(a) == found[:end].count(b) for a, b in ("()", "[]", "{}")))


*_, LONG = ledger("hints_rest.txt").values()


@pytest.mark.parametrize("slip", seldom(SLIPS, *LONG))
def test_the_error_has_the_line_to_write_and_it_runs(
    m: fp.Module, slip: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fp.FusepyError) as caught:
        run(slip, names(m))
    hint, wanted = caught.value.hint, SLIPS[slip]
    if isinstance(wanted, str):
        assert SAYS[wanted] in hint
        line, wanted = FINE[wanted], None
    else:
        line = line_of(hint)
        if re.fullmatch(r"\w+=\w+", line):  # a keyword under another name
            line = re.sub(rf"\w+={line.partition('=')[2]}", line, slip)
    if "safetensors" in line:
        pytest.importorskip("safetensors")
    made = run(("fused: " if slip.startswith("fused: ") and "fp.grad" not in line else "") + line, names(m))
    wanted = NUMPYS.get(slip, wanted)
    if wanted is not None:
        np.testing.assert_allclose(np.asarray(made), wanted, rtol=1e-5)


def test_there_are_a_hundred() -> None:
    assert len(SLIPS) >= 100


def test_other_names_are_as_they_were() -> None:
    for value in (fp, fp.random, fp.nn, fp.Tensor([1.0]), fp.fuse(lambda x: x)):
        with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
            value.nonsense  # noqa: B018
    assert fp.float3 is not None
