"""A render graph: nodes from Slang functions, called with one another's results, run as few kernels."""

import tempfile
from pathlib import Path

import numpy as np

import fusepy as fp

SOURCE = """
import fusepy;
void exposure(float3 color, out float3 dark, out float3 bright) { dark = color * 0.5; bright = min(color * 2, 1); }
float contrast(float3 color) { return dot(color, float3(0.25, 0.5, 0.25)); }
float3 merge(float3 dark, float3 bright, float amount) { return lerp(bright, dark, amount); }
float soften(Tensor<float, 2> map, int2 p) {
    return (map[int2(max(p.x - 1, 0), p.y)] + 2 * map[p] + map[int2(p.x, max(p.y - 1, 0))]) / 4;
}
"""
m = fp.Module.load_from_source(fp.default_device(), "graph_example", SOURCE)
image = np.random.default_rng(1).random((120, 160, 3), dtype=np.float32)

# Node A has two outputs, node B one, and node C takes all three.
node_a, node_b, node_c = m.exposure.node(), m.contrast.node(), m.merge.node()
g = fp.Graph(inputs=["image", "strength"], name="hdr")
color, strength = g.get_inputs()
dark, bright = node_a(color)
amount = node_b(color)
g.set_outputs(node_c(dark, bright, amount * strength))

grey = (image @ np.array([0.25, 0.5, 0.25], np.float32))[..., None]
high = np.minimum(image * 2, 1)
expected = high + (image * 0.5 - high) * grey * 0.8
assert np.allclose(g(image, 0.8), expected, atol=1e-5)
print(g.explain(image, 0.8))
assert g.explain(image, 0.8).kernels == 1

# A graph is a node too, and nodes may come from a library that grows.
nodes = fp.NodeLibrary.from_module(m)
nodes.add(g)
soft = fp.Graph(inputs=["image", "pixel"], name="soft_hdr")
color, pixel = soft.get_inputs()
merged = nodes.hdr(color, 0.8)
soft.set_outputs({"image": merged, "soft": nodes.soften(nodes.contrast(merged), pixel)})
pixels = fp.grid(image.shape[:2])
results = soft(image, pixel=pixels)
assert np.allclose(results["image"], expected, atol=1e-5)
light = np.pad(expected @ np.array([0.25, 0.5, 0.25], np.float32), ((1, 0), (1, 0)), "edge")
assert np.allclose(results["soft"], (light[:-1, 1:] + 2 * light[1:, 1:] + light[1:, :-1]) / 4, atol=1e-5)
kernels = soft.explain(image, pixels).kernels  # what reads its neighbours needs a kernel of its own
print(f"{soft.__name__}: {kernels} kernels, results {', '.join(results)}")
assert kernels == 2

# What happens, as a picture: for Graphviz, or as a page with kernels, Slang, bytes and times.
print(soft.to_dot())
with tempfile.TemporaryDirectory() as folder:
    soft.to_html(Path(folder) / "graph.html", image, pixels)
    print(f"graph.html: {(Path(folder) / 'graph.html').stat().st_size // 1000} kB")
