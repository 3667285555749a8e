"""`SlangOracle`: the only place that reads Slang's reflection.

Answers are remembered by module content, in memory and on disk (`Facts`), so a warm start asks nothing and loads nothing.
Reflection objects never leave a question: sessions rotate under them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import slangpy as spy

from fusepy.backend.libraries import array_name, is_array, seen
from fusepy.backend.reads import reachable, texts_of
from fusepy.backend.session import Compiler
from fusepy.backend.source import ModuleSource
from fusepy.errors import InvalidNameError, UnknownNameError, UnsupportedArgumentError, did_you_mean
from fusepy.ir.oracle import IN, INOUT, OUT, Answer, Field, Layout, Param, Signature
from fusepy.ir.types import BOOL, VOID, Kind, Type, check_function_name, pair_of
from fusepy.ir.whole import library, spelled

FACTS_VERSION = 4  # part of the key of facts on disk; raise it when what is recorded changes
_K = spy.TypeReflection.Kind
_ENUM = "enum"
_KNOWN_KINDS = (_ENUM, _K.scalar, _K.vector, _K.matrix, _K.array, _K.pointer, _K.struct, _K.resource, _K.sampler_state)


_T = TypeVar("_T")


def _found(value: _T) -> _T | None:
    """What a look-up returned. The stubs promise an object, but a name that Slang does not know gives ``None``."""
    return value


class Facts:
    """What Slang said about one module: symbols, signatures, answers and layouts, as plain data that JSON can hold."""

    def __init__(self, data: dict[str, Any] | None = None):
        self.data: dict[str, Any] = data or {}
        self.changed = False

    def get(self, kind: str, question: str, ask: Callable[[], Any]) -> Any:
        """The recorded answer to `question`, asking at most once."""
        table = self.data.setdefault(kind, {})
        if question not in table:
            table[question] = ask()
            self.changed = True
        return table[question]


class SlangOracle:
    """Answers about the modules of one graph, which `sources` names by their aliases."""

    def __init__(self, compiler: Compiler, sources: Mapping[str, ModuleSource], facts: Mapping[str, Facts]):
        self._compiler = compiler
        self._sources = dict(sources)
        self._facts = dict(facts)

    def add(self, alias: str, source: ModuleSource, facts: Facts) -> None:
        """Makes one more module known, as a trace meets it."""
        self._sources[alias] = source
        self._facts[alias] = facts

    # ---- the protocol -------------------------------------------------------------------------------------------

    def declared(self, module: str, function: str) -> Sequence[Signature]:
        raw = self._facts[module].get("declared", function, lambda: self._declared(module, function))
        if not raw:
            raise UnknownNameError(
                f"module {module!r} has no function {function!r}", hint=did_you_mean(function, self.symbols(module)["functions"])
            )
        return [Signature(tuple(map(_read_param, params)), Type.parse(result) if result else None) for params, result in raw]

    def resolve(self, module: str, function: str, types: Sequence[Type]) -> Answer | None:
        question = f"{function}({','.join(t.name for t in types)})"
        raw = self._facts[module].get("answers", question, lambda: self._resolve(module, function, types))
        if raw is None:
            return None
        params, result = raw
        return Answer(tuple(map(_read_param, params)), Type.parse(result))

    def diagnose(self, module: str, function: str, types: Sequence[Type]) -> str:
        question = f"{function}({','.join(t.name for t in types)})"
        return self._facts[module].get("diagnosed", question, lambda: self._diagnose(module, function, types))

    def fields(self, type: Type) -> Sequence[Param] | None:
        if type.kind is Kind.VECTOR:
            return [Param(name, type.element) for name in "xyzw"[: type.shape[0]]]
        for module in self._sources:
            raw = self._facts[module].get("fields", type.name, lambda module=module: self._members(module, type))
            if raw is not None:
                return [Param(name, Type.parse(found) if found else None) for name, found in raw]
        return None

    def layout(self, type: Type) -> Layout | None:
        for module in self._sources:
            raw = self._facts[module].get("layouts", type.name, lambda module=module: self._layout(module, type))
            if raw is not None:
                size, stride, alignment, fields, scalar = raw
                return Layout(
                    type,
                    size,
                    stride,
                    alignment,
                    tuple(Field(n, Type.parse(t), o, s) for n, t, o, s in fields),
                    self._sources[module],
                    Type.parse(scalar) if scalar else None,
                )
        return None

    def array_libraries(self, module: str) -> Sequence[str]:
        return self._facts[module].get("libraries", "", lambda: seen(self._module(module).layout))

    def array_type(self, module: str, name: str) -> Type | None:
        """The whole array that `module` calls `name`, ``Tensor<float,2>``; ``None`` if that is something else."""

        def ask() -> str | None:
            layout = self._module(module).layout
            found = _found(layout.find_type_by_name(name))
            return array_name(found, layout) if found is not None and is_array(found) else None

        found = self._facts[module].get("arrays", name, ask)
        type = Type.parse(found) if found is not None else None
        return type if type is not None and type.kind is Kind.WHOLE else None

    def conforms(self, type: Type, interface: Type) -> bool:
        def ask(module: str) -> bool:
            layout = self._module(module).layout
            super_ = _found(layout.find_type_by_name(interface.name))
            if type.kind is Kind.WHOLE:  # converts to nothing else, so what Slang has taken it for is an interface that it has
                return super_ is not None and _kind(super_) == _K.interface
            sub = _found(layout.find_type_by_name(type.name))
            return sub is not None and super_ is not None and layout.is_sub_type(sub, super_)

        return any(self._facts[m].get("conforms", f"{type}:{interface}", lambda m=m: ask(m)) for m in self._sources)

    def globals(self, module: str) -> dict[str, bool]:
        """The globals of a module and of all that it imports; for each whether a kernel can write to it."""
        return self._facts[module].get("globals", "", lambda: _globals(self._compiler.linked(self._sources[module])))

    def writes(self, module: str, function: str) -> bool:
        """Whether a function can reach a global that can be written, as far as the text of its modules tells."""
        source = self._sources[module]

        def ask() -> bool:
            written = [name for name, writable in self.globals(module).items() if writable]
            return bool(written) and not reachable(function, texts_of([source])).isdisjoint(written)

        return self._facts[module].get("writes", function, ask)

    def entry_points(self, module: str) -> dict[str, list[int]]:
        """The entry points of a module that run as kernels, with their thread groups."""
        return self._facts[module].get("entries", "", lambda: _entries(self._module(module)))

    # ---- names --------------------------------------------------------------------------------------------------

    def symbols(self, module: str) -> dict[str, list[str]]:
        """Names declared at the top of a module: ``functions`` and ``types``."""
        return self._facts[module].get("symbols", "", lambda: _symbols(self._module(module)))

    def is_type(self, module: str, name: str) -> bool:
        """Whether `name` is a type that `module` sees."""
        return self._facts[module].get(
            "types", name, lambda: _found(self._module(module).layout.find_type_by_name(name)) is not None
        )

    # ---- asking -------------------------------------------------------------------------------------------------

    def _module(self, module: str) -> spy.SlangModule:
        return self._compiler.module(self._sources[module])

    def _find(self, module: str, function: str) -> spy.FunctionReflection | None:
        """A function by name, or the constructor of the type of that name."""
        check_function_name(function)
        layout = self._module(module).layout
        found = _found(layout.find_function_by_name(function))
        if found is not None or function.startswith("operator"):
            return found
        type = _found(layout.find_type_by_name(function))
        return None if type is None else _found(layout.find_function_by_name_in_type(type, "$init"))

    def _declared(self, module: str, function: str) -> list[Any]:
        found = self._find(module, function)
        if found is None:
            return []
        overloads = [found.overloads[i] for i in range(len(found.overloads))] if found.is_overloaded else [found]
        own = _own(self._module(module), function)
        if own and len(own) < len(overloads):
            overloads = own  # the rest are Slang's own functions of that name, which the user's hide
        # a keyword such as `sample` is found as an overload set of nothing
        layout = self._module(module).layout
        return [
            [[_param(p, layout) for p in _parameters(f)], _declared_type(f.return_type, layout)] for f in overloads if _found(f)
        ]

    def _resolve(self, module: str, function: str, types: Sequence[Type]) -> list[Any] | None:
        found = self._find(module, function)
        layout = self._module(module).layout
        asked = [_found(layout.find_type_by_name(spelled(t))) for t in types]
        if found is None or any(t is None for t in asked):
            return None
        special = _found(found.specialize_with_arg_types([t for t in asked if t is not None]))
        if special is None:
            return None
        params = [_param(p, layout, interfaces=True) for p in _parameters(special)]
        result = _declared_type(special.return_type, layout)
        if result is None or any(p[1] is None for p in params[: len(types)]):
            return None  # something is still generic: Slang could not infer it from these types
        return [params, result]

    def _diagnose(self, module: str, function: str, types: Sequence[Type]) -> str:
        source = self._sources[module]
        declared = "\n".join(
            f"    {spelled(t)} a{i};" for i, t in enumerate(types) if t.kind not in (Kind.POINTER, Kind.RESOURCE)
        )
        pointers = "\n".join(f"    Ptr<{t.element}> a{i} = {{}};" for i, t in enumerate(types) if t.kind is Kind.POINTER)
        resources = ", ".join(f"{t} a{i}" for i, t in enumerate(types) if t.kind is Kind.RESOURCE)
        call = f"{function}({', '.join(f'a{i}' for i in range(len(types)))})"
        libraries = dict.fromkeys(library(t) for t in types if t.kind is Kind.WHOLE)
        imports = "\n".join(f"import {name};" for name in (source.name, *libraries))
        text = f"{imports}\nvoid probe({resources})\n{{\n{declared}\n{pointers}\n    {call};\n}}\n"
        return self._compiler.probe(text, [source]) or ""

    def _members(self, module: str, type: Type) -> list[Any] | None:
        layout = self._module(module).layout
        found = _found(layout.find_type_by_name(type.name))
        if found is None or _kind(found) != _K.struct or type.optional is not None:
            return None
        value = pair_of(type)
        if value is not None:
            pair = _pair_layout(layout, value)
            return pair and [[name, member] for name, member, _, _ in pair[3]]
        return [[f.name, _type_name(f.type, layout)] for f in found.fields]

    def _layout(self, module: str, type: Type) -> list[Any] | None:
        layout = self._module(module).layout
        found = _found(layout.find_type_by_name(type.name))
        if found is None or _kind(found) not in (_K.struct, _ENUM):
            return None
        value = pair_of(type)
        if value is not None:
            return _pair_layout(layout, value)
        laid = layout.get_type_layout(found)
        if _kind(found) == _ENUM:
            return [laid.size, laid.stride, laid.alignment, [], layout.find_type_by_name(f"{type.name}.__Tag").full_name]
        fields = [laid.fields[i] for i in range(len(laid.fields))]
        listed = [[*_member(type, i, f, layout), f.offset, f.type_layout.size] for i, f in enumerate(fields)]
        for name, kind, _, _ in listed:
            if kind is None:
                raise UnsupportedArgumentError(
                    f"member {name!r} of struct {type} cannot live in memory",
                    saw=fields[[n for n, *_ in listed].index(name)].variable.type.full_name,
                    expected="numbers, vectors, matrices, arrays, enums, Optional, pointers, and structs of them",
                    hint="keep resources out of it; for an interface, name the concrete struct, or make the struct generic",
                )
        return [laid.size, laid.stride, laid.alignment, listed, None]


def _pair_layout(layout: spy.ProgramLayout, value: Type) -> list[Any] | None:
    """A ``DifferentialPair``, of which reflection tells nothing: the value, and behind it its derivative."""
    derived = _found(layout.find_type_by_name(f"{value.name}.Differential"))
    first, name = _found(layout.find_type_by_name(value.name)), derived and _type_name(derived, layout)
    if derived is None or first is None or name is None:
        return None
    p, d = layout.get_type_layout(first), layout.get_type_layout(derived)
    offset = -(-p.size // d.alignment) * d.alignment
    alignment = max(p.alignment, d.alignment)
    size = offset + d.size
    return [size, -(-size // alignment) * alignment, alignment, [["p", value.name, 0, p.size], ["d", name, offset, d.size]], None]


def _parameters(function: spy.FunctionReflection) -> list[spy.VariableReflection]:
    return [function.parameters[i] for i in range(len(function.parameters))]


def _param(variable: spy.VariableReflection, layout: spy.ProgramLayout, interfaces: bool = False) -> list[Any]:
    """Name, type and direction of a parameter. An interface is a type in an answer only: declared, it is open like a generic."""
    # `inout` reports itself as out as well, so it is asked first
    direction = INOUT if variable.has_modifier(spy.ModifierID.inout) else OUT if variable.has_modifier(spy.ModifierID.out) else IN
    if interfaces and _kind(variable.type) == _K.interface:
        return [variable.name, Type.parse(variable.type.full_name).name, direction]
    return [variable.name, _declared_type(variable.type, layout), direction]


def _kind(type: spy.TypeReflection) -> object:
    """What a type is made of."""
    try:
        return type.kind
    except ValueError:  # the bindings know all kinds but this one
        return _ENUM


def _member(owner: Type, position: int, field: spy.VariableLayoutReflection, layout: spy.ProgramLayout) -> tuple[str, str | None]:
    """Name and type of a member; those of ``Optional`` have neither in reflection."""
    variable = _found(field.variable)
    if variable is None:
        return (
            (f"item{position}", None)
            if owner.optional is None
            else [("value", owner.optional.name), ("hasValue", BOOL.name)][position]
        )
    return variable.name, _type_name(variable.type, layout)


def _declared_type(type: spy.TypeReflection | None, layout: spy.ProgramLayout) -> str | None:
    """A type's canonical name; ``None`` where it is generic or an interface and only a call can tell."""
    if type is None:
        return VOID.name
    return _type_name(type, layout)


def _type_name(type: spy.TypeReflection, layout: spy.ProgramLayout) -> str | None:
    kind = _kind(type)
    if kind == _K.struct and is_array(type):
        return array_name(type, layout)
    if kind == _K.scalar or type.full_name == "void":
        return Type.parse(type.full_name).name
    if kind not in _KNOWN_KINDS:
        return None
    try:
        name = Type.parse(type.full_name)
    except InvalidNameError:  # an extent that is still a generic parameter: float[N]
        return None
    if kind in (_K.resource, _K.sampler_state):
        return _resource_name(type, name)
    bottom = name
    while bottom.element is not None:
        bottom = bottom.element
    if kind in (_K.vector, _K.matrix) and name.scalar is None:
        return None  # vector<T, N> of a generic
    if bottom.kind is Kind.NAMED and kind in (_K.vector, _K.matrix):
        return None
    return name.name


def _own(module: spy.SlangModule, function: str) -> list[spy.FunctionReflection]:
    """The overloads of a function that the module itself declares at its top; none if one of them is generic."""
    found: list[spy.FunctionReflection] = []
    for i in range(len(module.module_decl)):
        child = module.module_decl[i]
        try:
            kind = child.kind
        except ValueError:  # a namespace or an enum
            continue
        if kind == spy.DeclReflection.Kind.func and child.name == function:
            found.append(child.as_function())
        elif kind == spy.DeclReflection.Kind.generic and any(
            child[j].name == function for j in range(len(child)) if _is_func(child[j])
        ):
            return []
    return found


def _is_func(decl: spy.DeclReflection) -> bool:
    try:
        return decl.kind == spy.DeclReflection.Kind.func
    except ValueError:
        return False


def _resource_name(type: spy.TypeReflection, name: Type) -> str | None:
    """The name of a texture, buffer or sampler, unless what it holds is generic; nothing offers itself as another resource."""
    if name.element is None:
        return name.name
    held = _found(type.resource_result_type)
    known = held is not None and _kind(held) in _KNOWN_KINDS
    return name.name if known and (name.head.endswith("StructuredBuffer") or name.element.dtype is not None) else None


def _symbols(module: spy.SlangModule) -> dict[str, list[str]]:
    """The names at the top of a module, for messages and ``dir()``; namespaces are not listed by the bindings."""
    names: dict[str, list[str]] = {"functions": [], "types": []}
    pending = [module.module_decl]
    while pending:
        decl = pending.pop()
        for i in range(len(decl)):
            child = decl[i]
            try:
                kind = child.kind
            except ValueError:  # namespaces and enums have kinds that the bindings do not know
                continue
            if kind == spy.DeclReflection.Kind.generic:
                pending.append(child)  # the generic itself has no name; what it declares has
            elif kind == spy.DeclReflection.Kind.func:
                names["functions"].append(child.name)
            elif kind == spy.DeclReflection.Kind.struct:
                names["types"].append(child.name)
    return {k: sorted({n for n in v if n and not n.startswith("$")}) for k, v in names.items()}


def _globals(program: spy.ShaderProgram) -> dict[str, bool]:
    parameters = program.layout.parameters
    listed = [parameters[i] for i in range(len(parameters))]
    return {p.name: _can_write(p.type_layout) for p in listed}


def _can_write(layout: spy.TypeLayoutReflection) -> bool:
    """Whether memory can be written through a parameter: a writable resource, or a pointer."""
    if layout.kind == _K.resource:
        read = (spy.TypeReflection.ResourceAccess.read, spy.TypeReflection.ResourceAccess.none)
        return layout.type.resource_access not in read
    if layout.kind == _K.struct:
        return any(_can_write(layout.fields[i].type_layout) for i in range(len(layout.fields)))
    if layout.kind in (_K.array, _K.parameter_block, _K.constant_buffer):
        return _can_write(layout.element_type_layout)
    return layout.kind == _K.pointer


def _entries(module: spy.SlangModule) -> dict[str, list[int]]:
    found = [e for e in module.entry_points if e.stage == spy.ShaderStage.compute]
    return {e.name: [*e.layout.compute_thread_group_size] for e in found}


def _read_param(raw: Sequence[Any]) -> Param:
    name, type, direction = raw
    return Param(name, Type.parse(type) if type else None, direction)
