"""Bandwidth against size, from 2^10 to 2^28 floats, beside the device's own copy: JSON, and a chart as SVG.

    python -m benchmarks.bandwidth --device cuda --json bandwidth-cuda.json
    python -m benchmarks.bandwidth --chart docs/images/bandwidth.svg bandwidth-cuda.json bandwidth-vulkan.json

Each time is that of one of several calls into given results that are made before one wait, the median of five rounds. On CUDA
torch's `copy_` of as many bytes is the line to reach, elsewhere fusepy's copy of a tensor.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import fusepy as fp

SOURCE = """
float add(float a, float b) { return a + b; }
float expose(float x, float k) { return x * k; }
float filmic(float x) { return x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14); }
float encode(float x) { return pow(max(x, 0.0), 1.0 / 2.2); }
"""
ROW = 1024
POWERS = range(10, 29, 2)
ROUNDS = 5


def programs(device: Any) -> dict[str, tuple[Callable[..., Any], int]]:
    """Returns the programs by name, with the arrays that each reads and writes."""
    m = fp.Module.load_from_source(device, "bandwidth", SOURCE)

    @fp.fuse
    def chain(x: Any) -> Any:
        return m.encode(m.filmic(m.expose(x, 1.5)))

    @fp.fuse
    def total(x: Any) -> Any:
        return fp.sum(x)

    @fp.fuse
    def softmax(x: Any) -> Any:
        e = fp.exp(x - fp.max(x, -1, True))
        return e / fp.sum(e, -1, True)

    def copy(x: Any, _result: Any) -> None:
        _result.copy_from(x)

    return {"copy": (copy, 2), "add": (m.add, 2), "chain": (chain, 2), "sum": (total, 1), "softmax": (softmax, 2)}


def seconds(call: Callable[[], Any], wait: Callable[[], Any], nbytes: int) -> float:
    """Returns the time of one call."""
    count = max(10, min(200, int(2e10 / max(nbytes, 1))))
    call()
    wait()
    times: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        times.append((time.perf_counter() - start) / count)
    return statistics.median(times)


def measured(device: Any) -> dict[str, list[tuple[int, float, float]]]:
    """Returns for each program elements, seconds and GB/s."""
    found: dict[str, list[tuple[int, float, float]]] = {}
    runs = programs(device)
    for power in POWERS:
        n = 1 << power
        x, y = (fp.Tensor.full(device, n, v) for v in (0.25, 0.5))
        one = fp.Tensor.zeros(device, ())
        for name, (f, arrays) in runs.items():
            args, result = ((x, x) if name == "add" else (x,)), one if name == "sum" else y
            if name == "softmax":
                args, result = (x.reshape(n // ROW, ROW),), y.reshape(n // ROW, ROW)
            taken = seconds(partial(f, *args, _result=result), device.wait, 4 * n * arrays)
            found.setdefault(name, []).append((n, taken, 4 * n * arrays / taken / 1e9))
        if device.target.kind == "cuda":
            found.setdefault("torch copy", []).append(_torch_copy(n))
    return found


def _torch_copy(n: int) -> tuple[int, float, float]:
    import torch

    a = torch.empty(n, dtype=torch.float32, device="cuda")
    b = torch.empty_like(a)
    taken = seconds(lambda: b.copy_(a), torch.cuda.synchronize, 8 * n)
    return n, taken, 8 * n / taken / 1e9


# ---- the chart ------------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, TOP = 460, 300, 60, 40
COLOURS = {
    "copy": "#888888",
    "torch copy": "#222222",
    "add": "#1f6fb4",
    "chain": "#d9822b",
    "sum": "#3d9a50",
    "softmax": "#b03a6e",
}


def chart(files: Sequence[Path]) -> str:
    """Returns an SVG with one panel for each file."""
    panels: list[str] = []
    for i, file in enumerate(files):
        data = json.loads(file.read_text())
        panels.append(f'<g transform="translate({LEFT + i * (WIDTH + 90)},{TOP})">{_panel(data)}</g>')
    width, height = LEFT + len(files) * (WIDTH + 90), TOP + HEIGHT + 50
    style = 'font-family="sans-serif" font-size="12"'
    white = f'<rect width="{width}" height="{height}" fill="white"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {style}>{white}{"".join(panels)}</svg>\n'


def _panel(data: dict[str, Any]) -> str:
    series: dict[str, list[tuple[int, float, float]]] = data["programs"]
    low, high = math.log10(0.01), math.log10(max(g for points in series.values() for _, _, g in points) * 1.5)
    first, last = POWERS[0], POWERS[-1]

    def x(n: float) -> float:
        return (math.log2(n) - first) / (last - first) * WIDTH

    def y(gigabytes: float) -> float:
        return HEIGHT * (1 - (math.log10(max(gigabytes, 0.01)) - low) / (high - low))

    parts = [f'<text x="0" y="-16" font-weight="bold">{data["device"]}, {data["date"]}</text>']
    for power in POWERS:
        parts.append(f'<text x="{x(1 << power):.1f}" y="{HEIGHT + 18}" text-anchor="middle">2^{power}</text>')
    for decade in range(-2, int(high) + 1):
        at = y(10.0**decade)
        parts.append(f'<line x1="0" x2="{WIDTH}" y1="{at:.1f}" y2="{at:.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="-8" y="{at + 4:.1f}" text-anchor="end">{10.0**decade:g}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT + 38}" text-anchor="middle">floats</text><text x="-44" y="-4">GB/s</text>')
    for i, (name, points) in enumerate(series.items()):
        line = " ".join(f"{x(n):.1f},{y(g):.1f}" for n, _, g in points)
        dash = ' stroke-dasharray="6 4"' if "copy" in name else ""
        parts.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"{dash}/>')
        at = HEIGHT - 16 * (len(series) - i)
        stroke = f'stroke="{COLOURS[name]}" stroke-width="2"{dash}'
        parts.append(f'<line x1="{WIDTH - 110}" x2="{WIDTH - 84}" y1="{at}" y2="{at}" {stroke}/>')
        parts.append(f'<text x="{WIDTH - 78}" y="{at + 4}">{name}</text>')
    return "".join(parts)


def main() -> None:
    """Measures one device, or draws the chart of several."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default=None)
    parser.add_argument("--json", type=Path, default=Path("bandwidth.json"))
    parser.add_argument("--chart", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    asked = parser.parse_args()
    if asked.chart is not None:
        asked.chart.write_text(chart(asked.files), encoding="utf-8")
        return
    device = fp.init_device(asked.device)
    found = measured(device)
    asked.json.write_text(json.dumps({"device": device.name, "date": time.strftime("%Y-%m-%d"), "programs": found}))
    for name, points in found.items():
        print(name.ljust(11), *(f"{g:8.1f}" for _, _, g in points))


if __name__ == "__main__":
    main()
