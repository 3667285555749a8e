"""Destinations in containers like those of the results: the same checks and kernels as a tuple of destinations."""

from __future__ import annotations

import gc
import weakref
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import ramp, same

SOURCE = "struct Ball { float2 at; int n; }; Ball ball(float x) { Ball b; b.at = x; b.n = int(x); return b; }"
SHARED = np.zeros(3, np.float32)


@dataclass
class Pair:
    first: Any
    rest: Any


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "destinations", SOURCE)


@pytest.fixture(scope="module")
def both() -> Any:
    return fp.fuse(lambda x: {"a": 2 * x, "b": x + 1})


@pytest.fixture(scope="module")
def deep() -> Any:
    return fp.fuse(lambda x: {"l": (2 * x, x + 1), "m": Pair(-x, {"z": 3 * x})})


def zeros(*shape: int, type: str = "float") -> fp.Tensor:
    return fp.Tensor.zeros(fp.default_device(), shape, type)


def test_results_without_a_destination_are_returned(both: Any) -> None:
    """As for a tuple of destinations with ``None`` among them."""
    a, x = zeros(3), fp.Tensor(ramp(3))
    for given in ({"a": a}, {"a": a, "b": None}, {"b": None, "a": a}):
        found = both(x, _result=given)
        assert list(found) == ["a", "b"]
        assert found["a"] is a
        same(a.numpy(), 2 * ramp(3))
        same(found["b"].numpy(), ramp(3) + 1)
        a.clear()
    b = np.zeros(3, np.float32)
    assert both(ramp(3), _result={"b": b})["b"] is b
    same(b, ramp(3) + 1)


def test_containers_to_any_depth(deep: Any) -> None:
    p, q, r = (zeros(3) for _ in range(3))
    x = fp.Tensor(ramp(3))
    found = deep(x, _result={"l": (p, q), "m": Pair(None, {"z": r})})
    assert found["l"][0] is p
    assert found["l"][1] is q
    assert found["m"].rest["z"] is r
    for tensor, wanted in ((p, 2 * ramp(3)), (q, ramp(3) + 1), (r, 3 * ramp(3)), (found["m"].first, -ramp(3))):
        same(tensor.numpy(), wanted)
    q.clear()
    assert deep(x, _result={"l": [None, q]})["l"][1] is q
    same(q.numpy(), ramp(3) + 1)
    nested = fp.fuse(lambda x: (x, (x + 1, 2 * x)))
    assert nested(x, _result=(None, (p, None)))[1][0] is p
    same(p.numpy(), ramp(3) + 1)


def test_as_many_kernels_as_with_a_tuple(both: Any, device: Any) -> None:
    x, a, b = fp.Tensor(ramp(3)), zeros(3), zeros(3)
    counts: list[int] = []
    for given in ({"b": b, "a": a}, (a, b), {"a": a}):
        before = device.counters.dispatches
        both(x, _result=given)
        counts.append(device.counters.dispatches - before)
    assert counts == [1, 1, 1]


@pytest.mark.parametrize("mode", ["call", "lazy", "lower"])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda: {"a": zeros(3, type="int")}, r"_result\['a'\] does not fit the result"),
        (lambda: {"b": np.zeros(3, np.int32)}, r"_result\['b'\] does not fit the result"),
        (lambda: {"a": zeros(2, 3)}, r"_result\['a'\] does not fit the result"),
        (lambda: {"a": np.zeros((2, 3), np.float32)}, r"_result\['a'\] does not fit the result"),
        (lambda: {"b": np.zeros(4, np.float32)}, r"_result\['b'\] does not fit the result"),
        (lambda: {"a": zeros(4)}, r"_result\['a'\] does not fit the result"),
        (lambda: dict.fromkeys("ab", zeros(3)), r"_result\['b'\] shares memory with another result, _result\['a'\]"),
        (lambda: dict.fromkeys("ab", SHARED), r"_result\['b'\] shares memory with another result, _result\['a'\]"),
    ],
)
def test_checks_of_a_tuple_name_the_key(both: Any, mode: str, given: Any, said: str) -> None:
    x, given = fp.Tensor(ramp(3)), given()
    run = both.lower if mode == "lower" else both
    with pytest.raises(fp.ShapeError, match=said), fp.lazy() if mode == "lazy" else nullcontext():
        run(x, _result=given)
    assert not any(np.any(np.asarray(v)) for v in given.values())


@pytest.mark.parametrize(
    ("given", "said", "hint"),
    [
        (lambda a: {"k": a}, "_result: there is no result 'k'", r"\['l', 'm'\]"),
        (lambda a: {"m": {"rest": {"y": a}}}, r"_result\['m'\].rest: there is no result 'y'", r"\['z'\]"),
        (lambda a: {"l": (a,)}, r"_result\['l'\] is not like the result", "None for one that is to be returned"),
        (lambda a: {"l": a}, r"_result\['l'\] is not like the result", "in the same containers"),
        (lambda a: {"l": ({"z": a}, None)}, r"_result\['l'\]\[0\] is not like the result", "in the same containers"),
        (lambda a: (a, a, {"z": a}), "_result is not like the result", "in the same containers"),
        (lambda a: {"l": (a, 5)}, r"_result\['l'\]\[1\]: a int cannot receive a result", "omit it"),
    ],
)
def test_a_container_that_is_not_like_the_results(deep: Any, given: Any, said: str, hint: str) -> None:
    with pytest.raises(fp.ArgumentError, match=f"{said}(.|\n)*{hint}"):
        deep(fp.Tensor(ramp(3)), _result=given(zeros(3)))


def test_a_tuple_names_the_place() -> None:
    with pytest.raises(fp.ShapeError, match=r"_result\[1\] does not fit the result"):
        fp.fuse(lambda x: (x, x + 1))(fp.Tensor(ramp(3)), _result=(zeros(3), zeros(4)))


def test_destinations_say_how_large_the_grid_is(device: Any) -> None:
    a = zeros(5)
    found = fp.fuse(lambda i: {"a": i * 2.0, "b": i + 1})(fp.grid((-1,)), _result={"a": a})
    assert found["a"] is a
    assert a.tolist() == [0, 2, 4, 6, 8]
    assert found["b"].tolist() == [1, 2, 3, 4, 5]


def test_members_of_a_struct_are_checked_alike(m: fp.Module, device: Any) -> None:
    x, n = fp.Tensor(ramp(3)), zeros(3, type="int")
    for given, said in (
        ({"n": n, "at": np.zeros((3, 2), np.int32)}, r"_result\['at'\] does not fit"),
        ({"n": n, "at": zeros(3, 2, type="int")}, r"_result\['at'\] does not fit"),
        ({"n": zeros(4, type="int")}, r"_result\['n'\] does not fit"),
        ({"n": n, "at": n}, "shares memory with another result"),
    ):
        with pytest.raises(fp.ShapeError, match=said):
            m.ball(x, _result=given)
    with pytest.raises(fp.ArgumentError, match=r"there is no _result\.k(.|\n)*at, n"):
        m.ball(x, _result={"k": n})
    assert not np.any(n.numpy())


def test_members_are_recorded_into_an_encoder(m: fp.Module, device: Any) -> None:
    n, encoder = zeros(3, type="int"), device.sgl.create_command_encoder()
    m.ball.append_to(encoder, fp.Tensor([1.0, 2.0, 3.0]), _result={"n": n})
    assert n.tolist() == [0, 0, 0]
    device.sgl.submit_command_buffer(encoder.finish())
    assert n.tolist() == [1, 2, 3]


def test_copies_of_members_keep_no_closed_device() -> None:
    device = fp.init_device("vulkan") if fp.default_device().target.kind != "cuda" else fp.init_device("cuda")
    m = fp.Module.load_from_source(device, "members_kept", "struct P { float x; }; P made(float a) { P p; p.x = a; return p; }")
    x = fp.Tensor.zeros(device, (3,), "float")
    m.made(fp.Tensor.full(device, (3,), 2.0), _result={"x": x})
    assert x.tolist() == [2, 2, 2]
    kept = weakref.ref(device)
    device.close()
    del device, m, x
    gc.collect()
    assert kept() is None
