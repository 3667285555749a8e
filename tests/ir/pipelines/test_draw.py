"""The operands and bodies of draws, and what the verifier says of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.ir.graph import Node
from fusepy.ir.parse import parse_graph
from fusepy.ir.pipelines.draw import makes_meshes, operands_of, own_inputs, values_of
from tests.support.rasters import SOURCE, need_raster


@pytest.fixture(scope="module")
def draw(device: Any) -> Node:
    need_raster(device)
    m = fp.Module.load_from_source(device, "nodes", SOURCE)
    vertices = {"at": np.zeros((3, 4), np.float32), "colour": np.zeros((3, 3), np.float32)}
    shaded = fp.raster(m, vertex="vs", fragment=lambda c, gain: fp.float4(c.colour * gain, 1.0))
    graph = parse_graph(shaded.ir(vertices, [0, 1, 2], targets=(4, 6), gain=2.0))
    return next(node for node in graph.nodes if node.op.name == "draw")


def test_each_body_has_operands_behind_its_own_values(draw: Node) -> None:
    assert not makes_meshes(draw)
    vertex, fragment = operands_of(draw)
    assert (vertex, fragment) == (range(2, 4), range(4, 5))
    assert values_of(draw, 0) == ("SV_VertexID",)
    assert values_of(draw, -1) == ("varyings",)
    assert [len(own_inputs(draw, body, k)) for k, body in enumerate(draw.bodies)] == [1, 1]
    assert draw.op.verify(draw) is None


@pytest.mark.parametrize(
    ("attrs", "words"),
    [
        ({"inputs": ("2",)}, "inputs and values for each body"),
        ({"inputs": ("1", "2")}, "the inputs of body @vertex are not its operands"),
        ({"varyings": ("", "b")}, "other outputs than varyings"),
        ({"outputs": ()}, "other outputs than outputs"),
    ],
)
def test_nodes_that_contradict_themselves(draw: Node, attrs: dict[str, Any], words: str) -> None:
    wrong = Node(draw.op, draw.operands, draw.maps, draw.results, {**draw.attrs, **attrs}, draw.loc, draw.bodies)
    assert words in str(draw.op.verify(wrong))
