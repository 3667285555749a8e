"""Histogram equalisation of a photograph, in one function: counted with atomics, added up with a scan, looked up by each pixel.

python examples/19_equalise.py picture.png    # also writes the photograph before and after
"""

import sys

import numpy as np
import photograph

import fusepy as fp

SOURCE = """
import fusepy;

float luminance(float3 c) { return dot(c, float3(0.2126, 0.7152, 0.0722)); }
int bin(float light, int bins) { return clamp(int(sqrt(light) * bins), 0, bins - 1); }
void count(int bin, AtomicTensor<int,1> histogram) { histogram.add(bin, 1); }

// as bright as its rank among all pixels, which have sqrt(light) spread evenly then
float3 by_rank(float3 c, float light, int bin, Tensor<int,1> below)
{
    float rank = below[bin] / float(below[int(below.shape[0]) - 1]);
    return c * (rank * rank / max(light, 1e-4));
}
"""
m = fp.Module.load_from_source(fp.default_device(), "equalise_example", SOURCE)


@fp.fuse
def equalise(picture, histogram):
    light = m.luminance(picture)
    bin = m.bin(light, 256)
    m.count(bin, histogram)
    return m.by_rank(picture, light, bin, fp.scan("sum", histogram))


picture = photograph.read()
histogram = fp.Tensor.zeros(m.device, 256, "int")
print(equalise.explain(picture, histogram))
equalised = equalise(picture, histogram).to_numpy()

light = picture @ np.array([0.2126, 0.7152, 0.0722], np.float32)
bins = np.clip((np.sqrt(light) * 256).astype(int), 0, 255)
counted = np.bincount(bins.ravel(), minlength=256)
assert np.abs(histogram.to_numpy() - counted).sum() <= 20  # light on the edge between two bins may round to either
assert histogram.to_numpy().sum() == light.size
rank = counted.cumsum()[bins] / light.size
assert np.allclose(equalised, picture * (rank**2 / np.maximum(light, 1e-4))[..., None], atol=0.02)
if len(sys.argv) > 1:
    photograph.write(sys.argv[1], picture, equalised)
