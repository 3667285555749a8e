"""`CudaGraph`: launches as one graph of the CUDA driver, which is launched as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.cuda.driver import CudaDriver
from fusepy.backend.cuda.kernel import CudaKernel


class CudaGraph:
    """A graph of launches, in order. The context must be current.

    Args:
        launches: kernels, whose parameters are in their blocks, and their groups.
    """

    def __init__(self, driver: CudaDriver, launches: Sequence[tuple[CudaKernel, Sequence[int]]]):
        self._driver = driver

        def record(stream: int) -> None:
            for function, groups in launches:
                function.launch(groups, stream)

        self._graph = driver.graph_of(record)

    def launch(self, stream: int) -> None:
        """Launches all kernels on a stream, after its earlier work."""
        self._driver.launch_graph(self._graph, stream)

    def __del__(self) -> None:
        graph = getattr(self, "_graph", 0)
        if graph:
            self._driver.drop_graph(graph)
