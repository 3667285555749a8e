"""A call explained without running it: textual IR, Slang source, and the reasons for its kernels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from fusepy.backend.execute.tape import Tape, TapePiece
from fusepy.errors import ArgumentError, did_you_mean
from fusepy.inspect.arguments import argument_lines, extent_texts, names_in
from fusepy.inspect.indexing import indexing
from fusepy.inspect.reasons import Neighbours, label, neighbours
from fusepy.ir.graph import Graph, Node
from fusepy.ir.ops.loop_vjp import kept_states
from fusepy.passes.fuse_chains import FuseChains
from fusepy.passes.pipeline import PIPELINE, run_pipeline, until
from fusepy.passes.rows.join import kernel_numbers
from fusepy.program.equal_regions import identity
from fusepy.program.program import Program
from fusepy.trace.recording import Recording


def graph_after(recording: Recording, after: str | None) -> Graph:
    """Returns the graph as traced, or after one pass.

    Raises:
        ArgumentError: if no pass has that name.
    """
    if after is None:
        return recording.graph
    names = [p.name for p in PIPELINE]
    if after not in names:
        raise ArgumentError(f"there is no pass {after!r}", expected=", ".join(names), hint=did_you_mean(after, names))
    return run_pipeline(recording.graph, recording.trace.oracle, until(after))


@dataclass(frozen=True)
class Explanation:
    """The description of how a call runs.

    Attributes:
        kernels: the number of kernels.
        variants: for each kernel its indexing (``linear`` or ``strided``), and why.
        reasons: for each node of the program, why it is in its kernel.
        inputs: for each argument how it is passed; a nested one is a tree of several lines.
        neighbours: for each pair of producer and consumer, whether one kernel runs both, and why.
        stored: the values that kernels store for later kernels, with their sizes for these arguments.
        peak_bytes: the peak memory of results and values between kernels, and between stages of one.
        cache: whether a program for such arguments exists; if not, the difference to the nearest one.
    """

    name: str
    kernels: int
    variants: tuple[str, ...]
    reasons: tuple[str, ...]
    inputs: tuple[str, ...] = field(default=())
    neighbours: tuple[Neighbours, ...] = ()
    stored: tuple[str, ...] = ()
    peak_bytes: int = 0
    cache: str = ""

    def in_short(self) -> Explanation:
        """Returns a short form: without the parts for details, and with lines of equal text joined."""
        left = [text for text in self.reasons if ": not needed (" not in text]
        inputs, reasons = (tuple(_joined(lines)) for lines in (self.inputs, left))
        return replace(self, inputs=inputs, reasons=reasons)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.kernels} kernel{'s' * (self.kernels != 1)}"]
        lines += [f"  argument {text}" for text in self.inputs]
        lines += [f"  kernel {i}: {text}" for i, text in enumerate(self.variants)]
        lines += [f"  {text}" for text in self.reasons]
        if self.kernels > 1:
            lines += [f"  {pair}" for pair in self.neighbours]
        lines += [f"  stored: {text}" for text in self.stored]
        if self.stored:
            lines.append(f"  memory: {self.peak_bytes:,} bytes at most, for results and values between kernels")
        if self.cache.startswith("a new program"):
            lines.append(f"  cache: {self.cache}")
        return "\n".join(lines)


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """Yields lines ``name: words``; those of the same words, one after the other, become ``name, name: words``."""
    for words, group in groupby(lines, lambda line: line.partition(": ")[2] or line):
        names = Counter(line.partition(": ")[0] for line in group)
        shown = ", ".join(f"{name} x {n}" if n > 1 else name for name, n in names.items())
        yield shown if shown == words else f"{shown}: {words}"


def kernel_source(program: Program, args: Sequence[Any]) -> str:
    """Returns the Slang of all kernels of a call."""
    return "\n".join(piece_source(piece, program) for piece in program.tape(args).pieces)


def piece_source(piece: TapePiece, program: Program) -> str:
    """Returns the Slang of the kernel of a region, or of its kernels."""
    variants = dict.fromkeys(launch.variant for launch in piece.launches)
    return "\n".join(program.lowering.source(piece.plan.region, variant).text for variant in variants)


def explain(program: Program, args: Sequence[Any], cache: str = "") -> Explanation:
    """Explains the kernels of a call."""
    before, recording = program.resolved(), program.recording
    tape = program.tape(args)
    variants = [indexing(piece, tape, program) for piece in tape.pieces]
    reasons = list(_dropped(recording.graph, before))
    if tape.split:
        reasons.append("split: the results have extents that share no grid, so each gets a kernel of its own")
    told = [f"{text} of {recording.graph.inputs[place].name}" for place, text in extent_texts(recording.trace.extents).items()]
    reasons += [f"traced for extents {', '.join(told)}; other ones trace again"] if told else []
    reasons += [*_step_loops(program, tape), *filter(None, [program.options.tuned])]
    reasons += [f"one kernel for each reduction, not one that goes along rows: {why}" for why in tape.refused.values()]
    for piece in tape.pieces:
        reasons += _region_reasons(piece.plan.region, before)
    written = [recording.names[position] for position in recording.outs if position is not None]
    if written:
        reasons.append(f"written back: {', '.join(written)}")
    inputs = argument_lines(before, [piece.plan.region for piece in tape.pieces])
    pairs, stored = (
        tuple(neighbours(before, program.oracle, tape.separate, _numbers(before, tape, program))),
        tuple(_stored(tape)),
    )
    shown = (tuple(variants), tuple(reasons), tuple(inputs), pairs, stored, tape.peak_bytes if stored else 0, cache)
    return Explanation(program.graph.name, len(tape.pieces), *shown)


def _step_loops(program: Program, tape: Tape) -> Iterator[str]:
    """Yields the loops whose steps run over whole arrays."""
    kernels = {identity(piece.plan.region, launch.variant) for piece in tape.pieces for launch in piece.launches}
    shared = f"this program has {len(tape.launches)} launches of {len(kernels)} kernels, since equal ones are compiled once"
    for loop in program.recording.trace.step_loops:
        yield f"fori_loop ({loop.loc}): {loop.steps} steps over whole arrays; {shared}"


def _numbers(before: Graph, tape: Tape, program: Program) -> list[int]:
    """Returns for each region of the partition the number of its kernel; empty if reductions are separated."""
    if tape.separate:
        return []
    return kernel_numbers(FuseChains()(before, program.oracle), frozenset(tape.refused))


def _stored(tape: Tape) -> Iterator[str]:
    """Yields the values that kernels store for later kernels, with their sizes."""
    for maker, piece in enumerate(tape.pieces):
        for slot, element in zip(piece.results, piece.plan.elements):
            readers = [j for j, other in enumerate(tape.pieces) if slot in other.plan.positions]
            names = [name for j in readers for name in names_in(tape.pieces[j].plan, slot)]
            if readers:
                count = math.prod(tape.slots[slot].shape)
                size = f"{element.nbytes} bytes for each of {count:,} elements" if count != 1 else f"{element.nbytes} bytes"
                which = ", ".join(map(str, readers))
                yield f"{names[0]} by kernel {maker}, {size}, for kernel{'s' * (len(readers) > 1)} {which}"


def _dropped(before: Graph, after: Graph) -> list[str]:
    """Lists the nodes that folding, merging or dead code elimination have removed."""
    left = set(map(_identity, after.nodes))
    return [
        f"{label(n)}: not needed (folded, merged with an equal node, or its result is unused)"
        for n in before.nodes
        if n.op.name != "const" and _identity(n) not in left
    ]


def _region_reasons(region: Node, before: Graph) -> list[str]:
    """Lists the reasons for each node of a region."""
    if region.op.standalone:
        return [f"{label(region)}: runs by itself: the device's rasteriser finds the fragments", *_inside(region, "  ")]
    assert region.body is not None
    written = Counter(map(_identity, before.nodes))
    instances = Counter(map(_identity, region.body.nodes))
    reasons: list[str] = []
    for node in region.body.nodes:
        if node.op.name == "const":
            continue
        along = node.op.name == "row_fold"
        reason = f"fused: {'combined along the row' if along else 'elementwise on the grid of the results'}"
        if instances[_identity(node)] > written[_identity(node)] > 0:
            reason += "; computed once for each of the mappings through which its result is read"
        if node.op.name == "loop_vjp":
            reason += f"; each thread {kept_states(node)}"
        reasons.append(f"{label(node)}: {reason}")
        reasons += _inside(node, "  ")
    return reasons


def _inside(node: Node, indent: str) -> list[str]:
    """Lists the nodes in the bodies of a loop or branch."""
    lines: list[str] = []
    for body in node.bodies:
        lines.append(f"{indent}{body.name}:")
        for inner in body.nodes:
            if inner.op.name != "const":
                lines += [f"{indent}  {label(inner)}", *_inside(inner, f"{indent}    ")]
    return lines


def _identity(node: Node) -> tuple[str, object, object]:
    """Returns the key that identifies a node in reasons."""
    return (node.op.name, node.loc, node.attrs.get("function", node.attrs.get("path")))
