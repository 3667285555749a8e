"""Pytrees: taking values apart and putting them together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from fusepy.pytree import ITEMS, LEAF, NOTHING, Container, container_of, flatten, register, several


class Named(NamedTuple):
    low: Any
    high: Any


@dataclass
class Plain:
    first: Any
    second: Any


@dataclass(frozen=True)
class Frozen:
    first: Any
    _second: Any


@dataclass(slots=True)
class Slotted:
    first: Any
    second: Any = None


@dataclass
class Derived:
    """What is computed from other fields is a part of its own, and is not computed anew."""

    given: Any
    made: Any = field(init=False)

    def __post_init__(self) -> None:
        self.made = (self.given,)


class Words(list[Any]):
    pass


def _lists(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pairs = st.tuples(inner, inner)
    dicts = st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
    return st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=3).map(Words),
        dicts,
        dicts.map(OrderedDict),
        dicts.map(lambda d: defaultdict(list, d)),
        *(pairs.map(lambda p, cls=cls: cls(*p)) for cls in (Named, Plain, Frozen, Slotted)),
        inner.map(Derived),
    )


VALUES = st.recursive(st.none() | st.integers() | st.text(max_size=2), _lists, max_leaves=12)


@given(VALUES)
def test_filling_a_structure_with_its_leaves_gives_the_value(value: Any) -> None:
    leaves, structure = flatten(value)
    made = structure.fill(leaves)
    assert made == value
    assert type(made) is type(value)
    assert len(leaves) == structure.leaves == len(structure.paths())
    assert len(set(structure.paths("x"))) == structure.leaves
    assert not any(container_of(leaf) for leaf in leaves)


@given(VALUES)
def test_a_structure_is_that_of_all_values_that_fill_it(value: Any) -> None:
    structure = flatten(value)[1]
    numbers = list(range(structure.leaves))
    found, again = flatten(structure.fill(numbers))
    assert found == numbers
    assert again == structure
    assert str(again) == str(structure)


@given(VALUES, VALUES)
def test_equal_structures_have_equal_names(one: Any, other: Any) -> None:
    a, b = flatten(one)[1], flatten(other)[1]
    assert (a == b) == (str(a) == str(b))
    if a == b:
        assert a.paths() == b.paths()


def test_the_opinion_on_each_container() -> None:
    cases: list[tuple[Any, str, list[str]]] = [
        (None, "None", []),
        (1, "*", ["v"]),
        ((), "()", []),
        ([1, (2, None)], "[*, (*, None)]", ["v[0]", "v[1][0]"]),
        ({"b": 1, "a": {}}, "{'b': *, 'a': {}}", ["v['b']"]),
        (OrderedDict(b=1, a=2), "OrderedDict('b': *, 'a': *)", ["v['b']", "v['a']"]),
        (MappingProxyType({"a": 1}), "mappingproxy('a': *)", ["v['a']"]),
        (Named(1, 2), "Named(low=*, high=*)", ["v.low", "v.high"]),
        (Frozen(1, 2), "Frozen(first=*, _second=*)", ["v.first", "v._second"]),
        (Derived(1), "Derived(given=*, made=(*))", ["v.given", "v.made[0]"]),
        (np.ones(3), "*", ["v"]),
        ("text", "*", ["v"]),
        (Plain, "*", ["v"]),
    ]
    for value, text, paths in cases:
        structure = flatten(value)[1]
        assert str(structure) == text
        assert structure.paths("v") == paths
    assert flatten(MappingProxyType({"a": 1}))[1].fill([2]) == {"a": 2}
    assert flatten(defaultdict(list, a=1))[1].fill([2])["new"] == []
    assert flatten(Derived(1))[1].fill([2, 3]).made == (3,)
    assert flatten({"a": 1, "b": 2})[1] != flatten({"b": 2, "a": 1})[1]
    assert [several(n) for n in (0, 1)] == [NOTHING, LEAF]
    assert several(2).fill("xy") == ("x", "y")


def test_a_structure_keeps_no_leaf() -> None:
    """Programs hold structures for long, and what their first call gave must go."""
    for value in ({"a": [object()]}, Plain(object(), {}), Named(object(), ()), Slotted(object())):
        like = flatten(value)[1].like
        parts: Mapping[Any, Any] = like if isinstance(like, dict) else container_of(like).parts(like)  # type: ignore[union-attr]
        assert set(parts.values()) == {None}


def test_leaves_that_the_caller_names() -> None:
    leaves, structure = flatten([(1, 2), [3]], lambda v: isinstance(v, tuple))
    assert leaves == [(1, 2), 3]
    assert str(structure) == "[*, [*]]"


def test_registered_classes_are_containers() -> None:
    class Pair(tuple[Any, ...]):
        def __new__(cls, name: str, items: Any) -> Pair:
            return super().__new__(cls, items)

    class Narrow(Pair):
        pass

    register(Pair, Container(ITEMS.parts, lambda like, parts: Narrow("", parts.values())))
    leaves, structure = flatten(Narrow("n", (1, 2)))
    assert leaves == [1, 2]
    assert type(structure.fill("ab")) is Narrow


def test_values_under_vmap_keep_what_was_said() -> None:
    given = {"a": fp.vmap([1.0, 2.0], 0), "b": fp.vcast(fp.vmap(3.0, 1), "float2")}
    leaves, structure = flatten(given)
    assert leaves == [1.0, 2.0, 3.0]
    again = structure.fill([4.0, 5.0, 6.0])
    assert repr(again) == "{'a': [4.0, 5.0] vmap(d0), 'b': 6.0 vmap(d1) vcast(float2)}"


@pytest.mark.parametrize("value", [OrderedDict(lo=1.0, hi=2.0), Named(1.0, 2.0), Frozen(1.0, 2.0), Derived(1.0)])
def test_results_carries_and_graphs_have_the_class_of_the_user(value: Any) -> None:
    def step(i: Any, carried: Any) -> Any:
        leaves, structure = flatten(carried)
        return structure.fill([leaf * 2.0 for leaf in leaves])

    twice = fp.fuse(lambda k: fp.fori_loop(0, 1, step, flatten(value)[1].fill([k, k + 1.0][: len(flatten(value)[0])])))
    got = twice(1.0)
    assert type(got) is type(value)
    assert [round(leaf, 3) for leaf in flatten(got)[0]] == [2.0, 4.0]
