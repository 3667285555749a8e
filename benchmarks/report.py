"""From pytest-benchmark's records to rows of ratios with their targets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

SPEED, COST = "speed", "cost"  # times as fast as the peer; fraction of the peer's time


@dataclass(frozen=True)
class Ratio:
    """One ratio. Of several `others`, the one with the least median counts.

    Attributes:
        bound: the least speed or the greatest cost that was asked for, if any.
        on: ``"software"``, ``"gpu"``, or both; where the bound applies.
    """

    case: str
    subject: str
    others: tuple[str, ...]
    kind: str
    bound: float | None = None
    on: str = ""


UNVALIDATED = ("slangpy", "slangpy unvalidated")
ALLOCATING = ("slangpy allocating", "slangpy unvalidated allocating")
BY_HAND = ("sgl", "sgl second", "sgl third")
RATIOS = [
    Ratio("chain8", "fusepy", BY_HAND, SPEED, 0.95, "software"),
    Ratio("chain8", "fusepy", ("slangpy hand-fused",), SPEED, 1.5, "software"),
    Ratio("chain8", "fusepy", ("slangpy",), SPEED, 5.0, "software"),
    Ratio("chain8", "fusepy", ("numpy",), SPEED),
    Ratio("texture", "fusepy", BY_HAND, SPEED, 0.9, "software"),
    Ratio("texture", "fusepy tensor", tuple(f"{name} tensor" for name in BY_HAND), SPEED, 0.9, "software"),
    Ratio("texture", "fusepy", ("slangpy",), SPEED),
    Ratio("texture", "fusepy tensor", ("slangpy tensor",), SPEED),
    Ratio("add16m", "fusepy", ("slangpy",), SPEED, 4.0, "software"),
    Ratio("add16m", "fusepy", BY_HAND, SPEED),
    Ratio("add16m", "fusepy", ("numpy",), SPEED),
    Ratio("reduce", "sum", ("copy",), SPEED, 0.9),
    Ratio("reduce", "rows", ("copy",), SPEED, 0.7),
    Ratio("reduce", "columns", ("copy",), SPEED, 0.7),
    Ratio("reduce", "mean and max", ("copy",), SPEED),
    Ratio("reduce", "sum", ("copy command",), SPEED),
    Ratio("reduce", "rows", ("copy command",), SPEED),
    Ratio("reduce", "columns", ("copy command",), SPEED),
    Ratio("reduce", "sum", ("numpy",), SPEED),
    Ratio("reduce", "sum", ("torch sum",), SPEED),
    Ratio("reduce", "rows", ("torch rows",), SPEED),
    Ratio("reduce", "columns", ("torch columns",), SPEED),
    *(Ratio("matmul", name, (f"torch {name}",), SPEED) for name in ("forward", "weights", "input")),
    Ratio("matmul", "step", ("torch step",), SPEED, 1.0, "software"),
    Ratio("matmul", "step", ("slangpy layer",), SPEED, 3.0, "software"),
    Ratio("matmul", "forward", ("sgl forward",), SPEED),
    *(
        Ratio("rows", f"fusepy {name}", tuple(f"{who} {name}" for who in ("torch", "torch.compile", "jax")), SPEED, 1.0, "gpu")
        for name in ("softmax", "long softmax", "short softmax", "layer norm", "logsumexp", "columns")
    ),
    Ratio("gradients", "number", ("slangpy number",), SPEED, 20.0, "software"),
    Ratio("gradients", "number", ("number forward",), COST),
    Ratio("gradients", "number", ("read",), SPEED, 0.9, "gpu"),
    Ratio("gradients", "stages", ("stages forward",), COST, 2.5, "software"),
    Ratio("gradients", "stages", ("torch stages",), SPEED),
    Ratio("gradients", "stages", ("torch.compile stages",), SPEED, 3.0, "gpu"),
    Ratio("gradients", "stages", ("jax stages",), SPEED),
    Ratio("gradients", "stages", ("slangtorch stages",), SPEED, 1.5, "gpu"),
    Ratio("gradients", "stages", ("waves stages", "atomics stages"), SPEED, 1.5, "gpu"),
    Ratio("pipeline", "fusepy", BY_HAND, SPEED, 0.9, "software"),
    Ratio("pipeline", "fusepy", ("slangpy",), SPEED, 1.5, "software"),
    Ratio("pipeline", "fusepy", ("slangpy hand-fused",), SPEED, 1.5, "software"),
    Ratio("program_call", "fusepy", ("sgl",), COST, 1.3),
    Ratio("program_call", "fusepy", ("sgl allocating",), COST),
    Ratio("program_call", "fusepy result given", ("sgl",), COST),
    Ratio("program_call", "fusepy undeferred", ("sgl",), COST),
    Ratio("program_call cpu", "fusepy", ("sgl",), COST),
    Ratio("program_call cpu", "fusepy", ("sgl allocating",), COST),
    Ratio("program_call cpu", "fusepy result given", ("sgl",), COST),
    Ratio("program_call cpu", "fusepy undeferred", ("sgl",), COST),
    Ratio("compile_dag", "2,000 nodes", ("200 nodes",), COST, 1.5),
    Ratio("compile_dag cpu", "2,000 nodes", ("200 nodes",), COST, 1.5),
    Ratio("first_result", "fusepy cold chain", ("slangpy cold chain",), COST, 0.15, "software"),
    Ratio("first_result", "fusepy cold chain", ("slangpy hand-fused cold chain",), COST, 0.15, "software"),
    Ratio("first_result", "fusepy cold add", ("slangpy cold add",), COST, 0.15, "software"),
    Ratio("first_result", "fusepy cold blur", ("slangpy cold blur",), COST, 0.1, "software"),
    Ratio("first_result", "fusepy cold blur", ("fusepy on slangpy's module cold blur",), COST, 0.1, "software"),
    Ratio("first_result", "fusepy warm blur", ("slangpy warm blur",), COST),
    Ratio("first_result", "fusepy warm chain", ("fusepy cold chain",), COST, 0.5, "software"),
    Ratio("first_result", "fusepy warm add", ("fusepy cold add",), COST, 0.5, "software"),
    Ratio("first_result", "fusepy warm chain", ("slangpy warm chain",), COST),
    Ratio("first_result", "fusepy warm add", ("slangpy warm add",), COST),
    Ratio("first_result", "fusepy cold gradient", ("slangpy cold gradient",), COST, 0.15, "software"),
    Ratio("first_result", "fusepy warm gradient", ("slangpy warm gradient",), COST),
    *(Ratio("first_result", f"fusepy cold {what}", (f"jax cold {what}",), COST, 1.0, "gpu") for what in ("add", "gradient")),
    Ratio("call_overhead", "fusepy declared", UNVALIDATED, COST, 0.9, "software"),
    Ratio("call_overhead", "fusepy declared", UNVALIDATED, COST, 1.0, "gpu"),
    Ratio("call_overhead", "fusepy undeclared", UNVALIDATED, COST, 1.1, "software"),
    Ratio("call_overhead", "fusepy fused", UNVALIDATED, COST),
    Ratio("call_overhead", "fusepy allocating", ALLOCATING, COST, 0.6, "software"),
    Ratio("call_overhead", "fusepy declared allocating", ALLOCATING, COST, 0.6, "software"),
    Ratio("call_overhead", "fusepy undeferred", UNVALIDATED, COST),
    Ratio("call_overhead", "fusepy undeferred allocating", ALLOCATING, COST),
    Ratio("call_overhead", "fusepy declared", ("sgl",), COST),
    Ratio("call_overhead cpu", "fusepy declared", UNVALIDATED, COST),
    Ratio("call_overhead cpu", "fusepy undeclared", UNVALIDATED, COST),
    Ratio("call_overhead cpu", "fusepy allocating", ALLOCATING, COST),
    Ratio("call_overhead cpu", "fusepy undeferred", UNVALIDATED, COST),
    Ratio("call_overhead cpu", "fusepy declared", ("sgl",), COST),
    Ratio("scalar_return", "fusepy", UNVALIDATED, COST, 0.6, "software"),
    Ratio("scalar_return", "fusepy fused", UNVALIDATED, COST),
    Ratio("scalar_return", "fusepy", ("by hand",), COST),
    Ratio("nested_calls", "flat declared", UNVALIDATED, COST, 1.0),
    Ratio("nested_calls", "flat", UNVALIDATED, COST, 1.0),
    Ratio("nested_calls", "flat allocating", ALLOCATING, COST, 1.0),
    Ratio("nested_calls", "dict", ("flat",), COST, 2.5),
    Ratio("nested_calls", "dict made anew", ("flat",), COST, 2.5),
    Ratio("nested_calls", "object", ("flat",), COST, 2.5),
    Ratio("nested_calls", "constants", ("flat",), COST, 2.5),
    Ratio("nested_calls", "dict", ("slangpy dict",), COST),
    Ratio("nested_calls cpu", "flat declared", UNVALIDATED, COST),
    Ratio("nested_calls cpu", "flat", UNVALIDATED, COST),
    Ratio("nested_calls cpu", "flat allocating", ALLOCATING, COST),
    Ratio("nested_calls cpu", "dict", ("flat",), COST),
    Ratio("nested_calls cpu", "dict made anew", ("flat",), COST),
    Ratio("nested_calls cpu", "object", ("flat",), COST),
    Ratio("nested_calls cpu", "constants", ("flat",), COST),
    Ratio("nested_calls cpu", "dict", ("slangpy dict",), COST),
    Ratio("nested_rays", "fusepy", BY_HAND, SPEED, 0.9),
    Ratio("nested_rays", "fusepy fused", BY_HAND, SPEED, 0.9),
    Ratio("nested_rays", "fusepy", ("slangpy",), SPEED),
    Ratio("stages", "fusepy rays", ("sgl rays",), SPEED, 0.95, "software"),
    Ratio("stages", "fusepy draw", ("sgl draw",), SPEED, 0.95, "software"),
    *(
        Ratio(case, f"fusepy {name}", (other,), COST, bound, "software")
        for case in ("stages call", "stages call cpu")
        for name in ("rays", "draw")
        for other, bound in (("fusepy compute", 1.2), (f"sgl {name}", None))
    ),
    Ratio("stages call", "fusepy draw", ("sgl draw, shared",), COST, 1.05, "software"),
    Ratio("stages call", "sgl draw, shared", ("fusepy compute",), COST),
    Ratio("stages call cpu", "fusepy draw", ("sgl draw, shared",), COST),
    Ratio("add_gpu", "fusepy", ("torch",), SPEED, 0.9, "gpu"),
    Ratio("add_gpu", "fusepy", ("slangpy",), SPEED),
    Ratio("add_gpu", "fusepy", BY_HAND, SPEED),
    Ratio("tonemap_gpu", "fusepy", ("torch.compile",), SPEED, 1.3, "gpu"),
    Ratio("tonemap_gpu", "fusepy", ("jax.jit",), SPEED, 1.3, "gpu"),
    Ratio("tonemap_gpu", "fusepy", ("slangpy hand-fused",), SPEED, 1.4, "gpu"),
    Ratio("tonemap_gpu", "fusepy", BY_HAND, SPEED),
]


@dataclass(frozen=True)
class Row:
    """A ratio as measured: the median over blocks of the ratio within a block, and the medians of the times."""

    case: str
    subject: str
    other: str
    mine: float
    theirs: float
    ratio: float
    low: float
    high: float
    target: str
    met: bool | None


@dataclass(frozen=True)
class Time:
    """The median time of one call of a peer."""

    case: str
    peer: str
    seconds: float
    best: float
    gigabytes_per_s: float | None
    note: str

    @property
    def rate(self) -> str:
        return f"{self.gigabytes_per_s:.4g}" if self.gigabytes_per_s else ""


Times = Mapping[tuple[str, str], Mapping[int, float]]


def times(records: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], dict[int, float]]:
    """Seconds per call by case and peer, and by block the median of its rounds."""
    found: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for record in records:
        info = record["extra_info"]
        if "stats" in record and "peer" in info:
            found[info["case"], info["peer"]][info["block"]] = record["stats"]["median"] / info["calls"]
    return found


def rows(records: Sequence[Mapping[str, Any]], hardware: bool) -> list[Row]:
    """The ratios that these records allow."""
    found = times(records)
    made: list[Row] = []
    for ratio in (*RATIOS, *_operations(found)):
        here = ratio.on in ("", "gpu" if hardware else "software")
        subject = found.get((ratio.case, ratio.subject))
        others = [o for o in ratio.others if (ratio.case, o) in found]
        if subject is None or not others or not (here or ratio.bound is None):
            continue
        other = min(others, key=lambda o: median(found[ratio.case, o].values()))
        peer = found[ratio.case, other]
        quotients = sorted(peer[b] / subject[b] if ratio.kind == SPEED else subject[b] / peer[b] for b in subject if b in peer)
        if not quotients:
            continue
        value = median(quotients)
        sign = ">=" if ratio.kind == SPEED else "<="
        met = None if ratio.bound is None else value >= ratio.bound if ratio.kind == SPEED else value <= ratio.bound
        target = "" if ratio.bound is None else f"{sign} {ratio.bound:g}"
        mine, theirs = median(subject.values()), median(peer.values())
        made.append(Row(ratio.case, ratio.subject, other, mine, theirs, value, quotients[0], quotients[-1], target, met))
    return made


def _operations(found: Times) -> list[Ratio]:
    """The ratios of the operations and programs that were measured, each beside the fastest of its peers."""
    cases = ("operations", "roofline")
    subjects = [(case, peer, peer.partition(" ")[2]) for case, peer in found if case in cases and peer.startswith("fusepy")]
    others = ("torch", "torch.compile", "jax", "sgl 64", "sgl 128", "sgl 256")
    made: list[Ratio] = []
    for case, peer, what in subjects:
        # calls of single steps are compared with those of others, and JAX's loop is one program
        who = others[:2] if peer.startswith("fusepy-calls") else others
        made.append(Ratio(case, peer, tuple(f"{one} {what}" for one in who), SPEED, 1.0, "gpu"))
    return made


def peer_times(records: Sequence[Mapping[str, Any]]) -> list[Time]:
    """Every peer's time, with its bandwidth where the case moves a known number of bytes."""
    notes = {(r["extra_info"]["case"], r["extra_info"]["peer"]): r["extra_info"] for r in records if "peer" in r["extra_info"]}
    made: list[Time] = []
    for (case, peer), blocks in times(records).items():
        seconds, info = median(blocks.values()), notes[case, peer]
        rate = info["bytes"] / seconds / 1e9 if "bytes" in info else None
        made.append(Time(case, peer, seconds, min(blocks.values()), rate, info.get("note", "")))
    return made


def reports(records: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """What cases report beside times: case, name, value."""
    return [(r["extra_info"]["case"], k, str(v)) for r in records for k, v in r["extra_info"].get("report", {}).items()]


def skipped(records: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Peers that were not measured, and why."""
    return [(r["case"], r["peer"], r["why"]) for r in records if "why" in r]


def unit(value: float) -> str:
    """A time in the unit that suits it."""
    for name, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {name}" if value / scale < 1000 else f"{value / scale:.0f} {name}"
    return f"{value * 1e9:.3g} ns"
