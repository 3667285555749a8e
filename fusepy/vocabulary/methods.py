"""Methods of tensors and traced values, NumPy's own functions on tensors, and fields of tensors of structs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from fusepy.arguments.mapped import Mapped
from fusepy.backend.marshals.generators import Grid
from fusepy.backend.marshals.registry import device_of
from fusepy.backend.memory.tensor import Tensor
from fusepy.elsewhere import no_attribute
from fusepy.errors import ArgumentError, UnknownNameError, did_you_mean
from fusepy.functions.nodes import GraphValue, Use
from fusepy.ir.ops.structure import swizzle
from fusepy.ir.types import INT, Type
from fusepy.language import math as _math
from fusepy.language import reductions
from fusepy.language.elementwise import composed
from fusepy.language.movement import extents, indices, joins, views
from fusepy.location import user_line
from fusepy.methods import FUNCTIONS, METHODS, NUMPYS, no_function, takes
from fusepy.pytree import LEAF, flatten
from fusepy.symbolic import Symbolic
from fusepy.trace.trace import current_trace
from fusepy.vocabulary import (
    arithmetic,
    compositions,
    creation,
    formulas,
    matrices,
    names,
    neighbours,
    products,
    quantiles,
    sorting,
    statistics,
)
from fusepy.vocabulary.arithmetic import traced
from fusepy.vocabulary.assigned import assign_attribute, delete_attribute, seen_part
from fusepy.vocabulary.numpys import on_numbers

# words that mean another function, that are in numpy.linalg, or whose meaning for Slang's vectors is not NumPy's for arrays
_OTHERS = {"round": arithmetic.around, "rint": _math.round, "flatten": views.flatten, "norm": statistics.norm}
_APART = {"cross"}


def _numpys() -> dict[str, Callable[..., Any]]:
    """Returns fusepy's functions by the names of NumPy's that mean the same."""
    modules = (
        _math,
        reductions,
        names,
        arithmetic,
        statistics,
        compositions,
        formulas,
        matrices,
        creation,
        extents,
        indices,
        joins,
        neighbours,
        products,
        quantiles,
        sorting,
        views,
    )
    found = {n: getattr(m, n) for m in modules for n in m.__all__ if hasattr(np, n) and n not in _APART}
    return {n: f for n, f in found.items() if callable(f)} | _OTHERS


WRITING = ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")  # functions that write to their first argument


def _function(self: Tensor, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs ``numpy.sum(t)`` and the like as fusepy's function of that name; NumPy calls it.

    What fusepy does not have, or not with these arguments, NumPy computes of a copy on the host; in a trace that is an error.
    """
    mine = NUMPYS.get(function.__name__)
    if mine is not None and takes(mine, args, kwargs):
        return mine(*args, **kwargs)
    if current_trace() is not None:
        raise no_function(function.__name__, mine is not None)
    written = [kwargs.get("out", ()), *[*args, *kwargs.values()][: function.__name__ in WRITING]]
    if device_of(written) is not None:
        raise ArgumentError(
            f"numpy.{function.__name__}() cannot write to a tensor", hint="write t.copy_from_numpy(…) with its result"
        )
    leaves, structure = flatten((args, kwargs))
    given, named = structure.fill([leaf if device_of([leaf]) is None else np.asarray(leaf) for leaf in leaves])
    return function(*given, **named)


def _node(self: GraphValue, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Makes a node of ``numpy.sum(v)`` and the like, as of fusepy's function of that name; NumPy calls it.

    Raises:
        TraceError: for functions that fusepy does not have, or not with these arguments.
    """
    mine = NUMPYS.get(function.__name__)
    if mine is None or not takes(mine, args, kwargs):
        raise no_function(function.__name__, mine is not None)
    return Use(mine, function.__name__, args, kwargs, user_line()).returning(LEAF)


@composed("name")
def _components(x: Any, name: str) -> Any:
    return getattr(traced(x), name)


@composed("index")
def _part(x: Any, index: int) -> Any:
    return traced(x)._fusepy_element()[index]


@composed()
def _part_at(x: Any, index: Any) -> Any:
    return traced(x)._fusepy_element()[index]


def _part_of_mapped(self: Mapped, index: Any) -> Any:
    """Returns what an index takes of a value under a vcast: a component of vectors, a row of matrices, else an element."""
    if self.map.type is None or isinstance(index, (str, bool)):
        return _refused_index(self, index)
    if isinstance(index, Symbolic) or device_of([index]) is not None:
        return _part_at(self, index)
    return _part(self, operator.index(index)) if isinstance(index, Integral) else indices.elements(self, index)


def _part_of_grid(self: Grid, index: Any) -> Any:
    """Returns one of the coordinates of a grid."""
    return _part(self, operator.index(index))


def _parts_of_grid(self: Grid) -> Any:
    return iter([_part(self, i) for i in range(len(self.shape))])


def _coordinates_of_grid(self: Grid, name: str) -> Any:
    if name.startswith("_") or swizzle(Type.vector(INT, len(self.shape)), name) is None:
        raise no_attribute(name)
    return _components(self, name)


def _length_of_mapped(self: Mapped) -> int:
    type = self.map.type
    if type is None:
        return _refused_length(self)
    return type.shape[0] if type.shape else extents.shape(self)[0]


def _parts_of_mapped(self: Mapped) -> Any:
    return _refused_parts(self) if self.map.type is None else iter([self[i] for i in range(len(self))])


def _of_mapped(self: Mapped, name: str) -> Any:
    """Returns components of a value that is cast to vectors: ``fp.vcast(image, "float3").x``."""
    type = None if name.startswith("_") else self.map.type
    return _refused(self, name) if type is None or swizzle(type, name) is None else _components(self, name)


def _attribute(self: Tensor, name: str) -> Any:
    """Returns a field of a tensor of structs or a component of one of vectors, as a view: ``rays.position``, ``image.x``."""
    if name == "element":  # which each other name would ask for
        raise UnknownNameError("a tensor has no elements yet", saw=type(self).__name__, hint="call super().__init__(…) first")
    found = None if name.startswith("_") else seen_part(self, name)
    if found is None and self.dtype.shape and swizzle(self.dtype, name) is not None:
        return _components(self, name)
    if found is None:
        fields = self.element.dtype.names or ()
        if fields and not name.startswith("_"):
            hint = did_you_mean(name, fields)
            raise UnknownNameError(f"{self.dtype} has no field {name!r}", saw=name, hint=hint)
        raise no_attribute(name)
    return found


FUNCTIONS.update(_numpys())
NUMPYS.update({name: on_numbers(name, f) for name, f in FUNCTIONS.items()})
for _name in METHODS:
    setattr(Tensor, _name, FUNCTIONS[_name])
setattr(Tensor, "__array_function__", _function)  # noqa: B010
setattr(GraphValue, "__array_function__", _node)  # noqa: B010
_refused, _refused_index = Mapped.__getattr__, Mapped.__getitem__
_refused_length, _refused_parts = Mapped.__len__, Mapped.__iter__
setattr(Mapped, "__getitem__", _part_of_mapped)  # noqa: B010
setattr(Grid, "__getitem__", _part_of_grid)  # noqa: B010
setattr(Grid, "__iter__", _parts_of_grid)  # noqa: B010
setattr(Grid, "__getattr__", _coordinates_of_grid)  # noqa: B010
setattr(Mapped, "__len__", _length_of_mapped)  # noqa: B010
setattr(Mapped, "__iter__", _parts_of_mapped)  # noqa: B010
setattr(Mapped, "__getattr__", _of_mapped)  # noqa: B010
# no methods of the class, which would hide misspelled names from checkers
setattr(Tensor, "__getattr__", _attribute)  # noqa: B010
setattr(Tensor, "__setattr__", assign_attribute)  # noqa: B010
setattr(Tensor, "__delattr__", delete_attribute)  # noqa: B010
