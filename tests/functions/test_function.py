"""Calls of single Slang functions, run on the device and compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily
from tests.support.slang_functions import F32, OTHER, ramp, same

INTEGERS = [f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)]


def tensor(array: Any, dtype: Any = None) -> Any:
    return fp.Tensor.from_numpy(fp.default_device(), np.asarray(array), dtype)


# ---- scalars and containers -----------------------------------------------------------------------------------------


@pytest.mark.req("C1", "C13")
def test_scalars_give_a_scalar(lib: Any) -> None:
    for result, expected in [
        (lib.add(10, 20), 30.0),
        (lib.add(0.5, True), 1.5),
        (lib.add_int(10, -20), -10),
        (lib.negate(True), False),
        (lib.add(np.float32(0.25), np.int8(2)), 2.25),
    ]:
        assert result == expected
        assert type(result) is type(expected)


def test_a_vector_result_of_scalars(lib: Any) -> None:
    assert lib.tone([1.0, 2.0, 3.0], 2.0) == [4.0, 6.0, 8.0]
    same(lib.gradient(fp.grid((2, 3))).to_numpy()[1, 2], np.array([2, 1, 1], F32))


@pytest.mark.req("C2", "C13")
def test_lists(lib: Any) -> None:
    assert lib.add([10, 20, 30], 20) == [30.0, 40.0, 50.0]
    assert lib.add([1, 2, 3], [10.0, 20.0, 30.0]) == [11.0, 22.0, 33.0]
    assert lib.add((1, 2, 3), 1) == [2.0, 3.0, 4.0]
    assert lib.add_int([[10, 20, 30], [40, 50, 60]], [1, 2, 3]) == [[11, 22, 33], [41, 52, 63]]
    assert lib.negate([True, False]) == [False, True]
    assert lib.add([], 1) == []
    assert all(type(x) is int for x in lib.add_int([1], 1))
    assert lib.turn([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]) == [[1, 4, 7], [2, 5, 8], [3, 6, 9]]


@pytest.mark.req("T1")
def test_lists_follow_slangs_answer(lib: Any) -> None:
    assert lib.luma([5, 6, 7]) == 765.0  # a float3
    assert lib.add([5, 6, 7], 0) == [5.0, 6.0, 7.0]  # three floats
    assert lib.sum4([1.0, 2.0, 3.0, 4.0]) == 4321.0
    assert lib.twice_double([0.1]) == [0.2]  # all digits of a Python float
    assert lib.twice_double(0.1) == 0.2


@pytest.mark.req("C13", "C17", "F14")
def test_the_container_follows_the_arguments(lib: Any, device: Any) -> None:
    a, t = ramp(1024), fp.Tensor.from_numpy(device, ramp(1024))
    same(lib.add(a, a), a + a)
    assert type(lib.add(a, a)) is np.ndarray
    assert type(lib.add(a, 1)) is np.ndarray
    assert type(lib.add(t, a)) is fp.Tensor
    assert type(lib.add(a, t)) is fp.Tensor
    assert type(lib.add([1.0] * 1024, a)) is np.ndarray
    assert type(lib.add([1.0], 1)) is list
    same(lib.add(t, a).to_numpy(), a + a)
    same(np.asarray(lib.add(t, t)), a + a)


@pytest.mark.req("F14")
@pytest.mark.parametrize(
    ("spelling", "kind"), [("tensor", fp.Tensor), (fp.Tensor, fp.Tensor), ("numpy", np.ndarray), (list, list)]
)
def test_return_type_and_result(lib: Any, spelling: Any, kind: type) -> None:
    by_method = lib.add.return_type(spelling)(ramp(5), 1)
    by_result = lib.add(ramp(5), 1, _result=spelling)
    assert type(by_method) is type(by_result) is kind
    same(np.asarray(by_method, F32), ramp(5) + 1)
    same(np.asarray(by_result, F32), ramp(5) + 1)
    assert type(lib.add(ramp(5), 1)) is np.ndarray


@pytest.mark.req("F14")
def test_result_is_written_and_returned(lib: Any, device: Any) -> None:
    out, array = fp.Tensor.zeros(device, 5), np.zeros(5, F32)
    assert lib.add(ramp(5), 1, _result=out) is out
    assert lib.add(ramp(5), 1, _result=array) is array
    same(out.to_numpy(), ramp(5) + 1)
    same(array, ramp(5) + 1)
    wide = fp.Tensor.zeros(device, 10)
    lib.add(ramp(5), 1, _result=wide[::2])
    same(wide.to_numpy()[::2], ramp(5) + 1)
    assert not wide.to_numpy()[1::2].any()
    strided = np.zeros((5, 2), F32)
    lib.add(ramp(5), 1, _result=strided[:, 1])
    same(strided[:, 1], ramp(5) + 1)
    assert not strided[:, 0].any()


def test_a_float_tensor_receives_vectors(lib: Any, device: Any) -> None:
    out = fp.Tensor.zeros(device, (5, 3))
    lib.add3(ramp(5, 3), ramp(5, 3), _result=out)
    same(out.to_numpy(), 2 * ramp(5, 3))


# ---- names, overloads, generics -------------------------------------------------------------------------------------


@pytest.mark.req("C18")
def test_named_arguments_and_defaults(lib: Any) -> None:
    c = ramp(4, 3)
    assert lib.minus(b=1, a=5) == 4.0
    assert lib.minus(5, b=1) == 4.0
    same(lib.tone(c, 2.0), c * 2 + 2)
    same(lib.tone(c, gain=2.0), c * 2 + 2)
    same(lib.tone(gain=2.0, color=c), c * 2 + 2)
    same(lib.tone(lift=1.0, gain=2.0, color=c), c * 2 + 1)
    same(lib.tone(c, lift=1.0, gain=2.0), c * 2 + 1)
    same(lib.tone(c, 2.0, 1.0), c * 2 + 1)


@pytest.mark.req("F1")
def test_ways_to_a_function(lib: Any, device: Any) -> None:
    assert lib.add(1, 2) == lib["add"](1, 2) == lib.find_function("add")(1, 2) == 3
    assert fp.get_function(lib, "add")(1, 2) == 3
    assert lib["deep::inner"](1) == 1.5
    assert lib.find_function("same<float>")(2) == 2
    same(lib["same<float3>"](ramp(3)), ramp(3))
    assert {"add", "tone", "Ray"} <= set(dir(lib))
    other = fp.Module.load_from_source(device, "lib", OTHER)  # the same name, other contents
    assert other.add(1, 2) == 1003
    assert lib.add(1, 2) == 3


@pytest.mark.req("F5")
def test_call_is_the_same_as_calling(lib: Any) -> None:
    same(lib.tone.call(ramp(4, 3), gain=2.0), lib.tone(ramp(4, 3), gain=2.0))
    assert lib.add.call(1, 2) == 3


def test_overloads_and_generics(lib: Any) -> None:
    assert lib.size_of(-2) == 2
    same(lib.size_of(-ramp(5, 7)), ramp(5, 7))
    same(lib.size_of(fp.vcast(-ramp(5, 3), lib.float3)), ramp(5, 3).sum(axis=1))
    assert lib.same(3) == 3
    assert type(lib.same(3)) is int
    assert type(lib.same(0.5)) is float
    same(lib.same(np.arange(5, dtype=np.int16)), np.arange(5, dtype=np.int16))
    same(lib.total(ramp(5), ramp(5)), 2 * ramp(5))
    same(lib.total(np.arange(5), np.arange(5)), 2 * np.arange(5))
    rays = np.zeros(2, lib.Ray.dtype)
    rays["position"] = ramp(2, 3)
    same(lib.same(rays)["position"], ramp(2, 3))


@pytest.mark.req("F6")
def test_configuration_never_mutates(lib: Any) -> None:
    plain = lib.add
    strict = plain.strict_broadcasting()
    tensors = plain.return_type("tensor")
    declared = plain.declare(fp.vmapping(0), fp.vmapping(1))
    assert len({id(f) for f in (plain, strict, tensors, declared)}) == 4
    same(plain(ramp(2, 3), ramp(3)), ramp(2, 3) + ramp(3))
    with pytest.raises(fp.ShapeError):
        strict(ramp(2, 3), ramp(3))
    assert type(tensors(ramp(3), 1)) is fp.Tensor
    assert declared(ramp(3), ramp(4)).shape == (3, 4)
    assert type(plain(ramp(3), 1)) is np.ndarray
    chained = plain.return_type("tensor").declare(fp.vmapping(1), fp.vmapping(0))
    same(chained(ramp(3), ramp(4)).to_numpy(), np.add.outer(ramp(4), ramp(3)))
    assert lib.add is plain


@pytest.mark.req("F7", "V11")
def test_new_sizes_never_compile(lib: Any, device: Any) -> None:
    fused = fp.fuse(lambda x, y: lib.add(x, y) * 2 - x)
    calls = [
        lambda n: lib.add(ramp(n), ramp(n)),
        lambda n: lib.add(ramp(n, 3), ramp(3)),
        lambda n: lib.tone(ramp(n, 3), 2.0),
        lambda n: fused(ramp(n), ramp(n)),
        lambda n: fused(tensor(ramp(n, n)), ramp(n)),
        lambda n: lib.coordinate(fp.grid((n, n + 1))),
        lambda n: lib.add([1.0] * n, 2),
    ]
    for call in calls:
        call(5)
    before = fp.stats(device)
    for n in (6, 7, 64, 101, 1000):
        for call in calls:
            call(n)
    after = fp.stats(device)
    assert after.kernels_compiled == before.kernels_compiled
    assert after.disk_misses == before.disk_misses
    assert after.plan_misses == before.plan_misses
    assert after.plan_hits - before.plan_hits == after.dispatches - before.dispatches == 35
    assert after["dispatches"] == after.dispatches


@pytest.mark.req("F7")
def test_inspection_runs_nothing(lib: Any, device: Any) -> None:
    before = fp.stats(device)
    fresh = lib.find_function("minus")
    assert "slang.call @lib.minus(%a, %b)" in fresh.ir(ramp(5), 1.0)
    assert "minus(" in fresh.source(ramp(5), 1.0)
    assert fresh.explain(ramp(5), 1.0).kernels == 1
    assert "float a" in str(fp.resolve(fresh, 1, 2)) or "a  float" in str(fp.resolve(fresh, 1, 2))
    after = fp.stats(device)
    assert (after.dispatches, after.kernels_compiled, after.plan_misses) == (
        before.dispatches,
        before.kernels_compiled,
        before.plan_misses,
    )


def test_numbers_are_uniforms(lib: Any, device: Any) -> None:
    lib.tone(ramp(4, 3), 1.0, 0.0)
    before = fp.stats(device).kernels_compiled
    for gain in (2.0, 3, -1.5, True, np.float64(7)):
        same(lib.tone(ramp(4, 3), gain, 0.0), ramp(4, 3) * F32(gain))
    assert fp.stats(device).kernels_compiled - before <= 3  # float, int and bool are passed differently


# ---- broadcasting ---------------------------------------------------------------------------------------------------


@pytest.mark.req("C5")
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3), ()),
        ((2, 3), (3,)),
        ((256, 1), (1, 256)),
        ((1,), (5,)),
        ((4, 1, 3), (2, 1)),
        ((1, 1), (7, 5)),
        ((2, 3, 4, 5, 6), (5, 1)),
        ((2, 1, 2, 1, 2, 1, 3), (3, 1, 2, 1)),
        ((0, 3), (3,)),
        ((3, 1), (1, 0)),
        ((), (1,)),
    ],
)
@pytest.mark.parametrize("kind", ["numpy", "tensor"])
def test_broadcasting(lib: Any, left: Any, right: Any, kind: str) -> None:
    a, b = ramp(*left), ramp(*right, start=100)
    if kind == "tensor":
        same(lib.minus(tensor(a), tensor(b)).to_numpy(), a - b)
    else:
        same(lib.minus(a, b), a - b)


@pytest.mark.req("C5")
def test_broadcasting_of_vectors(lib: Any) -> None:
    a, b = ramp(4, 1, 3), ramp(5, 3, start=50)
    same(lib.add3(a, b), a + b)
    same(lib.add3(ramp(4, 3), [1.0, 2.0, 3.0]), ramp(4, 3) + np.array([1, 2, 3], F32))
    same(lib.tone(ramp(4, 3), ramp(4), 0.0), ramp(4, 3) * ramp(4)[:, None])
    same(lib.tone(ramp(4, 3), ramp(2, 1), 0.0), ramp(4, 3) * ramp(2, 1, 1))
    same(lib.add3(ramp(4, 3), 1.0), ramp(4, 3) + 1)


VIEWS = {
    "reversed": lambda a: a[::-1],
    "reversed columns": lambda a: a[:, ::-1],
    "every other": lambda a: a[::2],
    "block": lambda a: a[1:5, 2:6],
    "backwards by two": lambda a: a[::-2, 5:1:-1],
    "one row": lambda a: a[3],
    "one column": lambda a: a[:, 3],
    "a row of one number": lambda a: a[2:3, 3],
    "row of one": lambda a: a[3:4],
    "empty": lambda a: a[3:3],
    "empty columns": lambda a: a[:, 8:],
    "all": lambda a: a[...],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("kind", ["numpy", "tensor"])
def test_views(lib: Any, view: Any, kind: str) -> None:
    base = ramp(8, 8)
    expected = view(base)
    given = view(tensor(base)) if kind == "tensor" else expected
    same(np.asarray(given), expected)
    same(np.asarray(lib.add(given, 1.0)), expected + 1)
    same(np.asarray(lib.minus(given, given)), expected * 0)
    same(np.asarray(lib.minus(ramp(1, 1, start=9), given)), ramp(1, 1, start=9) - expected)


@pytest.mark.parametrize("kind", ["numpy", "tensor"])
def test_views_of_vectors(lib: Any, kind: str) -> None:
    base = ramp(6, 5, 3)
    for index in (np.s_[::-1], np.s_[:, ::2], np.s_[1:3, 4:1:-1], np.s_[2], np.s_[:, 3]):
        as_floats = tensor(base)[index] if kind == "tensor" else base[index]
        same(np.asarray(lib.add3(as_floats, 1.0)), base[index] + 1)
        as_vectors = tensor(base, "float3")[index]
        same(np.asarray(lib.add3(as_vectors, 1.0)), base[index] + 1)
    flipped = tensor(base)[..., ::-1] if kind == "tensor" else base[..., ::-1]  # components themselves run backwards
    same(np.asarray(lib.add3(flipped, 1.0)), base[..., ::-1] + 1)
    planes = np.ascontiguousarray(base.transpose(2, 0, 1)).transpose(1, 2, 0)
    same(np.asarray(lib.add3(planes, 1.0)), base + 1)


def test_layouts_of_numpy(lib: Any) -> None:
    a = ramp(4, 5, 3)
    for given in (np.asfortranarray(a), np.broadcast_to(ramp(3), (4, 5, 3)), a.T.copy().T, np.asfortranarray(a)[::-1, 1::2]):
        same(lib.add3(given, 1.0), given + F32(1))
        same(lib.luma(given), given[..., 0] + given[..., 1] * F32(10) + given[..., 2] * F32(100))
    unaligned = np.zeros(1 + 4 * 6, np.uint8)[1:].view(F32)
    same(lib.add(unaligned, 1.0), np.ones(6, F32))


def test_zero_sizes_dispatch_nothing(lib: Any, device: Any) -> None:
    lib.add(ramp(2, 2), 1.0)
    before = fp.stats(device).dispatches
    same(lib.add(np.zeros((0, 3), F32), 1.0), np.zeros((0, 3), F32))
    same(lib.luma(np.zeros((2, 0, 3), F32)), np.zeros((2, 0), F32))
    same(lib.add(fp.Tensor.zeros(device, (3, 0)), 1.0).to_numpy(), np.zeros((3, 0), F32))
    same(lib.coordinate(fp.grid((0, 4))).to_numpy(), np.zeros((0, 4, 2), np.int32))
    out = np.zeros(0, F32)
    assert lib.add(np.zeros(0, F32), 1.0, _result=out) is out
    assert fp.stats(device).dispatches == before


def test_more_elements_than_a_row_of_groups(lib: Any) -> None:
    for n in (1, 255, 256, 257, 16383, 16385, 100_003):
        same(lib.add(ramp(n, step=1), 1.0), ramp(n, step=1) + 1)
    same(lib.add(ramp(1000, 1, step=1), ramp(1, 1001, step=1)), ramp(1000, 1, step=1) + ramp(1, 1001, step=1))


def test_special_values_and_bits(lib: Any) -> None:
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, 3.4e38], F32)
    result = lib["same<float>"](special)
    same(result.view(np.uint32)[1:], special.view(np.uint32)[1:])
    assert np.isnan(result[0])
    same(lib.id_int32(np.array([2**31 - 1, -(2**31)], np.int32)), np.array([2**31 - 1, -(2**31)], np.int32))


# ---- types ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("T1")
@pytest.mark.parametrize("name", daily(INTEGERS, "int8", "uint16", "int32", "uint64"))
def test_integers(lib: Any, name: str) -> None:
    info = np.iinfo(name)
    array = np.array([info.min, info.min + 1, 0, 1, 77, info.max - 1, info.max], name)
    function = lib[f"id_{name}"]
    same(function(array), array)
    same(function(tensor(array)[::-1]).to_numpy(), array[::-1])
    same(function(np.ascontiguousarray(array[:, None]))[:, 0], array)
    assert function(int(info.max)) == info.max
    assert function(int(info.min)) == info.min
    assert function([int(info.max), int(info.min)] if name != "uint64" else [5]) == (
        [int(info.max), int(info.min)] if name != "uint64" else [5]
    )
    assert function(np.dtype(name).type(5)) == 5


@pytest.mark.req("T1")
def test_half_double_bool(lib: Any) -> None:
    halves = np.array([0.1, -2, 65504, np.inf], np.float16) / 2
    same(lib.twice_half(halves), halves * np.float16(2))
    same(lib.twice_half3(np.ones((5, 3), np.float16)), np.full((5, 3), 2, np.float16))
    doubles = np.array([0.1, 1e300, np.pi])
    same(lib.twice_double(doubles), doubles * 2)
    bools = np.array([True, False, True, True, False])
    same(lib.negate(bools), ~bools)
    same(lib.negate(bools[::-2]), ~bools[::-2])
    same(
        lib.negate3(np.array([[True, False, True], [False, False, True]])), ~np.array([[True, False, True], [False, False, True]])
    )
    same(lib.negate(tensor(bools)).to_numpy(), ~bools)
    assert lib.twice_half(0.1) == float(np.float16(0.1) * 2)


@pytest.mark.req("T1")
@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("kind", ["numpy", "tensor", "matrices"])
def test_matrices(lib: Any, layout: str, kind: str) -> None:
    m = np.array(ramp(5, 3, 3), order=layout)
    given = {"numpy": lambda: m, "tensor": lambda: tensor(m), "matrices": lambda: tensor(m, "float3x3")}[kind]()
    same(np.asarray(lib.turn(given)), m.transpose(0, 2, 1))
    v = ramp(5, 3, step=1)
    same(np.asarray(lib.apply(given, v)), np.einsum("nij,nj->ni", m, v))
    same(lib.turn(m.transpose(0, 2, 1)), m)
    same(lib.turn(np.ascontiguousarray(m[0])), m[0].T)


@pytest.mark.req("T1")
def test_matrices_that_are_not_square(lib: Any) -> None:
    same(lib.scale24(ramp(7, 2, 4), 2.0), ramp(7, 2, 4) * 2)
    same(lib.row_sums(ramp(7, 2, 3)), ramp(7, 2, 3).sum(axis=2))
    same(lib.row_sums(ramp(7, 3, 2).transpose(0, 2, 1)), ramp(7, 3, 2).sum(axis=1))


@pytest.mark.req("T1")
def test_arrays_and_pointers(lib: Any, device: Any) -> None:
    same(lib.sum4(ramp(5, 4, step=1)), ramp(5, 4, step=1) @ np.array([1, 10, 100, 1000], F32))
    same(lib.sum4(ramp(5, 8, step=1)[:, ::2]), ramp(5, 8, step=1)[:, ::2] @ np.array([1, 10, 100, 1000], F32))
    table = ramp(9, step=1, start=100)
    same(lib.fetch(table, np.array([[8, 0], [3, 3]], np.int32)), table[[[8, 0], [3, 3]]])
    same(lib.fetch(tensor(table), fp.grid((9,))).to_numpy(), table)
    same(lib.fetch(tensor(table)[2:], [0, 1]).to_numpy(), table[2:4])
    same(lib.fetch(ramp(3, 3), [4]), ramp(3, 3).reshape(-1)[[4]])


@pytest.mark.req("T8")
def test_structs(lib: Any, device: Any) -> None:
    rays = np.zeros((4, 2), lib.Ray.dtype)
    rays["position"], rays["direction"] = ramp(4, 2, 3), ramp(4, 2, 3, start=7)
    for given in (
        rays,
        fp.Tensor.from_numpy(device, rays, lib.Ray),
        rays[::-1],
        fp.Tensor.from_numpy(device, rays, lib.Ray)[::-1],
    ):
        array = np.asarray(given)
        same(np.asarray(lib.at(given, 2.0)), array["position"] + 2 * array["direction"])
        same(np.asarray(lib.at(given, ramp(2))), array["position"] + ramp(2)[:, None] * array["direction"])
    made = lib.make_ray(ramp(4, 3), ramp(3, start=7))
    assert made.dtype == lib.Ray.dtype
    same(made["position"], ramp(4, 3))
    same(made["direction"], np.broadcast_to(ramp(3, start=7), (4, 3)))
    on_device = lib.make_ray(tensor(ramp(4, 3)), tensor(ramp(4, 3)))
    assert str(on_device.dtype) == "Ray"
    same(lib.at(on_device, 1.0).to_numpy(), 2 * ramp(4, 3))
    single = lib.make_ray([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    assert single == {"position": [1, 2, 3], "direction": [4, 5, 6], "_type": "Ray"}
    assert lib.make_ray([[1.0, 2, 3]], [4.0, 5, 6]).shape == (1,)
    assert lib.at(single, 2.0) == [9, 12, 15]


@pytest.mark.req("T8")
def test_structs_with_fields_of_every_size(lib: Any) -> None:
    given = np.zeros(5, lib.Mixed.dtype)
    given["a"], given["b"], given["c"] = ramp(5), np.arange(5), [0, 1, 0, 1, 1]
    given["d"], given["e"], given["v"] = ramp(5), np.linspace(0, 1, 5), ramp(5, 3)
    got = lib.mix(given)
    same(got["a"], ramp(5) + 1)
    same(got["b"], np.arange(5, dtype=np.int32) + 2)
    same(got["c"] != 0, given["c"] == 0)
    same(got["d"], given["d"] * np.float16(2))
    same(got["e"], given["e"] + 0.1)
    same(got["v"], ramp(5, 3) * 3)
    same(lib.mix(lib.mix(given))["b"], np.arange(5, dtype=np.int32) + 4)


@pytest.mark.req("T8")
def test_structs_in_structs(lib: Any) -> None:
    outer = np.zeros(3, lib.Outer.dtype)
    outer["ray"]["position"], outer["ray"]["direction"], outer["weight"] = ramp(3, 3), ramp(3, 3, start=1), ramp(3)
    same(lib.outer_at(outer), ramp(3, 3) + ramp(3)[:, None] * ramp(3, 3, start=1))


@pytest.mark.req("T8")
def test_equal_structs_of_two_modules(lib: Any, device: Any) -> None:
    source = "struct Ray { float3 position; float3 direction; }; float3 at(Ray r, float t) { return r.position + t; }"
    other = fp.Module.load_from_source(device, "other_rays", source)
    assert lib.Ray.dtype == other.Ray.dtype
    same(other.at(fp.Tensor.zeros(device, 2, other.Ray), 1.0).to_numpy(), np.ones((2, 3), F32))
    same(lib.at(fp.Tensor.zeros(device, 2, lib.Ray), 1.0).to_numpy(), np.zeros((2, 3), F32))


# ---- out and inout --------------------------------------------------------------------------------------------------


@pytest.mark.req("C10")
@pytest.mark.parametrize("kind", ["numpy", "tensor"])
def test_out_arguments_are_written_back(lib: Any, device: Any, kind: str) -> None:
    v = ramp(5)
    whole, rest = (
        (np.zeros(5, F32), np.zeros(5, F32)) if kind == "numpy" else (fp.Tensor.zeros(device, 5), fp.Tensor.zeros(device, 5))
    )
    assert lib.split(v, whole, rest) is None
    same(np.asarray(whole), np.floor(v))
    same(np.asarray(rest), v - np.floor(v))
    same(v, ramp(5))


@pytest.mark.req("C10")
def test_out_arguments_left_away_are_returned(lib: Any) -> None:
    assert lib.split(2.25) == (2.0, 0.25)
    assert lib.split([2.25, 3.5]) == ([2.0, 3.0], [0.25, 0.5])
    whole, rest = lib.split(ramp(2, 5))
    same(whole, np.floor(ramp(2, 5)))
    same(rest, ramp(2, 5) - np.floor(ramp(2, 5)))
    assert lib.split(v=2.25) == (2.0, 0.25)


@pytest.mark.req("C10")
def test_inout_reads_and_writes(lib: Any, device: Any) -> None:
    array, t = ramp(5), fp.Tensor.from_numpy(device, ramp(5))
    same(lib.bump(array, 2.0), ramp(5))
    same(array, ramp(5) + 2)
    same(lib.bump(t, 2.0).to_numpy(), ramp(5))
    same(t.to_numpy(), ramp(5) + 2)
    same(lib.bump(v=array, by=1.0), ramp(5) + 2)
    same(array, ramp(5) + 3)
    assert lib.bump(1.0, 2.0) == (1.0, 3.0)
    assert lib.bump([1.0, 2.0], 2.0) == ([1.0, 2.0], [3.0, 4.0])
    view = np.zeros((5, 2), F32)
    lib.bump(view[:, 0], ramp(5))
    same(view, np.stack([ramp(5), np.zeros(5, F32)], axis=1))
    part = fp.Tensor.zeros(device, (4, 4))
    lib.bump(part[1:3, ::2], 1.0)
    assert part.to_numpy().sum() == 4
    assert (part.to_numpy()[1:3, ::2] == 1).all()


@pytest.mark.req("C10", "V5")
def test_inout_of_vectors_and_under_vmap(lib: Any, device: Any) -> None:
    a, b = ramp(4, 3), ramp(4, 3, start=50)
    assert lib.swap(a, b) is None
    same(a, ramp(4, 3, start=50))
    same(b, ramp(4, 3))
    ta, tb = tensor(a, "float3"), tensor(b, "float3")
    lib.swap(ta, tb)
    same(ta.to_numpy(), ramp(4, 3))
    mapped = ramp(5)
    lib.bump(fp.vmap(mapped, 0), 2.0)
    same(mapped, ramp(5) + 2)
    whole, rest = np.zeros((2, 3), F32), np.zeros((2, 3), F32)
    lib.split(fp.vmap(ramp(3, 2), (1, 0)), fp.vmap(whole, (0, 1)), rest)
    same(whole, np.floor(ramp(3, 2)).T)


@pytest.mark.req("C10")
def test_in_is_only_read(lib: Any, device: Any) -> None:
    a, t = ramp(5), fp.Tensor.from_numpy(device, ramp(5))
    frozen = ramp(5)
    frozen.setflags(write=False)
    lib.add(a, t)
    same(a, ramp(5))
    same(t.to_numpy(), ramp(5))
    same(lib.add(frozen, frozen), 2 * ramp(5))


# ---- vmap, vcast, declare -------------------------------------------------------------------------------------------


@pytest.mark.req("V3", "V8")
def test_vmap_and_vdim(lib: Any) -> None:
    a, b = ramp(3), ramp(4, start=10)
    same(lib.minus(fp.vmap(a, 0), fp.vmap(b, 1)), np.subtract.outer(a, b))
    same(lib.minus(fp.vmap(a, 1), fp.vmap(b, 0)), np.subtract.outer(b, a) * -1)
    m = ramp(3, 4)
    same(lib.add(fp.vmap(m, (1, 0)), 1.0), m.T + 1)
    same(lib.add(fp.vdim(m, 2), 1.0), m + 1)
    cube = ramp(2, 3, 4)
    same(lib.add(fp.vmap(cube, (2, 0, 1)), 1.0), cube.transpose(1, 2, 0) + 1)
    same(lib.minus(fp.vmap(cube, (0, 1, 2)), fp.vmap(ramp(3), 1)), cube - ramp(3)[:, None])
    same(lib.add(fp.vmap(tensor(m), (1, 0)), fp.vmap(tensor(m)[::-1], (1, 0))).to_numpy(), m.T + m[::-1].T)
    assert lib.add(fp.vmap([1.0, 2.0], 0), fp.vmap([10.0, 20.0], 1)) == [[11.0, 21.0], [12.0, 22.0]]


@pytest.mark.req("V3")
def test_vmap_leaves_the_trailing_axes_to_the_type(lib: Any) -> None:
    c = ramp(4, 5, 3)
    same(lib.luma(fp.vmap(c, (0, 1))), lib.luma(c))
    same(lib.luma(fp.vmap(c, (1, 0))), lib.luma(c).T)
    same(lib.add3(fp.vmap(ramp(4, 3), 0), fp.vmap(ramp(5, 3), 1)), ramp(4, 1, 3) + ramp(5, 3))
    same(lib.size_of(fp.vmap(-c, (0, 1))), c.sum(axis=-1))
    same(lib.size_of(fp.vmap(-c, (0, 1, 2))), c)


@pytest.mark.req("V4")
def test_vcast(lib: Any, device: Any) -> None:
    same(lib.add(fp.vcast(np.arange(5, dtype=np.int32), lib.float), 0.5), np.arange(5, dtype=F32) + F32(0.5))
    same(lib.add_int(fp.vcast(np.array([1.9, -1.9], F32), "int"), 0), np.array([1, -1], np.int32))
    same(lib.add(fp.vcast(np.array([0.1, 0.2]), "float"), 0.0), np.array([0.1, 0.2], F32))
    same(lib.size_of(fp.vcast(-ramp(4, 3), "float")), ramp(4, 3))
    same(lib.luma(fp.vcast(np.arange(12, dtype=np.int32).reshape(4, 3), lib.float3)), lib.luma(ramp(4, 3, step=1)))
    same(lib.luma(fp.vcast(2.0, lib.float3)), np.float64(222.0))
    same(
        lib.luma(fp.vcast(fp.Tensor.from_numpy(device, np.ones((4, 3), np.float16), "half3"), "float3")).to_numpy(),
        np.full(4, 111, F32),
    )
    assert lib.add(fp.vcast(7, "float"), 0.5) == 7.5


@pytest.mark.req("T11")
def test_extents_that_do_not_hold_the_type_of_a_cast(lib: Any) -> None:
    call = fp.fuse(lambda a: lib.size_of(fp.vcast(a, lib.float3)))
    same(call(-ramp(4, 3)), ramp(4, 3).sum(axis=1))

    def recorded(array: Any) -> Any:
        with fp.lazy():
            return call(array)

    for ask in (call, call.explain, recorded):
        for shape in ((4, 5), (4, 2)):
            with pytest.raises(fp.ShapeError, match="the trailing axes of 'a' do not hold float3") as caught:
                ask(ramp(*shape))
            assert str(caught.value).startswith("test_function.py")


@pytest.mark.req("V5")
def test_vmap_and_vcast_together(lib: Any) -> None:
    a = np.arange(12, dtype=np.int32).reshape(2, 2, 3)
    expected = lib.luma(a.astype(F32)).T
    same(lib.luma(fp.vcast(fp.vmap(a, (1, 0)), lib.float3)), expected)
    same(lib.luma(fp.vmap(fp.vcast(a, lib.float3), (1, 0))), expected)


@pytest.mark.req("V2", "V6")
@pytest.mark.req("F13")
def test_declare(lib: Any, device: Any) -> None:
    c = ramp(4, 5, 3)
    by_position = lib.tone.declare(fp.vmapping(0, 1), None, None)
    same(by_position(c, 2.0, 1.0), c * 2 + 1)
    same(lib.tone.declare(fp.vmapping((1, 0)))(c, 2.0), (c * 2 + 2).transpose(1, 0, 2))
    same(lib.tone.declare(color=fp.vmapping(1, 0), gain=fp.vmapping(0))(c, ramp(5)), c.transpose(1, 0, 2) * ramp(5, 1, 1) + 2)
    same(lib.size_of.declare(lib.float3)(-c), c.sum(axis=-1))
    same(lib.size_of.declare(lib.float)(-c), c)
    same(lib.add.declare("float")(np.arange(3, dtype=np.int32), 1.0), np.arange(3, dtype=F32) + 1)
    same(lib.luma.declare(None)(np.array([1, 2, 3], F32)), np.float32(321.0))
    t = tensor(c)
    out = fp.Tensor.zeros(device, (4, 5), "float3")
    assert by_position(t, 2.0, 1.0, _result=out) is out
    same(out.to_numpy(), c * 2 + 1)
    same(lib.tone.map(fp.vmapping(0, 1))(c, 2.0), c * 2 + 2)


@pytest.mark.req("V9")
def test_implicit_and_declared_calls_end_in_one_kernel(lib: Any) -> None:
    c = ramp(4, 5, 3)
    functions = [lib.tone, lib.tone.declare(fp.vmapping(0, 1), None, None), lib.tone.declare(lib.float3)]
    arguments = [c, c, c, fp.vmap(c, (0, 1))]
    sources = {f.source(a, 2.0, 1.0) for f, a in zip([*functions, lib.tone], arguments)}  # on one line, which they name
    assert len(sources) == 1


@pytest.mark.req("V16")
def test_resolve(lib: Any) -> None:
    answer = fp.resolve(lib.tone, ramp(4, 5, 3), 1.0, 0.5)
    assert answer.types == [lib.float3.type, lib.float.type, lib.float.type]
    assert [b.mapping for b in answer.bindings] == [(0, 1), (), ()]
    assert [b.name for b in answer.bindings] == ["color", "gain", "lift"]
    assert answer.result is lib.float3.type
    assert answer.grid == 2
    assert fp.resolve(lib.add, fp.vmap(ramp(3), 1), fp.vmap(ramp(3), 0)).bindings[0].mapping == (1,)


@pytest.mark.req("C16")
def test_grid(lib: Any) -> None:
    same(lib.coordinate(fp.grid((2, 3))).to_numpy(), np.stack(np.meshgrid(range(3), range(2)), -1).astype(np.int32))
    same(lib.coordinate(fp.grid((2, 3), offset=(10, 20), stride=(2, -1))).to_numpy()[1, 2], np.array([18, 12], np.int32))
    same(lib.linear(fp.grid((5,))).to_numpy(), np.arange(5, dtype=np.int32))
    same(lib.coordinate(fp.grid((1, 3))).to_numpy()[0], np.array([[0, 0], [1, 0], [2, 0]], np.int32))


# ---- tensors --------------------------------------------------------------------------------------------------------


@pytest.mark.req("T18")
def test_tensors(device: Any) -> None:
    a = ramp(3, 4, 3)
    t = fp.Tensor.from_numpy(device, a, "float3")
    assert (t.shape, str(t.dtype), t.ndim, len(t), t.device) == ((3, 4), "float3", 2, 3, device)
    same(t.to_numpy(), a)
    same(np.asarray(t[1, ::2]), a[1, ::2])
    same(t.reshape(-1).to_numpy(), a.reshape(12, 3))
    same(t.reshape(2, 6)[1].to_numpy(), a.reshape(2, 6, 3)[1])
    t.copy_from_numpy(a + 1)
    same(t.to_numpy(), a + 1)
    t[1].copy_from_numpy(a[0])
    same(t.to_numpy(), np.stack([a[0] + 1, a[0], a[2] + 1]))
    same(fp.Tensor.zeros(device, (2, 3)).to_numpy(), np.zeros((2, 3), F32))
    same(fp.Tensor.full(device, 3, 2.5).to_numpy(), np.full(3, 2.5, F32))
    same(fp.Tensor.full(device, 2, [1, 2, 3], "float3").to_numpy(), np.array([[1, 2, 3]] * 2, F32))
    same(fp.Tensor.arange(device, 5).to_numpy(), np.arange(5, dtype=np.int32))
    assert fp.Tensor.empty(device, (2, 0)).to_numpy().shape == (2, 0)
    assert "float3" in repr(t)


def test_names_of_types_are_slangs(device: Any) -> None:
    """Also where NumPy knows the same word for another type."""
    for name, dtype in [
        ("float", F32),
        ("int", np.int32),
        ("uint", np.uint32),
        ("half", np.float16),
        ("double", np.float64),
        ("bool", np.bool_),
    ]:
        assert fp.Tensor.zeros(device, 1, name).to_numpy().dtype == dtype
    assert fp.Tensor.zeros(device, 1, "float64").to_numpy().dtype == np.float64
    assert fp.Tensor.zeros(device, 1, np.int16).to_numpy().dtype == np.int16


def test_results_outlive_their_function_and_other_calls(lib: Any) -> None:
    kept = [lib.add(tensor(ramp(1000)), float(i)) for i in range(100)]
    for i, t in enumerate(kept):
        same(t.to_numpy(), ramp(1000) + F32(i))


def test_chained_calls_see_each_others_results(lib: Any) -> None:
    t = tensor(np.zeros(1000, F32))
    for _ in range(200):
        t = lib.add(t, 1.0)
    same(t.to_numpy(), np.full(1000, 200, F32))
    for _ in range(200):
        lib.add(t, 1.0, _result=t)
    same(t.to_numpy(), np.full(1000, 400, F32))


def test_fuzz_of_views_and_broadcasts(lib: Any) -> None:
    random = np.random.default_rng(1)
    for _ in range(30):
        rank = int(random.integers(1, 5))
        base = ramp(*random.integers(1, 6, rank))
        index = tuple(
            [slice(None), slice(None, None, -1), slice(0, 1), slice(None, None, 2), slice(1, None), 0][int(random.integers(6))]
            for _ in range(rank)
        )
        view, other = tensor(base)[index], base[index]
        drop = int(random.integers(0, other.ndim + 1))
        stretched = tuple(n if random.integers(2) else 1 for n in other.shape[drop:])
        b = ramp(*stretched, start=3)
        same(lib.minus(view, b).to_numpy(), other - b)


def test_kernels_name_nothing_like_users_do(device: Any) -> None:
    """What a kernel calls its own values, users may call functions."""
    names = (
        "at",
        "out",
        "e",
        "row",
        "x",
        "i",
        "from",
        "to",
        "end",
        "last",
        "acc",
        "add",
        "take",
        "merge",
        "lane",
        "group",
        "args",
    )
    m = fp.Module.load_from_source(device, "taken", "\n".join(f"float {name}(float a) {{ return a + 1; }}" for name in names[:1]))
    x, row = ramp(4, 3), ramp(3)
    for name in names:

        def function(x: Any, row: Any) -> Any:
            y = m.at(x + row)
            return y, fp.sum(y), fp.max(y, 1) + 1

        function.__name__ = name
        each, total, largest = fp.fuse(function)(x, row)
        same(each, x + row + 1)
        assert total == (x + row + 1).sum()
        same(largest, (x + row + 2).max(1))
