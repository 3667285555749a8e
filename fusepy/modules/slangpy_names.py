"""Names of slangpy's ``Module`` and ``Struct``. They are looked up last: a Slang name of the module hides them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from fusepy.backend.memory.element import program_layout
from fusepy.errors import UnknownNameError
from fusepy.functions.function import Function


def _device_module(module: Any) -> Any:
    return module.device.compiler.module(module._source)


def _layout(module: Any) -> Any:
    """Returns slangpy's reflection of the module, a ``slangpy.reflection.SlangProgramLayout``."""
    return program_layout(_device_module(module), module._oracle)


def _find_function_in_struct(module: Any) -> Callable[[Any, str], Function | None]:
    def find(struct: Any, name: str) -> Function | None:
        """Returns a method of a struct, which takes the object first; ``None`` if there is none."""
        path = struct if isinstance(struct, str) else struct.type.name
        try:
            found = module[path][name]
        except UnknownNameError:
            return None
        return found if isinstance(found, Function) else None

    return find


# by name; `Module` keeps what they return until its source changes
OF_MODULES: dict[str, Callable[[Any], Any]] = {
    "device_module": _device_module,
    "find_function_in_struct": _find_function_in_struct,
    "layout": _layout,
    "session": lambda module: _device_module(module).session,
}


_REFLECTED = frozenset((
    "buffer_layout", "derivative", "differentiable", "element_type", "fields", "full_name", "is_generic", "name", "num_dims",
    "program", "shape", "struct", "type_reflection", "uniform_layout", "vector_type_name",
))  # fmt: skip
_OF_MODULE = ("device", "device_module", "layout", "session")
OF_TYPES = _REFLECTED.union(_OF_MODULE, ["try_get_child"])


def of_type(type: Any, name: str) -> Any:
    """Returns what slangpy's ``Struct`` has under a name of `OF_TYPES`: a property of its reflection, or of its module."""
    module: Any = type.module
    if name in _REFLECTED:
        found = module.layout.find_type_by_name(type.type.name)
        return found if name == "struct" else getattr(found, name)
    if name == "try_get_child":
        return partial(_child, type)
    return getattr(module, name)


def _child(type: Any, name: str) -> Any:
    try:
        return type[name]
    except UnknownNameError:
        return None
