"""`SlangType`: a type as a module sees it."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from fusepy.backend.device.device import Device
from fusepy.backend.memory.element import Element
from fusepy.backend.sealed import Sealed
from fusepy.backend.slang.oracle import SlangOracle
from fusepy.backend.sources.symbols import Symbols
from fusepy.errors import ArgumentError, UnknownNameError
from fusepy.functions.function import Function
from fusepy.functions.nodes import Node, Use, wrong_count
from fusepy.inspect.lowered import QUESTIONS
from fusepy.ir.types import Kind, Type
from fusepy.language.constructors import of_arrays, of_numbers, recorded
from fusepy.modules.namespace import Named
from fusepy.modules.slangpy_names import OF_TYPES, of_type
from fusepy.pytree import LEAF, Structure
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced


class TypeScope(Named, Protocol):
    """The part of a module that its types need. Its own names are private: a public one would hide a Slang name."""

    _oracle: SlangOracle
    _symbols: Symbols
    _methods: dict[str, tuple[Function, bool]]

    @property
    def device(self) -> Device: ...

    def find_function(self, name: str) -> Function: ...

    def method(self, type: str, name: str) -> tuple[Function, bool]: ...

    def _check_reachable(self, name: str) -> None: ...


class SlangType(Sealed):
    """A type as a module sees it: for `vcast`, ``dtype=``, and as a constructor.

    Attributes:
        type: the Slang type.
        module: the module that it was looked up in.
    """

    _assigning = {"": "look up another type of the module: m['Name']"}

    def __init__(self, module: TypeScope, type: Type):
        self.module = module
        self.type = type
        self.__name__ = type.name

    @property
    def element(self) -> Element:
        """The layout in memory.

        Raises:
            UnsupportedArgumentError: if the type cannot be stored in memory.
        """
        return Element.of(self.type, self.module._oracle)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype: structured for a struct, with Slang's own offsets; the component type for a vector."""
        return self.element.dtype

    def __getattr__(self, name: str) -> Any:
        """Returns a type inside it, or a method. A method that is not static takes the object first: ``m.Ray.at(rays, t)``."""
        if name == "__init":  # slangpy's name of the constructors
            return self._constructor()
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self.module[f"{self.type.name}::{name}"]
        except UnknownNameError:
            if name in OF_TYPES:
                return of_type(self, name)
            if name not in QUESTIONS:
                raise
        if self.type.kind is not Kind.NAMED:
            raise ArgumentError(
                f"{self.type} runs inside of kernels of other functions, and has no kernel of its own",
                hint=f"ask a fused function that makes one: fp.fuse(lambda x: m.{self.type}(x)).{name}(x)",
            )
        return getattr(self._constructor(), name)

    def __dir__(self) -> list[str]:
        return sorted([*self.module._symbols["members"].get(self.type.name, ()), *super().__dir__()])

    def _constructor(self) -> Function:
        """Returns the constructors of a struct, as one function."""
        path, methods = self.type.name, self.module._methods
        if path not in methods:
            if not self.module._oracle.has_function(self.module.name, path):
                raise UnknownNameError(
                    f"{path} has no constructor that Slang's reflection shows",
                    hint="a generic __init does not show; write a static method that returns the object",
                )
            methods[path] = (self.module.find_function(path), False)
        return methods[path][0]

    def node(self, outputs: int | None = None) -> Node:
        """Returns the constructor as a node of a `Graph`: ``m.Ray.node()(position, direction)``; see `Function.node`."""
        return self._constructor().node(outputs) if self.type.kind is Kind.NAMED else Node(self, outputs)

    def _node_results(self, use: Use, outputs: int | None) -> Structure:
        if outputs not in (None, 1):
            raise wrong_count(use, outputs, "1 result")
        return LEAF

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Constructs values of this type: recorded in a trace, an array over the shape of arrays, else as ``fp.float3`` does.

        Raises:
            ArgumentError: if the arguments do not fit the constructor.
        """
        if self.type.kind is Kind.NAMED:
            return self._constructor()(*args, **kwargs)
        self.module._check_reachable(self.type.name)
        if kwargs:
            raise ArgumentError(f"{self.type} takes its components by position", hint=f"write {self.type}(x, y, …)")
        if current_trace() is not None or any(isinstance(a, Traced) for a in args):
            return recorded(self.type, args)
        made = of_arrays(self.type, args)
        return of_numbers(self.type, args) if made is None else made

    def __getitem__(self, name: str) -> Any:
        """Returns a type inside it, or a method, like the attribute of this name."""
        return getattr(self, name)

    def as_struct(self) -> SlangType:
        """Returns the type itself; slangpy's spelling of "this name is a type"."""
        return self

    def __eq__(self, other: object) -> bool:
        return other is self.type or (isinstance(other, SlangType) and other.type is self.type)

    def __hash__(self) -> int:
        return hash(self.type)

    def __repr__(self) -> str:
        return f"<Slang type {self.type}>"
