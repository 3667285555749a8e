"""Fused functions: one kernel each, with the results that NumPy gives."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily
from tests.support.slang_functions import F32, OTHER, close, ramp, same

RANDOM = np.random.default_rng(7)


def tensor(array: Any, dtype: Any = None) -> Any:
    return fp.Tensor.from_numpy(fp.default_device(), array, dtype)


def kernels(call: Callable[[], Any]) -> int:
    """How many kernels a call dispatches."""
    before = fp.stats().dispatches
    call()
    return fp.stats().dispatches - before


# ---- one kernel -----------------------------------------------------------------------------------------------------


@pytest.mark.req("V12", "V14")
def test_calls_inside_record_and_do_not_dispatch(lib: Any) -> None:
    seen: list[Any] = []

    @fp.fuse
    def look(c: Any, gain: Any) -> Any:
        before = fp.stats().dispatches
        c = lib.tone(c, gain, 1.0)
        c = lib.add3(c, c) * 0.5
        result = lib.luma(c)
        seen.append((fp.stats().dispatches - before, type(result).__name__, str(c.type)))
        return result

    c = ramp(4, 5, 3)
    expected = (c * 2 + 1) @ np.array([1, 10, 100], F32)
    close(look(c, 2.0), expected, ulps=2)
    assert seen == [(0, "Traced", "float3")]
    assert kernels(lambda: look(c, 3.0)) == 1
    assert len(seen) == 1, "a second call does not trace again"
    explained = look.explain(c, 2.0)
    assert explained.kernels == 1
    assert "luma" in str(explained)


@pytest.mark.req("V13")
def test_called_configured_and_inspected_like_any_function(lib: Any, device: Any) -> None:
    @fp.fuse
    def look(c: Any, gain: Any) -> Any:
        return lib.tone(c, gain) - 1

    c = ramp(4, 5, 3)
    expected = c * 2 + 1
    same(look(c, 2.0), expected)
    same(look.call(c, gain=2.0), expected)
    same(look(gain=2.0, c=c), expected)
    same(look.declare(fp.vmapping(1, 0))(c, 2.0), expected.transpose(1, 0, 2))
    same(look.declare(c=fp.vmapping(1, 0))(c, 2.0), expected.transpose(1, 0, 2))
    same(look(fp.vmap(c, (1, 0)), 2.0), expected.transpose(1, 0, 2))
    assert type(look.return_type("tensor")(c, 2.0)) is fp.Tensor
    assert type(look(c, 2.0, _result="list")) is list
    out = fp.Tensor.zeros(device, (4, 5), "float3")
    assert look(tensor(c), 2.0, _result=out) is out
    same(out.to_numpy(), expected)
    assert look.__name__ == "look"
    assert "slang.call @lib.tone" in look.ir(c, 2.0)
    assert "region" in look.ir(c, 2.0, after="fuse_chains")
    assert "tone(" in look.source(c, 2.0)


def test_nested_fused_functions_are_one_kernel(lib: Any) -> None:
    @fp.fuse
    def inner(x: Any, k: Any) -> Any:
        return lib.add(x, k) * 2

    @fp.fuse
    def middle(x: Any) -> Any:
        return inner(x, 1.0) + inner(x, k=2.0)

    @fp.fuse
    def outer(x: Any) -> Any:
        return fp.sqrt(middle(inner(x, 0.0)))

    x = ramp(100)
    close(outer(x), np.sqrt((4 * x + 2) + (4 * x + 4)), ulps=2)
    assert kernels(lambda: outer(x)) == 1
    assert kernels(lambda: middle(x)) == 1


def test_functions_of_two_modules_in_one_kernel(lib: Any, device: Any) -> None:
    other = fp.Module.load_from_source(device, "other", OTHER)

    @fp.fuse
    def both(x: Any) -> Any:
        return lib.tone(lib.float3(other.half_of(x), x, x), 2.0).x - other.third_of(x)

    same(both(ramp(10)), ramp(10) / 2 * 2 + 2 - ramp(10) / 4)
    assert kernels(lambda: both(ramp(10))) == 1


def test_functions_of_one_name_in_two_modules(lib: Any, device: Any) -> None:
    other = fp.Module.load_from_source(device, "other", OTHER)
    namesake = fp.Module.load_from_source(device, "lib", OTHER.replace("1000", "2000"))
    both = fp.fuse(lambda x: other.add(lib.add(x, 1), other.half_of(x)) + namesake.add(x, 0))
    same(both(ramp(10)), (ramp(10) + 1) + ramp(10) / 2 + 1000 + (ramp(10) + 2000))
    folded = fp.fuse(lambda x: (fp.reduce(lib.add, 0, other.add(x, 1)), fp.scan(lib.add, 0, other.half_of(x))))
    total, sums = folded(ramp(10))
    assert total == (ramp(10) + 1001).sum()
    same(sums, np.cumsum(ramp(10) / 2))
    rows = fp.fuse(lambda x: other.add(x, 1) - fp.reduce(lib.add, 0, other.add(x, 1), axis=1, keepdims=True))
    same(rows(ramp(4, 5)), ramp(4, 5) - (ramp(4, 5) + 1001).sum(1, keepdims=True) + 1001)


# ---- results --------------------------------------------------------------------------------------------------------


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Look:
    colour: Any
    more: Any


def test_structures_of_results(device: Any) -> None:
    x = ramp(6)
    cases: list[tuple[Callable[[Any], Any], Any]] = [
        (lambda x: (x + 1, x * 2), (x + 1, x * 2)),
        (lambda x: [x + 1, x * 2], [x + 1, x * 2]),
        (lambda x: {"b": x + 1, "a": x * 2}, {"b": x + 1, "a": x * 2}),
        (lambda x: Point(x + 1, x * 2), Point(x + 1, x * 2)),
        (lambda x: Look(x + 1, {"k": (x * 2, [x])}), Look(x + 1, {"k": (x * 2, [x])})),
        (lambda x: (x + 1,), (x + 1,)),
        (lambda x: [x + 1], [x + 1]),
        (lambda x: {"only": x + 1}, {"only": x + 1}),
        (lambda x: (x, x, x + 1), (x, x, x + 1)),
        (lambda x: x, x),
    ]
    for function, expected in cases:
        fused = fp.fuse(function)
        _alike(fused(x), expected)
        _alike(fused(tensor(x)), expected)  # tensors take a shorter way
        assert kernels(lambda fused=fused: fused(x)) == 1


def _alike(got: Any, expected: Any) -> None:
    if isinstance(expected, np.ndarray):
        same(got, expected)
        return
    assert type(got) is type(expected)
    if isinstance(expected, dict):
        assert list(got) == list(expected)
        for key in expected:
            _alike(got[key], expected[key])
    elif isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for a, b in zip(got, expected):
            _alike(a, b)
    else:
        assert dataclasses.is_dataclass(expected)
        _alike(vars(got), vars(expected))  # type: ignore[arg-type]


def test_nothing_and_numbers_as_results(device: Any) -> None:
    assert fp.fuse(lambda x: None)(1.0) is None
    assert fp.fuse(lambda x: 3.5)(1.0) == 3.5
    assert fp.fuse(lambda: 7)() == 7
    got = fp.fuse(lambda x: (x + 1, 2.5))(ramp(3))
    same(got[0], ramp(3) + 1)
    same(np.asarray(got[1], F32), F32(2.5))


def test_results_of_smaller_rank_than_the_grid(lib: Any) -> None:
    x, y = ramp(4, 5), ramp(5, start=3)
    row, both, number = fp.fuse(lambda x, y, k: (y * 2, x + y, k + 1))(x, y, 2.0)
    same(row, y * 2)
    same(both, x + y)
    same(np.asarray(number, F32), F32(3))
    column, wide = fp.fuse(lambda a, b: (a + 1, fp.minimum(a, b)))(ramp(4, 1), ramp(1, 5))
    same(column, ramp(4, 1) + 1)
    same(wide, np.minimum(ramp(4, 1), ramp(1, 5)))
    mapped = fp.fuse(lambda a, b: (a * 2, lib.minus(a, b)))(fp.vmap(ramp(4), 0), fp.vmap(ramp(5), 1))
    same(mapped[0], ramp(4) * 2)
    same(mapped[1], np.subtract.outer(ramp(4), ramp(5)))


@pytest.mark.req("V13")
def test_arguments_mapped_to_later_dimensions_are_computed_with(lib: Any) -> None:
    outer = fp.fuse(lambda a, b: lib.minus(a * 2, b + 1)).declare(fp.vmapping(0), fp.vmapping(1))
    same(outer(ramp(4), ramp(5)), np.subtract.outer(ramp(4) * 2, ramp(5) + 1))


def test_results_on_grids_that_do_not_meet(device: Any) -> None:
    pair = fp.fuse(lambda a, b: (a + 1, b * 2))
    for _ in range(2):
        a, b = pair(ramp(4), ramp(5))
        same(a, ramp(4) + 1)
        same(b, ramp(5) * 2)
    a, b = pair(ramp(4), ramp(4))
    same(a, ramp(4) + 1)
    same(b, ramp(4) * 2)
    outs = (fp.Tensor.zeros(device, 4), fp.Tensor.zeros(device, 7))
    pair(ramp(4), ramp(7), _result=outs)
    same(outs[0].to_numpy(), ramp(4) + 1)
    same(outs[1].to_numpy(), ramp(7) * 2)


def test_result_tensors_of_several_results(device: Any) -> None:
    outs = (fp.Tensor.zeros(device, 4), np.zeros(4, F32))
    got = fp.fuse(lambda a: (a + 1, a * 2))(ramp(4), _result=outs)
    assert got[0] is outs[0]
    assert got[1] is outs[1]
    same(outs[0].to_numpy(), ramp(4) + 1)
    same(outs[1], ramp(4) * 2)


# ---- arguments ------------------------------------------------------------------------------------------------------


def test_constants_defaults_and_keywords(lib: Any) -> None:
    @fp.fuse
    def look(x: Any, gain: Any = 2.0, *, lift: Any = 1) -> Any:
        return lib.add(x * gain, lift) + 0.25

    x = ramp(6)
    same(look(x), x * 2 + 1 + F32(0.25))
    same(look(x, 3.0), x * 3 + 1 + F32(0.25))
    same(look(x, lift=5.0), x * 2 + 5 + F32(0.25))
    same(look(lift=5.0, gain=ramp(6), x=x), x * ramp(6) + 5 + F32(0.25))
    before = fp.stats().kernels_compiled
    same(look(x, 7.5), x * F32(7.5) + 1 + F32(0.25))
    assert fp.stats().kernels_compiled == before, "another number is no new kernel"


def test_static_arguments(lib: Any) -> None:
    traces: list[Any] = []

    def repeat(x: Any, n: Any, mode: Any = "add") -> Any:
        traces.append((n, mode))
        for _ in range(n):
            x = lib.add(x, 1) if mode == "add" else x * 2
        return x

    fused = fp.fuse(repeat, static=("n", "mode"))
    x = ramp(4)
    for _ in range(2):
        same(fused(x, 3), x + 3)
        same(fused(x, 2, mode="double"), x * 4)
        same(fused(mode="double", n=1, x=x), x * 2)
        same(fused(x, 0), x)
        same(fused(x, True), x + 1)
        same(fused(x, 1), x + 1)
    assert traces == [(3, "add"), (2, "double"), (1, "double"), (0, "add"), (True, "add"), (1, "add")]
    assert "slang.call" in fused.ir(x, 3)
    assert fused.explain(x, 3).kernels == 1


def test_defaults_that_are_integers_or_flags_stay_python_values() -> None:
    """As in JAX, what a call leaves out is no argument; a float is one, so that a change compiles nothing."""

    @fp.fuse
    def reduced(x: Any, axis: int | tuple[int, ...] = -1, flip: bool = False, power: int = 2, gain: float = 3.0) -> Any:
        return fp.sum(-x if flip else x**power, axis) * gain

    x = ramp(2, 3)
    same(reduced(x), (x**2).sum(-1) * 3)
    kernels = len(fp.default_device().kernels)
    same(reduced(x, gain=2.0), (x**2).sum(-1) * 2)
    assert len(fp.default_device().kernels) == kernels
    both = fp.fuse(lambda x, axes=(0, 1): fp.max(x, axes))
    same(both(x), x.max())
    derived = fp.fuse(fp.grad(lambda x, power=3: fp.sum(x**power)))
    same(derived(x), 3 * x**2)
    # what the user has mapped or typed is an argument
    mapped = fp.fuse(lambda x, n=(1, 2, 3), axis=0: fp.sum(x * n, axis)).map((0, 1), n=(0,))
    same(mapped(ramp(3, 3)), (ramp(3, 3) * np.array([[1], [2], [3]], F32)).sum(0))
    same(fp.fuse(lambda x, n=1: n - 2).map(n="uint")(x), np.uint32(2**32 - 1))

    def typed(x: Any, n: Any = 2) -> Any:
        return n * 1.0

    typed.__annotations__["n"] = "half"
    assert fp.fuse(typed)(x).dtype == np.float16
    with pytest.raises(fp.ArgumentError, match=r'static=\["axis"\]'):
        reduced(x, 0)


def test_static_arguments_that_are_equal_and_no_more_have_programs_of_their_own() -> None:
    seen: list[Any] = []
    fused = fp.fuse(lambda x, s: (seen.append(s), x + 1)[1], static=["s"])
    for value in (1, 1.0, True, (1,), (1.0,), (True,), 0.0, -0.0, (0.0,), (-0.0,), float("nan")):
        fused(ramp(2), value)
        fused(ramp(2), value)
    assert list(map(repr, seen)) == ["1", "1.0", "True", "(1,)", "(1.0,)", "(True,)", "0.0", "-0.0", "(0.0,)", "(-0.0,)", "nan"]


def test_captured_arrays_tensors_and_lists(lib: Any, device: Any) -> None:
    array, t = ramp(5), fp.Tensor.from_numpy(device, ramp(5, start=10))
    fused = fp.fuse(lambda x: lib.add(x, array) + t)
    same(fused(tensor(ramp(5))).to_numpy(), ramp(5) + ramp(5) + ramp(5, start=10))
    array += 1
    t.copy_from_numpy(ramp(5))
    same(fused(tensor(ramp(5))).to_numpy(), ramp(5) + (ramp(5) + 1) + ramp(5))
    same(fp.fuse(lambda x: lib.add(x, [1.0, 2.0, 3.0]))(ramp(2, 3)), ramp(2, 3) + np.array([1, 2, 3], F32))
    same(fp.fuse(lambda x: x * np.float64(2) + np.int8(1))(ramp(3)), ramp(3) * 2 + 1)
    same(fp.fuse(lambda x: array - x)(ramp(5)), array - ramp(5))
    table = ramp(9)
    same(fp.fuse(lambda i: lib.fetch(table, i + 1))(np.array([3, 0], np.int32)), table[[4, 1]])


def test_eager_math_takes_every_container(device: Any) -> None:
    assert fp.sqrt(4) == 2.0
    assert fp.maximum([1.0, 5.0], 3) == [3.0, 5.0]
    same(fp.floor(tensor(ramp(5))).to_numpy(), np.floor(ramp(5)))
    same(fp.where(ramp(5) > 0.5, ramp(5), 0.0), np.where(ramp(5) > 0.5, ramp(5), F32(0)))


# ---- mapping --------------------------------------------------------------------------------------------------------


@pytest.mark.req("V3", "V4")
def test_vmap_inside(lib: Any) -> None:
    @fp.fuse
    def outer(a: Any, b: Any) -> Any:
        return lib.minus(fp.vmap(a * 2, (0,)), fp.vmap(b + 1, (1,))) * 3

    a, b = ramp(4), ramp(6)
    same(outer(a, b), np.subtract.outer(a * 2, b + 1) * 3)
    assert kernels(lambda: outer(a, b)) == 1

    @fp.fuse
    def table(a: Any) -> Any:
        once = fp.sqrt(a)  # read in two ways, computed twice
        return lib.minus(fp.vmap(once, (0,)), fp.vmap(once, (1,)))

    close(table(a), np.subtract.outer(np.sqrt(a), np.sqrt(a)), ulps=2, atol=1e-6)
    assert "mappings through which its result is read" in str(table.explain(a))
    transposed = fp.fuse(lambda m: lib.add(fp.vmap(m, (1, 0)), 0) + 1)
    same(transposed(ramp(3, 4)), ramp(3, 4).T + 1)
    close(fp.fuse(lambda m: lib.add(fp.vmap(m, (1, 0)), m))(ramp(4, 4)), ramp(4, 4) + ramp(4, 4).T)


@pytest.mark.req("V4")
def test_vcast_inside(lib: Any) -> None:
    c = ramp(4, 3, step=0.7)
    same(fp.fuse(lambda c: fp.vcast(fp.vcast(c, lib.float3) * 2, "int3"))(c), (c * 2).astype(np.int32))
    same(fp.fuse(lambda x: fp.vcast(x, "half"))(c), c.astype(np.float16))
    same(fp.fuse(lambda x: fp.vcast(x, "double") * 0.1)(c), c.astype(np.float64) * 0.1)
    same(fp.fuse(lambda x: fp.vcast(x, "float") / 2)(np.arange(4)), np.arange(4, dtype=F32) / 2)
    same(fp.fuse(lambda x: fp.vcast(x > 1, "int"))(c), (c > 1).astype(np.int32))
    same(fp.fuse(lambda x: lib.luma(fp.float3(x * 1, x, x)))(ramp(4)), ramp(4) * F32(111))
    same(fp.fuse(lambda c: lib.luma(fp.vcast(c * 1, lib.float3)))(c), lib.luma(c * 1))
    with pytest.raises(fp.ShapeError, match="do not hold float3"):  # as outside of fused functions
        fp.fuse(lambda x: lib.luma(fp.vcast(x * 1, lib.float3)))(ramp(4))
    same(fp.fuse(lambda c: c.x)(fp.vcast(c, "float3")), c[:, 0])


# ---- structure ------------------------------------------------------------------------------------------------------


@pytest.mark.req("V15")
def test_swizzles_components_and_constructors(lib: Any) -> None:
    c = ramp(4, 3)
    v = fp.vcast(c, lib.float3)
    same(fp.fuse(lambda c: c.zyx)(v), c[:, ::-1])
    same(fp.fuse(lambda c: c.bgr)(v), c[:, ::-1])
    same(fp.fuse(lambda c: c.xxyy)(v), c[:, [0, 0, 1, 1]])
    same(fp.fuse(lambda c: c[1] + c[-1])(v), c[:, 1] + c[:, 2])
    same(fp.fuse(lambda c: lib.float3(c.x, 1, c.z * 2))(v), np.stack([c[:, 0], np.ones(4, F32), c[:, 2] * 2], 1))
    same(fp.fuse(lambda c: lib.float4(c.xy, c.zx))(v), c[:, [0, 1, 2, 0]])
    same(fp.fuse(lambda u, v: lib.float2(u, v))(ramp(4), ramp(4, start=9)), np.stack([ramp(4), ramp(4, start=9)], 1))
    same(fp.fuse(lambda x: lib.float3(x, x, x))(ramp(5)), np.repeat(ramp(5)[:, None], 3, 1))
    same(fp.fuse(lambda c: sum(c))(v), c[:, 0] + c[:, 1] + c[:, 2])
    assert len(fp.fuse(lambda c: [*c])(v)) == 3
    rows = fp.fuse(lambda m: (m[0], fp.vcast(m[1], "float3")[2], m[-1]))(fp.vcast(ramp(5, 3, 3), "float3x3"))
    same(rows[0], ramp(5, 3, 3)[:, 0])
    same(rows[1], ramp(5, 3, 3)[:, 1, 2])
    same(rows[2], ramp(5, 3, 3)[:, 2])
    picked = fp.fuse(lambda c, i: c[i])(v, np.array([0, 1, 2, 1], np.int32))
    same(picked, c[np.arange(4), [0, 1, 2, 1]])


@pytest.mark.req("V15", "N1", "N2", "N3")
def test_structs_made_and_taken_apart(lib: Any) -> None:
    @fp.fuse
    def shoot(p: Any, d: Any, t: Any) -> Any:
        ray = lib.make_ray(p, d)
        hit = lib.at(ray, t)
        again = lib.make_ray(hit, ray.direction * 2)
        return again, again.position.y, lib.at(again, 1.0)

    p, d = ramp(5, 3), ramp(3, start=4)
    ray, y, end = shoot(p, d, 2.0)
    same(ray["position"], p + 2 * d)
    same(y, (p + 2 * d)[:, 1])
    same(end, p + 4 * d)
    assert kernels(lambda: shoot(p, d, 3.0)) == 1
    source = shoot.source(p, d, 3.0)
    assert source.count("make_ray(") == 2
    rays = np.zeros(3, lib.Ray.dtype)
    rays["position"] = ramp(3, 3)
    same(fp.fuse(lambda r: lib.at(r, 0) + r.position)(rays), ramp(3, 3) * 2)
    chosen = fp.fuse(lambda r, s, k: fp.where(k > 1, lib.same(r), s))(rays, np.zeros(3, lib.Ray.dtype), np.arange(3))
    same(chosen["position"], np.where(np.arange(3)[:, None] > 1, ramp(3, 3), F32(0)))


@pytest.mark.req("V15")
def test_members_of_a_struct_without_any_call(lib: Any) -> None:
    rays = fp.Tensor.zeros(lib.device, 3, lib.Ray)
    same(fp.fuse(lambda r: r.position + 1)(rays).to_numpy(), np.ones((3, 3), F32))


def test_out_and_inout_are_returned(lib: Any) -> None:
    @fp.fuse
    def parts(v: Any) -> Any:
        whole, rest = lib.split(v)
        old, new = lib.bump(whole, rest)
        return old, new, rest * 2

    v = ramp(10)
    old, new, rest = parts(v)
    same(old, np.floor(v))
    same(new, v)
    same(rest, (v - np.floor(v)) * 2)
    same(v, ramp(10))
    assert kernels(lambda: parts(v)) == 1


def test_where(lib: Any) -> None:
    x, y = ramp(12, start=-1), ramp(12, start=3, step=-0.5)
    same(fp.fuse(lambda x, y: fp.where(x > 0, x, y))(x, y), np.where(x > 0, x, y))
    same(fp.fuse(lambda x: fp.where(x > 0, 1, -1))(x), np.where(x > 0, 1, -1).astype(np.int32))
    c = ramp(4, 3, start=-1)
    same(fp.fuse(lambda c: fp.where(c > 0, c, 0))(fp.vcast(c, "float3")), np.where(c > 0, c, F32(0)))
    same(
        fp.fuse(lambda c, k: fp.where(k, c, -c))(fp.vcast(c, "float3"), np.array([True, False, True, False])),
        np.where(np.array([[1], [0], [1], [0]]), c, -c),
    )
    same(fp.fuse(lambda x, y: fp.where((x > 0) & (y > 1) | ~(x < 2), x, y))(x, y), np.where((x > 0) & (y > 1) | ~(x < 2), x, y))
    assert fp.fuse(lambda k: fp.where(k, 2.0, 3.0))(True) == 2.0


# ---- operators ------------------------------------------------------------------------------------------------------

ARITHMETIC = [operator.add, operator.sub, operator.mul]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
UNARY: list[Callable[..., Any]] = [operator.neg, operator.pos, abs]
BITWISE = [operator.and_, operator.or_, operator.xor]
DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


def each(ops: list[Callable[..., Any]], *args: Any) -> list[Any]:
    """The result of every operation, from one fused function."""
    return list(fp.fuse(lambda *args: tuple(op(*args) for op in ops))(*args))


def operands(dtype: str) -> tuple[Any, Any]:
    kind = np.dtype(dtype).kind
    if kind == "f":
        a = RANDOM.uniform(-8, 8, 64).astype(dtype)
        b = RANDOM.uniform(0.5, 8, 64).astype(dtype) * RANDOM.choice([-1, 1], 64).astype(dtype)
    else:
        info = np.iinfo(dtype)
        a = RANDOM.integers(info.min, info.max, 64, dtype=dtype, endpoint=True)
        b = RANDOM.integers(info.min, info.max, 64, dtype=dtype, endpoint=True)
        b[:32] = np.array([1, 2, 3, 7] * 8, dtype) * (RANDOM.choice([-1, 1], 32) if kind == "i" else np.ones(32)).astype(dtype)
        a[:32] = np.arange(32, dtype=dtype) - np.dtype(dtype).type(16 if kind == "i" else 0)
        b[b == 0] = 1
    a[::5] = b[::5]
    return a, b


@pytest.mark.parametrize("dtype", daily(DTYPES, "int8", "uint32", "int64", "float32", "float16"))
def test_arithmetic(device: Any, dtype: str) -> None:
    a, b = operands(dtype)
    with np.errstate(all="ignore"):
        for op, got in zip(ARITHMETIC, each(ARITHMETIC, a, b)):
            close(got, op(a, b), ulps=0 if a.dtype.itemsize >= 4 or a.dtype.kind != "f" else 1)
        for op, got in zip(UNARY, each(UNARY, a)):
            same(got, op(a))
        for op, got in zip(COMPARISONS, each(COMPARISONS, a, b)):
            same(got, op(a, b))


@pytest.mark.parametrize("dtype", daily(DTYPES, "int8", "uint32", "int64", "float32", "float16"))
def test_division(device: Any, dtype: str) -> None:
    a, b = operands(dtype)
    true = np.divide(a, b, dtype=F32 if np.dtype(dtype).kind != "f" else dtype, casting="unsafe")
    close(fp.fuse(lambda a, b: a / b)(a, b), true, ulps=3)
    if np.dtype(dtype).kind == "f":
        # a GPU's division is good to 2.5 ulp, so that a quotient beside a whole number may fall on either side of it
        clear = np.abs(true - np.round(true)) > 8 * np.spacing(np.abs(true)) if true.size else true.astype(bool)
        a, b = a[clear], b[clear]
        assert a.size >= 32
        whole, rest = each([operator.floordiv, operator.mod], a, b)
        close(whole, a // b, ulps=1)
        close(rest, a % b, atol=0.02 if dtype == "float16" else 4e-6)
        return
    with np.errstate(all="ignore"):
        small = slice(0, 32)  # also beyond, except where INT_MIN // -1 overflows
        whole, rest = each([operator.floordiv, operator.mod], a[small], b[small])
        same(whole, a[small] // b[small])
        same(rest, a[small] % b[small])


@pytest.mark.parametrize("dtype", [d for d in DTYPES if "int" in d])
def test_integer_division_of_large_numbers(device: Any, dtype: str) -> None:
    info = np.iinfo(dtype)
    a = np.array([info.max, info.max, info.min, info.min + 1, info.max - 1, info.min, info.max, 5], dtype)
    b = np.array([info.max, 2, 2, info.max, info.max, info.max, 3, info.max], dtype)
    whole, rest = each([operator.floordiv, operator.mod], a, b)
    same(whole, a // b)
    same(rest, a % b)


@pytest.mark.parametrize("dtype", daily([d for d in DTYPES if "int" in d] + ["bool"], "int8", "uint32", "int64", "bool"))
def test_bitwise(device: Any, dtype: str) -> None:
    if dtype == "bool":
        a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    else:
        a, b = operands(dtype)
    for op, got in zip(BITWISE, each(BITWISE, a, b)):
        same(got, op(a, b))
    same(fp.fuse(lambda a: ~a)(a), ~a)
    if dtype != "bool":
        shift = (np.arange(a.size) % (a.dtype.itemsize * 8)).astype(dtype)
        left, right, number = each([operator.lshift, operator.rshift, lambda a, _: (a & 1) << 3], a, shift)
        same(left, a << shift)
        same(right, a >> shift)
        same(number, (a & 1) << 3)


def test_operators_with_numbers_and_arrays_on_the_left(device: Any) -> None:
    x = ramp(8, start=0.5)
    for function, expected in [
        (lambda x: 2 - x, 2 - x),
        (lambda x: 2.5 * x, F32(2.5) * x),
        (lambda x: 1 / x, 1 / x),
        (lambda x: 7 // x, 7 // x),
        (lambda x: 7 % x, 7 % x),
        (lambda x: ramp(8) - x, ramp(8) - x),
        (lambda x: ramp(8) < x, ramp(8) < x),
        (lambda x: np.float32(2) - x, 2 - x),
        (lambda x: x > 1, x > 1),
    ]:
        close(fp.fuse(function)(x), expected, ulps=3, atol=2e-6)
    n = np.arange(-6, 6)
    for function, expected in [
        (lambda n: 7 // (n * 2 + 1), 7 // (n * 2 + 1)),
        (lambda n: 7 % (n * 2 + 1), 7 % (n * 2 + 1)),
        (lambda n: n // 4, n // 4),
        (lambda n: n % 4, n % 4),
        (lambda n: n // -4, n // -4),
        (lambda n: n % -4, n % -4),
        (lambda n: 5 & n, 5 & n),
        (lambda n: 1 << (n & 7), 1 << (n & 7)),
    ]:
        same(fp.fuse(function)(n), expected)


def test_promotion(device: Any) -> None:
    i, f, h, d = np.arange(1, 5, dtype=np.int32), ramp(4, start=1), np.ones(4, np.float16) / 3, np.ones(4) / 3
    same(fp.fuse(lambda a, b: a + b)(i, f), i.astype(F32) + f)
    same(fp.fuse(lambda a, b: a * b)(h, f), h.astype(F32) * f)
    same(fp.fuse(lambda a, b: a * b)(f, d), f * d)
    same(fp.fuse(lambda a: a * 2)(h), h * np.float16(2))
    same(fp.fuse(lambda a: a * 2.5)(h), h * np.float16(2.5))
    same(fp.fuse(lambda a: a * 0.1)(d), d * 0.1)
    same(fp.fuse(lambda a: a + 0.5)(i), i.astype(F32) + F32(0.5))
    same(fp.fuse(lambda a, b: a + b)(np.ones(4, np.uint8), i), i + 1)
    same(fp.fuse(lambda a, b: a + b)(i > 2, i > 3), ((i > 2).astype(np.int32) + (i > 3)).astype(np.int32))


def test_vectors_and_matrices_in_operators(lib: Any) -> None:
    c, d, k = ramp(4, 3), ramp(4, 3, start=2), ramp(4, start=1)
    v = lambda a: fp.vcast(a, "float3")  # noqa: E731
    same(fp.fuse(lambda a, b: a * b - a)(v(c), v(d)), c * d - c)
    same(fp.fuse(lambda a, k: a * k + 1)(v(c), k), c * k[:, None] + 1)
    close(fp.fuse(lambda a, b: a / b)(v(c), v(d)), c / d, ulps=3)
    same(fp.fuse(lambda a, b: a > b)(v(c), v(d - 1)), c > d - 1)
    close(fp.fuse(lambda a, k: k % a)(v(d), k), k[:, None] % d, atol=4e-6)
    same(fp.fuse(lambda a, k: k // a)(v(d), k), k[:, None] // d)
    m, n = ramp(4, 3, 3, step=0.1), ramp(4, 3, 3, start=1, step=0.1)
    mm = lambda a: fp.vcast(a, "float3x3")  # noqa: E731
    close(fp.fuse(lambda a, b: a @ b)(mm(m), mm(n)), m @ n, ulps=4)
    close(fp.fuse(lambda a, b: a @ b)(mm(m), v(c)), np.einsum("nij,nj->ni", m, c), ulps=4)
    close(fp.fuse(lambda a, b: a @ b)(v(c), mm(m)), np.einsum("nj,njk->nk", c, m), ulps=4)
    close(fp.fuse(lambda a, b: a * b + 1)(mm(m), mm(n)), m * n + 1, ulps=1)
    same(fp.fuse(lambda a, k: a * k)(mm(m), k), m * k[:, None, None])


# ---- math functions -------------------------------------------------------------------------------------------------

WIDE, POSITIVE, UNIT = RANDOM.uniform(-6, 6, 200), RANDOM.uniform(0.01, 30, 200), RANDOM.uniform(-0.99, 0.99, 200)
# name, NumPy's meaning, samples, units in the last place (facts.md measured them), absolute tolerance near zeros
MATH: list[tuple[str, Callable[..., Any], Any, int, float]] = [
    ("sin", np.sin, WIDE, 8, 1e-6),
    ("cos", np.cos, WIDE, 8, 1e-6),
    ("tan", np.tan, UNIT, 32, 1e-6),
    ("asin", np.arcsin, UNIT, 4096, 1e-4),
    ("acos", np.arccos, UNIT, 4096, 1e-4),
    ("atan", np.arctan, WIDE, 512, 1e-5),
    ("sinh", np.sinh, WIDE, 2048, 1e-5),
    ("cosh", np.cosh, WIDE, 64, 0),
    ("tanh", np.tanh, WIDE, 1024, 1e-5),
    ("exp", np.exp, WIDE, 32, 0),
    ("exp2", np.exp2, WIDE, 16, 0),
    ("log", np.log, POSITIVE, 64, 1e-6),
    ("log2", np.log2, POSITIVE, 64, 1e-6),
    ("log10", np.log10, POSITIVE, 64, 1e-6),
    ("sqrt", np.sqrt, POSITIVE, 4, 0),
    ("rsqrt", lambda x: 1 / np.sqrt(x), POSITIVE, 8, 0),
    ("floor", np.floor, WIDE, 0, 0),
    ("ceil", np.ceil, WIDE, 0, 0),
    ("trunc", np.trunc, WIDE, 0, 0),
    ("fract", lambda x: x - np.floor(x), WIDE, 2, 1e-6),
    ("abs", np.abs, WIDE, 0, 0),
    ("sign", np.sign, WIDE, 0, 0),
    ("saturate", lambda x: np.clip(x, 0, 1), WIDE, 0, 0),
]


@pytest.fixture(scope="module")
def math_of(device: Any) -> Callable[[str], dict[str, Any]]:
    """What the functions of `MATH` give of their samples as one kind of value, by name: one fused function for each kind."""

    @cache
    def of(kind: str) -> dict[str, Any]:
        def given(x: Any) -> Any:
            if kind == "float3":
                return fp.vcast(x[:198].astype(F32).reshape(-1, 3), kind)
            return x.astype(kind)

        program = fp.fuse(lambda *xs: tuple(getattr(fp, m[0])(x) for m, x in zip(MATH, xs)))
        return dict(zip((m[0] for m in MATH), program(*(given(m[2]) for m in MATH)), strict=True))

    return of


@pytest.mark.parametrize(
    ("name", "numpy", "samples", "ulps", "atol"),
    daily(
        [pytest.param(*m, id=m[0]) for m in MATH],
        "sin",
        "asin",
        "tanh",
        "exp",
        "log",
        "rsqrt",
        "floor",
        "fract",
        "sign",
        "saturate",
    ),
)
def test_math_of_one_argument(math_of: Any, name: str, numpy: Any, samples: Any, ulps: int, atol: float) -> None:
    function = getattr(fp, name)
    x = samples.astype(F32)
    expected = numpy(x.astype(np.float64)).astype(F32)
    close(math_of("float32")[name], expected, ulps, atol)
    close(function(x), expected, ulps, atol)
    close(math_of("float3")[name], expected[:198].reshape(-1, 3), ulps, atol)
    halves = math_of("float16")[name]
    assert halves.dtype == np.float16
    np.testing.assert_allclose(halves.astype(F32), numpy(x.astype(np.float16).astype(np.float64)), rtol=6e-3, atol=6e-3)


KEEP = ("abs", "floor", "ceil", "trunc", "round", "sign")
OF_INTEGERS = [m for m in MATH if m[0] not in (*KEEP, "saturate", "asin", "acos", "tan")]


def test_integers_become_float_where_the_function_needs_it(device: Any) -> None:
    n = np.arange(1, 6, dtype=np.int32)
    results = each([getattr(fp, m[0]) for m in OF_INTEGERS], n)
    for result, (_, numpy, _, ulps, atol) in zip(results, OF_INTEGERS, strict=True):
        close(result, numpy(n.astype(np.float64)).astype(F32), ulps + 2, max(atol, 1e-6))


def test_round_is_half_to_even(device: Any) -> None:
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 0.49999997, 1.2, -1.7], F32)
    same(fp.round(x), np.round(x))


def test_math_of_several_arguments(device: Any) -> None:
    x, y, t = WIDE.astype(F32), WIDE[::-1].astype(F32), RANDOM.uniform(0, 1, 200).astype(F32)
    same(fp.minimum(x, y), np.minimum(x, y))
    same(fp.maximum(x, y), np.maximum(x, y))
    same(fp.maximum(x, 0), np.maximum(x, 0))
    same(fp.minimum(np.arange(-3, 3), 1), np.minimum(np.arange(-3, 3), 1))
    same(fp.clip(x, -1, 1), np.clip(x, -1, 1))
    same(fp.clip(np.arange(9), 2, 5), np.clip(np.arange(9), 2, 5))
    same(fp.step(x, y), (y >= x).astype(F32))
    close(fp.lerp(x, y, t), x + (y - x) * t, ulps=4, atol=2e-6)
    s = np.clip((y + 2) / 4, 0, 1)
    close(fp.smoothstep(-2, 2, y), s * s * (3 - 2 * s), ulps=8, atol=1e-6)
    close(fp.atan2(y, x), np.arctan2(y.astype(np.float64), x.astype(np.float64)).astype(F32), ulps=512, atol=1e-4)


def test_geometry(lib: Any) -> None:
    a, b = RANDOM.uniform(-2, 2, (50, 3)).astype(F32), RANDOM.uniform(-2, 2, (50, 3)).astype(F32)
    va, vb = fp.vcast(a, "float3"), fp.vcast(b, "float3")
    run = lambda f: fp.fuse(f)(va, vb)  # noqa: E731
    close(run(lambda a, b: fp.dot(a, b)), (a * b).sum(1), ulps=4, atol=2e-6)
    close(run(lambda a, b: fp.cross(a, b)), np.cross(a, b), ulps=4, atol=2e-6)
    close(run(lambda a, b: fp.length(a - b)), np.linalg.norm(a - b, axis=1).astype(F32), ulps=8)
    unit = a / np.linalg.norm(a, axis=1, keepdims=True)
    close(run(lambda a, b: fp.normalize(a)), unit.astype(F32), ulps=8, atol=1e-6)
    n = (unit.astype(F32)).astype(F32)
    reflected = b - 2 * (n * b).sum(1, keepdims=True) * n
    close(run(lambda a, b: fp.reflect(b, fp.normalize(a))), reflected, ulps=16, atol=4e-6)


def test_special_values_pass_through(device: Any) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], F32)
    same(fp.fuse(lambda x: x + 1)(x), x + 1)
    same(fp.fuse(lambda x: fp.where(x == x, x, 7))(x), np.where(x == x, x, F32(7)))
    same(fp.fuse(lambda x: x != x)(x), x != x)
    same(fp.fuse(lambda x: x * float("inf"))(np.array([1, -1], F32)), np.array([np.inf, -np.inf], F32))
    assert np.isnan(fp.fuse(lambda x: x + float("nan"))(1.0))
    assert np.signbit(fp.fuse(lambda x: x * -0.0)(np.array([1], F32)))[0]
    with np.errstate(all="ignore"):
        same(fp.fuse(lambda x: 1 / x)(x), 1 / x)


def test_big_constants(device: Any) -> None:
    same(fp.fuse(lambda x: x * 1e-30 * 1e30)(ramp(4)), ramp(4) * F32(1e-30) * F32(1e30))
    same(fp.fuse(lambda x: x + (2**31 - 1) - 1)(np.zeros(2, np.int64)), np.full(2, 2**31 - 2))
    same(fp.fuse(lambda x: x + (-(2**31)))(np.zeros(2, np.int32)), np.full(2, -(2**31), np.int32))
    same(fp.fuse(lambda x: x + (2**63))(np.zeros(2, np.uint64)), np.full(2, 2**63, np.uint64))
    same(fp.fuse(lambda x: x * 0.1)(np.ones(2)), np.full(2, 0.1))


def test_number_arguments_beside_doubles_keep_their_digits(device: Any) -> None:
    same(fp.fuse(lambda x, k: x * k)(np.ones(2), 0.1), np.full(2, 0.1))


CONDITION = np.array([True, False])
OPERATORS: dict[str, Any] = {
    "where": lambda x: fp.where(CONDITION, x, 0.5),
    "where_of_halves": lambda x: fp.where(CONDITION, x, np.ones(2, np.float16)),
    "condition": lambda x: fp.where(x, 2.0, 0.5),
    "add": lambda x: x + 0.5,
    "sin": lambda x: fp.sin(x),
    "maximum": lambda x: fp.maximum(x, 1),
    "compare": lambda x: x < 1.5,
}


@pytest.mark.req("V1", "T1")
@pytest.mark.parametrize("name", daily(OPERATORS, "where_of_halves", "condition", "maximum", "compare"))
@pytest.mark.parametrize(
    "list", [[1, 2], [1.5, 0.0], pytest.param([True, False], marks=pytest.mark.rest)], ids=["int", "float", "bool"]
)
def test_a_list_that_a_double_parameter_takes_as_well_changes_no_operator(device: Any, name: str, list: Any) -> None:
    m = fp.Module.load_from_source(device, "beside_double", "double exact(double x) { return x; }")
    operator = OPERATORS[name]
    alone = fp.fuse(lambda x: operator(x))(list, _result="numpy")
    beside, exact = fp.fuse(lambda x: (operator(x), m.exact(x)))(list, _result="numpy")
    same(beside, alone)
    same(exact, np.array(list, np.float64))


def test_number_arguments_beside_small_integers_are_checked(device: Any) -> None:
    with pytest.raises(fp.RangeError):
        fp.fuse(lambda x, k: x + k)(np.ones(3, np.uint8), 300)


def test_a_long_chain_is_one_kernel(lib: Any) -> None:
    @fp.fuse
    def chain(c: Any, k: Any) -> Any:
        for i in range(20):
            c = lib.tone(c, k, i * 0.125)
        return c

    c = ramp(300, 3)
    expected = c
    for i in range(20):
        expected = expected * F32(0.5) + F32(i * 0.125)
    same(chain(c, 0.5), expected)
    assert kernels(lambda: chain(c, 0.5)) == 1


def test_tracing_in_two_threads_at_once(lib: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def work(i: int) -> bool:
        fused = fp.fuse(lambda x: lib.add(x, i) * 2)
        return bool(np.array_equal(fused(ramp(50)), (ramp(50) + i) * 2))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))
