"""Graphs and calls as graphs of networkx: their names, attributes, and order."""

from __future__ import annotations

from typing import Any

import networkx as nx

import fusepy as fp
from tests.support.slang_functions import ramp

SOURCE = """
import fusepy;
float luminance(float3 c) { return dot(c, float3(0.25, 0.5, 0.25)); }
float blurred(Tensor<float, 2> image, int2 p) { return (image[int2(max(p.x - 1, 0), p.y)] + image[p]) / 2; }
"""


def test_a_graph_as_built_and_as_called(device: Any) -> None:
    m = fp.Module.load_from_source(device, "networks", SOURCE)
    g = fp.Graph(inputs=["image", "p"], name="soft")
    image, p = g.get_inputs()
    light = m.luminance.node()(image)
    g.set_outputs(m.blurred.node()(light, p), light * light * 2)

    built = g.to_networkx()
    assert list(built) == ["image", "p", "luminance", "blurred", "*", "*#2", "result 0", "result 1"]
    assert nx.ancestors(built, "result 1") == {"image", "luminance", "*", "*#2"}
    assert built.nodes["luminance"]["kind"] == "node"
    assert built.nodes["luminance"]["line"].startswith("test_networks.py:")
    assert built.nodes["luminance"]["kernel"] is None

    args = ramp(16, 24, 3), fp.grid((16, 24))
    called = g.to_networkx(*args)
    kernels = nx.get_node_attributes(called, "kernel")
    assert {k for k in kernels.values() if k is not None} == {*range(g.explain(*args).kernels)}
    assert called.edges["0:luminance", "1:luminance"]["type"] == "float[16, 24]"  # what passes through memory
    assert called.nodes["image"]["label"] == "image\nfloat[16, 24, 3]"
    assert [kernels[n] for n in nx.topological_sort(called) if n.endswith("blurred")] == [1]
    assert nx.is_directed_acyclic_graph(called)

    alone = fp.fuse(lambda x: fp.sin(x) + fp.sin(x + 1)).to_networkx(ramp(3))
    assert {"0:sin", "0:sin#2"} < {*alone}
