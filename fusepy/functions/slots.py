"""The declared parameters of a Slang function: the parameter of each argument, and `is_differentiable`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fusepy.backend.sources.derivatives import is_marked
from fusepy.backend.sources.reachable import texts_of
from fusepy.backend.sources.source import ModuleSource
from fusepy.derivatives.differential import differential
from fusepy.ir.oracle import IN, OUT, THIS, CallTypes, Oracle, Param, Signature
from fusepy.ir.resources import reads_graded
from fusepy.ir.types import VOID, Type
from fusepy.ir.whole import gathers


def slots_of(declared: Sequence[Signature], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Param]:
    """Returns the parameter of each argument: all parameters if the count matches, else the inputs; keywords by name."""
    for signature in declared:
        if not kwargs and len(args) == len(signature.params):
            return list(signature.params)
    inputs = [p for p in declared[0].params if p.direction != OUT]
    named = {p.name: p for s in declared for p in s.params}
    slots = [inputs[i] if i < len(inputs) else Param(f"arg{i}", None) for i in range(len(args))]
    return slots + [named.get(name, Param(name, None)) for name in kwargs]


def directions_of(declared: Sequence[Signature], slots: Sequence[Param], positional: int) -> tuple[str, ...] | None:
    """Returns the directions of the parameters of the smallest overload that has these outputs."""
    outputs = {p.name for p in slots if p.direction == OUT}
    every = any(p.direction == OUT for p in slots[:positional])
    for signature in sorted(declared, key=lambda s: sum(p.direction == OUT for p in s.params)):
        params = signature.params[:positional] if every else [p for p in signature.params if p.direction != OUT][:positional]
        if list(params) == list(slots[:positional]) and outputs <= {p.name for p in signature.params if p.direction == OUT}:
            taken = signature.filled(sum(p.direction != OUT for p in slots))
            return None if taken is None else tuple(p.direction for p in taken)
    return None


def is_differentiable(oracle: Oracle, module: str, function: str, signature: Signature, source: ModuleSource) -> bool:
    """False if Slang cannot differentiate an overload; True if it can, or if only the types of a call decide.

    A function counts as differentiable if an attribute declares its derivative; a call raises the error if that is wrong.
    """
    params: list[tuple[str, Type, bool]] = []
    for param in signature.params:
        if param.type is None:
            return True
        params.append((param.direction, param.type, differential(param.type, oracle) is not None))
    if signature.result is None:
        return True
    result = None if signature.result is VOID else signature.result
    given = any(wanted for direction, _, wanted in params if direction != IN)
    if not (given or (result is not None and differential(result, oracle) is not None)):
        return False
    if any(direction == IN and reads_graded(type) for direction, type, _ in params):
        return True  # kernels of gradients have copies of functions that read textures, buffers and pointers
    if not any(wanted for direction, _, wanted in params if direction != OUT):
        params = [(direction, type, direction == IN and gathers(type)) for direction, type, _ in params]
    if not any(wanted for direction, _, wanted in params if direction != OUT):
        return False
    if is_marked(function, texts_of([source])):
        return True
    method = bool(signature.params) and signature.params[0].name == THIS
    return oracle.undifferentiable(module, CallTypes(function, tuple(params), result, method)) is None
