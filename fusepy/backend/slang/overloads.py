"""Overloads of a function, constructor or method, from Slang's reflection.

Reflection resolves functions, constructors and static methods. It does not specialise overloaded non-static methods (measured: it
always returns ``None``), so each overload is resolved by itself. If several match and none is exact, Slang chooses between
generated functions with the same parameters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import slangpy as spy

from fusepy.backend.slang.reflection import (
    RawParam,
    TypeKind,
    conforms,
    declared_type,
    found,
    kind_of,
    param,
    parameters,
    type_name,
)
from fusepy.ir.names import check_function_name, split_path
from fusepy.ir.oracle import IN, INOUT, THIS
from fusepy.ir.types import Type
from fusepy.ir.whole import spelled

PICK = "fz_pick"

RawAnswer = list[Any]  # parameters, result
Pick = Callable[[str, Sequence[Type]], "RawAnswer | None"]


@dataclass(frozen=True)
class Callee:
    """The target of a call. `name` is the last part of its path, `owner` the type whose method it is, if any."""

    name: str
    function: spy.FunctionReflection
    owner: spy.TypeReflection | None
    scope: str = ""
    constructs: bool = False

    @staticmethod
    def find(layout: spy.ProgramLayout, name: str) -> Callee | None:
        """Returns the function or method of this name, or the constructor of the type of this name."""
        check_function_name(name)
        scope, last = split_path(name)
        owner = found(layout.find_type_by_name(scope)) if scope else None
        function = found(layout.find_function_by_name(name))
        if function is None and owner is not None:  # the bare name of a generic type
            function = found(layout.find_function_by_name_in_type(owner, last))
        if function is not None:
            return Callee(last, function, owner, scope)
        if name.startswith("operator"):
            return None
        type = found(layout.find_type_by_name(name))
        init = None if type is None else found(layout.find_function_by_name_in_type(type, "$init"))
        return None if init is None else Callee(last, init, None, constructs=True)

    def overloads(self) -> list[spy.FunctionReflection]:
        """Returns the single overloads. A keyword such as ``sample``, or a generic constructor, has none."""
        listed = [self.function]
        if self.function.is_overloaded:
            listed = [f for f in (self.function.overloads[i] for i in range(len(self.function.overloads))) if found(f)]
        if self.owner is not None and kind_of(self.owner) == TypeKind.interface:  # static methods of an interface have no body
            listed = [f for f in listed if self.takes_this(f)]
        return listed

    def takes_this(self, function: spy.FunctionReflection) -> bool:
        return self.owner is not None and not function.has_modifier(spy.ModifierID.static)

    def this(self, function: spy.FunctionReflection, type: str | None) -> RawParam:
        """Returns the object of a method call as its first parameter. A method that may change the object writes it back."""
        return [THIS, type, INOUT if function.has_modifier(spy.ModifierID.mutating) else IN]

    def declared(self, layout: spy.ProgramLayout, own: Sequence[spy.FunctionReflection] = ()) -> list[RawAnswer]:
        """Returns parameters and result of each overload, as declared. `own` limits them to the module's own."""
        listed: list[RawAnswer] = []
        overloads = self.overloads()
        for function in own if own and len(own) < len(overloads) else overloads:
            params = [param(p, layout) for p in parameters(function)]
            if self.takes_this(function):
                assert self.owner is not None
                name = type_name(self.owner, layout)
                # the bare name of a generic type, or an interface: only the object decides
                params.insert(0, self.this(function, name if name == Type.parse(self.scope).name else None))
            listed.append([params, declared_type(function.return_type, layout)])
        return listed

    def beyond(self, core: Callee | None) -> list[spy.FunctionReflection]:
        """Returns the overloads that Slang's own function of this name does not have."""
        left = Counter([written(f) for f in core.overloads()] if core is not None else [])
        kept: list[spy.FunctionReflection] = []
        for function in self.overloads():
            text = written(function)
            left[text] -= 1
            if left[text] < 0:
                kept.append(function)
        return kept

    def resolve(self, layout: spy.ProgramLayout, asked: Sequence[Type], pick: Pick) -> RawAnswer | None:
        """Returns the overload that Slang picks for arguments of these types."""
        types = [t for t in (found(layout.find_type_by_name(spelled(a))) for a in asked) if t is not None]
        overloads = self.overloads()
        if len(types) != len(asked) or not overloads:  # an empty set ends the process
            return None
        methods = [f for f in overloads if self.takes_this(f)]
        if not methods:
            special = found(self.function.specialize_with_arg_types(types))
            return None if special is None else answer(special, layout, len(types))
        return self._method(layout, asked, types, methods, pick) or self._static(layout, overloads, types)

    def _static(
        self, layout: spy.ProgramLayout, overloads: Sequence[spy.FunctionReflection], types: Sequence[spy.TypeReflection]
    ) -> RawAnswer | None:
        """Resolves a static method that shares its name with non-static ones."""
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
        if given is not owner:  # an interface, or the bare name of a generic type: the object's own method is meant
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


def written(function: spy.FunctionReflection) -> tuple[str, ...]:
    """Returns the types of the parameters and of the result as the source has them."""
    result = found(function.return_type)
    return (*(p.type.full_name for p in parameters(function)), "" if result is None else result.full_name)


def pick_one(answers: Sequence[RawAnswer], asked: Sequence[Type], pick: Pick) -> RawAnswer | None:
    """Returns the method that Slang picks among several. Slang resolves free functions with the same parameters."""
    lines = [
        f"public void {PICK}({', '.join(f'{spelled(Type.parse(p[1]))} a{i}' for i, p in enumerate(a[0]))}) {{}}" for a in answers
    ]
    chosen = pick("\n".join(lines), asked)
    if chosen is None:
        return None
    wanted = [p[1] for p in chosen[0]]
    return next((a for a in answers if [p[1] for p in a[0]] == wanted), None)


def answer(special: spy.FunctionReflection, layout: spy.ProgramLayout, count: int) -> RawAnswer | None:
    """Returns a specialised function as an answer, or None if a type is still generic: Slang could not infer it."""
    params = [param(p, layout, interfaces=True) for p in parameters(special)]
    result = declared_type(special.return_type, layout)
    return None if result is None or any(p[1] is None for p in params[:count]) else [params, result]
