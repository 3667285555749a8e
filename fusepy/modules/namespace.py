"""`Namespace`: a Slang namespace of a module, with its functions, types and namespaces as attributes."""

from __future__ import annotations

from typing import Any, Protocol

from fusepy.backend.sealed import Sealed


class Named(Protocol):
    """A module or type scope with names."""

    @property
    def name(self) -> str:
        """The name of the module."""
        ...

    def __getitem__(self, name: str) -> Any: ...


class Namespace(Sealed):
    """A Slang namespace: ``m.ns.f`` is ``m["ns::f"]``.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_ns", "namespace ns { float f(float x) { return x + 1; } }")
        >>> m.ns.f(1.0)
        2.0
    """

    _assigning = {"": "give globals to a function of the module: m.f.set(k=2.0)"}

    def __init__(self, module: Named, path: str):
        self._module = module
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._module[f"{self._path}::{name}"]

    def __repr__(self) -> str:
        return f"<Slang namespace {self._path} of {self._module.name}>"
