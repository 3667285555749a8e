"""Python classes that stand for Slang structs: `Struct`, the decorator `struct`, and `InstanceTensor`.

An instance is a nested argument like any object with attributes. In addition, it knows its Slang type and has the methods of that
type.
"""

from __future__ import annotations

import inspect
import re
from abc import ABCMeta
from collections.abc import Mapping
from typing import Any, ClassVar, cast, get_args, get_origin

from fusepy.arguments.fields import FIELDS, TYPE
from fusepy.errors import ArgumentError
from fusepy.functions.function import BoundFunction, Function
from fusepy.modules.loading import as_module
from fusepy.modules.module import Module
from fusepy.modules.slang_type import SlangType, TypeScope
from fusepy.pytree import attributes


def bound(module: TypeScope, type: str, name: str, this: Any) -> Any:
    """Binds the method `name` of a Slang type to an object; a static method is returned as it is."""
    function, takes_this = module.method(type, name)
    return BoundFunction(function, this) if takes_this else function


class _Method:
    """A class attribute that becomes a Slang method of the instance."""

    def __init__(self, name: str):
        self.name = name

    def __get__(self, instance: Struct | None, owner: type | None = None) -> Any:
        return self if instance is None else bound(instance._module, instance._type, self.name, instance)  # pyright: ignore[reportPrivateUsage]

    def __repr__(self) -> str:
        return f"<Slang method {self.name}>"


class Struct(metaclass=ABCMeta):
    """Base of Python classes that stand for a Slang struct and have its methods.

    The class attribute ``_type`` names the struct; by default it is the name of the class. Its fields are the attributes of an
    instance: numbers, arrays, tensors, nested objects. Attributes annotated as `Function` are methods, static or not. A
    ``[mutating]`` method writes back to fields that are tensors or writable arrays; other fields keep their values. If no
    field can be written, the method returns the new object.

    Args:
        module: where the struct is declared; a `Module`, or one that slangpy has loaded.

    Raises:
        UnknownNameError: if the module has no such struct, or the struct no such method.

    Example:
        >>> import numpy as np
        >>> import fusepy as fp
        >>> source = "struct Scaler { float scale; void scale_value(inout float x) { x *= scale; } };"
        >>> module = fp.Module.load_from_source(fp.default_device(), "doc_scaler", source)
        >>> class Scaler(fp.Struct):
        ...     scale_value: fp.Function
        ...
        ...     def __init__(self, module, scale):
        ...         super().__init__(module)
        ...         self.scale = scale
        >>> numbers = np.array([1, 2, 3, 4], np.float32)
        >>> Scaler(module, 100.0).scale_value(numbers)
        >>> numbers
        array([100., 200., 300., 400.], dtype=float32)
    """

    _type: str
    _module: Module
    _methods: tuple[str, ...] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        said = next(
            (base.__dict__[TYPE] for base in cls.__mro__ if TYPE in base.__dict__ and "_named" not in base.__dict__), None
        )
        if said is None:
            cls._type, cls._named = cls.__name__, True  # type: ignore[attr-defined]
        methods = [name for name, kind in inspect.get_annotations(cls).items() if _is_function(kind)]
        cls._methods = tuple(dict.fromkeys((*cls._methods, *methods)))
        for name in methods:
            setattr(cls, name, _Method(name))
        FIELDS[cls] = attributes(_fields)

    def __init__(self, module: Any):
        module = as_module(module)
        module.find_type(self._type)
        for name in self._methods:
            module.method(self._type, name)
        self._module = module


Struct.register(SlangType)  # in slangpy, ``Struct`` is the class of ``module.Ray``


def _is_function(kind: Any) -> bool:
    """True if an annotation is `Function` or, in a dataclass, ``ClassVar[Function]``, as text or as an object."""
    if isinstance(kind, str):
        return re.fullmatch(r"(?:[\w.]*ClassVar\[)?(?:\w+\.)*Function\]?", kind.strip("'\"")) is not None
    return kind is Function or (get_origin(kind) is ClassVar and get_args(kind) == (Function,))


def _fields(value: Any) -> Mapping[str, Any]:
    held = cast("dict[str, Any]", value.__dict__)
    return {TYPE: value._type, **{k: v for k, v in held.items() if k[0] != "_"}}


def struct(name: str | type) -> Any:
    """Returns a decorator: the class stands for a Slang struct, as with `Struct`, without inheriting from it.

    The class takes the module as its first argument, before those of its own ``__init__``.

    Args:
        name: the Slang struct, ``@struct("Scaler")``; or the class itself, ``@struct``, for the struct of its name.

    Example:
        >>> import numpy as np
        >>> import fusepy as fp
        >>> source = "struct Scaler { float scale; float scaled(float x) { return x * scale; } };"
        >>> module = fp.Module.load_from_source(fp.default_device(), "doc_struct", source)
        >>> @fp.struct("Scaler")
        ... class Tripler:
        ...     scaled: fp.Function
        ...
        ...     def __init__(self):
        ...         self.scale = 3.0
        >>> Tripler(module).scaled([1.0, 2.0])
        [3.0, 6.0]
    """
    if isinstance(name, type):
        return _struct_class(name, name.__name__)
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError("struct() takes the name of a Slang struct", saw=repr(name), hint='write @struct("Ray"), or @struct')

    def stand_for(cls: Any) -> Any:
        return _struct_class(cls, name)

    return stand_for


def _struct_class(cls: type, name: str) -> type:
    def init(self: Any, module: Any, *args: Any, **kwargs: Any) -> None:
        Struct.__init__(self, module)
        cls.__init__(self, *args, **kwargs)

    body = {
        "__init__": init,
        "__doc__": cls.__doc__,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__annotations__": dict(inspect.get_annotations(cls)),
        TYPE: name,
    }
    return type(cls.__name__, (cls, Struct), body)
