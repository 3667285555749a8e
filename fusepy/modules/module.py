"""`Module`: a Slang file or source, with its functions and types as attributes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from fusepy.backend.device.device import Device
from fusepy.backend.device.open import as_device
from fusepy.backend.sealed import Sealed
from fusepy.backend.shared import Shared
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import UnknownNameError, did_you_mean
from fusepy.functions.function import Function
from fusepy.functions.slang_tracer import Loaded
from fusepy.ir.names import check_function_name, check_identifier
from fusepy.ir.oracle import THIS
from fusepy.ir.types import Kind, Type
from fusepy.modules.lookup import BUILTIN, Lookup
from fusepy.modules.namespace import Namespace
from fusepy.modules.reload import forget_programs, reread
from fusepy.modules.slang_type import SlangType
from fusepy.modules.slangpy_names import OF_MODULES
from fusepy.modules.sources import source_of_file, source_of_linked, source_of_slangpy


class Module(Sealed, Shared, Lookup):
    """A Slang module on a device. Attributes are its functions and types: ``m.tonemap``, ``m.Ray``, ``m.float3``.

    `load`, `load_from_file` and `load_from_source` make it. ``Module(module)`` makes one of a module of slangpy's, as
    `from_slangpy` does.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_m", "float twice(float x) { return 2 * x; }")
        >>> m.twice(4.0)
        8.0
        >>> m["twice"]
        <Slang function twice of doc_m>
    """

    _free = ("logger",)  # programs for slangpy assign one
    _assigning = {"": "give globals to a function of the module: m.f.set(k=2.0)"}

    def __init__(
        self,
        device: Any,
        source: ModuleSource | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        link: Sequence[Any] = (),
        strict_broadcasting: bool = False,
        strict: bool = False,
    ):
        if source is None:
            device, source = source_of_slangpy(device)
        strict_broadcasting = strict_broadcasting or bool((options or {}).get("strict_broadcasting"))
        self._device: Device = device
        self._loaded = Loaded(source)
        self._strict = strict_broadcasting
        self._exact = strict
        self._linked = [source_of_linked(module).text for module in link]
        self._oracle = device.oracle({source.alias: source})
        self._found: dict[str, Any] = {}
        self._methods: dict[str, tuple[Function, bool]] = {}
        # a source that is known to compile (in this process or the disk cache) is loaded when first needed
        if not device.facts(source).data.get("symbols"):
            device.compiler.module(source)
            self._symbols = self._oracle.symbols(source.alias)
            device.save_facts()
        else:
            self._symbols = self._oracle.symbols(source.alias)
        device.modules.add(self)
        device.replaced.discard(source.closure)

    @property
    def _source(self) -> ModuleSource:
        return self._loaded.source

    @staticmethod
    def load_from_file(
        device: Any, path: str | os.PathLike[str], *, strict_broadcasting: bool = False, strict: bool = False, **kwargs: Any
    ) -> Module:
        """Loads a ``.slang`` file.

        Args:
            path: absolute, relative to the working directory, or in one of the device's include paths.
            strict: its functions refuse NumPy arrays that would have to be converted, see `Function.strict`.
            defines: preprocessor defines; ``options``: further compiler options of sgl.

        Raises:
            CompileError: if the file does not exist or Slang rejects it.
        """
        opened = as_device(device)
        source = source_of_file(opened, path, kwargs)
        return Module(opened, source, strict_broadcasting=strict_broadcasting, strict=strict)

    @staticmethod
    def load_from_source(
        device: Any,
        name: str,
        source: str,
        defines: Mapping[str, str | int | float] | None = None,
        options: Mapping[str, object] | None = None,
        *,
        strict_broadcasting: bool = False,
        strict: bool = False,
    ) -> Module:
        """Loads Slang source from a string; messages show `name`, an identifier.

        Raises:
            InvalidNameError: if `name` is not an identifier.
            CompileError: if Slang rejects the source.
        """
        opened = as_device(device)
        check_identifier(name, "module name")
        made = ModuleSource.make(name, source, "", opened.include_paths, defines, options)
        return Module(opened, made, strict_broadcasting=strict_broadcasting, strict=strict)

    @staticmethod
    def from_slangpy(module: Any, source: str | None = None) -> Module:
        """Makes a module of slangpy's into a fusepy one, with the same text, device and defines.

        Args:
            module: a ``slangpy.Module`` or ``slangpy.SlangModule``.
            source: the text of a module that was loaded from a string, which slangpy does not keep. It is needed once:
                after that, functions that take a module take the slangpy module too.

        Raises:
            ArgumentError: for anything else, a missing text, or a text that is not the module's.

        Example:
            >>> import fusepy as fp
            >>> text = "float twice(float x) { return 2 * x; }"
            >>> theirs = fp.default_device().sgl.load_module_from_source("doc_theirs", text)
            >>> fp.Module.from_slangpy(theirs, source=text).twice(4.0), fp.get_function(theirs, "twice")(5.0)
            (8.0, 10.0)
        """
        return Module(*source_of_slangpy(module, source))

    def reload(self, source: str | None = None) -> bool:
        """Reloads the module's source; True if anything has changed.

        The next calls of its functions, and of fused functions that use them, run the new source; signatures may change too.

        Args:
            source: the new text; by default the file is read again. Imported files are checked as well.

        Raises:
            CompileError: if Slang rejects it or the file is gone; then the old source stays.

        Example:
            >>> import fusepy as fp
            >>> m = fp.Module.load_from_source(fp.default_device(), "doc_reload", "float f(float x) { return x; }")
            >>> f = m.f
            >>> m.reload("float f(float x, float y = 2) { return x * y; }"), f(5.0, 3.0)
            (True, 15.0)
        """
        return self._take(self._reread(source))

    def _reread(self, text: str | None = None) -> ModuleSource:
        return reread(self._device, self._source, text)

    def _take(self, source: ModuleSource) -> bool:
        """Makes `source`, which compiles, the module's source; False if it is already."""
        old = self._source.closure
        if source.closure == old:
            return False
        self._oracle = self._device.oracle({source.alias: source})
        self._symbols = self._oracle.symbols(source.alias)
        self._loaded.replace(source)
        self._device.replaced.add(old)
        self._device.replaced.discard(source.closure)
        for name in list(self._found):
            vars(self).pop(name, None)
        self._found.clear()
        self._methods.clear()
        forget_programs(self._device, [old])
        return True

    @property
    def device(self) -> Device:
        return self._device

    @property
    def name(self) -> str:
        return self._source.alias

    def find_function(self, name: str) -> Function:
        """Returns the function of this name: ``f``, ``ns::f``, ``gf<float>``, ``Ray::at``.

        Raises:
            InvalidNameError: if `name` cannot name a function.
            UnknownNameError: if there is none; names the nearest.
            ArgumentError: for a function with the name of a built-in type, which hides it in Slang too.
        """
        check_function_name(name)
        self._check_reachable(name)
        found = Function(self._device, self._loaded, name, self)
        if not self._device.facts(self._source).data.get("declared", {}).get(name):
            self._oracle.declared(self._source.alias, name)  # raises if there is none
        for text in self._linked:
            found = found.prelude(text)
        found = found.strict_broadcasting() if self._strict else found
        return found.strict() if self._exact else found

    def find_type(self, name: str) -> SlangType:
        """Returns the type of this name, built in or declared by the module: ``float3``, ``Ray``, ``Pair<float>``.

        Raises:
            InvalidNameError: if `name` cannot name a type.
            UnknownNameError: if there is none; names the nearest.
        """
        found = self._type(name)
        if found is None:
            known = [*self._symbols["types"], *BUILTIN]
            raise UnknownNameError(f"module {self.name!r} has no type {name!r}", hint=did_you_mean(name, known))
        return found

    def _type(self, name: str) -> SlangType | None:
        """Returns a type that the module sees, an alias under the type's own name; array types of Slang libraries are arrays."""
        type = Type.parse(name)
        array = self._oracle.array_type(self.name, type.name) if "<" in name else None
        if type.kind is Kind.ARRAY and "[" in name:
            return None if self._type(name[: name.index("[")]) is None else SlangType(self, type)
        if array is not None or type.kind is not Kind.NAMED:
            return SlangType(self, array or type)
        own = self._oracle.type_name(self.name, type.name)
        return None if own is None else SlangType(self, Type.parse(own))

    def method(self, type: str, name: str) -> tuple[Function, bool]:
        """Returns the method `name` of a type of this module, and whether it takes the object (is not static).

        Raises:
            UnknownNameError: if there is none; names the nearest.
        """
        path = f"{type}::{name}"
        found = self._methods.get(path)
        if found is None:
            function = self[path]
            if not isinstance(function, Function):
                raise self._unknown(path)
            declared = self._oracle.declared(self.name, path)
            found = self._methods[path] = (function, any(s.params and s.params[0].name == THIS for s in declared))
        return found

    require_function = find_function  # slangpy's spellings
    require_struct = find_struct = find_type

    def __getitem__(self, name: str) -> Any:
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = self._look_up(name)
        return found

    def _look_up(self, name: str) -> Any:
        if name.startswith("operator"):
            return self.find_function(name)
        if name.endswith("]"):
            return self.find_type(name)
        check_function_name(name)
        found = self._type(name)
        if found is not None:
            return found
        if self._oracle.has_function(self.name, name):
            return self.find_function(name)
        if "<" not in name and self._oracle.is_namespace(self.name, name):
            return Namespace(self, name)
        raise self._unknown(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = self._found.get(name)
        if found is None:
            try:
                found = self[name]
            except UnknownNameError:
                if name not in OF_MODULES:
                    raise
                found = self._found[name] = OF_MODULES[name](self)
        vars(self)[name] = found  # so that Python finds it without this method next time
        return found

    def _find(self, name: str) -> bool:
        return self.__getattr__(name) is not None

    # TorchDynamo runs `_find`, and then finds an attribute
    _find._dynamo_marked_constant = True  # type: ignore[attr-defined]
    __getattr__._torchdynamo_inline = lambda self, name: getattr(self, name) if self._find(name) else None  # type: ignore[attr-defined]

    def __dir__(self) -> list[str]:
        return sorted([*self._symbols["functions"], *self._symbols["types"], *super().__dir__()])

    def __repr__(self) -> str:
        return f"<Slang Module name={self.name}, linked_modules={len(self._linked)}, on {self._device.name}>"
