"""Fused methods: what their objects hold is taken as it is at each call."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import fusepy as fp

X = np.arange(4, dtype=np.float32)


class Lens:
    def __init__(self, power: float):
        self.power = power


class Camera:
    def __init__(self) -> None:
        self.gain = 2.0
        self.steps = 3
        self.kind = "plain"
        self.lens = Lens(3.0)
        self.layers = [{"w": X + 1, "act": "sqrt"}, {"w": X, "act": "none"}]
        self._shift = np.float32([1, 2, 3, 4])
        self.count = 0.0

    @functools.cached_property
    def doubled(self) -> Any:
        return 2 * self.gain

    def shifted(self, x: Any) -> Any:
        return x + self._shift

    def plain(self, x: Any, bias: Any = 0.0) -> Any:
        y = self.shifted(x) * self.gain + self.lens.power + bias
        for _ in range(self.steps):
            y = y + 1
        for layer in self.layers:
            y = y * layer["w"]
            if layer["act"] == "sqrt":
                y = fp.sqrt(y)
        return y if self.kind == "plain" else -y

    look = fp.fuse(plain)

    @fp.fuse(static=("times",))
    def repeated(self, x: Any, times: int) -> Any:
        for _ in range(times):
            x = x * self.doubled
        return x

    @fp.fuse
    def counted(self, x: Any) -> Any:
        self.count = self.count + 1
        return x

    @fp.fuse
    @classmethod
    def of_class(cls, x: Any) -> Any:
        return x * len(cls.__name__)

    @fp.fuse
    @staticmethod
    def of_nobody(x: Any) -> Any:
        return x + 1

    def __call__(self, *args: Any, **named: Any) -> Any:
        return sum(args) * self.gain + sum(named.values())


def by_numpy(camera: Camera, x: Any) -> Any:
    y = (x + camera._shift) * camera.gain + camera.lens.power + camera.steps
    for layer in camera.layers:
        y = y * layer["w"]
        y = np.sqrt(y) if layer["act"] == "sqrt" else y
    return y if camera.kind == "plain" else -y


def test_a_method_sees_what_its_object_holds_now() -> None:
    camera = Camera()
    compiled = []

    def check() -> None:
        np.testing.assert_allclose(camera.look(X), by_numpy(camera, X), rtol=1e-5)
        compiled.append(fp.stats().kernels_compiled)

    check()
    camera.gain, camera._shift, camera.lens.power = 5.0, X, 7.0
    camera.layers[0]["w"] = X + 3
    check()
    camera.lens = Lens(1.0)
    check()
    camera = Camera()
    check()
    assert len(set(compiled)) == 1, "numbers and arrays are arguments"
    camera.steps = 4
    check()
    camera.layers[0]["act"] = "none"
    check()
    camera.kind = "negative"
    check()
    assert len(set(compiled)) == 4, "what steers Python is part of the program"


def test_methods_are_called_as_pythons_own() -> None:
    camera = Camera()
    assert camera.look(X, bias=1.0).tolist() == Camera.look.__get__(camera)(X, 1.0).tolist()
    assert camera.repeated(X, times=2).tolist() == (16 * X).tolist()
    assert camera.repeated(X, 3).tolist() == (64 * X).tolist()
    assert Camera.of_class(X).tolist() == camera.of_class(X).tolist() == (6 * X).tolist()
    assert Camera.of_nobody(X).tolist() == camera.of_nobody(X).tolist() == (X + 1).tolist()
    outer = fp.fuse(lambda x: camera.look(x) * 2)
    np.testing.assert_allclose(outer(X), 2 * by_numpy(camera, X), rtol=1e-5)
    assert camera.look.explain(X).kernels == 1
    assert fp.grad(lambda x: fp.sum(camera.repeated(x, 1)))(X).tolist() == [4, 4, 4, 4]


def test_bound_methods_and_callable_objects_can_be_fused() -> None:
    camera = Camera()
    for fused, by in ((fp.fuse(camera.plain), by_numpy), (fp.fuse(camera), lambda c, x: x * c.gain)):
        np.testing.assert_allclose(fused(X), by(camera, X), rtol=1e-5)
        camera.gain += 1
        np.testing.assert_allclose(fused(X), by(camera, X), rtol=1e-5)


def test_a_method_that_assigns_to_its_object_is_refused() -> None:
    camera = Camera()
    with pytest.raises(fp.TraceError, match=r"(?s)counted\(\) assigns self\.count.*obj\.count = obj\.counted"):
        camera.counted(X)
    assert camera.count == 0.0


def test_a_method_without_a_parameter_for_its_object_is_refused() -> None:
    class Wrong:
        look = fp.fuse(lambda *, x: x)

    with pytest.raises(fp.ArgumentError, match="staticmethod"):
        Wrong().look  # noqa: B018


class Shared:
    gain = 2.0
    steps = 1
    _bias = np.zeros(4, np.float32)

    @property
    def half(self) -> float:
        return self.gain / 2

    @fp.fuse
    def look(self, x: Any) -> Any:
        for _ in range(self.steps):
            x = x * self.half
        return x + self._bias


class Slotted(Shared):
    __slots__ = ("power",)

    def __init__(self, power: float):
        self.power = power

    @fp.fuse
    def seen(self, x: Any) -> Any:
        return self.look(x) * self.power


class AllSlotted:
    __slots__ = ("_shift", "power")
    gain = 2.0

    def __init__(self, power: float):
        self.power, self._shift = power, np.zeros(4, np.float32)

    @fp.fuse
    def seen(self, x: Any) -> Any:
        return x * self.power * self.gain + self._shift

    @fp.fuse
    def kept(self, x: Any) -> Any:
        self.power = x
        return x


def test_a_method_sees_what_its_class_holds_now(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, slotted = Shared(), Slotted(3.0)

    def check() -> None:
        want = X * (Shared.gain / 2) ** shared.steps + Shared._bias
        np.testing.assert_allclose(shared.look(X), want, rtol=1e-5)
        np.testing.assert_allclose(slotted.seen(X), want * slotted.power, rtol=1e-5)

    check()
    for name, value in (("gain", 6.0), ("steps", 2), ("_bias", X + 1)):
        monkeypatch.setattr(Shared, name, value)
        check()
    slotted.power = 4.0
    check()
    shared.gain, want = 10.0, X * 25 + Shared._bias
    np.testing.assert_allclose(shared.look(X), want, rtol=1e-5)
    del shared.gain
    check()
    Shared._bias += 1
    check()


def test_a_method_sees_what_the_slots_of_its_object_hold_now(monkeypatch: pytest.MonkeyPatch) -> None:
    held = AllSlotted(3.0)
    np.testing.assert_allclose(held.seen(X), X * 6)
    held.power, held._shift = 5.0, X
    np.testing.assert_allclose(held.seen(X), X * 11)
    monkeypatch.setattr(AllSlotted, "gain", 1.0)
    np.testing.assert_allclose(held.seen(X), X * 6)
    with pytest.raises(fp.TraceError, match="kept"):
        held.kept(X)
    assert held.power == 5.0


@dataclass(frozen=True, slots=True)
class Frozen:
    power: float
    shift: float = 1.0
    gain: ClassVar[float] = 2.0

    @fp.fuse
    def seen(self, x: Any) -> Any:
        return x * self.power * self.gain + self.shift


@dataclass
class Counting:
    count: float = 0.0

    @fp.fuse
    def counted(self, x: Any) -> Any:
        self.count = self.count + 1
        return x


def test_methods_of_dataclasses(monkeypatch: pytest.MonkeyPatch) -> None:
    np.testing.assert_allclose(Frozen(3.0).seen(X), X * 6 + 1)
    monkeypatch.setattr(Frozen, "gain", 1.0)
    np.testing.assert_allclose(Frozen(5.0, 2.0).seen(X), X * 5 + 2)
    with pytest.raises(fp.TraceError, match=r"assigns self\.count"):
        Counting().counted(X)
