"""fusepy: a lazy tracing and fusion compiler for functions written in the Slang shading language."""

import typing as _typing

from fusepy import debug, nn, random
from fusepy import errors as _errors
from fusepy import rays as _rays
from fusepy import scenes as _scenes
from fusepy import vocabulary as _vocabulary
from fusepy.arguments.key import register
from fusepy.arguments.mapping import pack, vcast, vdim, vmap, vmapping
from fusepy.backend.device.device import Device
from fusepy.backend.device.open import create_device, default_device, init_device
from fusepy.backend.device.stats import Stats, clear_cache, stats
from fusepy.backend.marshals.base import Description
from fusepy.backend.marshals.generators import Shape
from fusepy.backend.marshals.registry import Marshal
from fusepy.backend.memory.cursor import BufferCursor
from fusepy.backend.memory.element_cursor import ElementCursor
from fusepy.backend.memory.ndbuffer import NDBuffer, NDDifferentiableBuffer
from fusepy.backend.memory.tensor import Tensor
from fusepy.debug.show import ShownImage, show
from fusepy.deferred.capture import Capture, capture
from fusepy.deferred.explain import explain
from fusepy.deferred.record import lazy
from fusepy.drawing import Raster, antialias, interpolate, opposite_corners, raster, rasterize, render
from fusepy.errors import *  # noqa: F403
from fusepy.functions.dispatch import Dispatch
from fusepy.functions.function import Function
from fusepy.functions.fused import FusedFunction, fuse
from fusepy.functions.nodes import GraphValue, Node
from fusepy.graphs.graph import Graph
from fusepy.inspect.explain import Explanation
from fusepy.inspect.lowered import Lowered
from fusepy.inspect.pixel_report import PixelReport, PixelValue
from fusepy.inspect.profile import Profile, profile
from fusepy.inspect.resolution import Resolved, resolve
from fusepy.ir.types import Type
from fusepy.language import math as _math
from fusepy.language import movement as _movement
from fusepy.language import reductions as _reductions
from fusepy.language.autotune import autotune
from fusepy.language.batchable import Batchable, is_batchable_like
from fusepy.language.check_grads import check_grads
from fusepy.language.differentiable import differentiable, is_differentiable_like, stop_gradient
from fusepy.language.forward import diffpair, jvp
from fusepy.language.generators import call_id, grid, rand_float, thread_id, wang_hash
from fusepy.language.gradients import grad, value_and_grad, vjp
from fusepy.language.loops import cond, fori_loop, while_loop
from fusepy.language.math import *  # noqa: F403
from fusepy.language.movement import *  # noqa: F403
from fusepy.language.pixel import inspect_pixel
from fusepy.language.reductions import *  # noqa: F403
from fusepy.modules.instance_list import InstanceList
from fusepy.modules.instance_tensor import InstanceTensor
from fusepy.modules.loading import get_function, load, reload_all
from fusepy.modules.module import Module
from fusepy.modules.node_library import NodeLibrary
from fusepy.modules.slang_type import SlangType
from fusepy.modules.struct import BoundFunction, Struct, struct
from fusepy.nn.training import training_step
from fusepy.rays import *  # noqa: F403
from fusepy.scenes import *  # noqa: F403
from fusepy.trace.setup import CallContext
from fusepy.vocabulary import *  # noqa: F403

if _typing.TYPE_CHECKING:
    from fusepy.language.spellings import *  # noqa: F403
else:  # looked up on demand, so that `dir` lists fusepy's own names only
    from fusepy.language.spellings import spelled as __getattr__  # noqa: F401

__version__ = "0.1.0"

__all__ = [
    "Batchable", "BoundFunction", "BufferCursor", "CallContext", "Capture", "Description", "Device", "Dispatch",
    "ElementCursor", "Explanation", "Function", "FusedFunction", "Graph", "GraphValue", "InstanceList",
    "InstanceTensor", "Lowered", "Marshal", "Module", "NDBuffer", "NDDifferentiableBuffer", "Node", "NodeLibrary",
    "PixelReport", "PixelValue", "Profile", "Resolved", "Shape", "ShownImage", "SlangType", "Stats", "Struct",
    "Tensor", "Type", "autotune", "call_id", "capture", "check_grads", "clear_cache", "cond", "create_device",
    "debug", "default_device", "differentiable", "diffpair", "explain", "fori_loop", "fuse", "get_function", "grad",
    "grid", "init_device", "inspect_pixel", "is_batchable_like", "is_differentiable_like", "jvp", "lazy", "load",
    "nn", "pack", "profile", "rand_float", "random", "register", "reload_all", "render", "resolve", "show", "stats",
    "stop_gradient", "struct", "thread_id", "training_step", "value_and_grad", "vcast", "vdim", "vjp", "vmap",
    "vmapping", "wang_hash", "while_loop",
]  # fmt: skip
__all__ += _errors.__all__
__all__ += _math.__all__
__all__ += _reductions.__all__
__all__ += _movement.__all__
__all__ += _vocabulary.__all__
__all__ += _rays.__all__
__all__ += _scenes.__all__
__all__ += ["Raster", "antialias", "interpolate", "opposite_corners", "raster", "rasterize"]


def __dir__() -> list[str]:
    """Lists public names; fusepy's packages are attributes too, but not for users."""
    return sorted([*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"])
