"""`InstanceTensor`: a tensor of Slang structs with the methods of the struct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fusepy.backend.marshals.result_kinds import is_writable
from fusepy.backend.memory.storage import set_attribute
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError, UnknownNameError
from fusepy.modules.slang_type import SlangType
from fusepy.modules.struct import bound
from fusepy.program.sized import follows, sized


class InstanceTensor(Tensor):
    """A `Tensor` of Slang structs that has the methods of the struct; each call runs for all elements.

    Args:
        struct: the type, e.g. ``m.Particle``.
        shape: extents of a new tensor of zeros.
        data: a tensor of such structs, whose memory it shares, or a structured array, which is copied.

    Raises:
        UnsupportedArgumentError: if the type is no struct, or `data` holds something else.
        ArgumentError: unless exactly one of `shape` and `data` is set.

    Example:
        >>> import fusepy as fp
        >>> source = "struct Particle { float x, v; [mutating] void step(float dt) { x += v * dt; } };"
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_particles", source)
        >>> particles = fp.InstanceTensor(m.Particle, 3).construct([0.0, 1.0, 2.0], 10.0)
        >>> particles.step(0.5)
        >>> particles.to_numpy()["x"]
        array([5., 6., 7.], dtype=float32)
    """

    __slots__ = ("slang",)

    def __init__(self, struct: SlangType, shape: int | Sequence[int] | None = None, data: Any = None):
        if (shape is None) == (data is None):
            raise ArgumentError("InstanceTensor takes a shape or data", hint="write InstanceTensor(m.Ray, (4, 4)) or data=tensor")
        tensor = Tensor.zeros(struct.module.device, shape, struct) if shape is not None else _tensor(data, struct)
        super().__init__(
            tensor.device, tensor.element, tensor.shape, block=tensor.block, offset=tensor.origin, strides=tensor.strides
        )
        set_attribute(self, "grads", tensor.grads)
        set_attribute(self, "slang", struct)

    @property
    def _data(self) -> Tensor:
        """The tensor without the methods of the struct; slangpy's name of it."""
        return Tensor.viewed(self, self.element, self.shape, self.strides)

    def construct(self, *args: Any, **kwargs: Any) -> InstanceTensor:
        """Constructs every element with these arguments, and returns the tensor."""
        whole = self._data
        if any(is_writable(v) or follows(v) for v in (*args, *kwargs.values())):
            self.slang(*args, **kwargs, _result=whole)
        else:  # single values, or lists of one value per component: the same object everywhere
            whole.copy_from(constructed(self.slang, self.shape, args, kwargs))
        return self

    def seen(self, view: Any, argument: Any) -> InstanceTensor:
        return InstanceTensor(self.slang, data=super().seen(view, argument))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "slang":
            raise AttributeError(name)
        try:
            return bound(self.slang.module, self.slang.type.name, name, self)
        except UnknownNameError:
            if name == "tensor":  # slangpy's name
                return self._data
            if name in (self.element.dtype.names or ()):
                return getattr(self._data, name)
            raise


def constructed(struct: SlangType, shape: tuple[int, ...], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Tensor:
    """Constructs a tensor of this shape with these arguments."""
    given = {name: sized(value, shape) for name, value in kwargs.items()}
    return struct(*(sized(value, shape) for value in args), **given, _result="tensor").broadcast_to(shape)


def _tensor(data: Any, type: SlangType) -> Tensor:
    if not isinstance(data, Tensor):
        return Tensor.from_numpy(type.module.device, data, type)
    if not data.element.same(type.element):
        raise ArgumentError(
            "the tensor holds another type", saw=data.dtype, expected=type.type, hint="make it with dtype=m.Name of that struct"
        )
    return data
