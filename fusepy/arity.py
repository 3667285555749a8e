"""How many arguments and results a Slang function has as a node, before it is known what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusepy.errors import ArgumentError
from fusepy.ir.oracle import IN, OUT, Signature
from fusepy.ir.types import Kind
from fusepy.trace import bind

if TYPE_CHECKING:
    from fusepy.backend.oracle import SlangOracle
    from fusepy.nodes import Use


def result_counts(oracle: SlangOracle, alias: str, use: Use) -> list[int]:
    """The numbers of results of the overloads that take as many arguments, each once.

    Raises:
        ArgumentError: if no overload does, or has parameters of these names.
    """
    function = use.function.__name__
    signatures = oracle.declared(alias, function)
    values = bind(oracle, alias, function, use.args, use.kwargs)
    fitting = [s for s in signatures if _takes(oracle, alias, function, s, len(values))]
    if not fitting:
        wanted = sorted({len(_inputs(s)) for s in signatures})
        names = ", ".join(_inputs(signatures[0]))
        raise ArgumentError(
            f"{function}.node() takes {' or '.join(map(str, wanted))} argument{'s' * (wanted != [1])}, {len(values)} are given",
            place=use.loc,
            expected=f"{function}({names})" if len(signatures) == 1 else None,
            hint="pass a value for each parameter that is not an out parameter",
        )
    return sorted({_results(s) for s in fitting})


def _inputs(signature: Signature) -> list[str]:
    return [p.name for p in signature.params if p.direction != OUT]


def _takes(oracle: SlangOracle, alias: str, function: str, signature: Signature, count: int) -> bool:
    names = _inputs(signature)
    return len(names) >= count and all(oracle.default(alias, function, signature, n) is not None for n in names[count:])


def _results(signature: Signature) -> int:
    returns = signature.result is None or signature.result.kind is not Kind.VOID  # a generic result is one, too
    return returns + sum(p.direction != IN for p in signature.params)
