"""Leaves of a value beside those of a tangent: ``None`` is zero."""

from __future__ import annotations

import numpy as np

from fusepy.language.differentiable import completed, is_one, paired

X = np.float32([1, 2])


def test_none_stands_for_a_leaf_or_a_container() -> None:
    value = {"a": 1.0, "b": (2.0, {"c": 3.0}), "d": None}
    assert paired(value, {"a": None, "b": (4.0, None), "d": None}, is_one) == [(1.0, None), (2.0, 4.0), (3.0, None)]
    assert paired(value, None, is_one) == [(1.0, None), (2.0, None), (3.0, None)]
    assert paired(value, {"a": 1.0, "b": (4.0,), "d": None}, is_one) is None
    assert paired(value, {"a": {"x": 1.0}, "b": None, "d": None}, is_one) is None


def test_lists_that_are_one_array_are_completed_by_zeros() -> None:
    made = completed({"w": [X, 2 * X], "n": [1.0, [2.0]]}, {"w": [None, X], "n": [1.0, None]})
    assert [row.tolist() for row in made["w"]] == [[0, 0], [1, 2]]
    assert completed([1.0, 2.0], [None, 5.0]) == [0.0, 5.0]
    assert completed({"w": X, "k": 2.0}, {"w": None, "k": None}) == {"w": None, "k": None}
