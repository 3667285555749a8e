"""`SlangOracle`: answers to questions about modules, from Slang.

Answers are stored by module content, in memory and on disk (`Facts`), so a warm start asks nothing and loads nothing. Reflection
objects are not kept after a question, because sessions rotate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import slangpy as spy

from fusepy.backend.slang.compiler import Compiler
from fusepy.backend.slang.derivatives.differentiable import names_in, refusal
from fusepy.backend.slang.diagnostics import called
from fusepy.backend.slang.entry_points import groups_in, with_entry_points
from fusepy.backend.slang.facts import Facts
from fusepy.backend.slang.layouts import globals_of, layout_of, members_of
from fusepy.backend.slang.overloads import PICK, Callee, RawAnswer
from fusepy.backend.slang.reflection import conforms, kind_of, reflected
from fusepy.backend.slang.visible import as_asked, closures, declared_in, imports_of, own_answer, question_of
from fusepy.backend.sources.declarations import default_number
from fusepy.backend.sources.libraries import array_name, found, is_array, seen
from fusepy.backend.sources.memory.only_read import effects_of
from fusepy.backend.sources.prices import price
from fusepy.backend.sources.source import ModuleSource
from fusepy.backend.sources.symbols import Symbols, symbols_of
from fusepy.errors import UnknownNameError, did_you_mean
from fusepy.ir.names import split_path
from fusepy.ir.oracle import THIS, Answer, CallTypes, Layout, Param, Signature, StructMember
from fusepy.ir.types import Kind, Type
from fusepy.ir.whole import HOLDERS, struct_in

_K = spy.TypeReflection.Kind


class SlangOracle:
    """Answers about the modules of one graph. `sources` has the modules by their aliases."""

    def __init__(self, compiler: Compiler, sources: Mapping[str, ModuleSource], facts: Mapping[str, Facts]):
        self._compiler = compiler
        self._sources = dict(sources)
        self._facts = dict(facts)
        self.settled: dict[object, Any] | None = {}

    def add(self, alias: str, source: ModuleSource, facts: Facts) -> None:
        """Adds a module, when a trace uses it for the first time."""
        self._sources[alias] = source
        self._facts[alias] = facts

    # ---- the protocol -------------------------------------------------------------------------------------------

    def declared(self, module: str, function: str) -> Sequence[Signature]:
        raw = self._declared(module, function)
        if not raw:
            raise UnknownNameError(
                f"module {module!r} has no function {function!r}", hint=did_you_mean(function, self.symbols(module)["functions"])
            )
        return [Signature(tuple(map(_read_param, params)), Type.parse(result) if result else None) for params, result in raw]

    def resolve(self, module: str, function: str, types: Sequence[Type]) -> Answer | None:
        others = self._others(module, types)
        question = question_of(function, types, others)
        raw = self._facts[module].get("answers", question, lambda: self._resolve(module, function, types, others))
        if raw is None:
            return None
        params, result = raw
        return Answer(tuple(map(_read_param, params)), Type.parse(result))

    def diagnose(self, module: str, function: str, types: Sequence[Type]) -> str:
        others = self._others(module, types)
        question = question_of(function, types, others)
        return self._facts[module].get("diagnosed", question, lambda: self._diagnose(module, function, types, others))

    def fields(self, type: Type) -> Sequence[Param] | None:
        if type.kind is Kind.VECTOR:
            return [Param(name, type.element) for name in "xyzw"[: type.shape[0]]]
        for module in self._sources:
            raw = self._facts[module].get("fields", type.name, lambda m=module: members_of(type, reflected(self._module(m))))
            if raw is not None:
                return [Param(name, Type.parse(found) if found else None) for name, found in raw]
        return None

    def layout(self, type: Type) -> Layout | None:
        for module in self._sources:
            raw = self._facts[module].get("layouts", type.name, lambda m=module: layout_of(type, reflected(self._module(m))))
            if raw is not None:
                size, stride, alignment, fields, scalar = raw
                return Layout(
                    type,
                    size,
                    stride,
                    alignment,
                    tuple(StructMember(n, Type.parse(t), o, s) for n, t, o, s in fields),
                    self._sources[module],
                    Type.parse(scalar) if scalar else None,
                )
        return None

    def array_libraries(self, module: str) -> Sequence[str]:
        return self._facts[module].get("libraries", "", lambda: seen(reflected(self._module(module))))

    def array_type(self, module: str, name: str) -> Type | None:
        """Returns the array type that `module` calls `name`, such as ``Tensor<float,2>``, or None for other types."""

        def ask() -> str | None:
            layout = reflected(self._module(module))
            array = found(layout.find_type_by_name(name))
            return array_name(array, layout) if array is not None and is_array(array) else None

        known = self._facts[module].get("arrays", name, ask)
        type = Type.parse(known) if known is not None else None
        return type if type is not None and type.kind is Kind.WHOLE else None

    def conforms(self, type: Type, interface: Type) -> bool:
        def ask(module: str) -> bool:
            layout = reflected(self._module(module))
            super_ = found(layout.find_type_by_name(interface.name))
            if type.kind is Kind.WHOLE:  # an array converts to nothing else, so this type is an interface that it implements
                return super_ is not None and kind_of(super_) == _K.interface
            sub = found(layout.find_type_by_name(type.name))
            if sub is None or super_ is None:
                return False
            if "<" in type.name and kind_of(super_) == _K.interface:  # `is_sub_type` of these sometimes ends the process
                source = self._sources[module]
                text = f"import {source.name};\nvoid probe({type} a) {{ {interface} b = a; }}\n"
                return self._compiler.probe(text, [source]) is None
            return conforms(layout, sub, super_)

        return any(self._facts[m].get("conforms", f"{type}:{interface}", lambda m=m: ask(m)) for m in self._sources)

    def conforming(self, interface: Type) -> Sequence[Type] | None:
        for module in self._sources:
            raw = self._facts[module].get("conforming", interface.name, lambda module=module: self._conforming(module, interface))
            if raw is not None:
                return [Type.parse(name) for name in raw]
        return None

    def globals(self, module: str) -> dict[str, bool]:
        """Returns the globals of a module and of all its imports, each with true if a kernel can write to it."""
        ask = partial(globals_of, self._sources[module], self._compiler.linked)
        return self._facts[module].get("globals", "", ask)

    def effects(self, module: str, function: str) -> dict[str, bool]:
        """Returns ``writes`` for a function that can reach a writable global, and ``reads`` for one that only reads what it gets
        as pointers and writable arrays, according to the text of its modules."""
        source = self._sources[module]

        def ask() -> list[str]:
            return effects_of(function, [source], [name for name, written in self.globals(module).items() if written])

        return dict.fromkeys(self._facts[module].get("effects", function, ask), True)

    def price(self, module: str, function: str) -> float | None:
        return price(function, self._sources[module])

    def entry_points(self, module: str) -> dict[str, list[int]]:
        """Returns the entry points of a module that run as kernels, with their group sizes."""

        def ask() -> dict[str, list[int]]:
            source = self._sources[module]
            return groups_in(self._compiler.module(with_entry_points(source) if self._compiler.is_cuda else source))

        return self._facts[module].get("entries", "", ask)

    def default(self, module: str, function: str, signature: Signature, name: str) -> float | bool | None:
        """Returns the default of a parameter if it is a plain number; see `default_number`."""
        source = self._sources[module]
        names = [p.name for p in signature.params if p.name != THIS]
        last = split_path(function)[1].split("<")[0]
        spelled = "__init" if self.type_name(module, function) is not None else last

        def ask() -> float | bool | None:
            files = [Path(path).read_text(encoding="utf-8", errors="surrogateescape") for path, _ in source.files]
            return default_number([source.text, *files], spelled, names, name)

        return self._facts[module].get("defaults", f"{function}({','.join(names)}).{name}", ask)

    def undifferentiable(self, module: str, call: CallTypes, forward: bool = False) -> Sequence[str] | None:
        types = [type for _, type, _ in call.params]
        others = self._others(module, types)

        def ask() -> Sequence[str] | None:
            imports = self.imports(module, names_in(call), types)
            return refusal(self._compiler, self._sources[module], imports, call, forward, others)

        kind = "not forwards" if forward else "not backwards"
        return self._facts[module].get(kind, f"{call}{closures(others)}", ask)

    # ---- names --------------------------------------------------------------------------------------------------

    def symbols(self, module: str) -> Symbols:
        """Returns the names declared in a module, for messages and ``dir()``."""
        return self._facts[module].get("symbols", "", lambda: symbols_of(self._module(module), self._sources[module].text))

    def has_function(self, module: str, function: str) -> bool:
        """True if a function, method or constructor of this name is visible in `module`."""
        return bool(self._declared(module, function))

    def type_name(self, module: str, name: str) -> str | None:
        """Returns the canonical name of a type visible in `module`, or None. Aliases are resolved."""

        def ask() -> str | None:
            type = found(reflected(self._module(module)).find_type_by_name(name))
            if type is None:
                return None
            full = Type.parse(type.full_name).name
            return name if full.split("<")[0] == name else full  # the bare name of a generic type stays as it is

        return self._facts[module].get("types", name, ask)

    def is_namespace(self, module: str, name: str) -> bool:
        """True if `name` is a namespace of `module`. Reflection does not list namespaces, so the compiler is asked."""
        source = self._sources[module]
        text = "".join(f"import {n};\n" for n in (source.name, *source.imported())) + f"using namespace {name};\n"
        return self._facts[module].get("namespaces", name, lambda: self._compiler.probe(text, [source]) is None)

    def imports(self, module: str, names: Sequence[str], types: Sequence[Type] = ()) -> tuple[str, ...]:
        """Returns the modules that a kernel imports to use these names: the module, and some of its imports.

        Args:
            types: those that its functions are called with. Other modules may declare them.
        """
        source = self._sources[module]
        others = source.imported()

        def ask(name: str) -> list[str]:
            return imports_of(self._compiler, source, others, name)

        needed = [other for n in names if others for other in self._facts[module].get("imports", n, partial(ask, n))]
        homes = [other.name for other in self._others(module, types)]
        return tuple(dict.fromkeys([source.name, *needed, *homes]))

    # ---- asking -------------------------------------------------------------------------------------------------

    def _module(self, module: str) -> spy.SlangModule:
        return self._compiler.module(self._sources[module])

    def _find(self, module: str, function: str) -> Callee | None:
        return Callee.find(reflected(self._module(module)), function)

    def _declared(self, module: str, function: str) -> list[Any]:
        ask = partial(declared_in, self._compiler, self._sources[module], function)
        return self._facts[module].get("declared", function, ask)

    def _others(self, module: str, types: Sequence[Type]) -> list[ModuleSource]:
        """Returns the modules that declare structs among these types which `module` does not see."""
        held = [t for t in types if t.kind in HOLDERS]
        if not held:
            return []
        structs = [s for s in map(struct_in, held) if s is not None and self.type_name(module, s.name) is None]
        origins = [laid.origin for laid in map(self.layout, structs) if laid is not None]
        return list(dict.fromkeys(origin for origin in origins if isinstance(origin, ModuleSource)))

    def _resolve(self, module: str, function: str, types: Sequence[Type], others: Sequence[ModuleSource]) -> list[Any] | None:
        layout = self._layout(module, others)
        callee = Callee.find(layout, function)
        answer = None if callee is None else callee.resolve(layout, types, partial(self._pick, module, others))
        if answer is None:
            answer = own_answer(self._sources[module], function, types, self._declared(module, function))
        return answer and as_asked(answer, types, layout)

    def _layout(self, module: str, others: Sequence[ModuleSource], more: str = "") -> spy.ProgramLayout:
        """Returns the reflection of a module beside others, and beside more text."""
        if not others and not more:
            return reflected(self._module(module))
        sources = [self._sources[module], *others]
        return reflected(self._compiler.beside("".join(f"import {s.name};\n" for s in sources) + more, sources))

    def _pick(self, module: str, others: Sequence[ModuleSource], candidates: str, types: Sequence[Type]) -> RawAnswer | None:
        """Returns Slang's choice among functions of one name that are declared beside a module."""
        layout = self._layout(module, others, f"{candidates}\n")
        callee = Callee.find(layout, PICK)
        return None if callee is None else callee.resolve(layout, types, partial(self._pick, module, others))

    def _diagnose(self, module: str, function: str, types: Sequence[Type], others: Sequence[ModuleSource]) -> str:
        sources = [self._sources[module], *others]
        callee = self._find(module, function)
        method = callee is not None and bool(types) and any(callee.takes_this(f) for f in callee.overloads())
        if callee is not None and method:
            function = callee.name
        return self._compiler.probe(called(self.imports(module, [function], types), function, types, method), sources) or ""

    def _conforming(self, module: str, interface: Type) -> list[str] | None:
        layout = reflected(self._module(module))
        super_ = found(layout.find_type_by_name(interface.name))
        if super_ is None or kind_of(super_) != _K.interface:
            return None
        types = [found(layout.find_type_by_name(name)) for name in self.symbols(module)["types"]]
        plain = [t for t in types if t is not None and "<" not in t.full_name]
        return [t.full_name for t in plain if conforms(layout, t, super_)]


def _read_param(raw: Sequence[Any]) -> Param:
    name, type, direction, *array = raw
    return Param(name, Type.parse(type) if type else None, direction, bool(array))
