"""Random programs: traced graphs with arguments that fit them, for tests of what must hold of every graph.

Every program can be run: shapes broadcast, and all numbers stay finite, small and exact in half precision where they enter,
so that a pass that only rearranges work has to give the very same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from fusepy.errors import FusepyError, ShapeError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.arrivals import GRID, LIST, TENSOR
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Attr, Graph, Value
from fusepy.ir.interpret import Functions
from fusepy.ir.ops import OPS
from fusepy.ir.oracle import OUT, Param
from fusepy.ir.types import Kind, Type
from tests.support.fake_oracle import FUNCTIONS, RAY
from tests.support.random_bodies import control
from tests.support.reference import ORACLE, run_node

FLOAT, INT, BOOL = Type.parse("float"), Type.parse("int"), Type.parse("bool")
ELEMENTS = [
    Type.parse(t)
    for t in ("float", "float3", "int", "half", "bool", "double", "float2", "uint", "float3x3", "int2", "half3", "Ray")
]
GRIDS = [(3,), (2, 3), (4, 2), (2, 3, 4), (5, 1)]
LIMIT = 4096  # exact in half precision, and far from where a conversion to an integer is undefined
LOCATIONS = st.sampled_from([None, "look.py:12", "/tmp/my files/look.py:7"])

_KINDS = ["call"] * 8 + ["componentwise"] * 5 + ["struct"] * 2 + ["cast", "construct", "member", "select", "const", "index"]
_KINDS += ["control"] * 2
# made by reverse mode alone, of structs as well
_GRADIENTS = ("vjp", "gradient_array", "round_sums", "zero_gradient", "add_gradients", "field_gradient")
_APART = ("cond", "power", "while_loop", "cast", "member", "index", "select", "expand", "numbers", *_GRADIENTS)
_COMPONENTWISE = [op for op in OPS.values() if op.arity and op.spreads and op.name not in _APART]


def _calls() -> list[tuple[str, list[Param]]]:
    """Every function of the fake module that returns something, with the parameters that a call fills."""
    found: list[tuple[str, list[Param]]] = []
    for name in sorted(set(FUNCTIONS) - {"note"}):
        for signature in ORACLE.declared("m", name):
            inputs = [p for p in signature.params if p.direction != OUT]
            found.append((name, inputs))
            if name == "scale":  # its last parameter has a default
                found.append((name, inputs[:-1]))
    return found


_CALLS = _calls()
_STRUCTS = [Type.parse(t) for t in ("Ray", "Sphere", "float3", "int2", "half2", "bool3")]


class Program(NamedTuple):
    """A traced graph, one array per input, and what its Slang functions do."""

    graph: Graph
    args: list[Any]
    functions: Functions


@st.composite
def programs(draw: st.DrawFn, max_nodes: int = 8, folds: bool = False, grids: int = 1) -> Program:
    """Traced programs over most operations, calls with mappings and casts among them; with `folds` also reductions.

    With more than one of `grids` there are arguments that do not broadcast, and so are results.
    """
    recorder = _Recorder(draw, folds, grids)
    for _ in range(draw(st.integers(1, 5))):
        recorder.input()
    wanted = draw(st.integers(1, max_nodes))
    for _ in range(4 * wanted):  # about every other proposal is refused
        if len(recorder.builder.nodes) < wanted:
            recorder.node()
    return recorder.finish()


def graphs(max_nodes: int = 8) -> st.SearchStrategy[Graph]:
    """The graphs of `programs`."""
    return programs(max_nodes).map(lambda program: program.graph)


class _Recorder:
    """Draws a program step by step; a step that inference or shapes refuse leaves no trace."""

    def __init__(self, draw: st.DrawFn, folds: bool = False, grids: int = 1):
        self.draw = draw
        self.kinds = _KINDS + ["reduce"] * 4 + ["scan", "contract", "contract"] if folds else _KINDS
        self.builder = Builder(draw(st.sampled_from(["look", "two words", "f<float>"])), ORACLE)
        self.module = self.builder.module(draw(st.sampled_from(["m", "my-look"])), "0123abcd")
        self.grids = [draw(st.sampled_from(GRIDS)) for _ in range(grids)]
        self.grid = self.grids[0]
        self.random = np.random.default_rng(draw(st.integers(0, 999)))
        self.arrays: dict[Value, Any] = {}

    # ---- inputs ----

    def input(self) -> None:
        kind = self.draw(st.sampled_from(["tensor", "tensor", "vectors", "number", "list", "coordinates"]))
        name = self.draw(st.sampled_from(["x", "gain", "ray.x", "_"])) + str(len(self.arrays))
        value, array = getattr(self, f"_{kind}")(name)
        self.arrays[value] = array

    def _tensor(self, name: str) -> tuple[Value, Any]:
        type = self.draw(st.sampled_from(ELEMENTS))
        batch = self.batch()
        dims: list[int | None] = [None] * len(batch)
        if type.kind is Kind.SCALAR:  # extents that a vector could have are known while tracing
            for i in reversed(range(len(batch))):
                if not 1 <= batch[i] <= 4:
                    break
                dims[i] = batch[i]
        value = self.builder.input(name, type, tuple(dims), arrival=TENSOR)
        return value, self.numbers(type, batch)

    def _vectors(self, name: str) -> tuple[Value, Any]:
        """Numbers whose last axis may become a vector."""
        batch = (*self.batch(), self.draw(st.sampled_from([2, 3, 4])))
        value = self.builder.input(name, FLOAT, (*(None,) * (len(batch) - 1), batch[-1]), arrival=TENSOR)
        return value, self.numbers(FLOAT, batch)

    def _number(self, name: str) -> tuple[Value, Any]:
        type = self.draw(st.sampled_from([FLOAT, INT, BOOL]))
        return self.builder.input(name, type, (), weak=True), self.numbers(type, ())

    def _list(self, name: str) -> tuple[Value, Any]:
        type = self.draw(st.sampled_from([FLOAT, INT]))
        value = self.builder.input(name, type, (self.grid[-1],), arrival=LIST)
        return value, self.numbers(type, self.grid[-1:])

    def _coordinates(self, name: str) -> tuple[Value, Any]:
        value = self.builder.input(name, Type.parse("int2"), (None, None), arrival=GRID)
        return value, np.stack(np.indices((2, 3), np.int32), axis=-1)

    def batch(self) -> tuple[int, ...]:
        """A shape that broadcasts against one of the program's grids."""
        grid = self.draw(st.sampled_from(self.grids)) if len(self.grids) > 1 else self.grid
        rank = self.draw(st.integers(0, len(grid)))
        whole = grid[len(grid) - rank :]
        return tuple(1 if self.draw(st.integers(0, 5)) == 0 else n for n in whole)

    def numbers(self, type: Type, batch: tuple[int, ...]) -> Any:
        if type.dtype is None:
            rays = np.zeros(batch, RAY)
            for field in ORACLE.structs[type]:
                rays[field[0]] = self.numbers(field[1], batch)
            return rays
        low = 0 if type.dtype.kind in "ub" else -8
        drawn = self.random.integers(low, 9, batch + type.shape)
        return (drawn / 4 if type.is_float else drawn).astype(type.dtype)

    # ---- nodes ----

    def node(self) -> None:
        kind = self.draw(st.sampled_from(self.kinds))
        proposed = getattr(self, f"_{kind}")()
        if proposed is not None:
            self.add(*proposed)

    def add(
        self,
        op: str,
        operands: Sequence[Value],
        attrs: Mapping[str, Attr] | None = None,
        maps: Sequence[ArgMap] | None = None,
        bodies: Sequence[Graph] = (),
    ) -> tuple[Value, ...]:
        """Records a node if it is valid and its results are tame; the results, or nothing."""
        try:
            results = self.builder.add(OPS[op], operands, maps, attrs, self.draw(LOCATIONS), bodies)
        except FusepyError:
            return ()
        try:
            arrays = run_node(self.builder.nodes[-1], self.arrays, FUNCTIONS, ORACLE)
        except ShapeError:
            arrays = []
        if not arrays or any(v.rank > 3 for v in results) or not all(map(_tame, arrays)):
            self.builder.nodes.pop()
            return ()
        self.arrays.update(zip(results, arrays))
        return results

    def pick(self, *shapes: tuple[int, ...]) -> Value | None:
        """A numeric value, of one of these component shapes where some are given."""
        fitting = [v for v in self.arrays if v.type.is_numeric and (not shapes or v.type.shape in shapes)]
        return self.draw(st.sampled_from(fitting)) if fitting else None

    def alike(self, count: int) -> list[Value] | None:
        """Values that combine componentwise."""
        first = self.pick()
        if first is None:
            return None
        rest = [self.pick((), first.type.shape) for _ in range(count - 1)]
        return None if None in rest else [first, *(v for v in rest if v is not None)]

    def _componentwise(self) -> Any:
        op = self.draw(st.sampled_from(_COMPONENTWISE))
        operands = self.alike(op.arity or 1)
        return operands and (op.name, operands, None, [self.vmap(v) for v in operands])

    def _select(self) -> Any:
        operands = self.alike(3)
        return operands and ("select", operands)

    def _cast(self) -> Any:
        value = self.pick()
        if value is None:
            return None
        scalar = self.draw(st.sampled_from([t for t in ELEMENTS if t.kind is Kind.SCALAR and t.name != "uint"]))
        vector = Type.vector(scalar, self.draw(st.sampled_from([2, 3])))
        return "cast", [value], {"type": (vector if self.draw(st.booleans()) else value.type.with_scalar(scalar)).name}

    def _construct(self) -> Any:
        parts = [self.pick((), (2,)) for _ in range(self.draw(st.integers(1, 4)))]
        given = [p for p in parts if p is not None]
        count = sum(int(np.prod(p.type.shape)) for p in given)
        if not 2 <= count <= 4:
            return None
        type = Type.matrix(FLOAT, 2, 2) if count == 4 and self.draw(st.booleans()) else Type.vector(FLOAT, count)
        return "construct", given, {"type": type.name}

    def _member(self) -> Any:
        value = self.draw(st.sampled_from(list(self.arrays)))
        if value.type in ORACLE.structs:
            return "member", [value], {"name": self.draw(st.sampled_from(ORACLE.structs[value.type]))[0]}
        extent = value.type.shape[0] if value.type.shape else 1
        return "member", [value], {"name": self.draw(st.text("xyzw"[:extent], min_size=1, max_size=4))}

    def _const(self) -> Any:
        number = self.draw(st.sampled_from([0, 1, 2, -3, 7, 0.5, -1.25, 0.0, -0.0, True]))
        type = BOOL if isinstance(number, bool) else INT if isinstance(number, int) else FLOAT
        return "const", [], {"type": type.name, "value": number}

    def _reduce(self) -> Any:
        """A reduction over some axes, which half the time stay with extent 1."""
        value = self.ranked()
        if value is None:
            return None
        axes = sorted(self.draw(st.sets(st.integers(0, value.rank - 1), min_size=1)))
        names = tuple(f"d{d}" for d in axes)
        kind = self.draw(st.sampled_from(["sum", "mean", "prod", "max", "min", "any", "all", "argmax", "argmin"]))
        found = self.add("reduce", [value], {"axes": names, "kind": kind})
        if found and self.draw(st.booleans()):
            left = tuple(d for d in range(value.rank) if d not in axes)
            return "expand", found, {"axes": names}, [ArgMap(left)]
        return None

    def _scan(self) -> Any:
        value = self.ranked()
        if value is None:
            return None
        axis = self.draw(st.integers(0, value.rank - 1))
        kind = self.draw(st.sampled_from(["sum", "max"]))
        return "scan", [value], {"axis": f"d{axis}", "kind": kind, "exclusive": self.draw(st.booleans())}

    def _contract(self) -> Any:
        """A product of two arrays along axes of one extent; other axes are side by side, or run along each other."""
        scalars = [v for v in self.arrays if v.type.kind is Kind.SCALAR and v.rank]
        pairs = [(a, b) for a in scalars for b in scalars if a.rank + b.rank <= 4 and self._common(a, b)]
        if not pairs:
            return None
        a, b = self.draw(st.sampled_from(pairs))
        i, j = self.draw(st.sampled_from(self._common(a, b)))
        together = a.rank == b.rank == 2 and self.draw(st.booleans())  # one batch, as of many scalar products
        rank = max(a.rank, b.rank) - 1 if together else a.rank + b.rank - 2
        others = iter(range(rank))
        first = [rank if axis == i else next(others) for axis in range(a.rank)]
        others = iter(range(rank)) if together else others
        second = [rank if axis == j else next(others) for axis in range(b.rank)]
        return "contract", [a, b], {"axes": (f"d{rank}",)}, [ArgMap(tuple(first)), ArgMap(tuple(second))]

    def _common(self, a: Value, b: Value) -> list[tuple[int, int]]:
        """The pairs of axes of two arrays that have one extent."""
        x, y = (np.shape(self.arrays[v]) for v in (a, b))
        return [(i, j) for i in range(a.rank) for j in range(b.rank) if x[i] == y[j]]

    def ranked(self) -> Value | None:
        fitting = [v for v in self.arrays if v.type.is_numeric and v.rank]
        return self.draw(st.sampled_from(fitting)) if fitting else None

    def _index(self) -> Any:
        value = self.pick((2,), (3,), (3, 3))
        if value is None:
            return None
        at = self.add("const", [], {"type": "int", "value": self.draw(st.integers(0, value.type.shape[0] - 1))})
        return "index", [value, *at]

    def _call(self) -> Any:
        ways = [(name, fitting) for name, inputs in _CALLS if all(fitting := [self.fitting(p) for p in inputs])]
        if not ways:
            return None
        name, fitting = self.draw(st.sampled_from(ways))
        chosen = [self.draw(st.sampled_from(f)) for f in fitting]
        maps = [ArgMap(self.vmap(value).dims, type) for value, type in chosen]
        return "slang.call", [value for value, _ in chosen], {"module": self.module, "function": name}, maps

    def _control(self) -> Any:
        name = self.draw(st.sampled_from(["cond", "fori_loop", "while_loop"]))
        small = [v for v, a in self.arrays.items() if v.type is not INT or np.all(np.abs(a) <= 8)]
        made = control(self.draw, ORACLE, self.module, small, name)
        return None if made is None else (name, made[0], made[2], made[1], made[3])

    def _struct(self) -> Any:
        type = self.draw(st.sampled_from(_STRUCTS))
        members = list(self.draw(st.permutations(list(ORACLE.fields(type) or ()))))
        ways = [self.fitting(p) for p in members]
        if not all(ways):
            return None
        chosen = [self.draw(st.sampled_from(f)) for f in ways]
        maps = [ArgMap(self.vmap(value).dims, type) for value, type in chosen]
        attrs: dict[str, Attr] = {"type": type.name, "fields": tuple(p.name for p in members), "path": "ray"}
        return "struct", [value for value, _ in chosen], attrs, maps

    def fitting(self, param: Param) -> list[tuple[Value, Type | None]]:
        """Values that `param` probably takes, each with the vcast that it needs; inference has the last word."""
        found: list[tuple[Value, Type | None]] = []
        for value in self.arrays:
            have, want = value.type, param.type
            if want is None or have is want or (value.weak and have.is_float <= want.is_float and want.is_numeric):
                found.append((value, None))
            elif not value.arrival.plain and want.scalar is have and want.shape:
                found.append((value, None))
                found.append((value, want))
            elif want.kind is Kind.POINTER:
                if not value.arrival.plain and want.element in (have, Type.vector(have, 3)):
                    found.append((value, None))
            elif have.is_numeric and want.is_numeric and want.shape == have.shape and want.name not in ("uint", "bool"):
                found.append((value, want))
        return found

    def vmap(self, value: Value) -> ArgMap:
        """Sometimes an explicit mapping, in any order of axes."""
        if self.draw(st.integers(0, 3)):
            return UNSAID
        count = value.rank - (value.rank > 0 and self.draw(st.integers(0, 3)) == 0)
        return ArgMap(tuple(self.draw(st.permutations(range(max(count, 1))))[:count]))

    def finish(self) -> Program:
        computed = [v for n in self.builder.nodes for v in n.results]
        drawn = self.draw(st.lists(st.sampled_from(computed or list(self.arrays)), min_size=1, max_size=3))
        graph = self.builder.finish(self.sharing_a_grid(drawn))
        return Program(graph, [self.arrays[v] for v in graph.inputs], FUNCTIONS)

    def sharing_a_grid(self, values: Sequence[Value]) -> list[Value]:
        """The first of `values`, and those others that broadcast with it: one region computes all results.

        Calls that take a pointer stay in the region, since they may write through it, so they have a say as well. In a program of
        several grids results need to broadcast with these alone.
        """
        kept: list[Value] = []
        pointers = [n.results[0] for n in self.builder.nodes if n.attrs.get("function") in ("fetch", "fetch3")]
        shapes = [self.arrays[v].shape[: v.rank] for v in pointers]
        try:
            first = self.arrays[values[0]].shape[: values[0].rank] if len(self.grids) == 1 else ()
            grid = np.broadcast_shapes(*shapes, first)
        except ValueError:
            reject()
        for value in values:
            shape = self.arrays[value].shape[: value.rank]
            try:
                both = np.broadcast_shapes(grid, shape)
            except ValueError:
                continue
            grid = both if len(self.grids) == 1 else grid
            kept.append(value)
        return kept


def _tame(array: Any) -> bool:
    """Finite and small, so that no conversion of it is undefined."""
    if array.dtype.names:
        return all(_tame(array[name]) for name in array.dtype.names)
    return array.size <= 2000 and bool(np.all(np.isfinite(array)) and np.all(np.abs(array.astype(np.float64)) <= LIMIT))
