"""The stage of kernels that generate rays: its entry points, and the pipeline with its shader table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import slangpy as spy

from fusepy.backend.slang.stage import PipelineStage
from fusepy.errors import DeviceError

MAX_RECURSION = 31  # of every API
TOO_DEEP = "fz_too_deep"  # the buffer of a kernel whose rays count: not 0 if one was too deep
MAX_RAYS = 1 << 30  # of one dispatch, on every device


class TracedPipeline(NamedTuple):
    """A native pipeline with its shader table."""

    native: spy.RayTracingPipeline
    table: spy.ShaderTable


@dataclass(frozen=True)
class RayGeneration(PipelineStage):
    """The stage of a ray generation and of the functions that its rays run.

    Attributes:
        entry: the entry point of the ray generation.
        misses, callables: the entry points of these stages.
        groups: name, closest-hit, any-hit and intersection entry point of each hit group; empty for none.
        table: the hit group of each row of the shader table.
        sizes: the deepest recursion, and the bytes of payloads and of attributes.
    """

    entry: str
    misses: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    table: tuple[str, ...]
    callables: tuple[str, ...]
    sizes: tuple[int, int, int]
    own: tuple[str, ...] = (TOO_DEEP,)

    @property
    def counts(self) -> bool:
        """True if payloads count how deep a ray is."""
        return self.sizes[0] > 1

    def pipeline(self, device: spy.Device, program: spy.ShaderProgram) -> TracedPipeline:
        """Creates the pipeline of a linked program."""
        recursion, payload, attributes = self.sizes
        native = device.create_ray_tracing_pipeline(
            program,
            [spy.HitGroupDesc(*group) for group in self.groups],
            max_recursion=recursion,
            max_ray_payload_size=payload + 8 * self.counts,  # a number, and its alignment
            max_attribute_size=attributes,
        )
        table = device.create_shader_table(
            program,
            ray_gen_entry_points=[self.entry],
            miss_entry_points=[*self.misses],
            hit_group_names=[*self.table],
            callable_entry_points=[*self.callables],
        )
        return TracedPipeline(native, table)


def attribute(kind: str) -> str:
    """Returns the attribute of an entry point of a stage of rays.

    Example:
        >>> attribute("miss")
        '[shader("miss")]'
    """
    return f'[shader("{kind}")]'


def check_pipelines(name: str, features: frozenset[str]) -> None:
    """Raises `DeviceError` unless a device with these features has ray-tracing pipelines."""
    if "ray_tracing" not in features:
        query = "ray_query" in features
        raise DeviceError(
            f"{name} has no ray-tracing pipelines",
            saw="ray queries only" if query else "no ray tracing",
            expected="a device with the feature ray_tracing",
            hint="trace rays in a plain function, by closest_hit of import fusepy_rays;"
            if query
            else 'open a Vulkan device: device = fp.init_device("vulkan"); lavapipe, on the CPU, has them too',
        )
