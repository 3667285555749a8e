"""What fused methods are traced with: copies of objects that keep their classes, and what cannot be copied."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import fusepy as fp
from tests.support.python_calls import python_calls

X = np.arange(4, dtype=np.float32)


@dataclass(slots=True)
class Pair:
    a: Any
    b: Any
    scale: ClassVar[float] = 2.0

    @fp.fuse
    def moved(self, x: Any) -> Any:
        return dataclasses.replace(self, a=x * self.scale)


@dataclass
class Wide:
    a: Any
    scale: ClassVar[float] = 2.0

    @fp.fuse
    def moved(self, x: Any) -> Any:
        made = copy.copy(self)
        made.a = x * self.scale
        return made


def test_what_a_method_returns_has_the_class_of_its_object() -> None:
    pair = Pair(1.0, 2).moved(3.0)
    assert type(pair) is Pair
    assert pair == Pair(6.0, 2)
    assert pickle.loads(pickle.dumps(pair)) == pair
    assert vars(Wide(1.0).moved(3.0)) == {"a": 6.0}, "the values of a class are no attributes of its objects"


class Registered:
    __slots__ = ("p",)
    known: ClassVar[list[str]] = []
    gain = 2.0

    def __init__(self, p: float):
        self.p = p

    def __init_subclass__(cls, *, key: str) -> None:
        Registered.known.append(key)

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        return 7.0

    def __add__(self, other: Any) -> Any:
        return Registered(self.p + other.p) if type(other) is Registered else NotImplemented

    @fp.fuse
    def added(self, x: Any) -> Any:
        return (Registered(1.0) + self).p * x * self.gain * self.other


class Answering(Registered, key="answering"):
    __slots__ = ("unset",)

    def __getattr__(self, name: str) -> Any:
        assert name == "other", "nothing else is asked"
        return 7.0

    def __add__(self, other: Any) -> Any:
        return NotImplemented

    @fp.fuse
    def seen(self, x: Any) -> Any:
        return x * self.p * self.other


def test_objects_with_slots_keep_their_class() -> None:
    held = Registered(3.0)
    assert held.added(X).tolist() == (X * 56).tolist()
    held.p = 4.0
    assert held.added(X).tolist() == (X * 70).tolist()
    assert Answering(3.0).seen(X).tolist() == (X * 21).tolist()
    assert Registered.known == ["answering"], "no class is made"


class Special:
    local: ClassVar[Any] = threading.local()
    made: ClassVar[list[Any]] = []
    named: ClassVar[Any] = SimpleNamespace(q=2.0)

    def __init__(self) -> None:
        self.options = SimpleNamespace(q=3.0)
        self.local2 = threading.local()
        self.local2.q = 5.0
        self.made.append(self)

    @fp.fuse
    def seen(self, x: Any) -> Any:
        return x * self.options.q * self.local2.q


class Failure(Exception):
    def __init__(self, gain: float):
        self.gain = gain

    @fp.fuse
    def seen(self, x: Any) -> Any:
        return x * self.gain

    @fp.fuse
    def kept(self, x: Any) -> Any:
        self.gain = x
        return x


class Picture(np.ndarray):
    pass


class Of:
    def __init__(self, value: Any):
        self.value = value

    @fp.fuse
    def seen(self, x: Any) -> Any:
        return x * self.value


def test_objects_that_hold_more_than_attributes() -> None:
    special, failure, of = Special(), Failure(2.0), Of((X + 1).view(Picture))
    assert special.seen(X).tolist() == (X * 15).tolist()
    special.options.q, special.local2.q = 4.0, 6.0
    assert special.seen(X).tolist() == (X * 24).tolist()
    assert failure.seen(X).tolist() == (X * 2).tolist()
    failure.gain = 3.0
    assert failure.seen(X).tolist() == (X * 3).tolist()
    with pytest.raises(fp.TraceError, match=r"assigns self\.gain"):
        failure.kept(X)
    assert of.seen(X).tolist() == (X * (X + 1)).tolist()
    of.value = (X + 2).view(Picture)
    assert of.seen(X).tolist() == (X * (X + 2)).tolist()


class Meta(type):
    @property
    def gain(cls) -> float:
        return 100.0


class Read(metaclass=Meta):
    gain = 2.0  # pyright: ignore[reportAssignmentType]
    steps = 1

    @fp.fuse
    def late(self, x: Any) -> Any:
        return x * self.gain * getattr(self, "scale", 1.0) * type(self).steps

    @fp.fuse
    @classmethod
    def of_class(cls, x: Any) -> Any:
        return x * cls.steps

    @fp.fuse
    def assigns(self, x: Any) -> Any:
        type(self).steps = x
        return x

    @fp.fuse
    def adds(self, x: Any) -> Any:
        type(self).more = x  # pyright: ignore[reportAttributeAccessIssue]
        return x


def test_what_is_read_through_the_class_is_never_that_of_another_time(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Read()
    assert read.late(X).tolist() == (X * 2).tolist()
    monkeypatch.setattr(Read, "scale", 3.0, raising=False)
    assert read.late(X).tolist() == (X * 6).tolist()
    assert Read.of_class(X).tolist() == X.tolist()
    for steps in (2, 2.5, X):
        monkeypatch.setattr(Read, "steps", steps)
        assert read.late(X).tolist() == (X * 6 * steps).tolist()
        assert Read.of_class(X).tolist() == (X * steps).tolist()
    with pytest.raises(fp.TraceError, match=r"assigns\(\) assigns Read\.steps"):
        read.assigns(X)
    with pytest.raises(fp.TraceError, match=r"adds\(\) assigns Read\.more"):
        read.adds(X)
    assert Read.steps is X
    assert not hasattr(Read, "more"), "the class has what it had"


class Collected:
    every: ClassVar[list[Any]] = []

    def __init__(self) -> None:
        self.gain = 2.0
        self.every.append(self)

    @fp.fuse
    def seen(self, x: Any) -> Any:
        traced.append(self.gain)
        return x * self.gain


traced: list[Any] = []


def test_a_class_may_list_its_objects() -> None:
    for _ in range(3):
        assert Collected().seen(X).tolist() == (X * 2).tolist()
    assert len(traced) == 1, "the list of objects is no part of the program"


class Few:
    def __init__(self) -> None:
        self.gain = 2.0

    @fp.fuse
    def seen(self, x: Any) -> Any:
        return x * self.gain


Many = type("Many", (Few,), {f"value_{i}": kind(i) for i, kind in enumerate((int, float, str) * 20)})


def test_values_of_a_class_cost_no_python_calls() -> None:
    counts: list[int] = []
    for made in (Few(), Many()):
        calls = [python_calls(lambda made=made: made.seen(2.0), 0, ("call",)) for _ in range(20)]
        counts.append(min(calls))
    assert counts[1] == counts[0]
