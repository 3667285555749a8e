"""Every error says on which line of the user's program it happened, also where no call is under way."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.errors import IRSyntaxError, VerifyError
from tests.support.slang_functions import F32, ramp

SOURCE = "float add(float a, float b) { return a + b; } struct Ray { float3 p; float reach; }; uniform float gain;"
F64 = np.ones(3, ">f8")

# what takes the user's module, a tensor and the device, on the line that the error must name
WRONG: dict[str, Callable[[Any, Any, Any], Any]] = {
    "vmap, negative": lambda m, t, d: fp.vmap(t, -1),
    "vmap, repeated": lambda m, t, d: fp.vmap(t, (0, 0)),
    "vmap, no numbers": lambda m, t, d: fp.vmap(t, "ab"),
    "vmap twice": lambda m, t, d: fp.vmap(fp.vmap(t, 0), 1),
    "vdim": lambda m, t, d: fp.vdim(fp.vdim(t, 1), 1),
    "vmapping": lambda m, t, d: fp.vmapping(-1),
    "vcast, no type": lambda m, t, d: fp.vcast(t, 7),
    "vcast, no name": lambda m, t, d: fp.vcast(t, "float3)"),
    "vcast twice": lambda m, t, d: fp.vcast(fp.vcast(t, "float"), "int"),
    "vcast to a name": lambda m, t, d: fp.vcast(t, "Ray"),
    "Tensor of text": lambda m, t, d: fp.Tensor("12"),
    "Tensor of big-endian numbers": lambda m, t, d: fp.Tensor(F64),
    "Tensor.empty": lambda m, t, d: fp.Tensor.empty(d, (2.7,)),
    "Tensor.zeros": lambda m, t, d: fp.Tensor.zeros(d, -1),
    "Tensor.full": lambda m, t, d: fp.Tensor.full(d, 3, -1, "uint"),
    "Tensor.arange": lambda m, t, d: fp.Tensor.arange(d, 1000, "uint8_t"),
    "Tensor.from_numpy": lambda m, t, d: fp.Tensor.from_numpy(d, ramp(3, 4), "float3"),
    "Tensor.from_dlpack": lambda m, t, d: fp.Tensor.from_dlpack(d, 3),
    "copy_from_numpy": lambda m, t, d: t.copy_from_numpy(ramp(9)),
    "copy_from": lambda m, t, d: t.copy_from(t[0]),
    "item": lambda m, t, d: t.item(),
    "len": lambda m, t, d: len(t[0, 0]),
    "index": lambda m, t, d: t[7],
    "reshape": lambda m, t, d: t.reshape(5),
    "view": lambda m, t, d: t.view(5),
    "transpose": lambda m, t, d: t.transpose(0, 0),
    "broadcast_to": lambda m, t, d: t.broadcast_to(5),
    "with_grads": lambda m, t, d: fp.Tensor.zeros(d, 3, "int").with_grads(),
    "pickle": lambda m, t, d: pickle.dumps(t),
    "InstanceTensor": lambda m, t, d: fp.InstanceTensor(m.Ray),
    "InstanceList": lambda m, t, d: fp.InstanceList(m.Ray, {"q": 1}),
    "Batchable": lambda m, t, d: fp.Batchable(3),
    "options": lambda m, t, d: m.add.options(numthread=8),
    "options, a value": lambda m, t, d: m.add.options(numthreads=[0]),
    "call_group_shape": lambda m, t, d: m.add.call_group_shape("a"),
    "constants": lambda m, t, d: m.add.constants({"N": "x"}),
    "type_conformances": lambda m, t, d: m.add.type_conformances(3),
    "set": lambda m, t, d: m.add.set(7),
    "declare, no spec": lambda m, t, d: m.add.declare(0),
    "declare, no name": lambda m, t, d: m.add.declare(c=None),
    "map": lambda m, t, d: m.add.map((0, 0)),
    "return_type": lambda m, t, d: m.add.return_type("cupy"),
    "static, no name": lambda m, t, d: fp.fuse(lambda x: x, static=("y",)),
    "static, no hash": lambda m, t, d: fp.fuse(lambda x, k: x, static=("k",))(t, []),
    "fuse": lambda m, t, d: fp.fuse(3),
    "node": lambda m, t, d: m.add.node(outputs=-1),
    "grid": lambda m, t, d: fp.grid((1, -2)),
    "call_id": lambda m, t, d: fp.call_id(9),
    "rand_float": lambda m, t, d: fp.rand_float(seed=-1),
    "linspace": lambda m, t, d: fp.linspace(0, 1, -1),
    "Shape": lambda m, t, d: fp.Shape(2.5),
    "Graph": lambda m, t, d: fp.Graph(inputs=["a", "a"]).get_inputs(),
    "a type of a module": lambda m, t, d: m["float3)"],
    "a function of a module": lambda m, t, d: m.ad,
    "load": lambda m, t, d: fp.load("nowhere.slang"),
    "load, a keyword": lambda m, t, d: fp.load("nowhere.slang", define={}),
    "register": lambda m, t, d: fp.register(3, 4),
}


def test_errors_carry_the_line_of_the_call(device: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    m = fp.Module.load_from_source(device, "lines", SOURCE)
    t = fp.Tensor.from_numpy(device, ramp(2, 3))
    bad: list[str] = []
    for name, wrong in WRONG.items():
        with pytest.raises((fp.FusepyError, TypeError)) as caught:
            wrong(m, t, device)
        line = wrong.__code__.co_firstlineno
        if not (isinstance(caught.value, fp.FusepyError) and str(caught.value).startswith(f"test_lines.py:{line}: ")):
            bad.append(f"{name}: {caught.value!r}"[:200])
        elif not caught.value.hint:
            bad.append(f"{name} has no hint")
    assert not bad, "\n".join(bad)


def test_what_is_to_blame_elsewhere_says_so_itself() -> None:
    for kind in (fp.CompileError, IRSyntaxError, VerifyError):
        assert str(kind("words", hint="do")) == "words\n  hint:     do"
    error = fp.ShapeError("words", hint="do")
    assert re.match(r"test_lines\.py:\d+: words", str(error))
    assert str(error.at("scene.py:3")).startswith("scene.py:3: words")  # who knows better
    assert str(error.at("other.py:4")).startswith("scene.py:3: words")


def test_a_missing_file_lists_where_it_was_searched(device: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fp.CompileError) as caught:
        fp.Module.load_from_file(device, "nowhere.slang")
    folders = [tmp_path, *map(Path, device.include_paths)]
    assert all(str(folder / "nowhere.slang") in str(caught.value.saw) for folder in folders)
    assert "there are none" not in caught.value.hint
    (tmp_path / "nowhere2.slang").write_text("")
    with pytest.raises(fp.CompileError, match=r"did you mean 'nowhere2\.slang'"):
        fp.Module.load_from_file(device, "nowhere.slang")


def test_two_results_that_overlap_are_both_named(device: Any) -> None:
    memory = fp.Tensor.zeros(device, 8)
    both = fp.fuse(lambda x: (x + 1, x * 2))
    with pytest.raises(fp.ShapeError) as caught:
        both(np.ones(5, F32), _result=(memory[:5], memory[3:]))
    assert all(re.search(rf"result {n}|_result\[{n}\]|results? .*{n}", str(caught.value)) for n in (0, 1)), caught.value
