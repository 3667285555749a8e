"""``python -m benchmarks``: runs the cases under pytest-benchmark, prints ratios and writes them as JSON."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.report import unit

HERE = Path(__file__).parent
RESULTS = Path(".benchmarks")
EVERYWHERE = (
    "call_overhead", "scalar_return", "first_result", "chain8", "texture", "add16m", "nested_calls", "nested_rays", "steady",
    "many_functions", "reduce", "pipeline", "program_call", "compile_dag", "gradients", "matmul", "stages", "studio",
)  # fmt: skip
ON_GPU = (
    "call_overhead", "scalar_return", "first_result", "add_gpu", "tonemap_gpu", "nested_calls", "nested_rays", "steady",
    "reduce", "rows", "pipeline", "program_call", "compile_dag", "gradients", "matmul", "operations", "roofline",
)  # fmt: skip
# what pyproject.toml sets for the tests is undone here
PYTEST = (
    "-q", "-o", "addopts=", "-o", "python_files=bench_*.py", "-o", "python_functions=bench_*", "-p", "no:cacheprovider",
    "-p", "no:randomly", "-p", "no:xdist", "--benchmark-columns=median", "--benchmark-disable-gc", "--no-header", "--tb=short",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    machine = describe(options.device)
    hardware = machine["hardware"]
    cases = options.only or list(ON_GPU if hardware else EVERYWHERE)
    records: list[dict[str, Any]] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="fusepy-bench-") as folder:
        for case in cases:
            print(f"{case} …", flush=True)
            for arguments, environment in runs(case, options, Path(folder)):
                output = run(arguments, environment, options, Path(folder) / "records.json")
                if isinstance(output, str):
                    failed.append(case)
                    print(output)
                else:
                    records += output
    rows = report.rows(records, hardware)
    if not options.json:
        RESULTS.mkdir(exist_ok=True)
    target = Path(options.json or RESULTS / f"{options.device}.json")
    document = {
        "machine": machine,
        "quick": options.quick,
        "ratios": [dataclasses.asdict(r) for r in rows],
        "times": [dataclasses.asdict(t) for t in report.peer_times(records)],
        "reports": report.reports(records),
        "skipped": report.skipped(records),
        "records": records,
    }
    target.write_text(json.dumps(document, indent=1), encoding="utf-8")
    show(machine, rows, records, options.markdown)
    print(f"\nwritten to {target}" + (" (--quick: the numbers mean nothing)" if options.quick else ""))
    if failed:
        print(f"failed: {', '.join(dict.fromkeys(failed))}", file=sys.stderr)
    return bool(failed)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    known = sorted(p.stem.removeprefix("bench_") for p in HERE.glob("bench_*.py"))
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds: does it run, not how fast")
    parser.add_argument("--only", action="append", choices=known, metavar="NAME", help=f"may be repeated: {', '.join(known)}")
    parser.add_argument("--device", choices=("vulkan", "cuda"), default=os.environ.get("FUSEPY_DEVICE", "vulkan"))
    parser.add_argument("--json", metavar="FILE", help="where the results go; by default .benchmarks/DEVICE.json")
    parser.add_argument("--markdown", action="store_true", help="print tables as Markdown")
    return parser.parse_args(arguments)


def describe(kind: str) -> dict[str, Any]:
    """The machine, as a process of its own sees it."""
    code = (
        "import json, sys, slangpy as spy, numpy\n"
        "from benchmarks.peers import is_hardware\n"
        "spy.Logger.get().remove_all_outputs()\n"
        f"d = spy.Device(type=spy.DeviceType[{kind!r}])\n"
        "print(json.dumps({'adapter': d.info.adapter_name, 'api': d.info.api_name, 'hardware': is_hardware(d),"
        " 'slangpy': spy.SGL_VERSION, 'numpy': numpy.__version__}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"no {kind} device can be opened:\n{done.stderr}")
    cpu = next((x.partition(":")[2].strip() for x in _lines("/proc/cpuinfo") if x.startswith("model name")), platform.machine())
    found = json.loads(done.stdout.splitlines()[-1])
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="minutes")
    return {"date": date, "cpu": cpu, "cores": os.cpu_count(), "python": platform.python_version(), **found}


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def runs(case: str, options: argparse.Namespace, folder: Path) -> Iterator[tuple[list[str], dict[str, str]]]:
    """The pytest runs of a case: one, but for first_result, where every sample is a process with caches of its own."""
    file = str(HERE / f"bench_{case}.py")
    if case != "first_result":
        yield [file], caches(folder / case)
        return
    programs = [("chain", "fusepy"), ("chain", "slangpy"), ("chain", "slangpy hand-fused"), ("add", "fusepy"), ("add", "slangpy")]
    programs += [("blur", "fusepy"), ("blur", "slangpy"), ("blur", "fusepy on slangpy's module")]
    programs += [("gradient", "fusepy"), ("gradient", "slangpy"), ("step", "fusepy"), ("add", "jax"), ("gradient", "jax")]
    for block in range(1 if options.quick else 5):
        for program, library in programs[block:] + programs[:block]:
            environment = caches(folder / re.sub(r"\W", "-", f"{program}-{library}-{block}"))
            for state in ("cold", "warm"):
                yield [f"{file}::bench_first[{program}-{library}]", f"--state={state}", f"--block={block}"], environment


def caches(folder: Path) -> dict[str, str]:
    """An environment in which every cache that fusepy, slangpy or a driver keeps on disk lies in `folder`."""
    names = {
        "FUSEPY_CACHE_DIR": "fusepy", "XDG_CACHE_HOME": "xdg", "MESA_SHADER_CACHE_DIR": "mesa",
        "__GL_SHADER_DISK_CACHE_PATH": "gl", "CUDA_CACHE_PATH": "cuda",
        "TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton",
    }  # fmt: skip
    for name in names.values():
        (folder / name).mkdir(parents=True, exist_ok=True)
    return {variable: str(folder / name) for variable, name in names.items()}


Records = list[dict[str, Any]]


def run(arguments: list[str], environment: dict[str, str], options: argparse.Namespace, output: Path) -> Records | str:
    """The records of one pytest run, or what pytest said if it failed."""
    command = [sys.executable, "-m", "pytest", *PYTEST, *arguments]
    command += [f"--benchmark-json={output}", f"--device-kind={options.device}"]
    command += ["--quick"] if options.quick else []
    skips = output.with_suffix(".skips")
    output.unlink(missing_ok=True)
    skips.unlink(missing_ok=True)
    root = str(HERE.parent)
    variables = {
        **os.environ,
        **environment,
        "PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])]),
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "FUSEPY_BENCH_SKIPS": str(skips),
    }
    done = subprocess.run(command, env=variables, cwd=root, capture_output=True, text=True)
    if done.returncode:
        return f"$ {' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-2000:]}"
    records = json.loads(output.read_text(encoding="utf-8"))["benchmarks"] if output.exists() and output.stat().st_size else []
    return records + [json.loads(line) for line in _lines(str(skips))]


def show(machine: dict[str, Any], rows: Sequence[report.Row], records: Sequence[dict[str, Any]], markdown: bool) -> None:
    """Prints the tables."""
    print("\n" + ", ".join(f"{k} {v}" for k, v in machine.items()))
    word = {None: "", True: "yes", False: "NO"}
    ratios = [
        (
            r.case,
            r.subject,
            r.other,
            unit(r.mine),
            unit(r.theirs),
            f"{r.ratio:.3g}",
            f"{r.low:.3g}-{r.high:.3g}",
            r.target,
            word[r.met],
        )
        for r in rows
    ]
    table("Ratios", ("case", "measured", "beside", "time", "beside", "ratio", "blocks", "target", "met"), ratios, markdown)
    times = report.peer_times(records)
    peers = [(t.case, t.peer, unit(t.seconds), unit(t.best), t.rate, t.note) for t in times if "search" not in t.case]
    table("Times per call", ("case", "peer", "median", "best", "GB/s", ""), peers, markdown)
    searched = sorted((t for t in times if "search" in t.case), key=lambda t: (t.case, t.seconds))
    listed = [(t.case, t.peer, unit(t.seconds), unit(t.best), t.rate) for t in searched]
    table("Hand-written kernels tried", ("case", "shape", "median", "best", "GB/s"), listed, markdown)
    table("Reports", ("case", "what", "value"), report.reports(records), markdown)
    table("Not measured", ("case", "peer", "why"), list(dict.fromkeys(report.skipped(records))), markdown)


def table(title: str, heads: Sequence[str], lines: Sequence[Sequence[str]], markdown: bool) -> None:
    if not lines:
        return
    if markdown:
        print(f"\n### {title}\n\n| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
        print("\n".join(f"| {' | '.join(line)} |" for line in lines))
        return
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(len(str(line[i])) for line in (heads, *lines)) for i in range(len(heads))]
        print(f"\n{title}")
        for line in (heads, *lines):
            print("  ".join(str(cell).ljust(width) for cell, width in zip(line, widths)).rstrip())
        return
    made = Table(title=title, title_justify="left", title_style="bold")
    for head in heads:
        made.add_column(head, no_wrap=True)
    for line in lines:
        made.add_row(*line, style="red" if line[-1] == "NO" else None)
    Console(width=None if sys.stdout.isatty() else 160).print(made)


if __name__ == "__main__":
    sys.exit(main())
