"""`grad`, `value_and_grad` and `vjp`: arguments, structures, kernels and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

X, Y = np.float32([1, 2, 3]), np.float32([4, 5, 6])


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    source = "[Differentiable] float poly(float a, float x) { return a * x * x; }"
    return fp.Module.load_from_source(device, "gradients_of_functions", source)


def test_a_slang_function_is_differentiated_at_each_element(m: fp.Module) -> None:
    assert [g.tolist() for g in fp.grad(m.poly, (0, "x"))(np.float32([3]), np.float32([2]))] == [[4], [12]]
    assert fp.grad(m.poly, 1)(3.0, X).tolist() == [6, 12, 18]
    assert float(fp.grad(m.poly)(3, X)) == 14


def test_value_and_gradients_are_one_kernel(m: fp.Module) -> None:
    both = fp.value_and_grad(lambda a, x: fp.mean(m.poly(a, x) * 2.0), (0, 1))
    value, (a, x) = both(0.5, X)
    np.testing.assert_allclose(value, np.mean(X * X), rtol=1e-6)
    np.testing.assert_allclose(a, np.mean(2 * X * X), rtol=1e-6)
    np.testing.assert_allclose(x, 2 * X / 3, rtol=1e-6)
    assert both.explain(0.5, X).kernels == 1


def test_calls_into_two_modules_are_differentiated(m: fp.Module, device: fp.Device) -> None:
    other = fp.Module.load_from_source(device, "more_functions", "[Differentiable] float poly(float x) { return x * x * x; }")
    np.testing.assert_allclose(fp.grad(lambda x: fp.sum(m.poly(2.0, x) + other.poly(x)))(X), 4 * X + 3 * X * X)


def test_arguments_may_be_structures_and_results_have_others_beside() -> None:
    def loss(p: dict[str, object], x: object) -> object:
        y = p["w"] * x + p["b"]["c"]  # type: ignore[operator,index]
        return fp.sum(y * y), {"y": y}

    (value, aux), gradient = fp.value_and_grad(loss, has_aux=True)({"w": X, "b": {"c": 1.0, "unused": 2}}, Y)
    y = X * Y + 1
    assert value == pytest.approx(float(np.sum(y * y)))
    np.testing.assert_allclose(aux["y"], y)
    np.testing.assert_allclose(gradient["w"], 2 * y * Y)
    assert float(gradient["b"]["c"]) == pytest.approx(float(np.sum(2 * y)))
    assert float(gradient["b"]["unused"]) == 0


def test_a_gradient_is_part_of_a_fused_function_and_of_another_gradient() -> None:
    @fp.fuse
    def step(w: object, x: object, rate: float) -> object:
        return w - rate * fp.grad(lambda w: fp.sum((w * x) ** 2))(w)  # type: ignore[operator]

    np.testing.assert_allclose(step(X, Y, 0.01), X - 0.02 * X * Y * Y, rtol=1e-5)
    twice = fp.grad(lambda x: fp.sum(fp.grad(lambda x: fp.sum(fp.sin(x) * x))(x)))
    np.testing.assert_allclose(twice(X), 2 * np.cos(X) - X * np.sin(X), rtol=1e-5)


def test_integers_of_python_mean_floats_where_they_are_differentiated() -> None:
    two = np.float32([1, 2])
    for function, slope in (
        (lambda x, a: fp.sum(x * x * a), 18),
        (lambda x, a: fp.sum(fp.cond(a > 1.5, lambda: x * x, lambda: 2.0) * a), 12),
        (lambda x, a: fp.sum(fp.fori_loop(0, 3, lambda i, c: c * x, x) * a), 4 * 27 * 3),
    ):
        assert float(fp.grad(function)(3, two)) == slope
        assert np.sum(fp.grad(function)([3, 3], two)) == slope
    source = """
    struct Layer : IDifferentiable { float gain; no_diff int level; };
    [Differentiable] float lifted(Layer layer, float x) { return layer.gain * x * x * layer.level; }
    [Differentiable] float repeated(float x, int n) { return x * n; }
    """
    m = fp.Module.load_from_source(fp.default_device(), "integers_as_floats", source)
    slopes = fp.grad(lambda layer: fp.sum(m.lifted(layer, two)))({"gain": 2, "level": 3})  # a member of integers stays one
    assert (slopes["gain"], slopes["level"]) == (15, 0)
    with pytest.raises(fp.GradientError, match=r"gradient of n is zero by construction: 'repeated'.*for integers only"):
        fp.grad(m.repeated, (0, 1))(two, 3)
    total = fp.fuse(lambda x, n, w: fp.vjp(lambda x, n: (x * x * n, fp.sum(x)), x, n)[1]((w, 1.0)))
    x, n = total(two, 2, np.float32([1, 10]))
    assert (x.tolist(), n) == ([5, 81], None)


def test_a_gradient_that_is_zero_has_the_extents_of_its_argument() -> None:
    for shape in ((1, 1), (1, 3), (1,), ()):
        x = np.zeros(shape, np.float32)
        assert np.shape(fp.grad(lambda x: fp.round(x))(x)) == shape
        assert np.shape(fp.grad(lambda p: fp.sum(p["y"]))({"x": x, "y": x + 1})["x"]) == shape
    assert fp.vjp(lambda x: fp.vcast(x, "float"), X)[1](Y)[0].tolist() == Y.tolist()


def test_vjp_takes_none_as_zero() -> None:
    _, pull = fp.vjp(lambda a, b: {"s": a + b, "p": (a * b, a - b)}, 2.0, 3.0)
    assert pull({"s": 1.0, "p": None}) == (1, 1)
    assert pull({"s": None, "p": (None, 1.0)}) == (1, -1)
    with pytest.raises(fp.GradientError, match="there is no gradient of a result"):
        pull({"s": None, "p": None})
    with pytest.raises(fp.GradientError, match="has another structure"):
        pull({"s": 1.0, "q": None})


def test_vjp_gives_the_result_and_the_way_back(m: fp.Module) -> None:
    (total, y), pull = fp.vjp(lambda a, x, n: (fp.sum(x * n), m.poly(a, x)), 2.0, X, np.int32([1, 2, 3]))
    assert (float(total), y.tolist()) == (14, [2, 8, 18])
    a, x, n = pull((1.0, np.float32([1, 0, 10])))
    assert float(a) == 91
    assert x.tolist() == [1 + 4, 2, 3 + 120]
    assert n is None
    with pytest.raises(fp.GradientError, match="another structure"):
        pull(1.0)


def test_numbers_that_are_used_as_vectors_get_a_gradient_of_numbers(device: fp.Device) -> None:
    image = np.random.default_rng(1).random((2, 5, 3)).astype(np.float32)

    def loss(i: object) -> object:
        v = fp.vcast(i, "float3")
        return fp.sum(fp.dot(v, v) * v.x)

    def both(i: object) -> object:
        return loss(i) + fp.sum(i * i)  # type: ignore[operator]

    want = 2 * image * image[..., :1]
    want[..., 0] += np.sum(image * image, -1)
    np.testing.assert_allclose(fp.grad(loss)(image), want, rtol=1e-5)
    assert fp.value_and_grad(loss).explain(image).kernels == 1
    np.testing.assert_allclose(fp.grad(both)(image), want + 2 * image, rtol=1e-5)
    tensor = fp.Tensor.from_numpy(device, image)
    found = fp.grad(loss)(tensor)
    assert (found.shape, found.dtype.name) == ((2, 5, 3), "float")
    np.testing.assert_allclose(found.to_numpy(), want, rtol=1e-5)
    moved = fp.fuse(lambda i: i - fp.grad(loss)(i) * 0.1)(image)
    np.testing.assert_allclose(moved, image - 0.1 * want, rtol=1e-5)


def test_the_gradient_of_an_extreme_that_is_nan_is_nan() -> None:
    assert np.isnan(fp.grad(lambda x: fp.max(x))(np.float32([1, np.nan, 3]))).all()
    assert fp.grad(lambda x: fp.max(x))(np.float32([1, 3, 3])).tolist() == [0, 0.5, 0.5]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: fp.grad(lambda n: fp.sum(n * 2.0))(np.int32([1])), fp.GradientError, "'n' holds int"),
        (lambda: fp.grad(lambda x: (x, x))(X), fp.GradientError, "gives no float"),
        (lambda: fp.grad(lambda x: fp.argmax(x))(X), fp.GradientError, "gives no float"),
        (lambda: fp.grad(lambda b: fp.sum(b * 2.0))([True]), fp.GradientError, "'b' holds bool"),
        (lambda: fp.grad(lambda x: x, argnums=1), fp.ArgumentError, "no parameter 1"),
        (lambda: fp.grad(lambda weight: weight, argnums="wieght"), fp.ArgumentError, "no parameter 'wieght'"),
        (lambda: fp.grad(3.0), fp.ArgumentError, "takes a function"),
        (
            lambda: fp.grad(lambda x, n: fp.fori_loop(0, n, lambda i, c: c * x, 1.0 + 0 * x))(X, np.int32([1, 2, 3])),
            fp.GradientError,
            "whose bounds are no Python integers",
        ),
    ],
)
def test_misuse_is_named(call, error: type[Exception], words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=words):
        call()
    assert fp.grad(lambda x: fp.sum(x * x))(X).tolist() == [2, 4, 6]


def test_numbers_used_as_several_types_get_one_gradient(device: fp.Device) -> None:
    source = """
    [Differentiable] float scaled(float a, float x) { return a * x; }
    [Differentiable] double scaled_double(double a, double x) { return a * x; }
    [Differentiable] float dotted(float3 a, float3 x) { return dot(a, x); }
    """
    m = fp.Module.load_from_source(device, "numbers_of_types", source)
    doubles = fp.Tensor.from_numpy(device, X.astype(np.float64), dtype="double")
    for a in (3, 3.0, np.float32(3)):

        def loss(a: Any, x: Any, y: Any) -> Any:
            return fp.sum(m.scaled(a, x)) + fp.sum(m.dotted(a, x)) + fp.vcast(fp.sum(m.scaled_double(a, y)), "float")

        assert float(fp.grad(loss)(a, X, doubles)) == 18
        assert float(fp.grad(lambda a, x: fp.sum(fp.vcast(a, "float3").x * x))(a, X)) == 6


def test_structs_that_are_named_in_dicts_have_gradients_and_are_trained(device: fp.Device) -> None:
    source = """
    interface IShape : IDifferentiable { [Differentiable] float area(float k); }
    struct Disc : IShape { float r; [Differentiable] float area(float k) { return r * r * k; } };
    struct Box : IShape { float a; float b; [Differentiable] float area(float k) { return a * b * k; } };
    [Differentiable] float area<T : IShape>(T s, float k) { return s.area(k); }
    [Differentiable] float any_area(IShape s, float k) { return s.area(k); }
    """
    m = fp.Module.load_from_source(device, "named_structs", source)
    disc, box = {"_type": "Disc", "r": 2.0}, {"_type": m.Box, "a": 2.0, "b": 3.0}
    for function in (m.area, m.any_area, lambda s, k: fp.sum(m.area(s, k))):
        assert float(fp.grad(function)(disc, X)["r"]) == 24
        found = fp.grad(function)(box, X)
        assert (float(found["a"]), float(found["b"])) == (18, 12)
    both = fp.grad(lambda p, k: fp.sum(m.area(p["s"], k) + m.area(p["t"][0], k)))({"s": disc, "t": [box]}, X)
    assert (float(both["s"]["r"]), float(both["t"][0]["b"])) == (24, 12)
    params = fp.nn.parameters(disc)
    fp.training_step(lambda p, k: fp.sum(m.area(p, k)), fp.nn.SGD(lr=0.125))(params, X)
    assert float(params["r"]) == -1
    assert fp.nn.named(params).keys() == {"r"}


def test_a_function_without_derivative_is_named_with_its_line(device: fp.Device) -> None:
    m = fp.Module.load_from_source(device, "plain_functions", "// a comment\nfloat plain(float x) { return x * x; }")
    with pytest.raises(fp.GradientError) as raised:
        fp.grad(m.plain)(X)
    assert "`plain`" in str(raised.value)
    assert "declared at plain_functions.slang:2" in str(raised.value)
    assert not any(word in str(raised.value) for word in ("probe", "/tmp", "a0"))


class Lens:
    """An object whose values change between calls."""

    def __init__(self) -> None:
        self.power, self.weights = 2.0, {"shift": np.float32([1.0, 1.0])}

    def look(self, x: Any) -> Any:
        return fp.sum(x * x * self.power + x * self.weights["shift"])

    fused = fp.fuse(look)

    def __call__(self, x: Any) -> Any:
        return self.look(x)


@pytest.mark.parametrize("of", daily(["look", "fused", "__call__", ""], "look", "__call__"))
def test_gradients_of_methods_take_the_values_that_the_object_has(of: str) -> None:
    lens = Lens()
    method = getattr(lens, of) if of else lens
    x, one = np.float32([1.0, 3.0]), np.float32(1)
    gradient, pair = fp.grad(method), fp.value_and_grad(method, argnums=("x",))
    for power, shift in ((2.0, 1.0), (5.0, 1.0), (5.0, 7.0), (np.float32(3), 7.0)):
        lens.power, lens.weights["shift"] = power, np.float32([shift, shift])
        wanted, total = 2 * power * x + shift, float((x * x * power + x * shift).sum())
        np.testing.assert_allclose(gradient(x), wanted)
        np.testing.assert_allclose(pair(x)[1][0], wanted)
        value, back = fp.vjp(method, x)
        np.testing.assert_allclose(back(one)[0], wanted)
        np.testing.assert_allclose(fp.jvp(method, (x,), (x,)).d, (wanted * x).sum())
        assert float(value) == float(pair(x)[0]) == total
    fp.check_grads(method, x)
    with pytest.raises(fp.ArgumentError, match="there is no parameter 1"):
        fp.grad(method, 1)(x)


def test_missing_arguments_inside_of_a_fused_function_are_named() -> None:
    def loss(x: Any, y: Any) -> Any:
        return x * y

    with pytest.raises(fp.ArgumentError, match=r"loss\(\): missing a required argument: 'y'(.|\n)*its parameters: x, y"):
        fp.fuse(lambda x: fp.grad(loss)(x))(1.0)
