"""Every scalar as scalar, vector, matrix, fixed array and struct member, from every container, there and back bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

SCALARS: dict[str, Any] = {
    "bool": np.bool_,
    **{f"{u}int{n}_t": getattr(np, f"{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)},
    "half": np.float16,
    "float": np.float32,
    "double": np.float64,
}
PLAIN = {
    "scalar": ("{s}", ()),
    **{f"vector{n}": (f"vector<{{s}},{n}>", (n,)) for n in (2, 3, 4)},
    "array": ("{s}[5]", (5,)),
    "nested": ("{s}[2][3]", (3, 2)),
    "vectors": ("vector<{s},3>[2]", (2, 3)),
}
MATRICES = {f"matrix{r}{c}": (f"matrix<{{s}},{r},{c}>", (r, c)) for r in (2, 3, 4) for c in (2, 3, 4)}
BATCH = 5  # no extent that a vector could take in


def forms(scalar: str) -> dict[str, tuple[str, tuple[int, ...]]]:
    """What a scalar can be part of. Slang makes no valid SPIR-V of matrices of other integers than `int` and `uint`."""
    matrices = scalar in ("bool", "int32_t", "uint32_t", "half", "float", "double")
    return {**PLAIN, **(MATRICES if matrices else {})}


def source() -> str:
    lines: list[str] = []
    for scalar in SCALARS:
        members: list[str] = []
        for form, (type, _) in forms(scalar).items():
            spelled = type.format(s=scalar)
            lines.append(f"{spelled} {form}_{scalar}({spelled} x) {{ return x; }}")
            members.append(f"{spelled} {form};")
        # single bytes in between make the padding of the others tell
        inner = " uint8_t pad; ".join(m for i, m in enumerate(members) if i < 5)
        lines.append(f"struct S_{scalar} {{ uint8_t tag; {inner} {' '.join(members[5:])} }};")
        lines.append(f"S_{scalar} struct_{scalar}(S_{scalar} x) {{ return x; }}")
    text = "\n".join(lines)
    count = 0
    while " pad;" in text:
        count += 1
        text = text.replace(" pad;", f" pad{count};", 1)
    return text


def numbers(dtype: Any, shape: tuple[int, ...], seed: int) -> Any:
    """Random values over the whole range of a dtype."""
    random = np.random.default_rng(seed)
    if dtype is np.bool_:
        return random.integers(0, 2, shape).astype(np.bool_)
    if np.dtype(dtype).kind == "f":
        return (random.standard_normal(shape) * 100).astype(dtype)
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


@pytest.fixture(scope="module")
def table(device: Any) -> Any:
    return fp.Module.load_from_source(device, "table", source())


def through(table: Any, scalar: str, arguments: list[Any], returns: str) -> Any:
    """All forms of a scalar through their functions, in one kernel."""
    names = list(forms(scalar))
    program = "lambda {}: ({},)".format(", ".join(names), ", ".join(f"table.find_function('{n}_{scalar}')({n})" for n in names))
    return fp.fuse(eval(program, {"table": table})).return_type(returns)(*arguments)


def check(results: Any, expected: list[Any], dtype: Any) -> None:
    for found, wanted in zip(results, expected, strict=True):
        array = np.asarray(found.to_numpy() if isinstance(found, fp.Tensor) else found)
        assert array.shape == wanted.shape
        assert array.dtype == dtype
        np.testing.assert_array_equal(array, wanted)


@pytest.mark.req("T1")
@pytest.mark.parametrize("container", ["numpy", "tensor", "list", "single"])
@pytest.mark.parametrize("scalar", daily(SCALARS, "bool", "int16_t", "float"))
def test_there_and_back(device: Any, table: Any, scalar: str, container: str) -> None:
    dtype = SCALARS[scalar]
    batch = () if container == "single" else (BATCH,)
    values = [numbers(dtype, batch + shape, i) for i, (_, shape) in enumerate(forms(scalar).values())]
    given: list[Any] = values
    if container == "tensor":
        given = [fp.Tensor.from_numpy(device, v) for v in values]
    elif container != "numpy":
        given = [v.tolist() for v in values]
    check(through(table, scalar, given, "tensor" if container == "tensor" else "numpy"), values, np.dtype(dtype))


@pytest.mark.req("T1", "T8")
@pytest.mark.parametrize("scalar", daily(SCALARS, "bool", "int16_t", "double"))
def test_structs_there_and_back(device: Any, table: Any, scalar: str) -> None:
    type = table[f"S_{scalar}"]
    values = np.zeros(BATCH, type.dtype)
    for i, name in enumerate(values.dtype.names or ()):
        member = values[name]
        dtype = np.uint8 if name[:3] in ("tag", "pad") else SCALARS[scalar]
        values[name] = numbers(dtype, member.shape, i)
    found = table[f"struct_{scalar}"](fp.Tensor.from_numpy(device, values, dtype=type)).to_numpy()
    for name in values.dtype.names or ():
        np.testing.assert_array_equal(found[name], values[name], err_msg=name)
    assert table[f"struct_{scalar}"](fp.Tensor.from_numpy(device, values[:0], dtype=type)).shape == (0,)


@pytest.mark.req("T1")
def test_matrices_of_other_integers_say_what_to_do_instead(device: Any) -> None:
    if device.target.kind != "software":
        pytest.skip("GPUs have them")
    m = fp.Module.load_from_source(device, "narrow", "matrix<int16_t,2,2> same(matrix<int16_t,2,2> x) { return x; }")
    with pytest.raises(fp.CompileError, match="arrays of vectors"):
        m.same(np.zeros((5, 2, 2), np.int16))


@pytest.mark.req("T1")
def test_matrices_both_ways_round(device: Any) -> None:
    source = "\n".join(
        f"float{r} right{r}{c}(float{r}x{c} m, float{c} v) {{ return mul(m, v); }}\n"
        f"float{c} left{r}{c}(float{r} v, float{r}x{c} m) {{ return mul(v, m); }}\n"
        f"float{c}x{r} turned{r}{c}(float{r}x{c} m) {{ return transpose(m); }}\n"
        f"float at{r}{c}(float{r}x{c} m, int i, int j) {{ return m[i][j]; }}\n"
        for r in (2, 3, 4)
        for c in (2, 3, 4)
    )
    m = fp.Module.load_from_source(device, "both_ways", source)

    def all_of(n: str) -> Any:
        right, left, turned, at = m[f"right{n}"], m[f"left{n}"], m[f"turned{n}"], m[f"at{n}"]
        return fp.fuse(lambda a, x, y, i, j: (right(a, x), left(y, a), turned(a), at(a, i, j)))

    for r in (2, 3, 4):
        for c in (2, 3, 4):
            a = numbers(np.int8, (BATCH, r, c), r * c).astype(np.float32)
            x, y = (numbers(np.int8, (BATCH, n), n).astype(np.float32) for n in (c, r))
            i, j = np.arange(BATCH, dtype=np.int32) % r, np.arange(BATCH, dtype=np.int32) % c
            right, left, turned, at = all_of(f"{r}{c}")(a, x, y, i, j)
            np.testing.assert_array_equal(right, np.einsum("nij,nj->ni", a, x))
            np.testing.assert_array_equal(left, np.einsum("ni,nij->nj", y, a))
            np.testing.assert_array_equal(turned, a.swapaxes(1, 2))
            np.testing.assert_array_equal(at, a[np.arange(BATCH), i, j])


@pytest.mark.req("T1", "T8")
def test_arrays_of_structs_and_structs_of_arrays(device: Any) -> None:
    m = fp.Module.load_from_source(
        device,
        "arrays",
        """
struct Point { float x; double y; };
struct Path { Point[3] points; bool[2] closed; half h; };
double total(Point[3] p) { return p[0].y + 10 * p[1].y + 100 * p[2].y; }
Point[2] twice(Point p) { return { p, p }; }
Path flip(Path p) { p.closed[0] = !p.closed[0]; p.points[1].x += 1; return p; }
float corner(float3[2] box) { return box[1].z; }
""",
    )
    points = np.zeros((5, 3), m.Point.dtype)
    points["y"] = np.arange(15).reshape(5, 3)
    np.testing.assert_array_equal(m.total(points), points["y"] @ np.array([1.0, 10.0, 100.0]))
    assert m.total(points[0]) == 210.0
    assert m.twice(points[:, 0]).shape == (5, 2)
    np.testing.assert_array_equal(m.twice(points[:, 1])["y"], np.repeat(points[:, 1:2]["y"], 2, axis=1))
    paths = np.zeros(2, m.Path.dtype)
    flipped = m.flip(paths)
    assert flipped["closed"].tolist() == [[1, 0], [1, 0]]
    assert flipped["points"]["x"].tolist() == [[0, 1, 0], [0, 1, 0]]
    boxes = np.arange(30, dtype=np.float32).reshape(5, 2, 3)
    assert m.corner(boxes).tolist() == boxes[:, 1, 2].tolist()
    assert m.corner(boxes[::-2, :, ::-1]).tolist() == boxes[::-2, 1, 0].tolist()
    assert m.corner(fp.Tensor.from_numpy(device, boxes, dtype=m.float3)).to_numpy().tolist() == boxes[:, 1, 2].tolist()


@pytest.mark.req("T1")
@pytest.mark.parametrize("value", [np.array(3, np.float32), np.float32(3), 3, 3.0, np.array([3], np.float32)[0]])
def test_single_values(lib: Any, value: Any) -> None:
    assert float(lib.minus(value, 1)) == 2.0


@pytest.mark.req("T1")
@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0)])
def test_empty_arrays(lib: Any, shape: tuple[int, ...]) -> None:
    assert lib.minus(np.zeros(shape, np.float32), 1).shape == shape
    assert lib.luma(np.zeros((*shape, 3), np.float32)).shape == shape
