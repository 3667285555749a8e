"""Results that are stored into textures, and these textures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import slangpy as spy

from fusepy.backend.device.bound import Bound
from fusepy.backend.device.device import Device
from fusepy.backend.emit.stores import texture_type
from fusepy.backend.marshals.generators import Grid
from fusepy.backend.marshals.registry import texture_kind
from fusepy.backend.marshals.texture_cuda import check_stored, check_texture
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.memory.texture import TextureKind, check_device, create, format_for, kind_for, kind_of
from fusepy.errors import UnsupportedArgumentError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Value
from fusepy.ir.ops.region import StoredInto
from fusepy.ir.types import Type

_PLAIN = {1: spy.TextureType.texture_1d, 2: spy.TextureType.texture_2d, 3: spy.TextureType.texture_3d}


@dataclass(frozen=True)
class Into:
    """The properties of ``_result=`` that the program depends on.

    Attributes:
        kinds: for each result the kind of its texture.
        shared: for each result the argument that is the same texture.
        maps: for each result its mapping.
    """

    kinds: tuple[TextureKind | None, ...]
    shared: tuple[int | None, ...]
    maps: tuple[ArgMap, ...]


def into(result: Any, args: Sequence[Any], maps: Sequence[ArgMap]) -> Into | None:
    """Returns the properties of ``_result=`` that the program depends on; ``None`` without textures and mappings."""
    given: Sequence[Any] = cast("Sequence[Any]", result) if isinstance(result, (tuple, list)) else [result]
    kinds = tuple(map(texture_kind, given))
    if not any(kinds) and all(m is UNSAID for m in maps):
        return None
    shared = (next((i for i, a in enumerate(args) if a is r), None) if kind else None for kind, r in zip(kinds, given))
    return Into(kinds, tuple(shared), tuple(maps))


def into_texture(result: Any, args: Sequence[Any]) -> Into | None:
    """Returns the properties of one texture without a mapping: one object for all that are equal. `None` for anything else.

    Args:
        args: the arguments; those that are nested are looked through by `into`.
    """
    if result.__class__ is not spy.Texture:
        return None
    for value in args:
        if value.__class__ not in _KNOWN or value is result:
            return None
    kind = kind_of(result)
    found = _alone.get(kind)  # a kind is one object
    if found is None:
        found = _alone.setdefault(kind, Into((kind,), (None,), (UNSAID,)))
    return found


_KNOWN = {Tensor, Grid, spy.Texture, float, int, bool}
_alone: dict[TextureKind, Into] = {}


@dataclass(frozen=True)
class TextureTarget:
    """The texture that one result is stored into.

    Attributes:
        shared: the argument that is the same texture, if any.
    """

    type: Type
    kind: TextureKind
    shared: int | None = None

    @staticmethod
    def of(kind: TextureKind, result: Value, what: str, shared: int | None = None) -> TextureTarget:
        """Returns the target for textures of this kind.

        Raises:
            UnsupportedArgumentError: if the format cannot hold the result, or the texture has another rank.
        """
        if kind.rank != result.rank or "Cube" in kind.container:
            raise UnsupportedArgumentError(
                f"{what} is a texture that cannot take the result",
                saw=repr(kind),
                expected=f"{result.rank} axes" if kind.rank != result.rank else "a texture that Slang can write by coordinates",
                hint="write a cube as a texture_2d_array and copy its layers"
                if "Cube" in kind.container
                else "run the call over the texture's axes, as those of fp.grid((height, width)); or give another texture",
            )
        normalised = kind.format is format_for(result.type, normalised=True)
        return TextureTarget(texture_type(kind.container, kind.texel, result.type, what, normalised), kind, shared)

    @staticmethod
    def made_for(
        result: Value, inputs: Sequence[Value], args: Sequence[Any], what: str, normalised: bool = False
    ) -> TextureTarget:
        """Returns the target for a new texture: of the type of an argument with as many axes, else 1D, 2D or 3D.

        Args:
            normalised: integers of 8 and 16 bits are stored as texels of 0 to 1 or -1 to 1, with the same bits.

        Raises:
            UnsupportedArgumentError: if no texture has so many axes or such texels.
        """
        format = format_for(result.type, normalised)
        alike = [a for v, a in zip(inputs, args) if v.arrival.texels and v.rank == result.rank and not v.arrival.cube]
        type = kind_of(alike[0]).type if alike else _PLAIN.get(result.rank)
        if format is None or type is None:
            raise UnsupportedArgumentError(
                f"{what}: no texture holds {result.type} over {result.rank} axes",
                saw=f"{result.type} over {result.rank} axes",
                expected="up to four components of float, half or an integer, over 1 to 3 axes",
                hint="convert the result in Slang, or take a tensor",
            )
        return TextureTarget.of(kind_for(type, format), result, what)

    def place(self, given: Any, device: Device) -> Bound:
        """Returns the caller's texture, checked.

        Raises:
            ShapeError: if it lies on another device.
        """
        check_device(given, "texture", device)
        check_texture(given, device)
        check_stored(kind_of(given).format, str(self.type), device, "a result")
        return Bound(given, kind_of(given).shape(given))

    def create(self, device: Device, shape: tuple[int, ...]) -> Bound:
        """Returns a new texture of this size."""
        check_stored(self.kind.format, str(self.type), device, "a result")
        return Bound(create(device.raw, self.kind.type, self.kind.format, shape), shape)


def textures_for(targets: Mapping[int, TextureTarget], positions: Sequence[int]) -> dict[int, StoredInto]:
    """Returns the stores of a region's results; `positions` are the arguments of its operands."""
    return {
        j: StoredInto(t.type, tuple(i for i, p in enumerate(positions) if t.shared is not None and p == t.shared))
        for j, t in targets.items()
    }
