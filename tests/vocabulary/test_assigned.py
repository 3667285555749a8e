"""Assignment to attributes of tensors: fields and components are written, all others are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp, same

SOURCE = "struct Cell { int id; float3 at; int size; float2x2 m; float weights[2]; }; float twice(float x) { return 2 * x; }"


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "assigned", SOURCE)


def cells(m: Any) -> Any:
    return fp.Tensor.zeros(m.device, (3,), m.Cell)


def of_calls(m: Any) -> Any:
    with fp.lazy():
        return m.twice(fp.Tensor([1, 2, 3]))


TENSORS: dict[str, Callable[[Any], Any]] = {
    "Tensor": lambda m: fp.Tensor([1, 2, 3], [4, 5, 6]),
    "a view": lambda m: fp.Tensor([1, 2, 3], [4, 5, 6]).T[1:],
    "NDBuffer": lambda m: fp.NDBuffer(m.device, shape=3),
    "NDDifferentiableBuffer": lambda m: fp.NDDifferentiableBuffer(m.device, shape=3),
    "InstanceTensor": lambda m: fp.InstanceTensor(m.Cell, 2),
    "structs": cells,
    "a field": lambda m: cells(m).at,
    "not yet computed": of_calls,
}


@pytest.mark.parametrize("name", TENSORS)
def test_no_public_attribute_is_assigned(m: Any, name: str) -> None:
    tensor = TENSORS[name](m)
    names = [n for n in (*dir(tensor), "pending", "unheard_of") if not n.startswith("_") and n != "accumulator"]
    assert {"shape", "dtype", "strides", "ndim", "size", "device", "T", "block", "key", "sum"} <= {*names}
    for attribute in names:
        with pytest.raises(fp.AssignmentError, match=rf"attribute '{attribute}'.*\n  hint:") as caught:
            setattr(tensor, attribute, (6,))
        assert isinstance(caught.value, AttributeError)
        if attribute not in ("pending", "unheard_of"):
            with pytest.raises(fp.AssignmentError, match=f"'{attribute}' of .* is not deleted"):
                delattr(tensor, attribute)
    assert repr(tensor.tolist()) == repr(TENSORS[name](m).tolist())
    tensor.accumulator = "sum"
    assert tensor.accumulator == "sum"


def test_extents_that_are_assigned_leave_a_tensor_as_it_was(device: Any) -> None:
    t = fp.Tensor.from_numpy(device, ramp(2, 3))
    with pytest.raises(fp.AssignmentError, match=r"write t = t\.reshape"):
        t.shape = (6,)  # type: ignore[misc]
    same(t.sum().numpy(), ramp(2, 3).sum())
    same(t.reshape(6).sum().numpy(), ramp(2, 3).sum())


FIELDS: dict[str, Any] = {"id": 5, "at": [1.0, 2.0, 3.0], "m": 2.0, "weights": 0.5}


@pytest.mark.parametrize("name", FIELDS)
def test_fields_are_written(m: Any, name: str) -> None:
    value, whole = FIELDS[name], cells(m)
    setattr(whole, name, value)
    meant = np.zeros(3, m.Cell.dtype)
    meant[name] = value
    same(whole.to_numpy()[name], meant[name])
    seen = getattr(whole, name)
    seen += seen
    setattr(whole, name, seen)  # as ``whole.name += …`` ends
    same(whole.to_numpy()[name], 2 * meant[name])
    same(whole[::2].to_numpy()[name], 2 * meant[name][::2])


def test_augmented_assignments_of_fields_and_components(m: Any) -> None:
    whole, colours = cells(m), fp.Tensor.from_numpy(m.device, ramp(4, 3), m.float3)
    whole.id += 5
    whole.id -= np.int32([0, 1, 2])
    same(whole.to_numpy()["id"], np.int32([5, 4, 3]))
    meant = ramp(4, 3)
    colours.y *= 3
    meant[:, 1] *= 3
    colours[1].z = 7
    meant[1, 2] = 7
    same(colours.numpy(), meant)
    for program in (lambda: setattr(colours, "xy", 1.0), lambda: exec("c.xy += 1", {"c": colours})):
        with pytest.raises(fp.AssignmentError, match=r"t.x = x, t.y = x"):
            program()
    same(colours.numpy(), meant)


def test_a_field_with_the_name_of_an_attribute(m: Any) -> None:
    whole = cells(m)
    with pytest.raises(fp.AssignmentError, match=r"write t\['size'\] = x for the field of Cell"):
        whole.size = 2
    whole["size"] += 2
    same(whole.to_numpy()["size"], np.int32([2, 2, 2]))


def test_a_field_is_not_written_while_a_function_is_traced(m: Any) -> None:
    whole = cells(m)
    for program in (lambda x: setattr(whole, "id", 1), lambda x: setattr(whole, "at", x)):
        with pytest.raises(fp.TraceError):
            fp.fuse(program)(F32(1))
    assert not whole.to_numpy()["id"].any()
