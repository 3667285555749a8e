"""Gradients of functions: `grad` and `value_and_grad`.

A gradient is a fused function: it calls the function, and records the nodes of its gradient behind those of the function.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.arguments.nested import flat, is_nested
from fusepy.backend.marshals.registry import kind_of_value
from fusepy.errors import ArgumentError, GradientError, did_you_mean
from fusepy.functions.autograd import kept, refill
from fusepy.functions.device_function import DeviceFunction
from fusepy.functions.function import Function
from fusepy.functions.fused import FusedFunction, bound_to, fuse, of_object
from fusepy.functions.pullback import floats, owned, pullback
from fusepy.language.differentiable import paired
from fusepy.pytree import flatten
from fusepy.symbolic import Symbolic, misplaced
from fusepy.trace.arity import bound_arguments, is_variadic, of_count
from fusepy.trace.components.annotations import annotations_of, honoured
from fusepy.trace.components.outside import arguments
from fusepy.trace.gradients import check_kept, gradients
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced

__all__ = ["grad", "value_and_grad", "vjp"]

gradient_class: type[FusedFunction] = FusedFunction  # `check_grads` sets another one, for FUSEPY_CHECK_GRADS=1


def grad(function: Callable[..., Any], argnums: int | str | Sequence[int | str] = 0, has_aux: bool = False) -> FusedFunction:
    """Returns the function that computes the gradient of `function`, in reverse mode.

    If the result of `function` has axes or components, the gradient is that of their sum: for a function of each element this is
    the derivative at each element.

    Args:
        function: a Slang function, a fused function, or a Python function that calls them; it must give one result.
        argnums: the parameter by which it is differentiated, by position or name; several give a tuple of gradients. An argument
            may be a tuple, list, dict or dataclass of arrays.
        has_aux: `function` returns its result and further values, which are returned beside the gradient.

    Returns:
        a fused function with the parameters of `function`. A gradient has the shape and the type of its argument; a number,
        or what was broadcast, gets the sum over all elements.

    Raises:
        GradientError: when called, if an operation has no gradient, or Slang cannot differentiate a function; names it. Also if
            the result cannot depend on an argument: nothing reads it, or integers or ``fp.stop_gradient`` cut it off.
        ArgumentError: for a parameter that `function` does not have.

    Example:
        >>> import fusepy as fp
        >>> @fp.fuse
        ... def loss(w, x):
        ...     return fp.sum((w * x) ** 2)
        >>> fp.grad(loss)(3.0, [1.0, 2.0])
        30.0
    """
    return differentiated(function, argnums, has_aux, False, "grad")


def value_and_grad(
    function: Callable[..., Any], argnums: int | str | Sequence[int | str] = 0, has_aux: bool = False
) -> FusedFunction:
    """Returns the function that computes the result of `function` and its gradient; see `grad`.

    Example:
        >>> import fusepy as fp
        >>> fp.value_and_grad(lambda x: fp.sum(x * x * x))([1.0, 2.0])
        (9.0, [3.0, 12.0])
    """
    return differentiated(function, argnums, has_aux, True, "value_and_grad")


def differentiated(function: Callable[..., Any], argnums: Any, has_aux: bool, with_value: bool, what: str) -> FusedFunction:
    """Returns the function that computes a gradient, and the result before it if `with_value`; messages call it `what`."""
    if not callable(function):
        raise ArgumentError(f"{what}() takes a function", saw=repr(function)[:60], hint=f"write fp.{what}(f)(x)")
    method = of_object(function)
    if method is not None:
        chosen = _behind_object(function, argnums, what)
        return differentiated(method[0], chosen, has_aux, with_value, what).__get__(method[1])
    signature = signature_of(function)
    names = list(signature.parameters)
    annotations = {} if isinstance(function, DeviceFunction) else annotations_of(function, signature)
    several = isinstance(argnums, (tuple, list))
    listed = cast("Sequence[Any]", argnums) if several else [argnums]
    variadic = is_variadic(signature)
    if not variadic:  # the names of *args and **kwargs are those of a call
        for n in listed:
            parameter_named(n, names, what)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        trace = current_trace()
        assert trace is not None, "only a trace calls it"
        own = of_count(signature, len(args), [n for n in kwargs if n not in names]) if variadic else signature
        chosen = [parameter_named(n, list(own.parameters), what) for n in listed]
        bound = bound_arguments(own, args, kwargs, getattr(function, "__name__", "function"))
        bound.apply_defaults()
        start = trace.moves.begin(trace.builder.nodes)
        of = arguments(trace, [owned(bound.arguments[name], what) for name in chosen], what)
        bound.arguments.update((name, floats(tree, what)) for name, tree in zip(chosen, of))
        bound.arguments.update(honoured(trace, what, bound.arguments, annotations))
        result = function(*bound.args, **bound.kwargs)
        value = _first(result, what) if has_aux else result
        found = gradients(trace, start, [(one_result(value, what), None)], of, what, chosen)
        made = tuple(found) if several else found[0]
        if with_value:
            return result, made
        return (made, result[1]) if has_aux else made

    gradient.__name__ = f"{what}_of_{getattr(function, '__name__', 'function')}"
    vars(gradient)["__signature__"] = signature
    vars(gradient)["differentiated"] = function
    return gradient_class(gradient)


def _behind_object(function: Callable[..., Any], argnums: Any, what: str) -> Any:
    """Returns the parameters of a method as those of the function that takes the object first."""
    signature = signature_of(function)
    several = isinstance(argnums, (tuple, list))
    listed = cast("Sequence[Any]", argnums) if several else [argnums]
    if is_variadic(signature):
        chosen: list[Any] = [n + 1 if isinstance(n, int) and n >= 0 else n for n in listed]
    else:
        chosen = [parameter_named(n, list(signature.parameters), what) for n in listed]
    return tuple(chosen) if several else chosen[0]


def vjp(function: Callable[..., Any], *args: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """Computes ``function(*args)``, and returns with it the function that takes gradients back through the call.

    Returns:
        the result, and a function of the gradient of the result (with its structure, shapes and types; ``None`` in it is zero),
        which returns the gradients of `args`, one for each; ``None`` for an argument without gradient, such as one of integers.
        It computes again what it needs of the call, in the kernels of the gradient, from copies of the arrays in `args`.

    Raises:
        GradientError: see `grad`; also by the returned function.

    Example:
        >>> import fusepy as fp
        >>> y, pull = fp.vjp(lambda a, x: a * x * x, 3.0, [2.0, 1.0])
        >>> y, pull([1.0, 10.0])
        ([12.0, 3.0], (14.0, [12.0, 60.0]))
    """
    forward, count, trace = _forward(function), len(args), current_trace()
    start = 0 if trace is None else len(trace.innermost().builder.nodes)
    saved = _copies(args) if trace is None else args  # before the call, which may write to them
    result = forward(*args)
    chosen = tuple(i for i, arg in enumerate(args) if has_gradient(arg))
    structure = flatten(result, is_array)[1]
    like = structure.fill(object() for _ in range(structure.leaves))  # without the memory of the result

    def pull(*gradient: Any) -> tuple[Any, ...]:
        if len(gradient) != 1:
            raise ArgumentError(
                f"vjp: the returned function takes one argument, {len(gradient)} were given",
                hint="pass the gradient of the result; of several results a tuple, pull((g, h))",
            )
        pairs = paired(like, gradient[0], is_array) or ()
        given = {i: g for i, (_, g) in enumerate(pairs) if g is not None}
        if not given:
            raise GradientError(
                "vjp: the gradient has another structure than the result"
                if not pairs
                else "vjp: there is no gradient of a result",
                saw=str(flatten(gradient[0], is_array)[1]),
                expected=str(structure),
                hint="pass one gradient for each result, in the same tuples, lists and dicts; some may be None, which is zero",
            )
        back = _pullback(function, count, chosen, tuple(given))
        if trace is not None:
            check_kept(trace, start)
        acts = trace is None and (not back.programs or any(getattr(p, "acts", True) for p in back.programs.values()))
        made = dict(zip(chosen, back(*(_copies(saved) if acts else saved), *given.values())))
        return tuple(made.get(i) for i in range(count))

    return result, pull


def _copies(args: Sequence[Any]) -> tuple[Any, ...]:
    """Returns arguments that neither the user nor a call changes."""
    return tuple(refill(args, [kept(unmapped(leaf)) for leaf in flat(args)]))


@functools.lru_cache(maxsize=256)
def _forward(function: Callable[..., Any]) -> Any:
    """Returns a function that can be called with arguments, also of lists and numbers."""
    return function if isinstance(function, (Function, FusedFunction)) else fuse(function)


@functools.lru_cache(maxsize=256)
def _pullback(function: Callable[..., Any], count: int, chosen: Sequence[int], results: Sequence[int]) -> Any:
    """Returns the function of `count` arguments and gradients of `results` that gives the gradients of the arguments `chosen`."""
    method = of_object(function)
    if method is None:
        return pullback(_forward(function), count, (), results, lambda args: [args[i] for i in chosen], floating=chosen)
    later = [i + 1 for i in chosen]  # behind the object
    made = pullback(FusedFunction(method[0]), count + 1, (), results, lambda args: [args[i] for i in later], floating=later)
    return bound_to(made, method[1])


def is_array(value: Any) -> bool:
    """True for a list of numbers, which is one array and no structure, and for a value under `vcast` or `vmap`."""
    if not isinstance(value, list):
        return isinstance(value, Mapped)
    return all(isinstance(v, (bool, int, float)) or is_array(v) for v in cast("list[Any]", value))


def has_gradient(value: Any) -> bool:
    """True for floats, arrays of floats, and for structures, whose leaves are looked at when they are traced."""
    if is_nested(value):
        return True
    inner = unmapped(value)
    if isinstance(inner, Symbolic) and not isinstance(inner, Traced):
        raise misplaced(inner)
    type = inner.type if isinstance(inner, Traced) else kind_of_value(inner).describe(inner).type
    return type.scalar is None or type.is_float


def _first(result: Any, what: str) -> Any:
    """Returns the first of the loss and further values.

    Raises:
        GradientError: unless there are two.
    """
    if isinstance(result, (tuple, list)) and len(cast("Sequence[Any]", result)) == 2:
        return cast("Sequence[Any]", result)[0]
    raise GradientError(
        f"{what}() with has_aux of a function that gives no pair",
        saw=type(cast("object", result)).__name__,
        expected="(loss, others)",
        hint="return (loss, others), or leave out has_aux=True",
    )


def one_result(value: Any, what: str) -> Any:
    """Returns the result of a function that is differentiated.

    Raises:
        GradientError: unless it is one traced value of floats.
    """
    inner = unmapped(value)
    if isinstance(inner, Traced) and (inner.type.scalar is None or inner.type.is_float):
        return value
    shown = inner.type if isinstance(inner, Traced) else type(value).__name__
    more = "" if what == "training_step" else "; further results with has_aux=True, as (loss, others)"
    raise GradientError(
        f"{what}() of a function that gives no float",
        saw=shown,
        expected="one value of floats that the function computes",
        hint=f"return a number such as fp.sum(…){more}",
    )


def parameter_named(chosen: Any, names: Sequence[str], what: str) -> str:
    if isinstance(chosen, str) and chosen in names:
        return chosen
    if isinstance(chosen, int) and not isinstance(chosen, bool) and -len(names) <= chosen < len(names):
        return names[chosen]
    hint = did_you_mean(chosen, names) if isinstance(chosen, str) else f"its parameters: {', '.join(names)}"
    raise ArgumentError(f"{what}(): there is no parameter {chosen!r}", hint=hint)


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Returns the parameters of a function; those of a Slang function have its names."""
    if not isinstance(function, Function):
        return inspect.signature(function)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in function.tracer.parameter_names()])


def check_given(what: str, line: str, function: Callable[..., Any], args: Sequence[Any]) -> None:
    """Raises `ArgumentError` unless `args` are those of the function; the hint is `line` with the names of the parameters."""
    if not callable(function):
        names, error = ["x"], f"{function!r}"[:60]
    elif isinstance(function, Function):  # its own call knows the overloads and the defaults
        return
    else:
        signature = signature_of(function)
        try:
            signature.bind(*args)
            return
        except TypeError as wrong:
            names, error = [p.name for p in signature.parameters.values() if p.default is p.empty], str(wrong)
    of = getattr(function, "__name__", "f").replace("<lambda>", "f")
    written = line.format(f=of, x=", ".join(names), dx=", ".join(f"d{n}" for n in names))
    hint = f"write {written.replace(',)', ')') if len(names) > 1 else written}"
    raise ArgumentError(f"{what}() takes a function and its arguments", saw=error, hint=hint)
