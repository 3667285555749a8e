"""Functions, constructors and methods of one name, as Slang's reflection knows them.

Reflection answers for functions, constructors and static methods. Of several non-static methods of one name it specialises
none (measured: it always returns ``None``), so these are asked one by one; where several accept and none is exact, Slang
chooses between functions of the same parameters that are generated for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import slangpy as spy

from fusepy.backend.sources.libraries import array_name, is_array
from fusepy.errors import InvalidNameError
from fusepy.ir.names import check_function_name, split_path
from fusepy.ir.oracle import IN, INOUT, OUT, THIS
from fusepy.ir.types import VOID, Kind, Type
from fusepy.ir.whole import spelled

_K = spy.TypeReflection.Kind
ENUM = "enum"
_KNOWN_KINDS = (ENUM, _K.scalar, _K.vector, _K.matrix, _K.array, _K.pointer, _K.struct, _K.resource, _K.sampler_state)
PICK = "fz_pick"
_T = TypeVar("_T")

RawParam = list[Any]  # name, type or None, direction: what JSON can hold
RawAnswer = list[Any]  # parameters, result
Pick = Callable[[str, Sequence[Type]], "RawAnswer | None"]


def found(value: _T) -> _T | None:
    """What a look-up returned. The stubs promise an object, but a name that Slang does not know gives ``None``."""
    return value


@dataclass(frozen=True)
class Callee:
    """What a name calls: `name` is the last part of its path, `owner` the type whose method it is, if any."""

    name: str
    function: spy.FunctionReflection
    owner: spy.TypeReflection | None
    scope: str = ""
    constructs: bool = False

    @staticmethod
    def find(layout: spy.ProgramLayout, name: str) -> Callee | None:
        """A function or method by name, or the constructor of the type of that name."""
        check_function_name(name)
        scope, last = split_path(name)
        owner = found(layout.find_type_by_name(scope)) if scope else None
        function = found(layout.find_function_by_name(name))
        if function is None and owner is not None:  # a generic type by its bare name
            function = found(layout.find_function_by_name_in_type(owner, last))
        if function is not None:
            return Callee(last, function, owner, scope)
        if name.startswith("operator"):
            return None
        type = found(layout.find_type_by_name(name))
        init = None if type is None else found(layout.find_function_by_name_in_type(type, "$init"))
        return None if init is None else Callee(last, init, None, constructs=True)

    def overloads(self) -> list[spy.FunctionReflection]:
        """Each by itself. A keyword such as ``sample``, or a constructor that is generic, is found as a set of nothing."""
        listed = [self.function]
        if self.function.is_overloaded:
            listed = [f for f in (self.function.overloads[i] for i in range(len(self.function.overloads))) if found(f)]
        if self.owner is not None and kind_of(self.owner) == _K.interface:  # its static methods have no body to call
            listed = [f for f in listed if self.takes_this(f)]
        return listed

    def takes_this(self, function: spy.FunctionReflection) -> bool:
        return self.owner is not None and not function.has_modifier(spy.ModifierID.static)

    def this(self, function: spy.FunctionReflection, type: str | None) -> RawParam:
        """The object that a method is called on, as its first parameter; one that may change it writes it back."""
        return [THIS, type, INOUT if function.has_modifier(spy.ModifierID.mutating) else IN]

    def declared(self, layout: spy.ProgramLayout, own: Sequence[spy.FunctionReflection] = ()) -> list[RawAnswer]:
        """Parameters and result of each overload, as written; of `own` ones only, where these are not all."""
        listed: list[RawAnswer] = []
        overloads = self.overloads()
        for function in own if own and len(own) < len(overloads) else overloads:
            params = [param(p, layout) for p in parameters(function)]
            if self.takes_this(function):
                assert self.owner is not None
                name = type_name(self.owner, layout)
                # a generic type by its bare name, or an interface: only the object can tell
                params.insert(0, self.this(function, name if name == Type.parse(self.scope).name else None))
            listed.append([params, declared_type(function.return_type, layout)])
        return listed

    def resolve(self, layout: spy.ProgramLayout, asked: Sequence[Type], pick: Pick) -> RawAnswer | None:
        """What Slang picks for arguments of these types."""
        types = [t for t in (found(layout.find_type_by_name(spelled(a))) for a in asked) if t is not None]
        overloads = self.overloads()
        if len(types) != len(asked) or not overloads:  # asking an empty set ends the process
            return None
        methods = [f for f in overloads if self.takes_this(f)]
        if not methods:
            special = found(self.function.specialize_with_arg_types(types))
            return None if special is None else answer(special, layout, len(types))
        return self._method(layout, asked, types, methods, pick) or self._static(layout, overloads, types)

    def _static(
        self, layout: spy.ProgramLayout, overloads: Sequence[spy.FunctionReflection], types: Sequence[spy.TypeReflection]
    ) -> RawAnswer | None:
        """A static method that shares its name with non-static ones."""
        special = [found(f.specialize_with_arg_types(types)) for f in overloads if not self.takes_this(f)]
        answers = [a for f in special if f is not None and (a := answer(f, layout, len(types))) is not None]
        return answers[0] if len(answers) == 1 else None

    def _method(
        self,
        layout: spy.ProgramLayout,
        asked: Sequence[Type],
        types: Sequence[spy.TypeReflection],
        methods: Sequence[spy.FunctionReflection],
        pick: Pick,
    ) -> RawAnswer | None:
        assert self.owner is not None
        if not types:
            return None
        given, owner = Type.parse(types[0].full_name), Type.parse(self.owner.full_name)
        if given is not owner:  # an interface, or a generic type by its bare name: the object's own method is meant
            generic = owner.name.split("<")[0] == self.scope == given.name.split("<")[0]
            if not generic and not conforms(layout, types[0], self.owner):
                return None
            own = Callee.find(layout, f"{given}::{self.name}")
            return None if own is None or own.owner is None else own.resolve(layout, asked, pick)
        answers: list[RawAnswer] = []
        for function in methods:
            special = found(function.specialize_with_arg_types(types[1:]))
            found_answer = None if special is None else answer(special, layout, len(types) - 1)
            if found_answer is not None:
                answers.append([[self.this(function, given.name), *found_answer[0]], found_answer[1]])
        exact = [a for a in answers if [p[1] for p in a[0][: len(asked)]] == [t.name for t in asked]]
        if exact or len(answers) < 2:
            return (exact or answers or [None])[0]
        return pick_one(answers, asked, pick)


def pick_one(answers: Sequence[RawAnswer], asked: Sequence[Type], pick: Pick) -> RawAnswer | None:
    """Which of several methods Slang takes, found out with free functions that have their parameters."""
    lines = [
        f"public void {PICK}({', '.join(f'{spelled(Type.parse(p[1]))} a{i}' for i, p in enumerate(a[0]))}) {{}}" for a in answers
    ]
    chosen = pick("\n".join(lines), asked)
    if chosen is None:
        return None
    wanted = [p[1] for p in chosen[0]]
    return next((a for a in answers if [p[1] for p in a[0]] == wanted), None)


def answer(special: spy.FunctionReflection, layout: spy.ProgramLayout, count: int) -> RawAnswer | None:
    """A specialised function as an answer; ``None`` where something is still generic: Slang could not infer it."""
    params = [param(p, layout, interfaces=True) for p in parameters(special)]
    result = declared_type(special.return_type, layout)
    return None if result is None or any(p[1] is None for p in params[:count]) else [params, result]


def parameters(function: spy.FunctionReflection) -> list[spy.VariableReflection]:
    return [function.parameters[i] for i in range(len(function.parameters))]


def param(variable: spy.VariableReflection, layout: spy.ProgramLayout, interfaces: bool = False) -> RawParam:
    """Name, type and direction of a parameter. An interface is a type in an answer only: declared, it is open like a generic."""
    # `inout` reports itself as out as well, so it is asked first
    direction = INOUT if variable.has_modifier(spy.ModifierID.inout) else OUT if variable.has_modifier(spy.ModifierID.out) else IN
    if interfaces and kind_of(variable.type) == _K.interface:
        return [variable.name, Type.parse(variable.type.full_name).name, direction]
    return [variable.name, declared_type(variable.type, layout), direction]


def declared_type(type: spy.TypeReflection | None, layout: spy.ProgramLayout) -> str | None:
    """A type's canonical name; ``None`` where it is generic or an interface and only a call can tell."""
    if type is None:
        return VOID.name
    return type_name(type, layout)


def kind_of(type: spy.TypeReflection) -> object:
    """What a type is made of."""
    try:
        return type.kind
    except ValueError:  # the bindings know all kinds but this one
        return ENUM


def conforms(layout: spy.ProgramLayout, type: spy.TypeReflection, interface: spy.TypeReflection) -> bool:
    """Whether a type is, or implements, an interface. Asked about other types than interfaces, Slang ends the process."""
    if type.full_name == interface.full_name:
        return True
    return kind_of(interface) == _K.interface and layout.is_sub_type(type, interface)


def type_name(type: spy.TypeReflection, layout: spy.ProgramLayout) -> str | None:
    kind = kind_of(type)
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
    open = bottom.kind is Kind.NAMED and (bottom is not name or "<" in name.name)  # Gen<T> or T[4] may be of a generic
    return None if open and found(layout.find_type_by_name(bottom.name)) is None else name.name


def _resource_name(type: spy.TypeReflection, name: Type) -> str | None:
    """The name of a texture, buffer or sampler, unless what it holds is generic; nothing offers itself as another resource."""
    if name.element is None:
        return name.name
    held = found(type.resource_result_type)
    known = held is not None and kind_of(held) in _KNOWN_KINDS
    return name.name if known and (name.head.endswith("StructuredBuffer") or name.element.dtype is not None) else None
