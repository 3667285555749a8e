"""Entries of dict arguments as attributes, inside fused functions."""

import numpy as np
import pytest

import fusepy as fp
from fusepy.errors import UnknownNameError
from tests.support import child

SCALAR = {"position": [1.0, 2.0, 3.0], "inner": {"x": [4.0, 5.0, 6.0], "w": 2.0}}
ARRAYS = {"position": np.ones((5, 3), np.float32), "inner": {"x": np.full((5, 3), 2, np.float32), "w": np.ones(5, np.float32)}}


@pytest.mark.parametrize("ray", [SCALAR, ARRAYS], ids=["scalar", "arrays"])
def test_fields_are_attributes_and_entries(ray):
    @fp.fuse
    def look(r):
        return r.position + r["position"], r.inner.x - r["inner"]["x"]

    twice, zero = look(ray)
    np.testing.assert_allclose(twice, 2 * np.float32(ray["position"]))
    assert not np.any(zero)


def test_results_are_plain_dicts_and_carries_keep_attributes():
    back = fp.fuse(lambda r: {"ray": r, "of": r.inner})(SCALAR)
    assert [type(part) for part in (back, back["ray"], back["of"])] == [dict] * 3
    assert back == {"ray": SCALAR, "of": SCALAR["inner"]}
    moved = fp.fuse(lambda r: fp.fori_loop(0, 3, lambda i, c: {**c, "x": c.x + c["w"]}, r))({"x": 1.0, "w": 2.0})
    assert moved == {"x": 7.0, "w": 2.0}


def test_gradients_and_tangents_have_attributes():
    def loss(r):
        return fp.sum(r.position * r.inner.x)

    gradient = fp.grad(loss)(SCALAR)
    assert type(gradient) is dict
    assert gradient["position"] == [4.0, 5.0, 6.0]
    assert fp.jvp(loss, (SCALAR,), (SCALAR,)).d == 2 * (4 + 10 + 18)


def test_assigned_attributes_are_entries():
    def move(r):
        r.position = r["position"] * 2
        return r["position"], r.copy().position

    assert fp.fuse(move)(SCALAR) == ([2.0, 4.0, 6.0], [2.0, 4.0, 6.0])
    assert SCALAR["position"] == [1.0, 2.0, 3.0]


def test_unknown_field_names_the_nearest():
    with pytest.raises(UnknownNameError, match=r"has no field 'positon'(.|\n)*did you mean 'position'"):
        fp.fuse(lambda r: r.positon)(SCALAR)
    assert fp.fuse(lambda r: r.inner.w * (2.0 if hasattr(r, "missing") else 1.0))(SCALAR) == 2.0


def test_the_first_dict_of_a_process_is_nested() -> None:
    """Also where nothing has asked for its fields before: the pullback of torch's autograd took it for a leaf."""
    source = """
from fusepy.arguments.nested import flat
from fusepy.trace.components.dict_fields import DictFields
print(flat([DictFields(a=1, b=DictFields(c=2))]))
"""
    assert child.run(source, seconds=60).stdout == "[1, 2]\n"
