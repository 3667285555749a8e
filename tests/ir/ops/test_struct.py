"""The ``struct`` node by itself: what it infers, what the verifier says of a broken one, its meaning in NumPy, its Slang."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fusepy.errors import ArgumentError, FusepyError, NoMatchError, ShapeError, VerifyError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.arrivals import TENSOR
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.interpret import interpret
from fusepy.ir.ops import OPS
from fusepy.ir.parse import parse_graph
from fusepy.ir.types import Type
from fusepy.ir.verify import verify
from fusepy.passes.pipeline import run_pipeline, until
from tests.support.fake_oracle import FUNCTIONS, RAY
from tests.support.reference import ORACLE, meaning

FLOAT = Type.parse("float")
RAY_FIELDS = ("origin", "dir", "tmax", "weight")


def ray(builder: Builder, operands: list[Value], fields: tuple[str, ...] = RAY_FIELDS, **more: Any) -> Value:
    attrs: dict[str, Attr] = {"type": more.get("type", "Ray"), "fields": fields, "path": "ray"}
    return builder.add(OPS["struct"], operands, more.get("maps"), attrs, "look.py:12")[0]


@pytest.fixture
def builder() -> Builder:
    made = Builder("look", ORACLE)
    made.module("m", "0123")
    return made


def number(builder: Builder, name: str) -> Value:
    return builder.input(name, FLOAT, (), weak=True)


def tensor(builder: Builder, name: str, *dims: int | None, type: str = "float") -> Value:
    return builder.input(name, Type.parse(type), dims, arrival=TENSOR)


def test_leaves_broadcast_and_trailing_axes_are_taken_in(builder: Builder) -> None:
    k = number(builder, "k")
    made = ray(builder, [tensor(builder, "o", None, 3), tensor(builder, "d", 2, None, type="float3"), k, k])
    assert (made.type.name, made.rank, made.weak) == ("Ray", 2, False)
    assert ray(builder, [k, k, k, k]).rank == 0


@pytest.mark.req("T4", "T11")
@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        (("origin", "dir", "tmax"), ArgumentError, "ray misses 'weight'"),
        (("origin", "dir", "tmax", "wieght"), ArgumentError, "ray has no member 'wieght'"),
        (("origin", "dir", "weight", "tmax"), NoMatchError, "ray.tmax does not fit"),
    ],
)
def test_members_that_do_not_fit(builder: Builder, fields: tuple[str, ...], error: type[FusepyError], words: str) -> None:
    k = number(builder, "k")
    operands = [k, k, tensor(builder, "d", None, type="double"), tensor(builder, "h", None, type="half")]
    if fields[2] == "weight":
        operands[2:] = [k, tensor(builder, "f", None)]
    with pytest.raises(error, match=words) as caught:
        ray(builder, operands[: len(fields)], fields)
    assert "Ray { origin, dir, tmax, weight }" in str(caught.value) or caught.value.expected == "double"
    assert caught.value.place == "look.py:12"
    assert caught.value.hint
    assert not builder.nodes


@pytest.mark.req("T7", "F4")
def test_a_member_of_interface_type_takes_what_implements_it(builder: Builder) -> None:
    disc = builder.input("disc", Type.parse("Disc"), (None,), arrival=TENSOR)
    made = ray(builder, [disc, number(builder, "g")], ("shape", "gain"), type="Scene")
    assert (made.type.name, made.rank) == ("Scene", 1)
    node = builder.nodes[-1]
    assert node.op.emit(node, ["a", "g"], ["v"]) == ["Scene v;", "v.shape = a;", "v.gain = g;"]
    shape = builder.add(OPS["member"], [made], attrs={"name": "shape"})[0]
    assert (shape.type.name, shape.rank) == ("IShape", 1)


@pytest.mark.req("F4", "T11")
def test_a_member_of_interface_type_refuses_the_rest(builder: Builder) -> None:
    other = builder.input("r", Type.parse("Ray"), (None,), arrival=TENSOR)
    for wrong in (other, number(builder, "x"), tensor(builder, "t", None, 3)):
        with pytest.raises(NoMatchError, match=r"ray\.shape does not fit") as caught:
            ray(builder, [wrong, number(builder, "g")], ("shape", "gain"), type="Scene")
        assert caught.value.expected == "a struct that implements IShape: Disc"
        assert "'_type': 'Disc'" in str(caught.value.hint)


def test_a_dimension_that_no_leaf_runs_along(builder: Builder) -> None:
    k = number(builder, "k")
    with pytest.raises(ShapeError, match="ray: no argument runs along grid dimension d0"):
        ray(builder, [tensor(builder, "o", None, 3), k, k, k], maps=[ArgMap((1,)), ArgMap(), ArgMap(), ArgMap()])


# ---- the verifier ----------------------------------------------------------------------------------------------------


def broken(operands: int, attrs: dict[str, Attr], result: str = "float2") -> Graph:
    values = [Value(FLOAT, (), name=f"x{i}") for i in range(operands)]
    node = Node(OPS["struct"], values, [ArgMap()] * operands, [Value(Type.parse(result), ())], attrs, "look.py:3")
    return Graph("g", values, [node], node.results, [("m", "key")])


@pytest.mark.parametrize(
    ("operands", "attrs", "result", "rule"),
    [
        (2, {"type": "float2", "fields": ("x", "y")}, "float2", "struct needs the attribute 'path'"),
        (2, {"type": "float2", "path": "p"}, "float2", "struct needs the attribute 'fields'"),
        (2, {"type": "float2", "path": "p", "fields": "xy"}, "float2", "struct needs the attribute 'fields', a tuple"),
        (2, {"fields": ("x", "y"), "path": "p"}, "float2", "struct needs the attribute 'type'"),
        (1, {"type": "float2", "fields": ("x", "y"), "path": "p"}, "float2", "1 operands for 2 fields"),
        (3, {"type": "float2", "fields": ("x", "y"), "path": "p"}, "float2", "3 operands for 2 fields"),
        (2, {"type": "float2", "fields": ("x", "y"), "path": "p"}, "float3", "inference gives float2"),
        (2, {"type": "float2", "fields": ("x", "z"), "path": "p"}, "float2", "p has no member 'z'"),
        (2, {"type": "Nope", "fields": ("x", "y"), "path": "p"}, "Nope", "p is given by members, and Nope has none"),
    ],
)
def test_rules(operands: int, attrs: dict[str, Attr], result: str, rule: str) -> None:
    with pytest.raises(VerifyError) as caught:
        verify(broken(operands, attrs, result), "traced", ORACLE)
    assert rule in caught.value.what
    assert caught.value.place == "look.py:3"


def test_a_struct_needs_an_oracle() -> None:
    with pytest.raises(VerifyError, match="a struct needs an oracle"):
        ray(Builder("look"), [])


# ---- text and meaning ------------------------------------------------------------------------------------------------

TEXT = """import @m = "0123"
graph @at(%r.origin.x: weak int, %r.origin.y: Tensor<float>[?], %r.origin.z: weak float, %r.dir: Tensor<float>[?,3], %k: weak float) -> (Tensor<float3>[?], Tensor<Ray>[?]) {
  %0 = struct(%r.origin.x, %r.origin.y, %r.origin.z) {fields = ["x", "y", "z"], path = "r.origin", type = "float3"} : Tensor<float3>[?]  // look.py:12
  %1 = struct(%r.dir, %k, %k, %0) {fields = ["dir", "tmax", "weight", "origin"], path = "r", type = "Ray"} : Tensor<Ray>[?]  // look.py:12
  %2 = slang.call @m.at(%1, %k) : Tensor<float3>[?]  // look.py:12
  return %2, %1
}"""  # noqa: E501


def test_text_reads_back_with_the_paths_as_names() -> None:
    graph = parse_graph(TEXT, ORACLE)
    verify(graph, "traced", ORACLE)
    assert str(graph) == TEXT
    assert [v.name for v in graph.inputs] == ["r.origin.x", "r.origin.y", "r.origin.z", "r.dir", "k"]
    for after in ("resolve_maps", "fold", "cse", "dce", "fuse_chains"):
        step = run_pipeline(graph, ORACLE, until(after))
        assert parse_graph(str(step), ORACLE) == step
        assert "%r.origin.x" in str(step)


@pytest.mark.req("N2")
def test_meaning_before_and_after_the_passes() -> None:
    graph = parse_graph(TEXT, ORACLE)
    dirs = np.arange(12, dtype=np.float32).reshape(4, 3)
    args = [np.int32(7), np.arange(4, dtype=np.float32), np.float32(0.5), dirs, np.float32(0.25)]
    origin = np.stack([np.full(4, 7), np.arange(4), np.full(4, 0.5)], -1).astype(np.float32)
    for at, made in (meaning(graph, args, FUNCTIONS), interpret(run_pipeline(graph, ORACLE), args, FUNCTIONS)):
        np.testing.assert_array_equal(at, origin + np.float32(0.25) * dirs)
        assert set(made.dtype.names) == set(RAY.names)
        for name, expected in zip(RAY_FIELDS, (origin, dirs, np.full(4, 0.25), np.full(4, 0.25, np.float16))):
            np.testing.assert_array_equal(made[name], expected)
            assert made[name].dtype == RAY[name].base


@pytest.mark.req("N1", "N2")
def test_slang_of_one_node() -> None:
    k, v = Value(FLOAT, (), name="k"), Value(Type.parse("Ray"), ())
    attrs: dict[str, Attr] = {"type": "Sphere", "fields": ("axis", "radius", "solid"), "path": "s"}
    sphere = Node(OPS["struct"], [v, k, k], [ArgMap(())] * 3, [Value(Type.parse("Sphere"), ())], attrs)
    assert sphere.op.emit(sphere, ["v0", "a_k", "a_b"], ["v1"]) == [
        "Sphere v1;", "v1.axis = v0;", "v1.radius = a_k;", "v1.solid = a_b;",
    ]  # fmt: skip
    vector = Node(OPS["struct"], [k, k], [ArgMap(())] * 2, [Value(Type.parse("float2"), ())], {**attrs, "fields": ("x", "y")})
    assert vector.op.emit(vector, ["a", "b"], ["v2"]) == ["float2 v2 = float2(a, b);"]


def test_members_of_a_vector_in_another_order() -> None:
    """Fields are assigned by name; an initialiser in the order of the operands would swap them."""
    k = Value(FLOAT, (), name="k")
    attrs: dict[str, Attr] = {"type": "float2", "fields": ("y", "x"), "path": "s"}
    node = Node(OPS["struct"], [k, k], [ArgMap(())] * 2, [Value(Type.parse("float2"), ())], attrs)
    assert node.op.emit(node, ["a", "b"], ["v"]) == ["float2 v = float2(b, a);"]
    (made,) = node.op.evaluate(node, [np.float32(1), np.float32(2)])
    assert made.tolist() == [2, 1]
