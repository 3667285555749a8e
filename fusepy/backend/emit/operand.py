"""Operands of kernels, and accesses, which declare them in the parameter block, load and store them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from fusepy.backend.emit.matrices import is_narrow
from fusepy.backend.emit.variant import Variant
from fusepy.ir.arrivals import Arrival
from fusepy.ir.ops.base import convert as componentwise
from fusepy.ir.types import BOOL, HALF, UINT, Kind, Type

BARRIER = "GroupMemoryBarrierWithGroupSync();"  # all threads of a group wait for each other
BLOCK = "fz_args"  # the parameter block; the prefix keeps generated names apart from the user's
OWN = "own"  # before the number of a result, in the name of a texture that is read and overwritten with this result


@dataclass(frozen=True)
class Field:
    """One member of the parameter block: Slang type, name, and the source of its value.

    ``read`` takes the value from the uploaded argument of operand ``source``; a ``"number"`` is that argument itself. If the
    value depends on the call as a whole, ``role`` is ``"out"``, ``"count"``, ``"counted"``, ``"extent"``, ``"walk"``,
    ``"stride"``, ``"out_base"`` or ``"out_stride"``, ``source`` the operand, result or dimension, and ``axis`` the axis of a
    stride. Fields of role ``"pointer"`` come first in the block. A ``"resource"``, and a texture that receives the
    ``"texels"`` of a result, are not in the block: they are bound by `name`.
    """

    type: str
    name: str
    role: str
    source: int = 0
    axis: int = 0
    read: Callable[[Any], Any] | None = field(default=None, compare=False)

    @property
    def declared(self) -> str:
        """The declared type of the member: a half is stored as a uint, see `member`."""
        return "uint" if self.type == "half" else self.type

    @property
    def is_bound(self) -> bool:
        """True if it is bound by name."""
        return self.role in ("resource", "texels")


@dataclass(frozen=True)
class Operand:
    """One operand of a region: `have` is the stored type, `want` the type that the body reads.

    `label` is the operand's name in the user's `function` (``ray.position``), or, for the result of another kernel, the name of
    its producer. `name` is an identifier made from `label`, unique in the kernel.
    """

    position: int
    name: str
    arrival: Arrival
    have: Type
    want: Type
    dims: tuple[int, ...]
    rank: int
    cuda: bool = False
    label: str = ""
    function: str = ""
    shared: int | None = None  # the result that is stored into the same texture
    shared_channels: int = 0
    made: bool = False
    near: tuple[int, ...] | None = None  # of a generator: the operands that give its extents; None is all

    @property
    def is_whole(self) -> bool:
        """True if user code indexes it: a pointer, or an array of a Slang library."""
        return self.want.kind is Kind.POINTER or self.want.kind is Kind.WHOLE

    @property
    def resource(self) -> str:
        """The name of the binding of this operand."""
        if self.shared is None:
            return f"fzr_{self.name}"
        return result_resource(self.shared) if self.reads_result else f"fzr_{self.name}_{OWN}{self.shared}"

    @property
    def reads_result(self) -> bool:
        """True if it is read through the binding of the result that is stored into the same texture; CUDA has two bindings."""
        return self.shared is not None and not self.cuda

    @property
    def is_resource(self) -> bool:
        """True if it is bound by name and passed to user code whole."""
        return self.want.kind is Kind.RESOURCE

    @property
    def consumed(self) -> int:
        """The number of trailing axes that belong to an element of type `want`."""
        return self.rank - len(self.dims)

    @property
    def spread(self) -> bool:
        """True if it varies along `dims` but has no extents there, like a generator."""
        return len(self.dims) > self.rank


def result_resource(j: int) -> str:
    """Returns the name of the texture that result `j` is stored into."""
    return f"fzr_r_{j}"


class Access(Protocol):
    """Access to the operands of one `Arrival` inside kernels.

    Attributes:
        addressing: ``"memory"``, elements of a `Tensor` by address and strides; ``"uniform"``, one value for all threads;
            ``"computed"`` from the coordinates of the thread, which needs a strided kernel; or ``"index"``, computed from the
            linear index of the element in its grid.
        prelude: Slang functions that `load` calls.
    """

    addressing: str
    prelude: str

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        """Returns the operand's members of the parameter block."""
        ...

    def load(self, operand: Operand, variant: Variant) -> str:
        """Returns an expression for one element of `operand.want`, over the index ``i`` (linear) or ``d0, d1, …`` (strided)."""
        ...


def addressing(accesses: Mapping[Arrival, Access], operand: Operand) -> str:
    """Returns the `Access.addressing` of an operand, or ``"resource"`` if it is bound by name."""
    return "resource" if operand.want.kind is Kind.RESOURCE else accesses[operand.arrival].addressing


def storage(type: Type) -> Type:
    """Returns the type in memory: bool takes four bytes, since its own size differs between devices."""
    return type.with_scalar(UINT) if type.is_numeric and type.scalar is BOOL else type


def from_storage(expression: str, type: Type) -> str:
    """Returns a loaded element as a value of `type`."""
    return componentwise(expression, storage(type), type)


def member(name: str, scalar: Type) -> str:
    """Returns an expression that reads a number from the parameter block.

    Halfs are stored there as uints: NVIDIA's Vulkan driver mixes up the results of kernels that load more than a hundred halfs
    from a block.
    """
    return f"half(f16tof32({BLOCK}.{name}))" if scalar is HALF else f"{BLOCK}.{name}"


def to_storage(expression: str, type: Type) -> str:
    """Returns a value converted to its `storage` type."""
    return componentwise(expression, type, storage(type))


def is_split(type: Type, cuda: bool) -> bool:
    """True if elements are packed in memory and Slang uses another stride, so that each scalar is accessed separately.

    On CUDA, three halfs take eight bytes, and a bool in an array one byte. For matrices see `backend.emit.matrices`.
    """
    if (type.kind is Kind.ARRAY and type.scalar is BOOL) or is_narrow(type):
        return True
    return cuda and type.scalar is HALF and type.shape[-1:] == (3,)


def pointee(type: Type, cuda: bool) -> Type:
    """Returns the declared element type of a pointer to elements of `type`."""
    return storage(type.scalar or type) if is_split(type, cuda) else storage(type)


def parts(pointer: str, index: str, type: Type) -> list[str]:
    """Returns the components of element `index` behind a pointer to scalars, in C order."""
    count = math.prod(type.shape)
    return [f"{pointer}[({index}) * {count} + {c}]" for c in range(count)]


def join(type: Type, have: Type, components: Iterator[str]) -> str:
    """Returns a value of `type` from elements of type `have`, in C order."""
    if type is have:
        return from_storage(next(components), have)
    if type.kind is Kind.ARRAY and type.element is not None:
        return "{ " + ", ".join(join(type.element, have, components) for _ in range(type.shape[0])) + " }"
    stored = type.with_scalar(have)
    together = f"{storage(stored)}({', '.join(next(components) for _ in range(math.prod(type.shape)))})"
    return convert(from_storage(together, stored), stored, type)


def convert(expression: str, have: Type, want: Type) -> str:
    """Returns `expression` converted to `want`, if the types differ."""
    return expression if want.kind is Kind.POINTER else componentwise(expression, have, want)
