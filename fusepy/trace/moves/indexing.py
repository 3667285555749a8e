"""``x[…]`` of a traced value: slices as views, and elements at integers that are arrays or traced values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from fusepy.arguments.mapped import Mapped
from fusepy.backend.marshals.registry import host_array
from fusepy.backend.memory.storage import Storage
from fusepy.backend.memory.views import without_dots
from fusepy.derivatives.differential import differential
from fusepy.derivatives.terms import Term
from fusepy.errors import ShapeError, TraceError
from fusepy.ir.argmap import UNSAID, ArgMap, check_rank
from fusepy.ir.graph import Value
from fusepy.ir.ops import OPS
from fusepy.ir.types import BOOL, INT, UINT, Kind, Type
from fusepy.location import user_line
from fusepy.symbolic import Symbolic, holds, static_hint
from fusepy.trace.moves.plans import Remap, Strided
from fusepy.trace.moves.push import MovedPart, Pushing, terms_of
from fusepy.trace.moves.record import SLICED, check_movable, moved
from fusepy.trace.moves.shapes import known_shapes
from fusepy.trace.moves.steps import ALL, Indexed, Item, Run
from fusepy.trace.moves.take import MOST_AXES, is_apart, module_of_take, texels
from fusepy.trace.open_trace import OpenTrace

MASK = "write fusepy.where(mask, x, 0.0); how many elements a mask takes is known on the device only"


def indexed(trace: OpenTrace, value: Value, index: Any) -> Value:
    """Returns ``value[index]``.

    Raises:
        ShapeError: for an index that does not fit.
        TraceError: for masks, for bounds that are not known while the program is traced, and for values without axes.
    """
    given = list(cast("tuple[Any, ...]", index)) if isinstance(index, tuple) else [index]
    check_movable(trace, value, numbers=all(item is None or item is ... for item in given))
    items = without_dots(given, value.rank)
    check_rank(value.rank + sum(item is None for item in items), "an index")
    read = [_item(trace, item) for item in items]
    if not any(isinstance(item, Value) for item in read):
        return moved(trace, value, Indexed(value.rank, tuple(i for i in read if not isinstance(i, Value))))
    return _gathered(trace, value, read)


def _item(trace: OpenTrace, item: Any) -> Item | Value:
    if item is None or (isinstance(item, (int, np.integer)) and not isinstance(item, bool)):
        return None if item is None else int(cast("int", item))
    if isinstance(item, slice):
        return _run(cast("Any", item))
    if is_listed(item):
        return trace.lift(host_indices(item))
    if not isinstance(item, (Symbolic, Storage, Mapped)) and not holds(item):
        raise ShapeError(
            f"an index {item!r}", expected="integers, slices, None, ... and arrays of integers",
            hint=MASK if isinstance(item, (bool, np.bool_)) else "round first"
        )  # fmt: skip
    found = trace.lift(item)
    if trace.maps.get(found, UNSAID).dims not in (None, tuple(range(found.rank))):
        check_movable(trace, found)
    if found.type.kind is not Kind.SCALAR or found.type.is_float or found.type is BOOL:
        hint = MASK if found.type is BOOL else "convert it: fp.vcast(i, 'int')"
        raise TraceError("an index is no integer", saw=found.type, expected="int", hint=hint)
    return found


def _run(item: Any) -> Run:
    parts = (item.start, item.stop, item.step)
    if any(isinstance(p, (Symbolic, Storage)) for p in parts):
        raise TraceError(
            "the bounds of a slice are not known while the program is traced",
            saw=item,
            hint=static_hint(
                parts, "take elements at indices, whose number is known: fp.take(x, start + np.arange(8, dtype=np.int32))"
            ),
        )
    if any(p is not None and not isinstance(p, (int, np.integer)) for p in parts) or item.step == 0:
        raise ShapeError("the bounds of a slice", saw=item, expected="integers", hint="its step is not 0")
    return Run(*(None if p is None else int(p) for p in parts))


def is_listed(value: Any) -> bool:
    """True for a list or array of the host, but not for a list with traced values in it."""
    if isinstance(value, (bool, int, float, np.generic, Symbolic)) or holds(value):
        return False
    return isinstance(value, list) or host_array(value) is not None


def host_indices(given: Any) -> Any:
    """Returns integers of the host as an array of 32 bits.

    Raises:
        ShapeError: for other numbers.
    """
    array = np.asarray(given)
    if array.dtype.kind not in "iu" and array.size:
        hint = MASK if array.dtype.kind == "b" else "round first, e.g. i.astype(np.int32)"
        raise ShapeError("an index is no integer", saw=array.dtype, expected="integers", hint=hint)
    if array.size and (int(array.max()) >= 1 << 31 or int(array.min()) < -(1 << 31)):
        raise ShapeError("an index needs more than 32 bits", saw=int(array.max()), hint="mind the extents")
    return array.astype(np.int32)


def _gathered(trace: OpenTrace, value: Value, items: list[Item | Value]) -> Value:
    """Returns elements at indices; where the axes of the indices are in the result is NumPy's rule."""
    behind = trace.behind(value)
    if behind is not None:
        outer = [trace.behind(i) if isinstance(i, Value) else None for i in items]
        if all(found is not None for i, found in zip(items, outer) if isinstance(i, Value)):
            plain = [i if found is None else found[1] for i, found in zip(items, outer)]
            return trace.standing_in(_gathered(behind[0], behind[1], plain))
        return _in_body(trace, value, items)
    return _taken(trace, value, items)


def _taken(trace: OpenTrace, value: Value, items: list[Item | Value]) -> Value:
    known = known_shapes(trace)
    terms = terms_of(trace, known)
    arrays = [k for k, item in enumerate(items) if isinstance(item, (Value, int))]  # beside arrays, integers count as such
    most = max(item.rank for item in items if isinstance(item, Value))
    front = arrays[-1] - arrays[0] + 1 != len(arrays)
    sliced = any(isinstance(item, Run) for item in items)
    shape = known.of(value) if sliced else tuple(int(known.is_unit(value, axis)) for axis in range(value.rank))
    group = list(range(most)) if front else []
    extents = [-1] * len(group)  # the indices have them
    indices: list[Strided | Term] = []
    for k, item in enumerate(items):
        if isinstance(item, (Value, int)):
            if not group and k == arrays[0]:
                group = list(range(len(extents), len(extents) + most))
                extents += [-1] * most
            if isinstance(item, int):
                indices.append(Strided(None, item))
            else:
                indices.append(Term(terms, item, tuple(group[len(group) - item.rank :])))
        elif item is None:
            extents.append(1)
        else:
            run = item.range(shape[len(indices)])
            indices.append(Strided(len(extents), run.start, run.step))
            extents.append(len(run))
    pushing = Pushing(trace, terms, Remap(tuple(extents), tuple(indices), shape))
    return pushing.complete(pushing.taken(MovedPart(value, tuple(range(value.rank)), None)))


# ---- in bodies of loops and branches ----------------------------------------------------------------------------------


def _in_body(trace: OpenTrace, value: Value, items: Sequence[Item | Value]) -> Value:
    """Returns the element that a grid point reads of a captured array.

    An axis that is taken as a whole runs along the grid: of ``table[i]`` each grid point reads the element of its column.

    Raises:
        TraceError: for new axes, several whole axes, and arrays that only Slang functions can read.
    """
    dynamic = [k for k, item in enumerate(items) if isinstance(item, Value)]
    fixed: list[Item] = [ALL if isinstance(item, Value) else item for item in items]
    kept = [k for k, item in enumerate(fixed) if item is not None and not isinstance(item, int)]
    kept += range(len(items), value.rank)  # of the axes of `value`, since there are no new ones
    runs = [k for k in kept if k not in dynamic]
    beside = bool(runs) and any(isinstance(item, Value) and item.rank for item in items)
    if None in fixed or beside or len(kept) > MOST_AXES:
        what = "an index with new axes, or with arrays beside whole axes"
        raise _refused_in(trace, what, "write table[i], table[i, :] or table[i, j]")
    if value.arrival.texels:
        value = _at_root(trace, value, lambda root, texture: texels(root, terms_of(root, known_shapes(root)), texture))
    if is_apart(value.type, trace.device):
        raise _refused_in(trace, f"an index of {value.type}", SLICED)
    if any(item is not ALL for item in fixed):
        value = moved(trace, value, Indexed(value.rank, tuple(fixed)))
    indices: list[Value] = []
    for axis, k in enumerate(kept):
        item = items[k] if k in dynamic else None
        make = partial(_coordinates, axis=axis, behind=sum(other > k for other in runs))
        found = item if isinstance(item, Value) else _at_root(trace, value, make)
        indices.append(found if found.type is INT else trace.recast(found, INT, user_line()))
    read = value.type.with_scalar(UINT) if value.type.is_numeric and value.type.scalar is BOOL else value.type
    name = f"{'pick' if differential(read, trace.oracle) is None else 'take'}{len(indices)}"
    maps = [ArgMap((), Type.whole("fusepy::Tensor", read, len(indices))), *[UNSAID] * len(indices)]
    attrs = {"module": module_of_take(trace), "function": name}
    (made,) = trace.builder.add(OPS["slang.call"], [value, *indices], maps, attrs, user_line())
    return made if read is value.type else trace.recast(made, value.type, user_line())


def _at_root(trace: OpenTrace, value: Value, make: Callable[[OpenTrace, Value], Value]) -> Value:
    """Makes a value where an array was made, and returns the stand-in for it."""
    behind = trace.behind(value)
    return make(trace, value) if behind is None else trace.standing_in(_at_root(*behind, make))


def _coordinates(trace: OpenTrace, array: Value, axis: int, behind: int) -> Value:
    """Returns the integers along an axis of an array, with so many axes of extent 1 behind it."""
    known = known_shapes(trace)
    found = known.shapes.numbers(known.of(array)[axis])
    return moved(trace, found, Indexed(1, (ALL, *[None] * behind))) if behind else found


def _refused_in(trace: OpenTrace, what: str, hint: str) -> TraceError:
    return TraceError(f"{what}, inside the body of a {trace.body}, which runs for each element by itself", hint=hint)
