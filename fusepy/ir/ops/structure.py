"""Operations that make values and take them apart: constants, conversions, constructors, members, swizzles, selection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fusepy.errors import TraceError, UnknownNameError, did_you_mean
from fusepy.ir.graph import Node, Op, Value
from fusepy.ir.ops.base import Componentwise, as_named, common_shape, components, computed, construct, convert, of_vectors, shaped
from fusepy.ir.ops.literal import Const
from fusepy.ir.ops.promotion import of_numbers, promote
from fusepy.ir.oracle import Oracle, enum_scalar, member_types
from fusepy.ir.resolve.hints import components_hint, is_scalar_array
from fusepy.ir.resolve.offers import describe
from fusepy.ir.resources import casts_texel
from fusepy.ir.types import BOOL, Kind, Type
from fusepy.ir.value import Array


class Cast(Op):
    """An explicit conversion of scalar, vector or matrix components, as C does it: floats truncate to integers."""

    name = "cast"
    arity = 1
    needs = {"type": (str,)}

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        value, map, want = node.operands[0], node.maps[0], Type.parse(node.text("type"))
        have = value.type
        if value.arrival.texels and casts_texel(have, want):
            return [computed(node, want)]
        if have is want:  # the same elements, along other dimensions
            return [computed(node, want)]
        filled = 0  # trailing axes that become components or elements of an array
        if not value.arrival.plain and have.kind is Kind.SCALAR and value.rank:
            filled = len(want.shape) if want.is_numeric else want.fills(have) or 0
        if value.rank >= filled > 0:
            batch = value.rank - filled
            return [Value(want, (None,) * max(map.min_grid_rank, batch))]
        named = enum_scalar(oracle, have) or enum_scalar(oracle, want)
        if want.optional is not None and not filled:
            return [computed(node, want)]
        if named is not None and not filled and (have.kind is Kind.SCALAR or want.kind is Kind.SCALAR):
            return [computed(node, want)]
        if filled or not (have.is_numeric and want.is_numeric and have.shape in ((), want.shape)):
            raise TraceError(
                f"a {have} cannot be cast to {want}",
                place=node.loc,
                saw=have,
                expected=want,
                hint="what is computed is not in memory yet: give its fields, or return it and cast the result"
                if want.kind is Kind.NAMED and have.kind is Kind.SCALAR
                else "vcast converts between scalars, or between vectors of one length",
            )
        return [computed(node, want)]

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        have, want = node.maps[0].type or node.operands[0].type, node.results[0].type
        if have is want:
            return [args[0]]
        (wide,) = components(args, [have]) if have.shape else (np.reshape(args[0], args[0].shape + (1,) * len(want.shape)),)
        with np.errstate(all="ignore"):
            return [np.broadcast_to(wide.astype(want.dtype), args[0].shape[: args[0].ndim - len(have.shape)] + want.shape)]

    def expression(self, node: Node, args: Sequence[str]) -> str:
        return convert(args[0], node.maps[0].type or node.operands[0].type, node.results[0].type)


class Construct(Op):
    """``float3(x, y, z)``: a vector or matrix from scalars and shorter vectors, in order. `named` if the user says its type."""

    name = "construct"
    needs = {"type": (str,)}

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        type = Type.parse(node.text("type"))
        types = [v.type for v in node.operands]
        count = sum(int(np.prod(t.shape)) for t in types)
        other = next((t for t in types if not t.is_numeric), None)
        if not type.is_numeric or other is not None or count != int(np.prod(type.shape)):
            fields = (oracle.fields(other) if other is not None and oracle is not None else None) or ()
            raise TraceError(
                f"{type} cannot be built from ({', '.join(map(str, types))})",
                place=node.loc,
                saw=f"{count} components" if other is None else f"a {other}",
                expected=f"{int(np.prod(type.shape))} components",
                hint="give one number per component, or vectors that add up to them"
                if not fields
                else f"take a member of the {other}, such as x.{fields[-1].name}",
            )
        weak, named = of_numbers(node.operands), bool(node.attrs.get("named"))
        made = computed(node, type, weak and not named)
        return [as_named(made, weak and named) if named else of_vectors(node, made)]

    def wanted(self, node: Node, i: int) -> Type | None:
        return node.results[0].type.scalar

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        type = node.results[0].type
        grid = np.broadcast_shapes(*(a.shape[: a.ndim - len(v.type.shape)] for a, v in zip(args, node.operands)))
        flat = [
            np.broadcast_to(a, grid + v.type.shape).reshape((*grid, -1)).astype(type.dtype) for a, v in zip(args, node.operands)
        ]
        return [np.concatenate(flat, axis=-1).reshape(grid + type.shape)]

    def expression(self, node: Node, args: Sequence[str]) -> str:
        scalar = node.results[0].type.scalar
        assert scalar is not None
        parts = (convert(a, v.type, v.type.with_scalar(scalar)) for a, v in zip(args, node.operands))
        return construct(node.results[0].type, parts)


def _component(node: Node, type: Type) -> Value:
    """Returns the result of a node that takes a component, or several, of its first operand."""
    made, named = computed(node, type, of_numbers(node.operands[:1])), node.operands[0].arrival.single
    made.weak = made.weak or (named and not type.shape and not made.rank)
    return as_named(made, named and bool(type.shape))


_COMPONENTS = {**dict(zip("xyzw", range(4))), **dict(zip("rgba", range(4)))}


def swizzle(type: Type, name: str) -> tuple[int, ...] | None:
    """Returns the component indices of a swizzle such as ``xyz`` or ``bgr`` on a vector or scalar; else ``None``."""
    if type.kind not in (Kind.VECTOR, Kind.SCALAR) or not 1 <= len(name) <= 4:
        return None
    if not (set(name) <= set("xyzw") or set(name) <= set("rgba")):
        return None
    extent = type.shape[0] if type.shape else 1
    indices = tuple(_COMPONENTS[c] for c in name)
    return indices if max(indices) < extent else None


class Member(Op):
    """``c.x``, ``c.xyz``, ``ray.position``: components of a vector or one field of a struct."""

    name = "member"
    arity = 1
    needs = {"name": (str,)}

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        value, name = node.operands[0], node.text("name")
        have = value.type
        indices = swizzle(have, name)
        if set(name) <= set("xyzwrgba") and len(name) <= 4 and is_scalar_array(value):
            what = f".{name} of an array of {have}, which has no components"
            raise TraceError(what, place=node.loc, saw=describe(value), hint=components_hint(value))
        if indices is not None and have.scalar is not None:
            return [_component(node, Type.vector(have.scalar, len(indices)))]
        members = member_types(oracle, have)
        type = members.get(name) if members else None
        if type is not None:
            return [computed(node, type, of_numbers(node.operands))]
        known = list(members) if members else list("xyzw"[: have.shape[0]] if have.kind is Kind.VECTOR else "")
        hint = f'write fp.vcast(x, "{have}")[0].{name}' if have.kind is Kind.ARRAY else did_you_mean(name, known)
        raise UnknownNameError(f"{have} has no member {name!r}", place=node.loc, saw=name, hint=hint)

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        have, name = node.operands[0].type, node.text("name")
        indices = swizzle(have, name)
        if indices is None:
            return [args[0][name]]
        source = args[0] if have.shape else args[0][..., None]
        return [source[..., indices[0]] if len(indices) == 1 else source[..., list(indices)]]

    def expression(self, node: Node, args: Sequence[str]) -> str:
        return f"{args[0]}.{node.text('name')}"


class Index(Op):
    """``c[i]``: a component, a matrix row or an array element, by a constant or a traced integer.

    The attribute ``all`` says that the integers count all components, along the last axis.
    """

    name = "index"
    arity = 2

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        have, index = node.operands[0].type, node.operands[1].type
        if not have.shape or index.dtype is None or index.shape or index.dtype.kind not in "iu":
            if index is BOOL:
                hint = "write fusepy.where(condition, a, b); which elements are true is known when the function runs"
            else:
                hint = "vectors, matrices and arrays of fixed size have components, which one integer counts"
            raise TraceError(f"a {have} cannot be indexed with a {index}", place=node.loc, hint=hint)
        if have.kind is Kind.MATRIX:
            return [_component(node, Type.vector(have.scalar or have, have.shape[1]))]
        assert have.element is not None
        return [_component(node, have.element)]

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        have = node.operands[0].type
        grid = np.broadcast_shapes(args[0].shape[: args[0].ndim - len(have.shape)], args[1].shape)
        source = np.broadcast_to(args[0], grid + have.shape)
        index = np.broadcast_to(args[1], grid).reshape(grid + (1,) * len(have.shape)).astype(np.intp)
        axis = len(grid)
        return [np.take_along_axis(source, np.broadcast_to(index, (*grid, 1, *have.shape[1:])), axis).squeeze(axis)]

    def expression(self, node: Node, args: Sequence[str]) -> str:
        return f"{args[0]}[{args[1]}]"


def has_select(type: Type) -> bool:
    """True if Slang's ``select`` compiles for a type on CUDA too: for floats, integers of 32 bits and vectors of bools.

    On CUDA ``&`` of two bools gives an int, which does not fit a ``select`` with a bool.
    """
    return type is not BOOL and (type.dtype is None or type.dtype.kind not in "iu" or type.dtype.itemsize == 4)


def select_components(test: str, a: str, b: str, type: Type) -> str:
    """Returns ``select(test, a, b)`` component by component; all three are scalars or vectors like `type`."""
    if type.kind is Kind.SCALAR:
        return f"{test} ? {a} : {b}"
    return construct(type, (f"({test}).{c} ? ({a}).{c} : ({b}).{c}" for c in "xyzw"[: type.shape[0]]))


class Select(Componentwise):
    """``where(condition, a, b)``: per component if the condition is a vector. `listed` for a choice among items of a list."""

    name = "select"
    arity = 3

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        test, a, b = node.operands
        if a.type is b.type and not a.type.is_numeric and test.type.kind is Kind.SCALAR:
            return [computed(node, a.type, of_numbers(node.operands))]
        shape = common_shape(node, "where()")
        scalar = promote([(a.type, a.weak), (b.type, b.weak)], (a, b))
        assert scalar is not None
        # numbers among which an array chooses have their type for good, as the array that an eager call gives; a list has not
        return [computed(node, shaped(scalar, shape), of_numbers((a, b) if node.attrs.get("listed") else node.operands))]

    def wanted(self, node: Node, i: int) -> Type | None:
        return node.results[0].type.scalar if i else None

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        if not node.operands[1].type.is_numeric:
            test = np.reshape(args[0], args[0].shape + (1,) * len(node.operands[1].type.shape))
            return [np.where(test.astype(bool), args[1], args[2])]
        test, a, b = components(args, [v.type for v in node.operands])
        dtype = node.results[0].type.dtype
        return [np.where(test.astype(bool), a.astype(dtype), b.astype(dtype))]

    def by_component(self, node: Node, args: Sequence[str]) -> str:
        test, a, b = node.operands
        type = node.results[0].type
        if type.kind in (Kind.SCALAR, Kind.VECTOR) and not has_select(type):
            mask = convert(args[0], test.type, shaped(BOOL, type.shape))
            return select_components(mask, convert(args[1], a.type, type), convert(args[2], b.type, type), type)
        if not type.is_numeric:
            return f"{convert(args[0], test.type, BOOL)} ? {args[1]} : {args[2]}"
        mask = convert(args[0], test.type, shaped(BOOL, type.shape))
        return f"select({mask}, {convert(args[1], a.type, type)}, {convert(args[2], b.type, type)})"


class FirstOperand(Op):
    """The first operand as it is."""

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        return [computed(node, node.operands[0].type, of_numbers(node.operands[:1]))]

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        return [args[0]]

    def expression(self, node: Node, args: Sequence[str]) -> str:
        return args[0]


class Along(FirstOperand):
    """The first operand over the grid of the second, of which only the extents are used."""

    name = "along"
    arity = 2


class StopGradient(FirstOperand):
    """The operand, as a constant of every derivative."""

    name = "stop_gradient"
    arity = 1


STRUCTURE_OPS: list[Op] = [Along(), Const(), Cast(), Construct(), Member(), Index(), Select(), StopGradient()]
