"""What is not componentwise, over every scalar against NumPy: geometry, products, components, structs, control flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.ir.types import Type
from tests.support.op_table import SCALARS
from tests.support.selection import daily

KINDS: dict[str, Any] = {name: Type.parse(name).dtype for name in SCALARS}
NAMES = daily(SCALARS, "bool", "uint16_t", "float")
NARROW = [n for n in SCALARS if KINDS[n].kind in "iu" and KINDS[n].itemsize != 4]


def values(name: str, *shape: int, top: int = 9) -> Any:
    """Small numbers, none of them 0."""
    random = np.random.default_rng(len(name) + sum(shape))
    if KINDS[name].kind == "b":
        return random.integers(0, 2, shape).astype(bool) | (np.arange(shape[-1]) == 0)
    return (random.integers(1, top, shape) / (4 if KINDS[name].kind == "f" else 1)).astype(KINDS[name])


def near(found: Any, wanted: Any, what: str, magnitude: Any = None) -> None:
    """Within 16 roundings of what was added up; roots and quotients of float are good to 4 on Vulkan."""
    bound = 16 * np.finfo(found.dtype).eps * (np.abs(wanted) if magnitude is None else magnitude)
    assert np.all(np.abs(found - wanted) <= bound), (what, found, wanted)


@pytest.mark.req("C5")
@pytest.mark.parametrize("name", NAMES)
def test_vector_functions(device: Any, name: str) -> None:
    given = [values(name, 5, n) for n in (2, 3, 4) for _ in range(2)]
    given[1::2] = [x[::-1].copy() for x in given[1::2]]

    @fp.fuse
    def program(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
        vectors = [fp.vcast(x, f"vector<{name},{n}>") for x, n in zip((a, b, c, d, e, f), (2, 2, 3, 3, 4, 4))]
        rows = [(fp.dot(x, y), fp.length(x), fp.normalize(x), fp.reflect(x, y)) for x, y in zip(vectors[::2], vectors[1::2])]
        return tuple(rows), fp.cross(vectors[2], vectors[3])

    rows, crossed = program(*given)
    result = KINDS[name] if KINDS[name].kind == "f" else np.dtype(np.float32)
    for x, y, (dot, length, unit, mirrored) in zip(given[::2], given[1::2], rows, strict=True):
        x, y = x.astype(np.float64), y.astype(np.float64)
        size = np.sqrt(np.sum(x * x, -1))
        assert {r.dtype for r in (dot, length, unit, mirrored, crossed)} == {result}
        near(dot, np.sum(x * y, -1), "dot")
        near(length, size, "length")
        near(unit, x / size[:, None], "normalize")
        turned = 2 * np.sum(x * y, -1)[:, None] * y
        near(mirrored, x - turned, "reflect", np.abs(x) + np.abs(turned))
    x, y = (v.astype(np.float64) for v in given[2:4])
    near(crossed, np.cross(x, y), "cross", np.max(np.abs(x)) * np.max(np.abs(y)) * 2)


@pytest.mark.req("C5")
@pytest.mark.parametrize("name", NAMES)
def test_products(device: Any, name: str) -> None:
    a, b, x, y = (values(name, 4, *s, top=100) for s in ((2, 3), (3, 4), (3,), (2,)))

    @fp.fuse
    def program(a: Any, b: Any, x: Any, y: Any) -> Any:
        a, b = fp.vcast(a, f"matrix<{name},2,3>"), fp.vcast(b, f"matrix<{name},3,4>")
        x, y = fp.vcast(x, f"vector<{name},3>"), fp.vcast(y, f"vector<{name},2>")
        return a @ b, a @ x, y @ a

    result = np.dtype(np.int32) if name == "bool" else KINDS[name]
    given = [v.astype(result) for v in (a, b, x, y)]
    for found, pattern, pair in zip(program(a, b, x, y), ("nij,njk->nik", "nij,nj->ni", "ni,nij->nj"), ((0, 1), (0, 2), (3, 0))):
        left, right = (given[i].astype(np.float64 if result.kind == "f" else result) for i in pair)
        assert found.dtype == result
        if result.kind == "f":
            near(found, np.einsum(pattern, left, right), pattern)
        else:
            np.testing.assert_array_equal(found, np.einsum(pattern, left, right), err_msg=pattern)  # wraps


@pytest.mark.req("C5")
@pytest.mark.parametrize("name", NAMES)
def test_products_of_arrays(device: Any, name: str) -> None:
    a, b = values(name, 2, 5, 11, top=100), values(name, 11, 9, top=100)
    found = fp.matmul(fp.Tensor.from_numpy(device, a), fp.Tensor.from_numpy(device, b)).to_numpy()
    result = np.dtype(np.int32) if name == "bool" else KINDS[name]
    wide = np.float64 if result.kind == "f" else result
    assert found.dtype == result
    if result.kind == "f":
        near(found, a.astype(wide) @ b.astype(wide), "matmul")
    else:
        np.testing.assert_array_equal(found, a.astype(wide) @ b.astype(wide))  # wraps


@pytest.mark.req("C5")
@pytest.mark.parametrize("name", NAMES)
def test_components(device: Any, name: str) -> None:
    """Built, taken apart by name, by number and by a computed number, and chosen between."""
    vector, matrix, row, both = f"vector<{name},4>", f"matrix<{name},2,3>", f"vector<{name},3>", f"{name}[2]"
    m = fp.Module.load_from_source(device, f"five_{name}", f"{name}[2] pair({name} x, {name} y) {{ return {{ x, y }}; }}")
    v, a, i = values(name, 6, 4), values(name, 6, 2, 3), (np.arange(6) % 2).astype(np.int32)
    moving = name not in NARROW or device.target.kind != "software"  # whether a computed number may choose a row of a matrix

    @fp.fuse
    def program(v: Any, a: Any, i: Any) -> Any:
        v, a = fp.vcast(v, vector), fp.vcast(a, matrix)
        pair = m.pair(v.x, v.y)
        built = m[vector](v.w, v.xy, v.x), m[matrix](a[1], v.xyz)
        named = v.y, v.wzyx, v.bb, v.rgb
        counted = v[2], v[-1], v[i], a[1], a[0].z, fp.vcast(a[1], row)[i], (a[i] if moving else a[1])
        mask = i > 0
        by_double = fp.where(fp.vcast(i, "double"), v, v.wzyx)
        chosen = (
            by_double,
            fp.where(mask, v, v.wzyx),
            fp.where(v == v.x, v, v.y),
            fp.where(mask, a, a[0].x),
            fp.where(mask, v.x, 1),
        )
        return built, named, counted, (fp.vcast(pair, both)[1], fp.vcast(pair, both)[i]), chosen

    built, named, counted, pair, chosen = program(v, a, i)
    n, mask = np.arange(6), i > 0
    wanted = [v[:, [3, 0, 1, 0]], np.stack([a[:, 1], v[:, :3]], 1)]
    wanted += [v[:, 1], v[:, ::-1], v[:, [2, 2]], v[:, :3]]
    wanted += [v[:, 2], v[:, 3], v[n, i], a[:, 1], a[:, 0, 2], a[n, 1, i], a[n, i] if moving else a[:, 1]]
    wanted += [v[:, 1], v[n, i]]
    wanted += 2 * [np.where(mask[:, None], v, v[:, ::-1])] + [np.where(v == v[:, :1], v, v[:, 1:2])]
    wanted += [np.where(mask[:, None, None], a, a[:, :1, :1]), np.where(mask, v[:, 0], KINDS[name].type(1))]
    for k, (found, expected) in enumerate(zip((*built, *named, *counted, *pair, *chosen), wanted, strict=True)):
        if k < len(wanted) - 1 or name != "bool":  # a bool or the number 1 is an int
            assert found.dtype == KINDS[name], k
        np.testing.assert_array_equal(found, expected, err_msg=str(k))


@pytest.mark.req("C5", "T7")
@pytest.mark.parametrize("name", NAMES)
def test_structs(device: Any, name: str) -> None:
    """Built from members, returned, chosen between and taken apart."""
    text = f"struct S {{ {name} a; uint8_t pad; vector<{name},3> b; }}; S same(S s) {{ return s; }}"
    m = fp.Module.load_from_source(device, f"made_{name}", text)
    a, b = values(name, 6), values(name, 6, 3)

    @fp.fuse
    def program(a: Any, b: Any, turned: Any, mask: Any) -> Any:
        first, second = m.same({"a": a, "pad": 1, "b": b}), m.same({"a": a, "pad": 2, "b": turned})
        chosen = fp.where(mask, first, second)
        return chosen.a, chosen.b, chosen.b.zx, chosen.pad

    mask = np.arange(6) % 2 > 0
    one, three, swizzled, pad = program(a, b, b[:, ::-1].copy(), mask)
    wanted = np.where(mask[:, None], b, b[:, ::-1])
    np.testing.assert_array_equal(one, a)
    np.testing.assert_array_equal(three, wanted)
    np.testing.assert_array_equal(swizzled, wanted[:, [2, 0]])
    np.testing.assert_array_equal(pad, np.where(mask, 1, 2))


@pytest.mark.req("C5")
@pytest.mark.parametrize("name", NAMES)
def test_control_flow(device: Any, name: str) -> None:
    """Branches and loops that carry a scalar and a vector; all loops end after 3 steps."""
    x, v = values(name, 6), values(name, 6, 3)
    twice = (lambda c: c ^ c) if name == "bool" else (lambda c: c + c)

    @fp.fuse
    def program(x: Any, v: Any, i: Any) -> Any:
        v = fp.vcast(v, f"vector<{name},3>")
        branch = fp.cond(i > 2, lambda x, v: (twice(x), v), lambda x, v: (x, twice(v)), x, v)
        counted = fp.fori_loop(0, 3, lambda k, c: (twice(c[0]), twice(c[1])), (x, v))
        tested = fp.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, twice(c[1]), c[2]), (i * 0, x, v))
        return branch, counted, tested[1:]

    i = np.arange(6, dtype=np.int32)
    double = (lambda c: c ^ c) if name == "bool" else (lambda c: c + c)
    after = double(double(double(x))), double(double(double(v)))
    branch = np.where(i > 2, double(x), x), np.where((i > 2)[:, None], v, double(v))
    for found, wanted in zip(program(x, v, i), (branch, after, (after[0], v)), strict=True):
        for got, expected in zip(found, wanted, strict=True):
            assert got.dtype == KINDS[name]
            np.testing.assert_array_equal(got, expected)


@pytest.mark.req("C5")
@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_the_program(device: Any, name: str) -> None:
    """Each is what Python says, to the last bit, up to the ends of the range."""
    dtype = KINDS[name]
    numbers: list[Any] = [False, True]
    if dtype.kind == "f":
        info = np.finfo(dtype)
        numbers = [float(n) for n in (0.1, -0.0, 1 / 3, info.max, -info.max, info.tiny, np.inf, -np.inf, np.nan, 1)]
    elif dtype.kind != "b":
        numbers = [0, 1, 100, int(np.iinfo(dtype).max), int(np.iinfo(dtype).min)]
    found = fp.fuse(lambda x: tuple(fp.where(x != x, x, n) for n in numbers))(np.zeros(2, dtype))
    for n, result in zip(numbers, found, strict=True):
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, np.full(2, n, dtype))


@pytest.mark.req("C5")
@pytest.mark.parametrize("name", NAMES)
def test_generators(device: Any, name: str) -> None:
    text = f"{name} one({name} x) {{ return x; }} vector<{name},2> two(vector<{name},2> x) {{ return x; }}"
    m = fp.Module.load_from_source(device, f"generated_{name}", text)
    out = np.empty(300, KINDS[name])
    for generator in (fp.thread_id(), fp.call_id(), range(300)):
        found = m.one(generator, _result="numpy") if isinstance(generator, range) else m.one(generator, _result=out)
        np.testing.assert_array_equal(out if found is None else found, np.arange(300).astype(KINDS[name]))
    places = m.two(fp.grid((2, 3)), _result="numpy")
    np.testing.assert_array_equal(places, np.stack(np.meshgrid(np.arange(3), np.arange(2)), -1).astype(KINDS[name]))
