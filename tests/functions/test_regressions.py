"""Regressions found by a review: numbers of several classes, definitions, results that do not fit, several devices."""

from __future__ import annotations

import gc
import itertools
import weakref
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.marshals.base import Description
from fusepy.ir.types import Type
from tests.support.selection import daily
from tests.support.slang_functions import F32, ramp, same

NUMBERS = [2, 2.0, True, np.float32(2), np.float64(2), np.int32(2), np.int64(2), np.uint8(2), np.bool_(True)]


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(NUMBERS, 2)), ids=lambda v: type(v).__name__)
def test_numbers_of_every_class_after_each_other(lib: Any, first: Any, second: Any) -> None:
    add = lib.find_function("add")
    assert add(first, 1.0) == float(first) + 1
    assert add(second, 1.0) == float(second) + 1


def test_numpy_integers_widen_as_python_ones_do(device: Any) -> None:
    plus = fp.fuse(lambda a: a + 1)
    assert plus(np.int64(1 << 40)) == plus(1 << 40) == (1 << 40) + 1


@pytest.mark.req("C16")
def test_grid_for_unsigned_coordinates(device: Any) -> None:
    m = fp.Module.load_from_source(device, "unsigned_grid", "uint2 same(uint2 p) { return p; } float2 at(float2 p) { return p; }")
    wanted = np.stack(np.meshgrid(np.arange(3), np.arange(2)), -1)
    same(m.same(fp.grid((2, 3)), _result="numpy"), wanted.astype(np.uint32))
    same(m.at(fp.grid((2, 3)), _result="numpy"), wanted.astype(F32))


def test_structs_on_another_device_than_the_default_one(device: Any) -> None:
    other = fp.init_device(device.raw.info.type.name)
    m = fp.Module.load_from_source(other, "elsewhere", "struct P { float t; }; float twice(P p) { return 2 * p.t; }")
    given = np.zeros(3, m.P.dtype)
    given["t"] = ramp(3)
    same(fp.fuse(lambda p: m.twice(p) * p.t)(given), 2 * ramp(3) ** 2)
    other.close()


def test_tensors_iterate(device: Any) -> None:
    t = fp.Tensor.from_numpy(device, ramp(3, 2))
    assert [row.shape for row in t] == [(2,)] * 3
    with pytest.raises(fp.ShapeError):
        t[ramp(3, 2) > 1]


def test_constructors_of_numbers(lib: Any) -> None:
    assert lib.float3(1) == fp.float3(1, 1, 1)  # a vector, as in fused functions
    assert lib.float3(1, 2, 3) == fp.float3(1, 2, 3)
    same(lib.double2(1, 2), np.array([1, 2], np.float64))
    for wrong in (lambda: lib.float3(1, 2), lambda: lib.int(1.5)):
        with pytest.raises(fp.ArgumentError, match="hint"):
            wrong()
    with pytest.raises(fp.RangeError):
        lib.uint(-1)


def test_defines_and_options(device: Any) -> None:
    source = "float scaled(float x) { return x * FACTOR; }"
    for n in (4, "4", 4.0):
        assert fp.Module.load_from_source(device, "defined", source, defines={"FACTOR": n}).scaled(2.0) == 8
    with pytest.raises(fp.ArgumentError, match="nonsense"):
        fp.Module.load_from_source(device, "optioned", source, defines={"FACTOR": 1}, options={"nonsense": 1})


def test_a_result_that_does_not_fit_changes_nothing(device: Any) -> None:
    m = fp.Module.load_from_source(device, "failing", "float g(inout float a, float b) { a += b; return a; }")
    t = fp.Tensor.zeros(device, 3)
    with pytest.raises(fp.ShapeError):
        m.g(t, 1.0, _result=np.zeros(4, F32))
    same(t.to_numpy(), np.zeros(3, F32))


def test_as_many_results_as_there_are(device: Any) -> None:
    two = fp.fuse(lambda a: (a + 1, a * 2))
    t = fp.Tensor.from_numpy(device, ramp(4))
    with pytest.raises(fp.ArgumentError, match="1 results"):
        two(t, _result=(fp.Tensor.empty(device, 4),))


def test_asking_the_wrong_thing(lib: Any) -> None:
    with pytest.raises(fp.ArgumentError, match="explain"):
        fp.resolve(fp.fuse(lambda x: lib.add(x, 1)), 1.0)
    with pytest.raises(fp.ArgumentError, match="fuse"):
        fp.fuse(3)  # type: ignore[call-overload]
    with pytest.raises(OverflowError):
        lib.add_int([1 << 70], 1)


def test_stats_count_all_open_devices(lib: Any, device: Any) -> None:
    before = fp.stats().dispatches
    lib.add(ramp(3), 1.0)
    assert fp.stats().dispatches == before + 1
    assert fp.stats()["dispatches"] >= fp.stats(device).dispatches


@pytest.mark.parametrize("networks", [False, pytest.param(True, marks=pytest.mark.rest)])
def test_sums_over_all_devices_never_fall(device: Any, networks: bool) -> None:
    """A device that is dropped takes no event with it, and fusepy's own modules of networks do not keep it."""
    opened = fp.init_device(include_paths=["/of/this/test"])
    twice = fp.Module.load_from_source(opened, "dropped_later", "float twice(float x) { return 2 * x; }").twice
    assert twice(3.0) == 6
    params, step = {"a": fp.Tensor.zeros(opened, 2, "float")}, None
    if networks:
        step = fp.training_step(lambda p, x: fp.sum((p["a"] - x) ** 2), fp.nn.SGD(lr=0.5))
        assert float(step(params, fp.nn.FrequencyEncoding(1, 1, opened)(fp.Tensor.zeros(opened, (3, 1), "float")))) == 3
    before = fp.stats()
    dropped = weakref.ref(opened)
    del opened, twice, params, step
    gc.collect(1)
    assert dropped() is None
    after = fp.stats()
    assert (after.dispatches, after.kernels_compiled) == (before.dispatches, before.kernels_compiled)
    assert fp.stats(device).dispatches <= after.dispatches


def test_a_class_can_be_registered_again(lib: Any) -> None:
    class Celsius(float):
        pass

    class Shifted:
        """A number that is one more than it says."""

        returns = "scalar"

        def key(self, value: Any) -> Any:
            return "shifted"

        def describe(self, value: Any) -> Any:
            return Description(Type.parse("float"), (), "", weak=True)

        def place(self, value: Any, type: Any, device: Any) -> Any:
            return float(value) + 1

    assert lib.add(Celsius(2.0), 1.0) == 3  # as the float that it is
    fp.register(Celsius, Shifted())
    assert lib.add(Celsius(2.0), 1.0) == 4


def test_a_product_of_sums_with_themselves(lib: Any) -> None:
    """The kernel of the sums computes the products too, so that of the product of matrices only adds."""

    def squared(v: Any) -> Any:
        total = fp.sum(v, axis=1)
        return total @ total

    a = ramp(6, 3)
    assert fp.fuse(squared)(a) == float(a.sum(1) @ a.sum(1))
    with fp.lazy():
        late = squared(fp.Tensor.from_numpy(lib.device, a))
    assert float(late) == float(a.sum(1) @ a.sum(1))


def test_functions_with_the_names_of_generated_locals(device: Any) -> None:
    """One kernel of each kind calls them all, so each stands beside whatever such a kernel names so."""
    names = ["a0", "a_x", "f0", "r", "r_0", "v0", "v1", "x0"]
    source = "".join(f"[Differentiable] float {name}(float x, float y) {{ return x * x * y; }}\n" for name in names)
    m = fp.Module.load_from_source(device, "named", source)
    functions = [m[name] for name in names]
    x, y, square = F32([1, 2, 3]), F32([3, 2, 1]), np.ones((4, 4), F32)

    def alike(found: Any, wanted: Any) -> None:
        for name, value in zip(names, found, strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-6, err_msg=name)

    def fused(of: Any, *args: Any) -> Any:
        return fp.FusedFunction(lambda *args: tuple(of(f, *args) for f in functions))(*args)

    alike([f(x, y) for f in functions], x * x * y)
    alike(fused(lambda f, x, y: f(f(x, y), y), x, y), (x * x * y) ** 2 * y)
    alike(fused(lambda f, x, y: fp.sum(f(x, y) * f(y, x)), x, y), np.sum((x * y) ** 3))
    alike(fused(lambda f, a, b: f(a @ b, b), square, square), 16 * square)
    alike(fused(lambda f, x: fp.grad(lambda x: fp.sum(f(x, y)))(x), x), 2 * x * y)
    alike(fused(lambda f, x: fp.jvp(f, (x, y), (x, y)).d, x), 3 * x * x * y)
    looped = lambda f, x: fp.grad(lambda x: fp.sum(fp.fori_loop(0, 2, lambda k, c: c + f(x, y), 0.0 * x)))(x)  # noqa: E731
    alike(fused(looped, x), 4 * x * y)


@pytest.mark.parametrize("name", daily(["a0", "r", "v0"], "r"))
def test_second_derivatives_of_functions_with_the_names_of_generated_locals(device: Any, name: str) -> None:
    """One is tried in a process of its own, in a kernel that names a0 and r."""
    source = f"[Differentiable] float {name}(float x, float y) {{ return x * x * y; }}"
    function, x, y = fp.Module.load_from_source(device, f"named_{name}", source)[name], F32([1, 2, 3]), F32([3, 2, 1])
    same(fp.grad(lambda x: fp.sum(fp.grad(lambda x: fp.sum(function(x, y)))(x)))(x), 2 * y)
