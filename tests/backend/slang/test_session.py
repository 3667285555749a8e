"""A user's defines: they hold in the user's modules and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusepy as fp
from fusepy.backend.sources.libraries import FOLDER

AS_TEXT = ("fusepy_nan", "fusepy_near_zero", "fusepy_powers")  # a session undoes the defines in what it is given as text
NAMES = ["A", "C", "D", "I", "N", "R", "S", "T", "X", "a", "x", "at", "first", "fz_at", "index", "offset", "v0", "value", "x0"]
SOURCE = """import fusepy; import fusepy_double;
[Differentiable] float scaled(float given, Tensor<float,1> table) { return given * table[0] * N; }
double root(double given) { return exp(log(given) / N); }"""


def test_defines_mean_nothing_in_what_fusepy_generates(device: Any) -> None:
    m = fp.Module.load_from_source(device, "defined", SOURCE, defines=dict.fromkeys(NAMES, "(1 + 1)"))
    x, table = np.float32([1, 2, 3]), np.float32([5])
    assert m.scaled(x, table).tolist() == [10, 20, 30]
    assert fp.fuse(lambda x, t: fp.sum(fp.sqrt(m.scaled(x, t) ** 2), 0))(x, table) == 60
    np.testing.assert_allclose(fp.fuse(lambda x: fp.exp(fp.log(m.root(x))))(np.float64([4, 9])), [2, 3], rtol=1e-15)
    assert fp.grad(lambda t: fp.sum(m.scaled(x, t)))(table).tolist() == [12]


def test_each_module_undoes_defines_of_names_that_it_uses() -> None:
    files = {path.stem: path.read_text() for path in FOLDER.glob("*.slang") if path.stem not in (*AS_TEXT, "mlp")}
    assert [name for name, text in files.items() if text.count('#include "fusepy_names.slangh"') != 1] == []
