"""``region``: a group of nodes that runs as one kernel over one grid, and may fold elements along some of its dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fusepy.errors import VerifyError
from fusepy.ir.graph import Graph, Node, Op, Value
from fusepy.ir.ops.folds import Fold
from fusepy.ir.oracle import Oracle
from fusepy.ir.rows.joined import Joined, wrong_rows
from fusepy.ir.types import Kind, Type
from fusepy.ir.value import Array, TypedAttr


@dataclass(frozen=True)
class StoredInto:
    """The store of a result that does not go to plain memory: `backend.emit.stores.STORES` knows the types.

    Attributes:
        type: for a texture its type as a binding, e.g. ``RWTexture2D<float4>``.
        shared: the operands that are the same texture, and are read through the same binding.
    """

    type: Type
    shared: tuple[int, ...] = ()


@dataclass(frozen=True)
class ResultSpec:
    """One result of a region: the grid dimensions that its axes run along, in order, and its store, by default memory."""

    dims: tuple[int, ...]
    into: StoredInto | None = None


@dataclass(frozen=True)
class RegionSpec(TypedAttr):
    """The attribute ``spec`` of a region.

    Attributes:
        folds: one fold for each of the last outputs of the body; the outputs before them are stored as they are.
        over: the grid dimensions along which elements are folded.
        rows: adjacent dimensions of the grid, if the body has ``row_fold`` nodes: what these combine is known to all elements
            of the row. A row that does not end at the last dimension is a column.
        joined: facts of the pass `join_rows` about such a region. They are no part of its meaning, and not printed.
        near: pairs of an operand that is a generator and the operands whose extents it has. Where these have extent 1, its
            coordinate is 0. A generator without a pair has the extents of the whole grid.
    """

    results: tuple[ResultSpec, ...]
    folds: tuple[Fold, ...] = ()
    over: tuple[int, ...] = ()
    near: tuple[tuple[int, tuple[int, ...]], ...] = ()
    rows: tuple[int, ...] = ()
    joined: Joined = field(default=Joined(), compare=False, repr=False)

    def __post_init__(self) -> None:
        wrong = self._wrong()
        if wrong is not None:
            raise VerifyError(wrong, hint="a region says how each result lies, what is folded, and along which dimensions")

    @property
    def scans(self) -> bool:
        """True if the folds are scans."""
        return any(f.scans for f in self.folds)

    @property
    def textures(self) -> dict[int, StoredInto]:
        """The results that go into textures."""
        into = ((j, result.into) for j, result in enumerate(self.results))
        return {j: store for j, store in into if store is not None and store.type.kind is Kind.RESOURCE}

    def near_of(self, i: int) -> tuple[int, ...] | None:
        """Returns the operands whose extents generator `i` has; ``None`` if it has those of the whole grid."""
        return dict(self.near).get(i)

    def storing(self, into: Mapping[int, StoredInto]) -> RegionSpec:
        """Returns the spec with other stores for some results."""
        results = (replace(r, into=into.get(j, r.into)) for j, r in enumerate(self.results))
        return replace(self, results=tuple(results))

    def _wrong(self) -> str | None:
        """Returns the first rule that is broken, apart from those on bodies."""
        wrong = next(filter(None, (fold.wrong() for fold in self.folds)), None)
        if wrong is not None:
            return wrong
        if bool(self.over) != bool(self.folds):
            return "over says along which dimensions to fold, and only that"
        if self.rows and self.folds:
            return "a region that goes along rows folds nothing else"
        if list(self.over) != sorted(set(self.over)):
            return "over names a dimension twice, or out of order"
        if self.scans and (len(self.over) != 1 or not all(f.scans for f in self.folds)):
            return "a scan runs along one dimension, beside no fold"
        twice = [j for j, result in enumerate(self.results) if len(set(result.dims)) != len(result.dims)]
        return f"result {twice[0]} names a dimension twice" if twice else None


class Region(Op):
    """A kernel: its body runs once per grid point.

    Operand ``i`` is loaded through ``maps[i]`` into input ``i`` of the body, which works on single elements only: inside, every
    value has rank 0. The attribute ``spec``, a `RegionSpec`, has the grid dimensions of each result.

    The last outputs of the body may be folded along some dimensions. A second body, the epilogue, then runs once per point of the
    dimensions that are left; behind a scan, of all of them. Its inputs are the folded values and the operands after those of the
    first body; its outputs are results in place of the folded values.
    """

    name = "region"
    nests = True
    spreads = False
    needs = {"spec": (RegionSpec,)}

    def grid_rank(self, node: Node) -> int:
        """Returns the rank of a grid with all dimensions that are named; one along which no operand runs has extent 1."""
        spec = spec_of(node)
        named = (*spec.over, *spec.rows, *(d for result in spec.results for d in result.dims))
        return max((*(d + 1 for d in named), *(m.min_grid_rank for m in node.maps)), default=0)

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        if node.body is None:
            raise VerifyError("a region needs a body", place=node.loc, hint="build it with passes.fuse_chains")
        return [Value(t, (None,) * len(r.dims)) for t, r in zip(result_types(node), spec_of(node).results)]

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        raise VerifyError("a region has no meaning of its own", hint="use interpret()")

    def verify(self, node: Node) -> str | None:
        if node.body is None:
            return "no body"
        if any(v.rank for body in node.bodies for v in body.values()):
            return "a value inside a region has batch axes"
        wrong = super().verify(node)
        if wrong is not None:
            return wrong
        spec, inner = spec_of(node), len(node.body.inputs)
        wrong = _wrong_bodies(node, spec) or wrong_rows(node, spec.rows)
        if wrong is not None:
            return wrong
        count = inner + (len(node.bodies[1].inputs) - len(spec.folds) if len(node.bodies) > 1 else 0)
        if count != len(node.operands):
            return f"{len(node.operands)} operands for bodies with {count} inputs"
        if not spec.scans and any(d in spec.over for m in node.maps[inner:] for d in m.dims or ()):
            return "an operand of the epilogue runs along a dimension that is folded"
        plain = len(node.body.outputs) - len(spec.folds)
        wrong = [j for j, r in enumerate(spec.results) if j >= plain and not spec.scans and set(r.dims) & set(spec.over)]
        return f"result {wrong[0]} runs along a dimension that is folded" if wrong else None


def _wrong_bodies(node: Node, spec: RegionSpec) -> str | None:
    """Returns the first rule between the bodies and the spec that is broken."""
    assert node.body is not None
    plain = len(node.body.outputs) - len(spec.folds)
    if plain < 0:
        return f"{len(spec.folds)} folds of a body with {len(node.body.outputs)} outputs"
    if len(node.bodies) > 1 + bool(spec.folds):
        return f"{len(node.bodies)} bodies"
    if len(node.bodies) > 1:
        inputs = [v.type for v in node.bodies[1].inputs[: len(spec.folds)]]
        types = [f.type(v.type) for f, v in zip(spec.folds, node.body.outputs[plain:])]
        if inputs != types:
            return f"the epilogue takes {inputs}, where {types} were folded"
    count = len(result_types(node))
    return None if count == len(spec.results) else f"{len(spec.results)} results for bodies with {count}"


def spec_of(region: Node) -> RegionSpec:
    """Returns the spec of a region."""
    spec = region.attrs["spec"]
    assert isinstance(spec, RegionSpec), spec
    return spec


def with_spec(region: Node, spec: RegionSpec) -> Node:
    """Returns the region with another spec."""
    return Node(region.op, region.operands, region.maps, region.results, {"spec": spec}, region.loc, region.bodies)


def folds_of(node: Node) -> Sequence[Fold]:
    """Returns the folds of a ``reduce``, ``row_fold`` or ``scan``, or of a region; empty for every other node."""
    if node.op.name in ("reduce", "row_fold", "scan"):
        return [Fold.of_node(node, node.op.name == "scan")] if isinstance(node.attrs.get("kind"), str) else []
    if node.op.name != "region":
        return ()
    inside = node.bodies[0].nodes if spec_of(node).rows else ()
    return [*spec_of(node).folds, *(fold for inner in inside if inner.op.name == "row_fold" for fold in folds_of(inner))]


def result_types(node: Node) -> list[Type]:
    """Returns the types of a region's results."""
    assert node.body is not None
    folds = spec_of(node).folds
    plain = len(node.body.outputs) - len(folds)
    types = [v.type for v in node.body.outputs[:plain]]
    if len(node.bodies) > 1:
        return types + [v.type for v in node.bodies[1].outputs]
    return types + [f.type(v.type) for f, v in zip(folds, node.body.outputs[plain:])]


def output_feeds(region: Node) -> list[frozenset[int]]:
    """Returns, for each output of a region's first body, the operands that it is computed from."""
    assert region.body is not None
    sources = sources_of(region.body)
    return [sources[v] for v in region.body.outputs]


def sources_of(body: Graph) -> dict[Value, frozenset[int]]:
    """Returns, for each value of a body, the inputs that it is computed from."""
    sources: dict[Value, frozenset[int]] = {v: frozenset([i]) for i, v in enumerate(body.inputs)}
    for node in body.nodes:
        feeds = frozenset(i for v in node.operands for i in sources[v])
        sources.update(dict.fromkeys(node.results, feeds))
    return sources
