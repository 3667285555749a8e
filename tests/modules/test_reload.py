"""Hot reload, and modules that slangpy has loaded."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp

FIRST = """
import reload_lib;
struct Ray { float a; };
float f(float x) { return x; }
float g(float x) { return k() * x; }
float of(Ray r) { return r.a; }
"""


NUMBERS = itertools.count()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "reload_lib.slang").write_text("public float k() { return 10; }")
    (tmp_path / "hot.slang").write_text(FIRST)
    return tmp_path


def test_functions_and_fused_functions_pick_up_the_new_source(device: Any, folder: Path) -> None:
    m = fp.Module.load_from_file(device, folder / "hot.slang")
    f, declared = m.f, m.f.declare(fp.vmapping(0))

    @fp.fuse
    def look(x: Any) -> Any:
        return m.f(x) + 1

    @fp.fuse(static=("n",))
    def several(x: Any, n: int) -> Any:
        return f(x) * n

    assert (f(2.0), declared([3.0]), look([1.0]), several([2.0], n=2)) == (2.0, [3.0], [2.0], [4.0])
    assert m.reload() is False
    (folder / "hot.slang").write_text(
        FIRST.replace("float f(float x) { return x; }", "float f(float x, float y = 5) { return x * y; }")
    )
    assert f(2.0) == 2.0  # on request only
    assert m.reload() is True
    assert (f(2.0), f(2.0, 3.0), declared([3.0]), look([1.0]), several([2.0], n=2)) == (10.0, 6.0, [15.0], [6.0], [20.0])
    assert m.f(1.0, 2.0) == 2.0
    before = fp.stats()
    f(2.0)
    assert fp.stats().plan_misses == before.plan_misses


def test_imports_types_and_names_that_are_gone(device: Any, folder: Path) -> None:
    m = fp.Module.load_from_file(device, folder / "hot.slang")
    ray, old = m.Ray, m.f
    tensor = fp.Tensor.from_numpy(device, np.zeros(2, ray.dtype), ray)
    assert m.g(2.0) == 20.0
    (folder / "reload_lib.slang").write_text("public float k() { return 20; }")
    assert m.reload() is True
    assert m.g(2.0) == 40.0
    (folder / "hot.slang").write_text(
        "struct Ray { float b; float a; }; float h(float x) { return -x; } float of(Ray r) { return r.a; }"
    )
    assert m.reload() is True
    rays = np.zeros(2, ray.dtype)
    rays["a"] = 7
    assert m.of(rays).tolist() == [7, 7]
    with pytest.raises(fp.UnsupportedArgumentError, match="before module 'hot' was reloaded"):
        m.of(tensor)
    with pytest.raises(fp.UnknownNameError, match="'f'"):
        old(1.0)
    assert m.h(1.0) == -1.0
    assert "f" not in dir(m)


def test_a_source_that_fails_leaves_the_old_one(device: Any, folder: Path) -> None:
    path = folder / "hot.slang"
    m = fp.Module.load_from_file(device, path)
    path.write_text("float f(float x) { return x }")
    said: list[str] = []
    for _ in range(2):
        with pytest.raises(fp.CompileError, match=r"hot\.slang") as caught:
            m.reload()
        said.append(str(caught.value))
    assert said[0] == said[1]  # misuse row 17
    assert m.f(2.0) == 2.0
    path.unlink()
    with pytest.raises(fp.CompileError, match="the old source keeps working"):
        m.reload()
    path.write_text(FIRST.replace("return x;", "return -x;"))
    assert m.reload() is True
    assert m.f(2.0) == -2.0


def test_all_or_none(device: Any, folder: Path) -> None:
    (folder / "other.slang").write_text("float o(float x) { return x; }")
    hot, other = (fp.Module.load_from_file(device, folder / name) for name in ("hot.slang", "other.slang"))
    (folder / "hot.slang").write_text(FIRST.replace("return x;", "return 3 * x;"))
    (folder / "other.slang").write_text("float o(float x) { return }")
    with pytest.raises(fp.CompileError):
        fp.reload_all(device)
    assert (hot.f(1.0), other.o(1.0)) == (1.0, 1.0)
    (folder / "other.slang").write_text("float o(float x) { return 2 * x; }")
    assert {m.name for m in fp.reload_all(device)} == {"hot", "other"}
    assert (hot.f(1.0), other.o(1.0)) == (3.0, 2.0)
    assert fp.reload_all() == []


def test_globals_and_entry_points_after_a_reload(device: Any) -> None:
    text = "uniform float k; float f(float x) { return x * k; } void grow(uint tid, float* p) { p[tid] = 1; }"
    m = fp.Module.load_from_source(device, "reload_globals", text)
    f, p = m.f.set(k=2), fp.Tensor.zeros(device, 2)
    assert f(3.0) == 6.0
    m.grow.dispatch(2, p)
    grow = m.grow
    m.reload(text.replace("x * k", "x + k").replace("= 1", "= 5"))
    assert f(3.0) == 5.0
    grow.dispatch(2, p)
    assert p.to_numpy().tolist() == [5, 5]
    m.reload("float f(float x) { return x; }")
    with pytest.raises(fp.UnknownNameError, match="no global 'k'"):
        f(3.0)


def composed(module: spy.SlangModule) -> Any:
    """What ``slangpy.Module`` holds: the module, put together with another one that slangpy needs."""
    other = module.session.load_module_from_source(f"beside_{next(NUMBERS)}", "float beside() { return 1; }")

    class Shell:
        device_module = module.session.compose_modules(module.name, [other, module])

    return Shell()


@pytest.mark.req("F19")
def test_modules_of_slangpy(device: Any, folder: Path) -> None:
    inner = device.sgl.load_module(str(folder / "hot.slang"))
    m = fp.Module.from_slangpy(inner)
    assert (m.name, m.device) == ("hot", device)
    assert m.g(2.0) == 20.0
    assert fp.get_function(inner, "f")(3.0) == 3.0

    assert fp.NodeLibrary.from_module(inner, ["f"])["f"] is not None

    class Ray(fp.Struct):  # a class of a module that slangpy has loaded
        def __init__(self, module: Any, a: Any):
            super().__init__(module)
            self.a = a

    @fp.struct("Ray")
    class Fixed:
        def __init__(self) -> None:
            self.a = 5.0

    first, second = Ray(inner, 4.0), Fixed(inner)
    assert (m.of(first), m.of(second)) == (4.0, 5.0)
    assert first._module is second._module  # loaded once
    with pytest.raises(fp.ArgumentError, match=r"slangpy\.Module"):
        Ray("hot", 1.0)

    whole = composed(inner)
    assert fp.Module.from_slangpy(whole).f(1.0) == 1.0
    assert m.of(Ray(whole, 4.0)) == 4.0
    other = spy.Device(type=spy.DeviceType.vulkan, enable_rhi_validation=False, enable_hot_reload=False)
    foreign = fp.Module.from_slangpy(other.load_module(str(folder / "hot.slang")))
    assert foreign.device.sgl is other
    assert fp.Tensor.zeros(other, 2).device is foreign.device
    assert foreign.f([1.0]) == [1.0]
    with pytest.raises(fp.ArgumentError, match=r"slangpy\.Module"):
        fp.Module.from_slangpy("hot")


@pytest.mark.req("F19")
def test_modules_of_slangpy_from_strings(device: Any, folder: Path) -> None:
    """slangpy does not keep their texts: they are given once, and have to be the right ones."""
    text = "struct Scaler { float k; void scale(inout float x) { x *= k; } }\nfloat f(float x) { return x + 3; }\n"

    class Scaler(fp.Struct):
        scale: fp.Function

        def __init__(self, module: Any, k: float):
            super().__init__(module)
            self.k = k

    ways: dict[str, Any] = {
        "hot": device.sgl.load_module_from_source,  # there is a file hot.slang as well
        "hotter": lambda *args: composed(device.sgl.load_module_from_source(*args)),
    }
    for name, make in ways.items():
        theirs = make(name, text)
        for take in (fp.Module.from_slangpy, lambda module: fp.get_function(module, "f"), lambda module: Scaler(module, 2.0)):
            with pytest.raises(fp.ArgumentError, match=r"from a string(.|\n)*from_slangpy\(module, source=text\)"):
                take(theirs)
        for wrong in (text + "//", "no Slang", ""):
            with pytest.raises(fp.ArgumentError, match="not the text of module"):
                fp.Module.from_slangpy(theirs, source=wrong)
        assert fp.Module.from_slangpy(theirs, source=text).f([1.0]) == [4.0]
        assert fp.get_function(theirs, "f")(1.0) == 4.0
        numbers = fp.Tensor([1, 2, 3], device=device)
        Scaler(theirs, 2.0).scale(numbers)
        assert numbers.tolist() == [2, 4, 6]
        assert fp.Module.from_slangpy(make(name + "_2", text.replace("3", "4")), text.replace("3", "4")).f(1.0) == 5.0
    with pytest.raises(fp.ArgumentError, match="loaded from a file with another text"):
        fp.Module.from_slangpy(device.sgl.load_module(str(folder / "hot.slang")), source=text)
