"""Struct binding: Python classes that stand for Slang structs, and tensors of instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import examples
from tests.support.slang_functions import F32, ramp, same

pytestmark = pytest.mark.req("T12")

SOURCE = """
struct Scaler
{
    float scale;
    void scale_value(inout float value) { value *= scale; }
    float scaled(float x) { return x * scale; }
    [mutating] void grow(float by) { scale *= by; }
    static float twice(float x) { return x * 2; }
};
struct Particle
{
    float3 position;
    float3 velocity;
    float mass;
    [mutating] void step(float dt) { position += velocity * dt; }
    [mutating] float kick(float3 force) { velocity += force / mass; return mass; }
    float energy() { return mass * dot(velocity, velocity) / 2; }
};
float energy_of(Particle p) { return p.energy(); }
float scaled_by(Scaler s, float x) { return s.scaled(x); }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "bound", SOURCE)


class Scaler(fp.Struct):
    scale_value: fp.Function
    scaled: fp.Function
    grow: fp.Function
    twice: fp.Function

    def __init__(self, module: Any, scale: Any):
        super().__init__(module)
        self.scale = scale

    def __call__(self, x: Any) -> Any:
        return self.scaled(x)


@fp.struct("Particle")
class Ball:
    """A particle."""

    step: fp.Function
    kick: fp.Function
    energy: fp.Function

    def __init__(self, position: Any, velocity: Any, mass: Any = 2.0):
        self.position, self.velocity, self.mass = position, velocity, mass

    def momentum(self) -> Any:
        return self.velocity * self.mass


@pytest.mark.parametrize("kind", ["object", "list", "rows"])
def test_a_fused_function_reads_the_values_that_an_object_of_the_enclosing_scope_has_now(m: Any, kind: str):
    values = [2.0, 3.0, -4.0]
    data: list[Any] = [ramp(3) * v for v in values] if kind == "rows" else values
    owner = Scaler(m, data[0]) if kind == "object" else fp.InstanceList(m.Scaler, {"scale": data[0]})
    x = ramp(3)
    both = fp.fuse(lambda x: owner.scaled(x) + owner.scaled(2 * x))
    inside = fp.fuse(lambda x: fp.fori_loop(0, 2, lambda i, c: owner.scaled(c), x))
    passed, method = fp.fuse(lambda x: m.scaled_by(owner, x)), fp.fuse(owner.scaled)
    compiled = 0
    for i, scale in enumerate(data):
        owner.scale = scale
        same(both(x), 3 * x * scale)
        same(inside(x), x * scale * scale)
        same(passed(x), x * scale)
        same(method(x), x * scale)
        with fp.lazy():
            later = both(x)
        owner.scale = data[0]
        same(np.asarray(later), 3 * x * scale)
        compiled = compiled or fp.stats().kernels_compiled
        if i and kind != "rows":
            assert fp.stats().kernels_compiled == compiled, "another number needs no other kernel"


# ---- classes ---------------------------------------------------------------------------------------------------------


def test_the_seeds_example(m: Any) -> None:
    numbers = fp.Tensor.from_numpy(m.device, F32([1, 2, 3, 4]))
    assert Scaler(m, 100).scale_value(numbers) is None
    assert numbers.to_numpy().tolist() == [100, 200, 300, 400]
    Scaler(m, 0.5).scale_value.call(numbers)
    assert numbers.to_numpy().tolist() == [50, 100, 150, 200]
    assert Scaler(m, 10.0).scale_value([1.0, 2.0]) == [10, 20]  # a list is not written to: the new values are returned


def test_fields_are_numbers_arrays_and_tensors(m: Any) -> None:
    same(Scaler(m, 3).scaled(ramp(4)), ramp(4) * 3)
    same(Scaler(m, ramp(4)).scaled(2.0), ramp(4) * 2)
    same(Scaler(m, fp.Tensor.from_numpy(m.device, ramp(4))).scaled(2.0).to_numpy(), ramp(4) * 2)
    same(Scaler(m, ramp(4)[:, None]).scaled(ramp(3)), ramp(4)[:, None] * ramp(3))
    scaler = Scaler(m, 2.0)
    scaler.scale = 5.0
    assert scaler.scaled(1.0) == 5
    same(scaler(ramp(3)), ramp(3) * 5)  # a class may be callable itself


def test_static_methods_and_constructors(m: Any) -> None:
    assert Scaler(m, 1.0).twice(4.0) == 8
    assert m.Scaler(5.0)["scale"] == 5


@pytest.mark.req("T13")
def test_a_mutating_method_writes_writable_fields(m: Any) -> None:
    scale = ramp(4, start=1)
    assert Scaler(m, scale).grow(2.0) is None
    same(scale, ramp(4, start=1) * 2)
    tensor = fp.Tensor.from_numpy(m.device, ramp(4))
    Scaler(m, tensor).grow(3.0)
    same(tensor.to_numpy(), ramp(4) * 3)
    number = Scaler(m, 4.0)
    new = fp.vcast(2.0, m.float)  # no field can be written: the new object is returned
    assert m.Scaler.scaled(number.grow(new), 1.0) == 8
    assert number.scale == 4


@pytest.mark.req("T13")
def test_fields_that_cannot_be_written_stay(m: Any) -> None:
    position = np.zeros((5, 3), F32)
    ball = Ball(m, position, (1.0, 2.0, 3.0))
    assert ball.step(0.5) is None
    same(position, np.broadcast_to(F32([0.5, 1, 1.5]), (5, 3)))
    assert ball.velocity == (1.0, 2.0, 3.0)
    velocity = np.ones((5, 3), F32)
    same(Ball(m, position, velocity, ramp(5, start=1)).kick([2.0, 0.0, 0.0]), ramp(5, start=1))
    same(velocity[:, 0], 1 + 2 / ramp(5, start=1))
    with pytest.raises(fp.ShapeError) as caught:
        Ball(m, position, np.ones(3, F32)).step(0.5)
    assert "'this.velocity'" in str(caught.value)
    assert "an element per thread" in caught.value.hint
    parts = {"x": np.zeros(4, F32), "y": np.ones(4, F32), "z": 2.0}
    Ball(m, parts, [1.0, 2.0, 3.0]).step(1.0)
    same(parts["x"], np.ones(4, F32))
    same(parts["y"], np.full(4, 3, F32))


def test_the_decorator_keeps_the_class(m: Any) -> None:
    ball = Ball(m, ramp(5, 3), ramp(5, 3), mass=4.0)
    assert Ball.__name__ == "Ball"
    assert Ball.__doc__ == "A particle."
    same(ball.momentum(), ramp(5, 3) * 4)
    np.testing.assert_allclose(ball.energy(), 2 * (ramp(5, 3) ** 2).sum(1), rtol=1e-6)
    same(m.energy_of(ball), ball.energy())

    @fp.struct
    class Scaler:
        scaled: fp.Function

        def __init__(self, scale: float):
            self.scale = scale

    assert Scaler(m, 3.0).scaled(2.0) == 6

    @fp.struct("Scaler")
    @dataclass
    class Data:
        scale: float
        scaled: ClassVar[fp.Function]

    assert Data(m, 4.0).scaled(2.0) == 8


def test_methods_are_configured_like_functions(m: Any) -> None:
    scaler = Scaler(m, 2.0)
    same(scaler.scaled.declare(fp.vmapping(0))(ramp(4)), ramp(4) * 2)
    assert scaler.scaled.return_type("list")(ramp(2)) == [0, 0.5]
    assert scaler.scaled.resolve(ramp(4)).types == [m.Scaler, m.float]
    assert scaler.scaled.explain(ramp(4)).kernels == 1
    assert ".scaled(" in scaler.scaled.source(ramp(4))
    assert "Slang method Scaler::scaled of a Scaler" in repr(scaler.scaled)
    assert "_result" not in scaler.scaled.ir(ramp(4))


def test_instances_in_fused_functions(m: Any) -> None:
    captured = Scaler(m, 3.0)
    same(fp.fuse(lambda x: captured.scaled(x) + 1)(ramp(4)), ramp(4) * 3 + 1)
    fused = fp.fuse(lambda scaler, x: scaler.scaled(scaler.scale_value(x)) + scaler.scale)
    same(fused(Scaler(m, 2.0), ramp(4)), ramp(4) * 4 + 2)
    same(fused(Scaler(m, ramp(4)), 1.0), ramp(4) ** 2 + ramp(4))


def test_the_type_is_the_class_or_what_it_says() -> None:
    class Named(fp.Struct):
        _type = "Scaler"

    class Below(Named):
        pass

    class Other(Scaler):
        pass

    assert (Named._type, Below._type, Other._type) == ("Scaler", "Scaler", "Other")


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda m: type("Scalar", (fp.Struct,), {})(m), fp.UnknownNameError, "'Scalar'"),
        (
            lambda m: type("Scaler", (fp.Struct,), {"__annotations__": {"scal": fp.Function}})(m),
            fp.UnknownNameError,
            "did you mean",
        ),
        (lambda m: Scaler(m, "x").scaled(1.0), fp.UnsupportedArgumentError, "'this.scale'"),
        (lambda m: setattr(s := Scaler(m, 1.0), "other", 1.0) or s.scaled(1.0), fp.ArgumentError, "'other'"),
        (lambda m: Scaler(m, np.ones(3, F32)).scaled(np.ones(4, F32)), fp.ShapeError, "this.scale"),
        (lambda m: Scaler(m, np.ones(3, np.float16)).scaled(1.0), fp.NoMatchError, "this.scale"),
        (lambda m: fp.struct(3), fp.ArgumentError, "Slang struct"),
        (lambda m: fp.InstanceTensor(m.Particle), fp.ArgumentError, "shape or data"),
        (lambda m: fp.InstanceTensor(m.Particle, data=fp.Tensor.zeros(m.device, 3)), fp.ArgumentError, "another type"),
        (lambda m: fp.InstanceTensor(m.Particle, 3).stepp, fp.UnknownNameError, "'step'"),
    ],
)
def test_bad_input(m: Any, make: Any, error: Any, words: str) -> None:
    with pytest.raises(error) as caught:
        make(m)
    assert words in str(caught.value)
    assert caught.value.hint


# ---- tensors of instances --------------------------------------------------------------------------------------------


@pytest.mark.req("T13")
def test_a_tensor_of_instances_has_their_methods(m: Any) -> None:
    balls = fp.InstanceTensor(m.Particle, (6,)).construct([0.0, 0.0, 0.0], ramp(6, 3), 2.0)
    assert balls.shape == (6,)
    assert balls.step(0.5) is None
    same(balls.to_numpy()["position"], ramp(6, 3) * F32(0.5))
    np.testing.assert_allclose(balls.energy().to_numpy(), (ramp(6, 3) ** 2).sum(1), rtol=1e-6)
    same(m.energy_of(balls).to_numpy(), balls.energy().to_numpy())
    assert isinstance(balls, fp.Tensor)
    half = balls[::2]
    half.step(0.5)
    same(balls.to_numpy()["position"][1::2], (ramp(6, 3) * F32(0.5))[1::2])
    same(balls.to_numpy()["position"][::2], ramp(6, 3)[::2])
    shared = fp.InstanceTensor(m.Particle, data=fp.Tensor.from_numpy(m.device, balls.to_numpy(), m.Particle))
    copied = fp.InstanceTensor(m.Particle, data=balls.to_numpy())
    shared.kick([1.0, 1.0, 1.0])
    same(copied.to_numpy()["velocity"] + F32(0.5), shared.to_numpy()["velocity"])
    new = fp.fuse(lambda p: p.step(1.0).energy())(balls)
    same(new.to_numpy(), balls.energy().to_numpy())


# ---- generated programs ----------------------------------------------------------------------------------------------


@pytest.mark.req("T13")
@examples(45)
@given(
    st.sampled_from(["array", "tensor", "list", "parts"]),
    st.sampled_from(["array", "list", "number"]),
    st.lists(st.sampled_from(["step", "kick", "energy"]), min_size=1, max_size=4),
    st.integers(1, 5),
)
def test_generated_lives_of_a_ball(m: Any, position: str, mass: str, calls: list[str], count: int) -> None:
    at, speed = ramp(count, 3), ramp(count, 3, start=1)
    weight = {"array": ramp(count, start=1), "list": [2.0] * count, "number": 2.0}[mass]
    held: Any = at.copy()
    if position == "tensor":
        held = fp.Tensor.from_numpy(m.device, at)
    elif position == "list":
        held = at.tolist()
    elif position == "parts":
        held = {"x": at[:, 0].copy(), "y": at[:, 1].copy(), "z": at[:, 2].copy()}
    held = fp.vcast(held, m.float3) if position == "list" else held
    weight = fp.vcast(weight, m.float) if mass == "list" else weight
    ball = Ball(m, held, speed.copy(), weight)
    kilos = np.asarray([2.0] * count if mass == "list" else weight, F32)
    for call in calls:
        if call == "step":
            ball.step(0.5)
            at = at if position == "list" else at + speed * F32(0.5)
        elif call == "kick":
            ball.kick([1.0, 2.0, 3.0])
            speed = speed + F32([1, 2, 3]) / (kilos[:, None] if kilos.ndim else kilos)
        else:
            energy = ball.energy()
            energy = energy.to_numpy() if isinstance(energy, fp.Tensor) else energy
            np.testing.assert_allclose(energy, kilos * (speed**2).sum(-1) / 2, rtol=1e-5)
    np.testing.assert_allclose(ball.velocity, speed, rtol=1e-5)
    if position in ("array", "tensor"):
        np.testing.assert_allclose(np.asarray(held.to_numpy() if position == "tensor" else held), at, rtol=1e-5)
    if position == "parts":
        np.testing.assert_allclose(np.stack(list(held.values()), -1), at, rtol=1e-5)
