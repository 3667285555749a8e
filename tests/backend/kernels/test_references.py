"""Objects of slangpy that stand for arguments: `ValueRef`, `get_this()`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp

SOURCE = """
struct Pair { int a; float2 b; };
void sum(int a, float b, out float c) { c = a + b; }
void grow(inout int a) { a += 10; }
void change(inout Pair p) { p.a += 1; p.b *= 2; }
void turn(inout float3 v) { v = v.zyx; }
float twice(float x) { return 2 * x; }
struct Ball { float2 at; float r; [mutating] void move(float2 by) { at += by; r = r + 1; } };
"""


class Held:
    def __init__(self, value: Any) -> None:
        self.value, self.updates = value, 0

    def get_this(self) -> Any:
        return self.value

    def update_this(self, value: Any) -> None:
        self.updates += 1


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "references", SOURCE)


def test_references_receive_results(m: fp.Module) -> None:
    out, number, pair, vector = fp.floatRef(), fp.intRef(5), fp.ValueRef({"a": 1, "b": [1, 2]}), fp.ValueRef(fp.float3(1, 2, 3))
    m.sum(2, fp.ValueRef(0.5), out)
    m.grow(number)
    m.change(pair)
    m.turn(vector)
    assert (out.value, number.value) == (2.5, 15)
    assert (pair.value["a"], pair.value["b"].tolist()) == (2, [2, 4])
    assert isinstance(vector.value, fp.float3)
    assert list(vector.value) == [3, 2, 1]
    m.grow(a=number)
    assert number.value == 25


def test_what_get_this_returns_is_the_argument(m: fp.Module) -> None:
    held = Held(fp.Tensor([1, 2], device=m.device))
    assert m.twice(held).tolist() == m.twice(x=held).tolist() == [2, 4]
    assert held.updates == 2
    assert m.twice(Held(3.0)) == 6
    assert m.twice([Held(1.0), Held(2.0)]) == [2, 4]


def test_methods_write_through_references(m: fp.Module) -> None:
    places = Held(np.zeros((3, 2), np.float32))
    radius = fp.floatRef(1.0)
    m.Ball.move.bind({"at": places, "r": 1.0})(fp.float2(1, 2))
    assert places.value.tolist() == [[1, 2]] * 3
    m.Ball.move.bind({"at": fp.ValueRef(fp.float2(0, 0)), "r": radius})([1.0, 2.0])
    assert radius.value == 2.0


def test_slangpy_keywords_of_a_call(m: fp.Module) -> None:
    t = fp.Tensor([1, 2, 3], device=m.device)
    encoder = m.device.create_command_encoder()
    made = m.twice(t, _append_to=encoder)
    m.device.submit_command_buffer(encoder.finish())
    assert made.tolist() == [2, 4, 6]
    assert m.twice(fp.thread_id(), _thread_count=3, _result="list") == [0, 2, 4]
    with pytest.raises(fp.ArgumentError, match="append_to"):
        m.twice(t, _append=encoder)
