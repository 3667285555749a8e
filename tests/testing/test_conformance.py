"""Every kind of argument passes the public conformance suite, which itself reports what is wrong; a user's kind is one more."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from fusepy.backend.marshals import registry
from fusepy.testing import ConformanceError, Example, assert_matches_numpy, check_marshal, marshal_checks
from tests.support.selection import seldom
from tests.support.slang_functions import F32, ramp, same

pytestmark = pytest.mark.req("V16")


def tensor(array: Any, dtype: Any = None) -> fp.Tensor:
    return fp.Tensor.from_numpy(fp.default_device(), np.asarray(array), dtype)


def marshal(cls: type) -> Any:
    return registry.KINDS[cls].marshal


def coordinates(*shape: int) -> Any:
    return np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij")[::-1], axis=-1)


def cases() -> list[tuple[type, list[Example], list[Any]]]:
    """A class, examples of its values, and values that are refused."""
    small, long = ramp(4, 3), ramp(2, 7)
    numbers = [(np.dtype(f"{u}int{n}"), f"{u}int{n}_t" if n != 32 else f"{u}int") for u in ("", "u") for n in (8, 16, 32, 64)]
    return [
        (
            fp.Tensor,
            [
                Example(tensor(small), "float", small, like=tensor(small + 1)),
                Example(tensor(small), "float3", small),
                Example(tensor(small, "float3"), "float3", small, like=tensor(ramp(9, 3), "float3")),
                Example(tensor(ramp(8, 6))[::-2, 1:4], "float", ramp(8, 6)[::-2, 1:4]),
                Example(tensor(F32(3)), "float", 3),
                Example(tensor(np.zeros((0, 3), F32)), "float3", np.zeros((0, 3))),
            ],
            [],
        ),
        (
            np.ndarray,
            [
                Example(small, "float", small, like=small + 1),
                Example(long, "float", long, like=ramp(9, 8)),
                Example(small[::-1], "float3", small[::-1]),
                Example(np.asfortranarray(small), "float", small),
                Example(np.broadcast_to(F32([1, 2, 3]), (4, 3)), "float3", [[1, 2, 3]] * 4),
                Example(ramp(2, 3, 3), "float3x3", ramp(2, 3, 3)),
                Example(np.array([True, False]), "bool", [True, False]),
                *(Example(np.arange(5).astype(dtype), name, np.arange(5)) for dtype, name in numbers),
            ],
            [small.astype(">f4"), small.astype(complex), np.array(["a"])],
        ),
        (
            list,
            [
                Example([1.0, 2.0], "float", [1, 2], like=[3.0, 4.5]),
                Example([1, 2, 3], "float3", [1, 2, 3]),
                Example([[1, 2, 3], [4, 5, 6]], "int", [[1, 2, 3], [4, 5, 6]]),
                Example([True, False], "bool", [True, False]),
            ],
            [[1, [2]], ["a"], [1 << 70]],
        ),
        (tuple, [Example((1.0, 2.0, 3.0), "float3", [1, 2, 3])], []),
        (float, [Example(1.5, "float", 1.5, like=-2.5), Example(0.1, "double", 0.1), Example(0.5, "half", 0.5)], []),
        (int, [Example(3, "int", 3, like=-5), Example(3, "float", 3), Example(1 << 40, "int64_t", 1 << 40)], []),
        (bool, [Example(True, "bool", True, like=False)], []),
        (np.float32, [Example(F32(1.5), "float", 1.5, like=F32(2))], []),
        (np.int64, [Example(np.int64(7), "int", 7, like=np.int64(-1))], []),
        (np.bool_, [Example(np.bool_(True), "bool", True)], []),
        (type(fp.grid((2, 2))), [Example(fp.grid((2, 3)), "int2", coordinates(2, 3), like=fp.grid((4, 5)))], []),
        (fp.Shape, [Example(fp.Shape(2, 3), "int2", coordinates(2, 3), like=fp.Shape(4, 5))], []),
        (range, [Example(range(2, 9, 3), "int", [2, 5, 8], like=range(5))], []),
        (spy.float3, [Example(spy.float3(1, 2, 3), "float3", [1, 2, 3], like=spy.float3(4, 5, 6))], []),
        (spy.int2, [Example(spy.int2(1, 2), "int2", [1, 2])], []),
        (spy.float3x3, [Example(spy.float3x3(range(9)), "float3x3", np.arange(9).reshape(3, 3))], []),
    ]


KINDS = [fp.Tensor, np.ndarray, list, tuple, float, int, bool, np.float32, np.int64, np.bool_]
KINDS += [type(fp.grid((2, 2))), fp.Shape, range, spy.float3, spy.int2, spy.float3x3]


@pytest.mark.parametrize("kind", seldom(KINDS, "ndarray", "list", "int", "int64", "float3x3"), ids=lambda kind: kind.__name__)
def test_builtin_kinds_conform(device: Any, kind: type) -> None:
    examples, refused = next((e, r) for cls, e, r in cases() if cls is kind)
    check_marshal(marshal(kind), examples, refused=refused)


def test_checks_have_names() -> None:
    names = [str(check) for check in marshal_checks(marshal(int), [Example(3, "int", 3), Example(4, "float", 4)], refused=["x"])]
    assert names[:3] == ["kinds of results", "registered (int as int)", "key (int as int)"]
    assert "keys tell apart (int as int, int as float)" in names
    assert names[-1] == "refused with a hint ('x')"
    assert len(names) == len(set(names))


def test_structs_conform(device: Any) -> None:
    m = fp.Module.load_from_source(device, "conform", "struct Ray { float3 o; float t; }; T same<T>(T x) { return x; }")
    rays = np.zeros(5, m.Ray.dtype)
    rays["o"], rays["t"] = ramp(5, 3), ramp(5)
    check_marshal(marshal(fp.Tensor), [Example(tensor(rays, m.Ray), m.Ray, rays, like=tensor(rays[:2], m.Ray))], same=m.same)
    with pytest.raises(ConformanceError, match="pass same="):
        check_marshal(marshal(fp.Tensor), [Example(tensor(rays, m.Ray), m.Ray, rays)])


# ---- a user's kind ---------------------------------------------------------------------------------------------------


class Polar:
    def __init__(self, radius: Any, angle: Any):
        self.radius, self.angle = np.broadcast_arrays(F32(radius), F32(angle))


class PolarMarshal:
    returns = "numpy"

    def key(self, value: Polar) -> Any:
        return ("polar", value.radius.ndim)

    def describe(self, value: Polar) -> fp.Description:
        return fp.Description(fp.Type.parse("float2"), (None,) * value.radius.ndim, "Tensor")

    def place(self, value: Polar, type: fp.Type, device: fp.Device) -> fp.Tensor:
        if np.any(value.radius < 0):
            raise fp.RangeError("a radius is negative", saw=value.radius.min(), hint="add pi to the angle")
        xy = np.stack([value.radius * np.cos(value.angle), value.radius * np.sin(value.angle)], axis=-1)
        return fp.Tensor.from_numpy(device, xy, type)

    def extents(self, value: Polar) -> tuple[int, ...]:
        return value.radius.shape


POINTS = Polar([1.0, 2.0, 3.0], 0.0)
EXAMPLES = [
    Example(POINTS, "float2", [[1, 0], [2, 0], [3, 0]], like=Polar(np.ones(9), 0.5)),
    Example(Polar(2.0, np.pi / 2), "float2", [0, 2]),
]


@pytest.fixture
def polar() -> Any:
    fp.register(Polar, PolarMarshal())
    return fp.Module.load_from_source(
        fp.default_device(),
        "polar_user",
        """float2 shift(float2 p, float2 by) { return p + by; } T same<T>(T x) { return x; } float x_of(float2 p) { return p.x; }
        struct Disc { float2 middle; float r; float reach() { return middle.x + r; } }; float only(float x) { return x; }""",
    )


def test_a_registered_kind_goes_everywhere(polar: Any) -> None:
    m = polar
    check_marshal(PolarMarshal(), EXAMPLES, refused=[Polar(-1.0, 0.0)])
    same(m.shift(POINTS, [0.5, 1.0]), F32([[1.5, 1], [2.5, 1], [3.5, 1]]))
    assert fp.resolve(m.shift, POINTS, m.float2).types == [m.float2, m.float2]
    same(m.same(POINTS), F32([[1, 0], [2, 0], [3, 0]]))
    same(m.Disc.reach({"middle": POINTS, "r": 10.0}), F32([11, 12, 13]))  # nested
    same(fp.fuse(lambda p: m.x_of(p) + p.y)(POINTS), F32([1, 2, 3]))
    same(m.x_of(_Further([4.0], 0.0)), F32([4]))  # a subclass is served by its base's marshal

    with pytest.raises(fp.NoMatchError, match="float2"):
        m.only(POINTS)
    with pytest.raises(fp.RangeError) as caught:
        m.x_of(Polar(-1.0, 0.0))
    assert "x_of: argument 'p'" in str(caught.value)
    assert caught.value.hint == "add pi to the angle"


class _Further(Polar):
    pass


def test_registering_again_takes_effect(polar: Any) -> None:
    class Mirrored(PolarMarshal):
        def key(self, value: Polar) -> Any:
            return ("mirrored", value.radius.ndim)

        def place(self, value: Polar, type: fp.Type, device: fp.Device) -> fp.Tensor:
            return super().place(Polar(value.radius, value.angle + np.pi), type, device)

    np.testing.assert_allclose(polar.x_of(POINTS), [1, 2, 3], rtol=1e-6)
    fp.register(Polar, Mirrored())
    np.testing.assert_allclose(polar.x_of(POINTS), [-1, -2, -3], rtol=1e-6)
    fp.register(Polar, PolarMarshal())


# ---- the suite itself ------------------------------------------------------------------------------------------------


def broken(**methods: Any) -> Any:
    return type("Broken", (PolarMarshal,), methods)()


BROKEN = [
    ("key", {"key": lambda self, v: ["polar"]}, "cannot be hashed"),
    ("key", {"key": lambda self, v: object()}, "two keys of one value differ"),
    (
        "keys tell apart",
        {"key": lambda self, v: "polar"},
        "one key for what is described as Tensor<float2>[?] and as Tensor<float2>[]",
    ),
    ("equal code", {"key": lambda self, v: ("polar", v.radius.shape)}, "each would compile anew"),
    ("description", {"describe": lambda self, v: fp.Description(fp.Type.parse("float2"), (None,), "Box")}, "no container 'Box'"),
    ("description", {"describe": lambda self, v: fp.Description(fp.Type.parse("float2"), (None,), "")}, "axes and no container"),
    ("placing", {"place": lambda self, v, t, d: v.radius}, "placed as a ndarray, and not as a Tensor"),
    ("placing", {"place": lambda self, v, t, d: fp.Tensor.zeros(d, (1, 2), t)}, "placed with shape (1, 2)"),
    ("round trip", {"place": lambda self, v, t, d: fp.Tensor.zeros(d, v.radius.shape, t)}, "comes back"),
    (
        "left alone",
        {"describe": lambda self, v: v.__setattr__("seen", id(object())) or PolarMarshal().describe(v)},
        "the call has changed the value",
    ),
    ("round trip", {"place": lambda self, v, t, d: v.nope}, "AttributeError"),
    ("explained", {"extents": lambda self, v: ()}, "IndexError"),
]


@pytest.mark.parametrize(("check", "methods", "words"), BROKEN, ids=[f"{c}-{i}" for i, (c, _, _) in enumerate(BROKEN)])
def test_a_broken_marshal_is_found_out(polar: Any, check: str, methods: dict[str, Any], words: str) -> None:
    wrong = broken(**methods)
    fp.register(Polar, wrong)
    with pytest.raises(ConformanceError) as caught:
        check_marshal(wrong, EXAMPLES)
    text = str(caught.value)
    assert text.startswith("Broken fails ")
    assert check in text
    assert words in text


@pytest.mark.parametrize("wrong", [None, object(), broken(returns="nothing"), broken(place=None)])
def test_what_is_no_marshal_is_not_registered(wrong: Any) -> None:
    with pytest.raises(fp.ArgumentError, match="is no marshal") as caught:
        fp.register(Polar, wrong)
    assert "check_marshal" in caught.value.hint


def test_a_marshal_that_is_not_registered(polar: Any) -> None:
    with pytest.raises(ConformanceError, match=r"call fusepy\.register\(Polar, …\) first"):
        check_marshal(broken(), EXAMPLES)
    with pytest.raises(ConformanceError, match="no error is raised"):
        check_marshal(PolarMarshal(), EXAMPLES, refused=[POINTS])
    bare = broken(place=lambda self, v, t, d: (_ for _ in ()).throw(fp.RangeError("no")))
    with pytest.raises(ConformanceError, match="has no hint"):
        check_marshal(bare, [], refused=[POINTS])


class Span(timedelta):
    """A span of time; Slang sees its seconds."""


class SpanMarshal:
    returns, precedence = "span", 69

    def key(self, value: Span) -> Any:
        return ("span",)

    def describe(self, value: Span) -> fp.Description:
        return fp.Description(fp.Type.parse("float"), (), "", weak=True)

    def place(self, value: Span, type: fp.Type, device: fp.Device) -> float:
        return value.total_seconds()

    def extents(self, value: Span) -> tuple[int, ...]:
        return ()

    def hand_out(self, tensor: fp.Tensor) -> Span:
        return Span(seconds=tensor.to_numpy().item())


def test_results_that_numpy_does_not_know(device: Any) -> None:
    fp.register(Span, SpanMarshal())
    check_marshal(SpanMarshal(), [Example(Span(minutes=1), "float", 60, like=Span(seconds=1))])
    m = fp.Module.load_from_source(device, "spans", "float half_of(float x) { return x / 2; }")
    assert m.half_of(Span(minutes=1)) == m.half_of(60.0, _result=Span) == Span(seconds=30)


def test_matching_numpy(lib: Any) -> None:
    assert_matches_numpy(lib.add, np.add, ramp(4, 1), ramp(3))
    assert_matches_numpy(lib.negate, np.logical_not, np.array([True, False]))
    assert_matches_numpy(lib.luma, lambda c: c @ F32([1, 10, 100]), tensor(ramp(5, 3)), ulps=8)
    with pytest.raises(AssertionError, match=r"1 of 5 numbers differ; worst at \(2,\)"):
        assert_matches_numpy(lib.add, lambda a, b: a + b + (np.arange(5) == 2), ramp(5), ramp(5))
    with pytest.raises(AssertionError, match=r"shape \(5,\), NumPy has \(\)"):
        assert_matches_numpy(lib.add, lambda a, b: np.float32(1), ramp(5), ramp(5))
    with pytest.raises(AssertionError, match="numbers differ"):
        assert_matches_numpy(lib.add, lambda a, b: a * np.nan, ramp(5), ramp(5))
