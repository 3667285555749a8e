"""Loss and gradients of ten stages in one kernel written by hand, as users of slangtorch do: `bwd_diff` of the whole chain.

Each thread has some pixels. It adds up their gradients, and then adds its own to the sums of all by atomic additions. A second
kernel adds up those of a wave first; a third one has one pixel a thread, which is how backward kernels of slangtorch are written.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np

from benchmarks import peers as p

THREADS = 256  # of a group
FUNCTIONS = """
struct Stages : IDifferentiable { float gains[10]; float shifts[10]; };
[Differentiable] float staged(no_diff float3 c, Stages t)
{
    [ForceUnroll] for (int k = 0; k < 10; ++k)
        c = c + 0.1 * tanh(c * t.gains[k] + t.shifts[k]);
    return dot(c, c);
}
"""
BODY = """
    Stages t;
    Stages.Differential sum;
    float loss = 0;
    [ForceUnroll] for (int k = 0; k < 10; ++k)
    {
        t.gains[k] = p.given[k];
        t.shifts[k] = p.given[10 + k];
        sum.gains[k] = 0;
        sum.shifts[k] = 0;
    }
    for (uint n = 0; n < PIXELS; ++n)
    {
        uint i = first + lane + n * THREADS;
        if (i >= p.count)
            break;
        float3 c = float3(p.pixels[3 * i], p.pixels[3 * i + 1], p.pixels[3 * i + 2]);
        var pair = diffPair(t);
        bwd_diff(staged)(c, pair, p.scale);
        loss += p.scale * staged(c, t);
        [ForceUnroll] for (int k = 0; k < 10; ++k)
        {
            sum.gains[k] += pair.d.gains[k];
            sum.shifts[k] += pair.d.shifts[k];
        }
    }
    Atomic<float>* sums = (Atomic<float>*)p.sums;
    [ForceUnroll] for (int k = 0; k < 10; ++k)
    {
        ADD(sums[k], sum.gains[k]);
        ADD(sums[10 + k], sum.shifts[k]);
    }
    ADD(sums[20], loss);
"""
ATOMICS = "#define ADD(AT, X) AT.add(X)\n"
WAVES = "#define ADD(AT, X) { float all = WaveActiveSum(X); if (WaveIsFirstLane()) AT.add(all); }\n"
WAYS = {"atomics": (ATOMICS, 8), "waves": (WAVES, 8), "slangtorch": (ATOMICS, 1)}  # how to add, and the pixels of a thread


def runners(kind: str, pixels: Any, given: Any, calls: int) -> dict[str, Callable[[], Any]]:
    """Returns a function for each way to add, which returns the gradients by the gains and shifts, and the loss."""
    device = p.slangpy_device(kind, validation=False)
    image, parameters = p.raw_buffer(device, pixels), p.raw_buffer(device, given.astype(np.float32))
    sums = p.raw_buffer(device, nbytes=4 * 21)
    fields = "float* pixels; float* given; float* sums; uint count; float scale;"

    def made(way: str, adds: str, share: int) -> Callable[[], Any]:
        body = BODY.replace("PIXELS", str(share)).replace("THREADS", str(THREADS))
        source = p.raw_source(device, fields, THREADS, THREADS * share, body, adds + FUNCTIONS)
        kernel = p.Raw(device, device.slang_session, f"stages_{way}", source, THREADS * share, "QQQIf")
        size = [-(-len(pixels) // kernel.per_group), 1, 1]

        def run() -> Any:
            values = (*(b.device_address for b in (image, parameters, sums)), len(pixels), 1 / pixels.size)
            for _ in repeat(None, calls):
                encoder = device.create_command_encoder()
                encoder.clear_buffer(sums)
                kernel.record(encoder, values, size)
                device.submit_command_buffer(encoder.finish())
            device.wait()
            return sums.to_numpy().view(np.float32)

        return run

    return {way: made(way, *how) for way, how in WAYS.items()}
