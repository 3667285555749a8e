"""Fields of tensors of structs: vectors where the struct has vectors, whatever its size, in every mode of calls."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import seldom

SOURCE = """
struct Ray : IDifferentiable { float3 at; float w; float2x2 turn; float q[2]; };
[Differentiable] float3 twice(float3 v) { return v * 2; }
[Differentiable] float3 along(Ray r, float3 p) { return r.at * r.w + p; }
void put(float3 a, out float3 o) { o = a * 2; }
void inc(inout float3 a) { a += 1; }
float whole(Tensor<float3, 1> t, int i) { return t[i].y; }
void fill(RWTensor<float3, 1> t, int i) { t[i] = i; }
void point(float3* t, int i) { t[i] = i; }
float first(float x) { return x; }
"""
N = 4
X = np.linspace(1, 2, N).astype(np.float32)


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "fields_of_structs", SOURCE)


@pytest.fixture
def rays(m: Any) -> fp.Tensor:
    """Four structs of 40 bytes, which is no multiple of a float3."""
    tensor = fp.Tensor.zeros(m.device, (N,), m.Ray)
    tensor["at"] = np.arange(3 * N, dtype=np.float32).reshape(N, 3) / 8
    tensor["turn"] = np.arange(4 * N, dtype=np.float32).reshape(N, 2, 2) / 8
    tensor["w"] = X
    return tensor


def at(rays: Any) -> np.ndarray[Any, Any]:
    return rays.numpy()["at"]


PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "field": lambda m, r, v: r.at,
    "sum": lambda m, r, v: fp.sum(r.at * 2),
    "sum of an axis": lambda m, r, v: fp.sum(fp.sqrt(r.at), 0),
    "numbers beside it": lambda m, r, v: r.at * r.w + r.w,
    "vectors beside it": lambda m, r, v: fp.maximum(r.at, v) * v,
    "calls beside it": lambda m, r, v: m.twice(r.at) + r.at,
    "one vector": lambda m, r, v: r.at * fp.float3(1.0, 2.0, 3.0),
    "components": lambda m, r, v: r.at.x + (r.at * 2).y,
    "views": lambda m, r, v: (r.at[1:] * r.at[::-1][:-1]).T,
    "lengths": lambda m, r, v: fp.length(r.at) + fp.dot(fp.normalize(v), r.at),
    "flags": lambda m, r, v: fp.any(r.at > 1),
    "types": lambda m, r, v: fp.sum((r.at * 10).astype(int) % 3),
    "casts": lambda m, r, v: fp.sum(fp.vcast(r.at, "double3")),
    "matrices": lambda m, r, v: fp.sum(r.turn @ r.turn * 2),
    "arrays": lambda m, r, v: r.q * 2,
    "joined": lambda m, r, v: fp.concatenate([m.twice(r.at), r.at]),
    "nested": lambda m, r, v: m.along({"at": r.at, "w": r.w, "turn": 0, "q": [0, 0]}, v),
    "mapped": lambda m, r, v: fp.vmap(r.at, (1,)) * fp.vmap(r.w, (0,)),
    "refused": lambda m, r, v: r.at * r.at.flatten_dtype(),
}


@pytest.mark.req("T8", "F1")
@pytest.mark.parametrize(
    "name", seldom(PROGRAMS, "casts", "matrices", "joined", "types", "numbers beside it", "lengths", "sum", "calls beside it")
)
def test_one_meaning_in_every_mode(m: Any, rays: fp.Tensor, name: str) -> None:
    v = fp.Tensor(np.arange(3 * N, dtype=np.float32).reshape(N, 3)[::-1].copy(), dtype=m.float3)
    program = PROGRAMS[name]

    def told(run: Callable[[], Any]) -> Any:
        try:
            found = run()
        except fp.FusepyError as error:
            return type(error)
        assert isinstance(found, fp.Tensor)
        return str(found.dtype), found.shape, found.tolist()

    def lazily() -> Any:
        with fp.lazy():
            return program(m, rays, v)

    at_once = told(lambda: program(m, rays, v))
    assert told(lambda: fp.fuse(lambda r, v: program(m, r, v))(rays, v)) == at_once
    assert told(lazily) == at_once


@pytest.mark.req("T8")
def test_a_field_is_a_view_of_vectors(m: Any, rays: fp.Tensor) -> None:
    field, wanted = rays.at, at(rays)
    assert (field.shape, str(field.dtype), len(field), field.size, field.ndim) == ((N,), "float3", N, N, 1)
    for found, expected in (
        (field[1], wanted[1]),
        (field[::-2], wanted[::-2]),
        (field[:, None].broadcast_to(N, 2), np.broadcast_to(wanted[:, None], (N, 2, 3))),
        (field.xy, wanted[:, :2]),
        (field.copy(), wanted),
        (field.flatten_dtype(), wanted),
    ):
        np.testing.assert_array_equal(found.numpy(), expected)
    np.testing.assert_array_equal(np.asarray(field), wanted)
    if m.device.transfer.host_addressable:
        np.testing.assert_array_equal(np.from_dlpack(field), wanted)
    assert [v.tolist() for v in field] == field.tolist() == wanted.tolist()
    assert field.copy().is_contiguous()
    assert field.item(1) == wanted[1].tolist()
    assert isinstance(rays[:1].reshape(()).at, fp.Tensor)


@pytest.mark.req("T13")
def test_everything_writes_into_the_structs(m: Any, rays: fp.Tensor) -> None:
    field, v = rays.at, fp.Tensor(np.arange(3 * N, dtype=np.float32).reshape(N, 3), dtype=m.float3)
    wanted, numbers = at(rays).copy(), v.numpy()

    def lazily() -> None:
        with fp.lazy():
            before = field + 0
            m.twice(v, _result=field)
        np.testing.assert_array_equal(before.numpy(), wanted)

    steps: dict[str, tuple[Callable[[], Any], Any]] = {
        "one": (lambda: field.__setitem__(0, [1, 2, 3]), np.vstack([[[1, 2, 3]], wanted[1:]])),
        "all": (lambda: rays.__setitem__("at", 2.5), np.full((N, 3), 2.5)),
        "tensor": (lambda: field.__setitem__(..., v), numbers),
        "copy": (lambda: field.copy_from(v * 3), numbers * 3),
        "array": (lambda: field.copy_from_numpy(numbers + 1), numbers + 1),
        "in place": (lambda: field.__imul__(v), (numbers + 1) * numbers),
        "result": (lambda: m.twice(v, _result=field), numbers * 2),
        "results": (lambda: fp.fuse(lambda v: (v * 3, v.x))(v, _result=(field, rays.w)), numbers * 3),
        "out": (lambda: m.put(v, field), numbers * 2),
        "inout": (lambda: m.inc(field), numbers * 2 + 1),
        "clear": (field.clear, numbers * 0),
    }
    for name, (write, expected) in steps.items():
        write()
        np.testing.assert_array_equal(at(rays), expected, err_msg=name)
    wanted = at(rays).copy()
    lazily()
    np.testing.assert_array_equal(at(rays), numbers * 2)
    v[...] = field
    np.testing.assert_array_equal(v.numpy(), numbers * 2)


@pytest.mark.req("B20")
def test_gradients_of_fields(m: Any, rays: fp.Tensor) -> None:
    graded = rays.with_grads()
    result = m.twice(graded.at)
    ones = fp.Tensor(np.ones((N, 3), np.float32), dtype=m.float3)
    m.twice.bwds(graded.at, _result=result.with_grads(ones))
    np.testing.assert_array_equal(graded.grad.numpy()["at"], np.full((N, 3), 2))
    np.testing.assert_array_equal(graded.at[1:].grad.numpy(), np.full((N - 1, 3), 2))
    for given, chosen in ((rays.at, lambda g: g), ({"p": rays.at}, lambda g: g["p"])):
        slope = chosen(fp.grad(lambda p: fp.sum(fp.dot(chosen(p), chosen(p))))(given))  # noqa: B023
        assert (str(slope.dtype), slope.shape) == ("float3", (N,))
        np.testing.assert_allclose(slope.numpy(), 2 * at(rays), rtol=1e-6)


def test_what_needs_distances_in_vectors(m: Any, rays: fp.Tensor) -> None:
    for ask in (lambda f: f.strides, lambda f: f.offset, lambda f: f.cursor(), lambda f: f.view((2, 2), (1, 2))):
        with pytest.raises(fp.ShapeError, match="no distances in float3") as raised:
            ask(rays.at)
        assert "t.copy()" in raised.value.hint
    places = np.arange(N, dtype=np.int32)
    assert m.whole(rays.at, places).tolist() == m.whole(rays.at.copy(), places).tolist() == at(rays)[:, 1].tolist()
    for function in (m.fill, m.point):  # which would write to the copy
        with pytest.raises(fp.NoMatchError) as raised:
            function(rays.at, places)
        assert "t.copy()" in raised.value.hint


@pytest.mark.req("T8")
def test_errors_and_copies_are_those_of_vectors(m: Any, rays: fp.Tensor) -> None:
    made = fp.Tensor(rays.at)
    assert (type(made), str(made.dtype), made.is_contiguous(), made.tolist()) == (fp.Tensor, "float3", True, at(rays).tolist())
    for result, saw in ((rays.turn, "float2x2[4]"), (rays[1:].at, "float3[3]")):
        for call in (m.twice, fp.fuse(lambda v: v * 2)):
            with pytest.raises(fp.ShapeError) as raised:
                call(rays.at, _result=result)
            assert (raised.value.saw, raised.value.expected) == (saw, "float3[4]")
    with pytest.raises(fp.NoMatchError) as refused:
        m.first(rays.at)
    assert "float3" in str(refused.value.saw)
    assert ".x" in refused.value.hint
