"""Random nested arguments on the device, held to NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import fusepy as fp
from tests.support.examples import examples
from tests.support.random_nested import SOURCE, STRUCTS, Change, Program, changed, changes, expected, grid_of, programs

MODULE = fp.Module.load_from_source(fp.default_device(), "nested_random", SOURCE)


@fp.fuse
def kept(s: Any, t: Any) -> Any:
    return MODULE.keep(s, t)


def call(program: Program) -> Any:
    if program.how == "fused":
        return kept.return_type("numpy")(program.value, program.t)
    keep = MODULE.keep.return_type("numpy")
    if program.how == "by name":
        return keep(t=program.t, s=program.value)
    if program.how == "declared":
        keep = keep.declare(getattr(MODULE, program.struct))
    return keep(program.value, program.t)


@pytest.mark.req("T4", "T6", "T7", "T8", "T9", "C14", "V5", "N2")
@examples(60)
@given(program=programs(MODULE))
def test_a_struct_comes_together_from_any_leaves(program: Program) -> None:
    fields, dtype = STRUCTS[program.struct], getattr(MODULE, program.struct).dtype
    shape = grid_of(program.leaves, fields, program.at)
    made = expected(program.leaves, fields, dtype, shape)
    if program.struct == "Ray":
        made["position"] += np.asarray(program.at)[..., None]
    else:
        made["d" if program.struct == "Mixed" else "radius"] += program.at
    found = np.asarray(call(program))
    assert found.dtype == dtype
    assert found.shape == shape
    for name in dtype.names:
        np.testing.assert_array_equal(found[name], made[name], err_msg=f"{name} of {program.value!r} {program.how}")


@pytest.mark.rest
@pytest.mark.req("V5", "C10", "T8")
@examples(40)
@given(change=changes(MODULE))
def test_leaves_are_written_back(change: Change) -> None:
    result = MODULE.change(change.value, change.t)
    assert result is None or not change.targets  # returned only where there is nothing to write to
    for path, read in change.targets.items():
        whole, _, component = path.rpartition(".")
        if whole in change.leaves and path not in change.leaves:  # a component of a vector
            wanted = changed(change.leaves, whole, change.t)[..., "xyzw".index(component)]
        else:
            wanted = changed(change.leaves, path, change.t)
        found = read()
        np.testing.assert_array_equal(found, np.broadcast_to(wanted, found.shape), err_msg=f"{path} of {change.value!r}")
