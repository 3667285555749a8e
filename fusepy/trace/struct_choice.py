"""The choice of the struct for a nested argument: the named one, or the only candidate with its fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fusepy.arguments.fields import TYPE, fields_of
from fusepy.arguments.nested import Tree
from fusepy.errors import AmbiguousCallError, ArgumentError, FusepyError, UnknownNameError, UnsupportedArgumentError, did_you_mean
from fusepy.ir.oracle import Oracle, parts
from fusepy.ir.resolve.refusals import implementing, say_struct
from fusepy.ir.types import Kind, Type
from fusepy.pytree import ITEMS, Container
from fusepy.trace.traced import Traced


def struct_hint(found: Sequence[Any]) -> str | None:
    """Returns what to write where a function returns a struct beside a dict of its fields; ``None`` if it returns none."""
    types = [v.type for v in found if isinstance(v, Traced) and v.type.kind is Kind.NAMED]
    if not types:
        return None
    made = f"a dict of fields is no {types[0]}: start with m.{types[0]}(…), its constructor, in a fused function"
    return f"{made}; or return the fields in a dict"


def struct_type(oracle: Oracle, tree: Tree, path: str, candidates: Sequence[Type | None], place: str | None) -> Type:
    """Returns the struct for a nested argument: the one that it names, or the candidate with its fields.

    Raises:
        UnknownNameError: if it names a struct that Slang does not know.
        ArgumentError: if no candidate has these fields.
        AmbiguousCallError: if several candidates have them.
    """
    names = set(tree.fields)
    interface = next(((c, t) for c in candidates if c is not None and (t := oracle.conforming(c)) is not None), None)
    if tree.type is not None:
        try:
            type = Type.parse(tree.type)
        except FusepyError as error:
            error.what = f"{path}: {error.what}"
            raise error.at(place) from None
        if oracle.fields(type) is None:
            listed = candidates if interface is None else interface[1]
            known = [c.name for c in listed if c is not None and oracle.fields(c) is not None]
            hint = did_you_mean(tree.type, known) if known else "pass a value instead of fields"
            raise UnknownNameError(f"{path}: there is no struct {tree.type!r}", place=place, hint=hint)
        return type
    if interface is not None:
        raise ArgumentError(
            f"{path} is given by fields, and {interface[0]} is an interface",
            place=place,
            saw=", ".join(tree.fields),
            expected=implementing(*interface),
            hint=say_struct(interface[1]),
        )
    structs = {c: [p.name for p in oracle.fields(c) or ()] for c in candidates if c is not None}
    fits = [c for c, fields in structs.items() if set(fields) == names]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise AmbiguousCallError(
            f"{path}: several structs have these fields",
            place=place,
            saw=", ".join(tree.fields),
            expected=" or ".join(map(str, fits)),
            hint=" or ".join(f"add '_type': '{c}'" for c in fits),
        )
    open_ones = [c for c, fields in structs.items() if fields]
    if len(open_ones) == 1:
        return open_ones[0]  # its constructor names the missing fields
    if not structs:
        raise ArgumentError(
            f"{path} is given by fields, and its parameter is generic or an interface",
            place=place,
            saw=", ".join(tree.fields),
            expected="the name of a struct",
            hint=say_struct(()),
        )
    arrays = [c.shape[0] for c in structs if c.kind is Kind.ARRAY]
    raise ArgumentError(
        f"{path} is given by fields" + (", and no overload has these" if open_ones else ", where Slang takes no struct"),
        place=place,
        saw=", ".join(tree.fields),
        expected=" or ".join(f"{c} {{ {', '.join(structs[c])} }}" for c in open_ones) or " or ".join(str(c) for c in structs),
        hint=_nearest_field(names, structs)
        if open_ones
        else f"pass a list of {arrays[0]} of them"
        if arrays
        else "pass a value instead of fields",
    )


def _nearest_field(names: Iterable[str], structs: Mapping[Type, Sequence[str]]) -> str:
    """Returns a hint for fields that no overload has."""
    known = {field for fields in structs.values() for field in fields}
    unknown = sorted(set(names) - known)
    return did_you_mean(unknown[0], known) if unknown else "give every field of one of them"


def whole_or_each(
    oracle: Oracle, tree: Tree, path: str, candidates: Sequence[Type | None], place: str | None
) -> Sequence[Type | None]:
    """Returns the candidates for a list of values with fields: arrays of structs, or structs, for which the call runs for each.

    Raises:
        AmbiguousCallError: if there are both.
    """
    read = [container.parts(v) for v in tree.fields.values() if (container := fields_of(v)) not in (None, ITEMS)]
    names = [set(given) - {TYPE} for given in read]

    def fits(type: Type | None) -> bool:
        known = None if type is None else oracle.fields(type)
        return known is not None and all({p.name for p in known} == found for found in names)

    each = [c for c in dict.fromkeys(candidates) if c is not None and c.kind is Kind.NAMED and fits(c)]
    if len(read) < len(tree.fields) or not each:
        return candidates
    arrays = [c for c in dict.fromkeys(candidates) if c is not None and c.kind is Kind.ARRAY]
    arrays = [c for c in arrays if (items := parts(oracle, c)) and fits(items[0].type)]
    if arrays:
        raise AmbiguousCallError(
            f"{path}: a list of values with fields is one array, or a value for each call",
            place=place,
            saw=f"a list of {len(read)} values",
            expected=" or ".join(map(str, (*arrays, *each))),
            hint=" or ".join((*(f'fp.vcast({path}, "{c}")' for c in arrays), f"fp.Batchable({path})")),
        )
    return each


class ListedStructs(UnsupportedArgumentError):
    """A list of values with fields for a parameter that is one of them: the call runs for each."""


def list_type(tree: Tree, path: str, candidates: Sequence[Type | None], place: str | None) -> Type:
    """Returns the type for a list of leaves: the only candidate of its length, an array, a vector, or a matrix of that many rows.

    Raises:
        UnsupportedArgumentError: if no candidate has this length; `ListedStructs` if the values have fields.
        AmbiguousCallError: if several have.
    """
    count = len(tree.fields)
    takes = [c for c in dict.fromkeys(candidates) if c is not None and c.kind in (Kind.VECTOR, Kind.MATRIX, Kind.ARRAY)]
    fits = [c for c in takes if c.shape[0] == count]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise AmbiguousCallError(
            f"{path}: a list of {count} fits several types",
            place=place,
            saw=f"a list of {count} values",
            expected=" or ".join(map(str, fits)),
            hint=" or ".join(f'fp.vcast({path}, "{c}")' for c in fits),
        )
    known = " or ".join(dict.fromkeys(str(c) for c in candidates if c is not None)) or "a value whose type is known"
    several = not takes and all(isinstance(fields_of(v), Container) for v in tree.fields.values())
    raise (ListedStructs if several else UnsupportedArgumentError)(
        f"{path} is a list of {count}, and its parameter takes {takes[0].shape[0]}"
        if takes
        else f"{path} is a list of values, and its parameter is no vector of {count}",
        place=place,
        saw=f"a list of {count} values",
        expected=known,
        hint="give one value for each element, or build the value by its type, e.g. m.float3(x, y, z)"
        if takes
        else "fill an array of structs: np.array([(…), (…)], m.Name.dtype)"
        if several and any(c is not None and c.kind in (Kind.WHOLE, Kind.POINTER, Kind.RESOURCE) for c in candidates)
        else f"write fp.Batchable({path}); in a fused function, call it for each and join the results with fp.stack"
        if several
        else "build the value by its type, e.g. m.float3(x, y, z), or compute over an array instead of a list",
    )
