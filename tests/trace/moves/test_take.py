"""Elements at computed indices: of structs, bools, and of what a device packs otherwise than memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.trace.moves import take
from tests.support.selection import daily

SOURCE = """
struct Ray : IDifferentiable { float3 at; float t; int id; };
struct Inner : IDifferentiable { half2 h; float v; };
struct Box : IDifferentiable { Inner a; float2 b; Inner c[2]; };
struct Pose : IDifferentiable { float2x3 m; float k; };
[Differentiable] float use(Ray r, float k) { return r.at.x * k + r.t * 4; }
[Differentiable] float use(Box r, float k) { return float(r.a.h.x) * k + r.c[1].v * 4; }
[Differentiable] float use(Pose r, float k) { return r.m[0][1] * k + r.k * 4; }
[Differentiable] Ray moved(Ray r) { r.t += 1; return r; }
[Differentiable] Box moved(Box r) { r.c[1].v += 1; return r; }
[Differentiable] Pose moved(Pose r) { r.k += 1; return r; }
"""
FIELDS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {  # of which a use is the first * k + the second * 4
    "Ray": (lambda a: a["at"][..., 0], lambda a: a["t"]),
    "Box": (lambda a: a["a"]["h"][..., 0], lambda a: a["c"]["v"][..., 1]),
    "Pose": (lambda a: a["m"][..., 0, 1], lambda a: a["k"]),
}
WORDS: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [  # fusepy's, NumPy's
    (lambda x: fp.split(x, [2], 0)[1], lambda a: a[2:]),
    (lambda x: fp.roll(x, 1, 0), lambda a: np.roll(a, 1, 0)),
    (lambda x: fp.take(x, [0, -1, 0], 0)[::-1], lambda a: a[[0, -1, 0]][::-1]),
    (lambda x: fp.reshape(fp.transpose(x), (-1,)), lambda a: a.T.reshape(-1)),
    (lambda x: fp.stack([x, x[::-1]]), lambda a: np.stack([a, a[::-1]])),
    (
        lambda x: fp.repeat(fp.pad(x, ((1, 0), (0, 0)), "edge"), 2, 1),
        lambda a: np.repeat(np.pad(a, ((1, 0), (0, 0)), "edge"), 2, 1),
    ),
]


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "taken_structs", SOURCE)


@pytest.mark.parametrize("words", [WORDS[1:2], pytest.param(WORDS, marks=pytest.mark.rest)], ids=["a roll", "all words"])
@pytest.mark.parametrize("name", daily(["Ray", "Box"], "Ray"))
def test_structs_are_moved_forwards_and_in_gradients(m: Any, device: Any, name: str, words: Any) -> None:
    array = filled(m, name)
    x = fp.Tensor.from_numpy(device, array, dtype=m[name])
    first, second = FIELDS[name]
    places = np.arange(array.size).reshape(array.shape)
    taken = [of(places) for _, of in words]
    weights = [np.random.default_rng(3).integers(1, 5, t.shape).astype(np.float32) for t in taken]

    def pulled(of: Callable[[Any], Any]) -> Any:
        return fp.vjp(lambda x: tuple(of(word)(x) for word, _ in words), x)[1](tuple(weights))[0].to_numpy()

    for of in (lambda w: lambda x: m.use(w(m.moved(x)), 2.0), lambda w: lambda x: w(m.use(m.moved(x), 2.0))):
        found = fp.fuse(lambda x, of=of: [of(word)(x) for word, _ in words])(x)
        for got, at in zip(found, taken, strict=True):
            want = (first(array) * 2 + (second(array) + 1) * 4).reshape(-1)[at]
            np.testing.assert_array_equal(got.to_numpy(), want)
        slopes = pulled(of)
        counts = np.zeros(array.size)
        for at, weight in zip(taken, weights):
            np.add.at(counts, at.reshape(-1), weight.reshape(-1))
        np.testing.assert_array_equal(first(slopes).reshape(-1), counts * 2)
        np.testing.assert_array_equal(second(slopes).reshape(-1), counts * 4)


def test_structs_with_matrices(m: Any, device: Any) -> None:
    """Their gradients can be moved; threads cannot add to them where elements are taken, which is said."""
    array = filled(m, "Pose")
    x = fp.Tensor.from_numpy(device, array, dtype=m.Pose)
    rolled = fp.fuse(lambda x: m.use(fp.roll(x, 1, 0), 2.0))
    np.testing.assert_array_equal(rolled(x).to_numpy(), np.roll(array["m"][..., 0, 1] * 2 + array["k"] * 4, 1, 0))
    slope = fp.grad(lambda x: fp.sum(fp.split(x, [2], 0)[1].k))(x).to_numpy()
    np.testing.assert_array_equal(slope["k"][:, 0], [0, 0, 1, 1])
    outside = fp.grad(lambda x: fp.sum(fp.roll(m.use(x, 2.0), 1, 0)))(x).to_numpy()
    assert np.all(outside["k"] == 4)
    with pytest.raises(fp.GradientError, match="a member float2x3, to whose gradient threads cannot add"):
        fp.grad(lambda x: fp.sum(m.use(fp.roll(x, 1, 0), 2.0)))(x)


def test_only_kernels_of_gradients_have_the_code_that_adds_to_them(device: Any) -> None:
    """It takes Slang as long as all else of a kernel that reads elements."""
    x = fp.Tensor.from_numpy(device, np.arange(4, dtype=np.float32))
    look = fp.fuse(lambda x: fp.roll(x, 1, 0) * x)
    slope = fp.grad(lambda x: fp.sum(fp.roll(x, 1, 0) * x))
    assert "_FusepyAdded" not in look.source(x)
    assert "_FusepyAdded" in slope.source(x)
    assert slope(x).to_numpy().tolist() == [4, 2, 4, 2]


@pytest.mark.parametrize("element", daily(["bool", "bool3"], "bool3"))
def test_bools_are_read_as_they_lie(device: Any, element: str) -> None:
    """CUDA has bools of one byte, and tensors those of four: whole arrays of bools are never made here."""
    array = np.random.default_rng(1).integers(0, 2, (4, 3) + (3,) * (element != "bool")).astype(bool)
    look = fp.fuse(lambda x: (fp.roll(x, 1, 0), fp.take(x, [0, -1, 0], 1), fp.concatenate([x, fp.flip(x, 0)])))
    wanted = (np.roll(array, 1, 0), array[:, [0, -1, 0]], np.concatenate([array, array[::-1]]))
    for x in (fp.Tensor.from_numpy(device, array, dtype=element), array):
        for got, want in zip(look(x), wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(got if x is array else got.to_numpy()), want)
        assert "::Tensor<bool" not in look.ir(x)
        assert "::Tensor<uint" in look.ir(x)


@pytest.mark.parametrize("element", daily(["half3", "half2x3"], "half3"))
def test_elements_that_a_device_packs_otherwise_are_taken_by_components(
    device: Any, element: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(take, "is_apart", lambda element, device: element.scalar is not None and bool(element.shape))
    shape = (4, 2, 3) if element == "half2x3" else (4, 3)
    array = np.arange(np.prod(shape)).reshape(shape).astype(np.float16)
    x = fp.Tensor.from_numpy(device, array, dtype=element)
    look = fp.fuse(lambda x: (fp.roll(x, 1, 0), fp.take(x * 2, [0, -1, 0], 0)))
    rolled, taken = look(x)
    np.testing.assert_array_equal(rolled.to_numpy(), np.roll(array, 1, 0))
    np.testing.assert_array_equal(taken.to_numpy(), array[[0, -1, 0]] * 2)
    if element == "half3":
        slope = fp.grad(lambda x: fp.sum(fp.take(x, [0, -1, 0], 0).y))(x)
        assert slope.to_numpy().tolist() == [[0, 2, 0], [0, 0, 0], [0, 0, 0], [0, 1, 0]]
    assert f"::Tensor<{element}" not in look.ir(x)
    assert "::Tensor<half," in look.ir(x)


def filled(m: Any, name: str) -> Any:
    """Structs with small numbers in all members."""
    array = np.zeros((4, 3), m[name].dtype)
    random = np.random.default_rng(1)

    def fill(a: Any) -> None:
        for n in a.dtype.names or ():
            fill(a[n])
        if not a.dtype.names:
            a[...] = random.integers(1, 9, a.shape)

    fill(array)
    return array
