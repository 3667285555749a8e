"""The raster stages: the state of a draw, the heads of its entry points, and its pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import slangpy as spy

from fusepy.backend.raster.stencil_ops import face_with
from fusepy.backend.slang.stage import PipelineStage
from fusepy.ir.value import Attr

_T, _B, _O, _C = spy.PrimitiveTopology, spy.BlendFactor, spy.BlendOp, spy.ComparisonFunc
TOPOLOGIES = {
    "triangles": _T.triangle_list,
    "triangle_strip": _T.triangle_strip,
    "lines": _T.line_list,
    "line_strip": _T.line_strip,
    "points": _T.point_list,
}
PRIMITIVES = {  # vertices of each, the least number of vertices of a draw, what they make
    "triangles": (3, 3, "triangle"),
    "triangle_strip": (1, 3, "triangle"),
    "lines": (2, 2, "line"),
    "line_strip": (1, 2, "line"),
    "points": (1, 1, "point"),
}
CULLS = {"none": spy.CullMode.none, "back": spy.CullMode.back, "front": spy.CullMode.front}
FRONTS = {"counter_clockwise": spy.FrontFaceMode.counter_clockwise, "clockwise": spy.FrontFaceMode.clockwise}
FILLS = {"solid": spy.FillMode.solid, "wireframe": spy.FillMode.wireframe}
DEPTHS = {name: _C[name] for name in ("less", "less_equal", "greater", "greater_equal", "equal", "always")}
STENCILS = {**DEPTHS, "not_equal": _C.not_equal, "never": _C.never}
BLENDS = {  # factors of the new and of the old colour; the same of alpha; the operation
    "alpha": (_B.src_alpha, _B.inv_src_alpha, _B.one, _B.inv_src_alpha, _O.add),
    "premultiplied": (_B.one, _B.inv_src_alpha, _B.one, _B.inv_src_alpha, _O.add),
    "add": (_B.one, _B.one, _B.one, _B.one, _O.add),
    "multiply": (_B.zero, _B.src_color, _B.zero, _B.src_alpha, _O.add),
    "min": (_B.one, _B.one, _B.one, _B.one, _O.min),
    "max": (_B.one, _B.one, _B.one, _B.one, _O.max),
}
STENCIL_FORMAT = "d32_float_s8_uint"
DEPTH_FORMATS = ("d32_float", "d16_unorm", STENCIL_FORMAT)
RESOLVES = ("first", "min", "max")


@dataclass(frozen=True)
class RasterState:
    """The state of a draw.

    Attributes:
        depth: the comparison that a fragment's depth passes; empty without a depth buffer.
        blend: how a colour joins the one that is there; empty to replace it.
        clear: the colour before the draw; empty to keep what the targets hold.
        clear_depth, clear_stencil: the depth and the stencil before it; below 0 to keep what there is.
        depth_resolve: how the samples of a pixel become one depth; empty if depth with several samples is no result.
        stencil: how the reference is compared with the stencil of a pixel; empty without a stencil.
        stencil_pass, stencil_fail, stencil_depth_fail: what becomes of the stencil where a fragment passes both tests, fails
            this one, and fails that of depth only.
        viewport: x, y, width and height in pixels, from the upper left corner; empty for the whole image.
    """

    topology: str = "triangles"
    cull: str = "none"
    front: str = "counter_clockwise"
    fill: str = "solid"
    depth: str = ""
    depth_write: bool = True
    depth_format: str = "d32_float"
    blend: str = ""
    samples: int = 1
    clear: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    clear_depth: float = 1.0
    viewport: tuple[float, ...] = ()
    depth_resolve: str = ""
    stencil: str = ""
    stencil_pass: str = "keep"
    stencil_fail: str = "keep"
    stencil_depth_fail: str = "keep"
    stencil_reference: int = 0
    stencil_read_mask: int = 255
    stencil_write_mask: int = 255
    clear_stencil: int = 0

    @property
    def has_depth(self) -> bool:
        """True if there is a buffer of depth, of stencils, or both."""
        return bool(self.depth or self.stencil)

    @property
    def keeps_depth(self) -> bool:
        """True if this buffer is a result: it has one sample for each pixel, or something makes one of several."""
        return self.has_depth and (self.samples == 1 or bool(self.depth_resolve))

    @property
    def depth_type(self) -> str:
        """The type of this result: that of depth, or of the stencil where there is no depth."""
        return "float" if self.depth else "uint"

    @property
    def keeps_contents(self) -> bool:
        """True if the draw keeps something that its targets hold."""
        return not self.clear or self.clear_depth < 0 or self.clear_stencil < 0

    def attrs(self) -> dict[str, Attr]:
        """Returns the state as attributes of a node."""
        own: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        numbers = ("clear", "viewport")
        return {name: tuple([repr(n) for n in value]) if name in numbers else value for name, value in own.items()}

    @staticmethod
    def of(attrs: Mapping[str, Attr]) -> RasterState:
        """Returns the state in the attributes of a node."""
        given = {f.name: attrs[f.name] for f in fields(RasterState)}
        numbers = {name: tuple(map(float, value)) for name, value in given.items() if isinstance(value, tuple)}
        return RasterState(**{**given, **numbers})  # type: ignore[arg-type]


@dataclass(frozen=True)
class RasterStage(PipelineStage):
    """The stages of one draw, with the formats of its colour targets."""

    state: RasterState
    formats: tuple[str, ...]

    def pipeline(self, device: spy.Device, program: spy.ShaderProgram) -> spy.RenderPipeline:
        """Creates the pipeline of a linked program."""
        state, given = self.state, dict[str, Any]()
        if state.has_depth:
            given["depth_stencil"] = spy.DepthStencilDesc(self._depth_and_stencil())
        return device.create_render_pipeline(
            program,
            None,
            TOPOLOGIES[state.topology],
            [self._target(format) for format in self.formats],
            rasterizer={"cull_mode": CULLS[state.cull], "front_face": FRONTS[state.front], "fill_mode": FILLS[state.fill]},
            multisample={"sample_count": state.samples},
            **given,
        )

    def _depth_and_stencil(self) -> Any:
        state = self.state
        described: dict[str, Any] = {
            "format": spy.Format[state.depth_format],
            "depth_test_enable": bool(state.depth),
            "depth_write_enable": bool(state.depth) and state.depth_write,
            "depth_func": DEPTHS[state.depth or "always"],
        }
        if state.stencil:
            face = face_with(STENCILS[state.stencil], state.stencil_fail, state.stencil_depth_fail, state.stencil_pass)
            masks = {"stencil_read_mask": state.stencil_read_mask, "stencil_write_mask": state.stencil_write_mask}
            described |= {"stencil_enable": True, "front_face": face, "back_face": face, **masks}
        return described

    def _target(self, format: str) -> spy.ColorTargetDesc:
        target = spy.ColorTargetDesc({"format": spy.Format[format]})
        if self.state.blend:
            new, old, new_alpha, old_alpha, op = BLENDS[self.state.blend]
            target.enable_blend = True
            target.color = {"src_factor": new, "dst_factor": old, "op": op}
            target.alpha = {"src_factor": new_alpha, "dst_factor": old_alpha, "op": op}
        return target


VERTEX_VALUES = {"SV_VertexID": "uint", "SV_InstanceID": "uint"}
FRAGMENT_VALUES = {"SV_Position": "float4", "SV_IsFrontFace": "bool", "SV_PrimitiveID": "uint", "SV_SampleIndex": "uint"}


def entry_point(stage: str, *lines: str) -> list[str]:
    """Returns the entry point of a stage: further attributes, the head, and the body."""
    return [f'[shader("{stage}")]', *lines]
