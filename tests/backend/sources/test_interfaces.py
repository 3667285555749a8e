"""Structs that are passed as an interface which is not differentiable: refused, not a zero, and not the end of the process."""

from __future__ import annotations

import numpy as np
import pytest

import fusepy as fp

SOURCE = """
interface IShape { [Differentiable] float area(float x); }
interface ISmooth : IDifferentiable { [Differentiable] float area(float x); }
interface IRound : ISmooth {}
struct Circle : IShape, IDifferentiable { float r; [Differentiable] float area(float x) { return r * x; } };
struct Disc : IRound { float r; [Differentiable] float area(float x) { return r * x; } };
[Differentiable] float by_value(IShape c, float x) { return c.area(x); }
[Differentiable] float generic<S : IShape>(float x, S c) { return c.area(x); }
[Differentiable] float joined<S : IShape & IDifferentiable>(S c, float x) { return c.area(x); }
[Differentiable] float constrained<S>(S c, float x) where S : IShape { return c.area(x); }
[Differentiable] float any_type<S>(S c, float x) { return x * x; }
[Differentiable] float kept<S : IShape>(no_diff S c, float x) { return c.area(x); }
[Differentiable] float smooth<S : ISmooth>(S c, float x) { return c.area(x); }
[Differentiable] float rounded<S>(S c, float x) where S : IRound { return c.area(x); }
"""
X = np.float32([1, 2, 3])


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    return fp.Module.load_from_source(device, "interfaces", SOURCE)


@pytest.mark.parametrize("name", ["by_value", "generic", "joined", "constrained", "any_type"])
def test_what_slang_takes_as_a_constant_is_refused(m: fp.Module, name: str) -> None:
    circle = {"_type": "Circle", "r": 2.0}
    place = 1 if name == "generic" else 0
    args, function = ((circle, X), (X, circle))[place], getattr(m, name)
    words = r"write <S : IDifferentiable>" if name == "any_type" else "declare interface IShape : IDifferentiable"
    with pytest.raises(fp.GradientError, match=words):
        fp.grad(function, place)(*args)
    slope = fp.grad(function, 1 - place)(*args)  # by the number it has one
    np.testing.assert_allclose(slope, 2 * X if name == "any_type" else [2, 2, 2])


def test_what_is_differentiable_has_a_gradient(m: fp.Module) -> None:
    disc = {"_type": "Disc", "r": 2.0}
    for function in (m.smooth, m.rounded):
        assert float(fp.grad(function)(disc, X)["r"]) == 6
    assert fp.grad(m.kept, 1)({"_type": "Circle", "r": 2.0}, X).tolist() == [2, 2, 2]
