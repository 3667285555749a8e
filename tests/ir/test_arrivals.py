"""How inputs come to a kernel: one object for each name, and its flags."""

from __future__ import annotations

import dataclasses

import pytest

from fusepy.backend.marshals.registry import ACCESSES
from fusepy.ir.arrivals import ARRIVALS, LITERAL, NAMED, PLAIN, TENSOR, WORD, Arrival, arrival_named
from fusepy.ir.parse import parse_graph
from fusepy.ir.printer import print_graph, value_type
from fusepy.ir.types import Kind, Type
from fusepy.ir.value import Value, is_open, is_spread

FLAGS = [f.name for f in dataclasses.fields(Arrival) if f.name != "name"]


def _named(flag: str) -> set[str]:
    return {name for name, arrival in ARRIVALS.items() if getattr(arrival, flag)}


def test_there_is_one_object_for_each_name() -> None:
    assert all(arrival_named(name) is arrival for name, arrival in ARRIVALS.items())
    assert arrival_named("") is PLAIN
    assert len({*ARRIVALS.values()}) == len(ARRIVALS)
    unknown = arrival_named("Heap")
    assert unknown.name == "Heap"
    assert not any(getattr(unknown, flag) for flag in FLAGS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        TENSOR.tensor = False  # type: ignore[misc]


def test_every_flag_tells_something_apart() -> None:
    told = {flag: frozenset(a for a in (*ARRIVALS.values(), LITERAL, NAMED, WORD) if getattr(a, flag)) for flag in FLAGS}
    assert all(told.values())
    assert len({*told.values()}) == len(FLAGS)
    assert _named("memory") == {"Tensor", "List", "Pair"}
    assert _named("array") == {"Tensor", "List"}
    assert _named("coordinates") == {"Grid", "CallId", "CallId1"}
    assert _named("open") == {"CallId", "ThreadId", "WangHash", "RandFloat"}
    assert _named("generated") == _named("open") | {f"{name}1" for name in _named("open")}
    assert _named("placed") == _named("generated") | {"Grid"}
    assert _named("cube") == {"TextureCube", "TextureCubeArray"}
    assert _named("texels") == {name for name in ARRIVALS if name.startswith("Texture")}


def test_kernels_can_read_whatever_arrives() -> None:
    assert {*ACCESSES} == {*ARRIVALS.values()}


def test_the_text_has_the_name() -> None:
    for name, arrival in ARRIVALS.items():
        value = Value(Type.parse("float"), () if arrival.plain else (None,), arrival=arrival, weak=arrival.listed, name="x")
        text = f"graph @f(%x: {value_type(value)}) -> () {{\n  return\n}}"
        assert value_type(value) == (f"{name}<float>[?]" if name else "float")
        assert parse_graph(text).inputs[0].arrival is arrival
        assert print_graph(parse_graph(text)).startswith(f"graph @f(%x: {value_type(value)})")


def test_a_generated_scalar_without_extents_follows_its_grid() -> None:
    for arrival in ARRIVALS.values():
        value = Value(Type.parse("int"), arrival=arrival, name="x")
        assert value.type.kind is Kind.SCALAR
        assert is_spread(value) == arrival.generated
        assert is_open(value) == arrival.open
        assert not is_spread(Value(value.type, (None,), arrival=arrival, name="x"))
        assert not is_open(Value(Type.parse("int2"), arrival=arrival, name="x"))
