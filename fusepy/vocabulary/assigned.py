"""Assignment to attributes of tensors: fields and components are written, others are not assigned. None is deleted."""

from __future__ import annotations

from typing import Any

from fusepy.backend.memory.recast import field
from fusepy.backend.memory.storage import set_attribute
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.sealed import is_fusepys, not_assigned, not_deleted
from fusepy.ir.ops.structure import swizzle

_GRADIENT = "x.grad.clear() sets it to zero, and x = x.with_grads(grad_out=g) gives it a tensor of yours"
_EXTENTS = "write t = t.reshape(2, -1), a view with other extents"
_HINTS = {
    **dict.fromkeys(("shape", "size", "ndim"), _EXTENTS),
    "strides": "write t = t.view(shape, strides=strides), another view of the memory",
    "dtype": "write t = t.astype(float), or t.view(shape, dtype) for the same bytes as another type",
    "device": "write t = fp.asarray(t, device=device)",
    "T": "write t[...] = x.T",
    **dict.fromkeys(("grad", "grad_in", "grad_out"), _GRADIENT),
    **dict.fromkeys(("needs_grad", "requires_grad"), "write t = t.with_grads()"),
    "": "tensors change by their elements: write t[...] = x",
}


def seen_part(tensor: Tensor, name: str) -> Tensor | None:
    """Returns a field of a tensor of structs, or a component of one of vectors, as a view; ``None`` for other names."""
    found = field(tensor, name)
    if found is None and tensor.dtype.shape and len(parts := swizzle(tensor.dtype, name) or ()) == 1:
        found = tensor.flatten_dtype()[..., parts[0]]
    return found


def assign_attribute(self: Tensor, name: str, value: Any) -> None:
    """Writes to the field or component of this name: ``rays.position = [0, 0, 0]``, ``image.x *= 2``.

    A class of the user's that derives from `Tensor` has attributes of its own, of names that fusepy's tensors do not have.

    Raises:
        AssignmentError: for any other attribute.
    """
    own = getattr(type(self), name, None)
    if name.startswith("_") or getattr(own, "fset", None) is not None:
        set_attribute(self, name, value)
        return
    found = None if hasattr(type(self), name) else seen_part(self, name)
    if found is not None:
        found.assign(value)
    elif any(is_fusepys(cls) and hasattr(cls, name) for cls in type(self).__mro__) or is_fusepys(type(self)):
        raise not_assigned(self, name, _hints(self, name))
    else:
        set_attribute(self, name, value)


def delete_attribute(self: Tensor, name: str) -> None:
    """Deletes attributes that a class of the user's has added.

    Raises:
        AssignmentError: for an attribute, a field or a component of tensors.
    """
    added = name in getattr(self, "__dict__", ())
    if not name.startswith("_") and not added and (hasattr(type(self), name) or seen_part(self, name) is not None):
        raise not_deleted(self, name)
    object.__delattr__(self, name)


def _hints(tensor: Tensor, name: str) -> dict[str, str]:
    """Returns the hints of tensors, with that for this attribute of this tensor."""
    if name in (tensor.element.dtype.names or ()):  # a field with the name of an attribute
        return {name: f"write t[{name!r}] = x for the field of {tensor.dtype}"}
    if tensor.dtype.shape and (parts := swizzle(tensor.dtype, name)) is not None and len(parts) > 1:
        return {name: f"write to one component after the other: {', '.join(f't.{c} = x' for c in dict.fromkeys(name))}"}
    return _HINTS
