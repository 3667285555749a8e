"""Options of sessions: spirv-opt runs on code for GPUs; a user's defines hold in the user's modules and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from fusepy.backend.slang import session
from fusepy.backend.slang.stage import COMPUTE
from fusepy.backend.sources.libraries import FOLDER
from tests.support.selection import daily

AS_TEXT = ("fusepy_nan", "fusepy_near_zero", "fusepy_powers")  # a session undoes the defines in what it is given as text
LEVEL = spy.SlangOptimizationLevel
NAMES = ["A", "C", "D", "I", "N", "R", "S", "T", "X", "a", "x", "at", "first", "fz_at", "index", "offset", "v0", "value", "x0"]
SOURCE = """import fusepy; import fusepy_double;
[Differentiable] float scaled(float given, Tensor<float,1> table) { return given * table[0] * N; }
double root(double given) { return exp(log(given) / N); }"""


WAYS = [pytest.param(False, id="of the session"), pytest.param(True, id="before the text, as on CUDA", marks=pytest.mark.rest)]


@pytest.mark.parametrize("written", WAYS)
def test_defines_mean_nothing_in_what_fusepy_generates(device: Any, written: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if device.target.kind == "cuda" and not written:
        pytest.skip("such defines reach the headers of CUDA")
    monkeypatch.setattr(session, "macros_are_written", lambda sources, kind: written)
    source = f"// {written}\n{SOURCE}"
    m = fp.Module.load_from_source(device, f"defined_{written}", source, defines=dict.fromkeys(NAMES, "(1 + 1)"))
    x, table = np.float32([1, 2, 3]), np.float32([5])
    assert m.scaled(x, table).tolist() == [10, 20, 30]
    assert fp.fuse(lambda x, t: fp.sum(fp.sqrt(m.scaled(x, t) ** 2), 0))(x, table) == 60
    np.testing.assert_allclose(fp.fuse(lambda x: fp.exp(fp.log(m.root(x))))(np.float64([4, 9])), [2, 3], rtol=1e-15)
    assert fp.grad(lambda t: fp.sum(m.scaled(x, t)))(table).tolist() == [12]


def test_defines_that_are_written_move_no_line(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "macros_are_written", lambda sources, kind: True)
    with pytest.raises(fp.CompileError, match=r"moved\.slang:3:\d+"):
        fp.Module.load_from_source(device, "moved", "// one\n// two\nfloat f() { return N + missing; }", defines={"N": "1"})


def test_each_module_undoes_defines_of_names_that_it_uses() -> None:
    files = {path.stem: path.read_text() for path in FOLDER.glob("*.slang") if path.stem not in (*AS_TEXT, "mlp")}
    assert [name for name, text in files.items() if text.count('#include "fusepy_names.slangh"') != 1] == []


class Loaded:
    """A module with a level of optimisation, or without, and the kernels of a call."""

    def __init__(self, device: Any, level: Any):
        options = {} if level is None else {"optimization": level}
        text = f"float next(float x) {{ return x + 1; }} // {np.random.default_rng().integers(1 << 62)}"
        self.device, self.module = device, fp.Module.load_from_source(device, "levels", text, options=options)

    def optimised(self) -> list[bool]:
        """Calls its function with new kernels, and says of each whether spirv-opt has run."""
        self.device.cache.flush()  # what is written, the next call reads
        fp.clear_cache()
        before = set(self.device.kernels)
        assert fp.fuse(lambda x: self.module.next(x))(np.float32([1, 2])).tolist() == [2, 3]
        return [kernel.codegen.optimised for key, kernel in self.device.kernels.items() if key not in before]


@pytest.mark.parametrize("level", daily([None, LEVEL.default, LEVEL.none], None))
def test_spirv_opt_runs_unless_the_driver_runs_on_the_cpu(device: Any, level: Any) -> None:
    """Or the user's module says otherwise. The disk cache keeps it."""
    wanted = level is LEVEL.default or (level is None and device.target.kind != "software")
    loaded = Loaded(device, level)
    assert [loaded.optimised() for _ in range(2)] == [[wanted]] * 2


@pytest.mark.parametrize("level", daily([None, LEVEL.default, LEVEL.none], None))
def test_what_a_driver_refuses_is_compiled_the_other_way(device: Any, level: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With spirv-opt, or without. The disk cache keeps it."""
    if device.raw.info.type is not spy.DeviceType.vulkan:
        pytest.skip("other devices take no SPIR-V")
    make, asked = type(COMPUTE).pipeline, []

    def refusing(stage: Any, device: Any, program: Any) -> Any:
        asked.append(program)
        if len(asked) == 1:
            raise RuntimeError("the driver refuses this code")
        return make(stage, device, program)

    first = level is LEVEL.default or (level is None and device.target.kind != "software")
    loaded = Loaded(device, level)
    monkeypatch.setattr(type(COMPUTE), "pipeline", refusing)
    assert (loaded.optimised(), len(asked)) == ([not first], 2)
    assert (loaded.optimised(), len(asked)) == ([not first], 3)


@pytest.mark.parametrize("text", ['"x', 'x"', "'", '"a" "b', '"\\"'])
def test_a_define_with_an_open_string_is_named(device: fp.Device, text: str) -> None:
    with pytest.raises(fp.FusepyError, match="the define 'NAME' has a string that does not end") as caught:
        fp.Module.load_from_source(device, "open", "float f() { return 1; }", defines={"NAME": text})
    assert caught.value.hint == "write the text with both quotes, or without any for a name or number"


@pytest.mark.parametrize("written", [False, True])
def test_errors_in_the_text_of_a_define_say_where_it_is(
    device: fp.Device, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    """Where CUDA's compiler would get the defines of a session, they are written before the text."""
    if written:
        monkeypatch.setattr(session, "macros_are_written", lambda sources, kind: True)
    defines = {"A": "'x'", "B": '"it\'s"', "C": "1 // it's"}
    m = fp.Module.load_from_source(device, "closed", "float f() { return C; }", defines=defines)
    assert m.f() == 1
    with pytest.raises(fp.CompileError, match="command line") as caught:
        fp.Module.load_from_source(device, "half_a_pair", "float f() { return N; }", defines={"N": "(1"})
    assert "the value of the define in defines=" in caught.value.hint
