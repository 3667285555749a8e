"""The examples of docs/extending.md: an index space, a store and a stage of a user's own, run on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from fusepy.backend.device.sink import Sink
from fusepy.backend.emit.operand import BLOCK
from fusepy.backend.emit.region import SPACES
from fusepy.backend.emit.spaces.linear import Counted
from fusepy.backend.emit.spaces.space import ElementWork
from fusepy.backend.emit.store import ToMemory
from fusepy.backend.emit.stores import STORES
from fusepy.backend.emit.tuning import GROUPS_PER_ROW
from fusepy.backend.execute.plan import Plan
from fusepy.backend.kernels.kernel import Kernel
from fusepy.backend.slang.stage import COMPUTE, AnyPipeline, PipelineStage
from fusepy.ir.graph import Graph
from fusepy.ir.ops.control import block
from fusepy.ir.ops.region import StoredInto, spec_of, with_spec
from fusepy.ir.parse import parse_graph
from fusepy.ir.types import Type
from fusepy.passes.pipeline import run_pipeline
from fusepy.program import compile as compiling
from fusepy.program import stages


@dataclass(frozen=True)
class Backwards(Counted):
    """Elements by their number, the last one first."""

    def lines(self, work: ElementWork) -> list[str]:
        index, steps = self._index, self.shape.per_thread
        one = [
            f"{index} at = first + k * {self.shape.threads};",
            f"if (at >= {BLOCK}.count)",
            "    return;",
            f"{index} i = {BLOCK}.count - 1 - at;",
            *self._coordinates(work),
            *work.element(),
        ]
        group = f"{index}(fz_group.y * {GROUPS_PER_ROW} + fz_group.x)"
        first = f"{index} first = {group} * {self.shape.per_group} + fz_lane;"
        return [*work.before(), first, f"for (uint k = 0; k < {steps}; ++k)", *block(one)]


class Adding(ToMemory):
    """Adds whole numbers to what lies in memory: all threads of a place that is the same for several."""

    def write(self, name: str) -> str:
        dims = self.output.spec.dims
        steps = (f"d{d} * {self.pointer}_s{axis}" for axis, d in enumerate(dims))
        place = ("i" if dims else "0") if self.output.variant.linear else " + ".join([f"{self.pointer}_b", *steps])
        return f"InterlockedAdd({self.pointer}[{place}], {name});"


class OwnPipeline(PipelineStage):
    """A stage whose kernels have pipelines of their own: here compute pipelines."""

    def pipeline(self, device: spy.Device, program: spy.ShaderProgram) -> AnyPipeline:
        return COMPUTE.pipeline(device, program)


class OwnKernel(Kernel):
    """A kernel whose launch is a pass that it records itself."""

    passes = 0

    def launch(self, sink: Sink, *given: Any, **named: Any) -> None:
        super().launch(self.staged(sink, self.record), *given, **named)

    def record(self, sink: Sink, pipeline: AnyPipeline, root: spy.ShaderObject, groups: Sequence[int]) -> None:
        def work(encoder: spy.CommandEncoder) -> None:
            compute = encoder.begin_compute_pass()
            compute.bind_pipeline(pipeline, root)
            compute.dispatch_compute(groups)
            compute.end()

        OwnKernel.passes += 1
        sink.record(work, pipeline, root)


X = np.arange(2 * 3 * 700, dtype=np.int32).reshape(6, 700)


@pytest.fixture
def lib(device: Any) -> Any:
    return fp.Module.load_from_source(device, "extending", "int twice(int x) { return 2 * x; }")


def test_an_index_space(lib: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row of `SPACES`, and the choice of `Plan`, here for all linear calls."""
    monkeypatch.setitem(SPACES, "backwards", Backwards)
    monkeypatch.setattr(Plan, "words_at", lambda *given: "backwards")

    @fp.fuse
    def f(x: Any, y: Any) -> Any:
        return lib.twice(x) + y

    assert ".count - 1 - at" in f.source(X, X)
    np.testing.assert_array_equal(f(X, X), 3 * X)


def test_a_store(lib: Any, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that is the same for all rows is added up over them: so gradients of an array that is stretched will be."""

    def added(*given: Any) -> Graph:
        graph = run_pipeline(*given)
        (region,) = graph.nodes
        into = {j: StoredInto(Type.parse("Atomic<int>")) for j, v in enumerate(region.results) if v.rank == 1}
        made = with_spec(region, spec_of(region).storing(into))
        assert parse_graph(str(graph.replace(nodes=[made]))).nodes[0].attrs == made.attrs
        return graph.replace(nodes=[made])

    monkeypatch.setitem(STORES, "Atomic", Adding)
    monkeypatch.setattr(compiling, "run_pipeline", added)

    @fp.fuse
    def f(x: Any, row: Any) -> Any:
        return x + row, lib.twice(row)

    row = fp.Tensor.from_numpy(device, X[0])
    both, sums = fp.Tensor.zeros(device, X.shape, np.int32), fp.Tensor.from_numpy(device, X[1])
    f(fp.Tensor.from_numpy(device, X), row, _result=(both, sums))
    np.testing.assert_array_equal(both.to_numpy(), X + X[0])
    np.testing.assert_array_equal(sums.to_numpy(), X[1] + len(X) * 2 * X[0])


def test_a_stage(lib: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `RegionStage`, and the choice of `stage_of`, here for all regions."""
    compute = stages.COMPUTE
    own = replace(compute, emit=lambda *given: replace(compute.emit(*given), stage=OwnPipeline()), kernel=OwnKernel)
    monkeypatch.setattr(stages, "COMPUTE", own)
    monkeypatch.setattr(OwnKernel, "passes", 0)
    np.testing.assert_array_equal(fp.fuse(lambda x: lib.twice(x) + 1)(X), 2 * X + 1)
    assert OwnKernel.passes == 1
