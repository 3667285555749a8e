"""Methods of `DeviceFunction` that configure it: how arguments are mapped, values of globals, compile options.

Each returns a new function and leaves its own as it was. `set` and `hook` change no program: the new function shares the compiled
programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from fusepy.arguments.mapping import is_struct, plain_spec, spec_of
from fusepy.backend.marshals.result_kinds import container_named
from fusepy.errors import ArgumentError, did_you_mean
from fusepy.functions.options import by_name, call_group, conformance_list, constant_list, thread_group, truth
from fusepy.functions.parts import AnyFunction
from fusepy.trace.setup import NO_SETUP, CallContext, Setup, given, hook_of, merged, no_global

F = TypeVar("F", bound=AnyFunction)
_SWITCHES = ("deterministic", "fast_math")
OPTIONS = (*_SWITCHES, "numthreads")

# ---- arguments and results ------------------------------------------------------------------------------------------


def declare(function: F, /, *specs: Any, **named: Any) -> F:
    """Returns this function with its arguments mapped and typed in advance.

    Args:
        specs: per argument a `vmapping` (typing is inferred), a type such as ``m.float3`` (mapping is inferred), or
            ``None`` for one value that all threads read; by position or name.

    Raises:
        ArgumentError: for anything else, and for names that are no parameters of the function.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_declare", "float f(float a, float b) { return a * b; }")
        >>> m.f.declare(fp.vmapping(0), b=fp.vmapping(1))([1.0, 2.0], [10.0, 20.0])
        [[10.0, 20.0], [20.0, 40.0]]
    """
    if named:
        names = function.tracer.parameter_names()
        for name in named:
            if name not in names:
                raise ArgumentError(f"{function.__name__}() has no parameter {name!r}", hint=did_you_mean(name, names))
    return _with_config(
        function,
        specs=tuple([spec_of(spec) for spec in specs]),
        named_specs={name: spec_of(spec) for name, spec in named.items()},
        structs={place: spec for place, spec in (*enumerate(specs), *named.items()) if is_struct(spec)},
    )


def map(function: F, /, *specs: Any, **named: Any) -> F:
    """Returns `declare` in slangpy's spelling: plain dimensions are allowed, and ``None`` means "infer".

    Args:
        specs: per argument dimensions such as ``(0, 1)``, a `vmapping`, a type or its name, or ``None``.

    Raises:
        ArgumentError, ShapeError: for anything else, and for names that are no parameters of the function.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_map", "float f(float a, float b) { return a * b; }")
        >>> m.f.map((0,), b=(1,))([1.0, 2.0], b=[10.0, 20.0])
        [[10.0, 20.0], [20.0, 40.0]]
    """
    return declare(function, *[plain_spec(spec) for spec in specs], **{name: plain_spec(spec) for name, spec in named.items()})


def return_type(function: F, /, container: Any) -> F:
    """Returns this function with its results in this container, named by a word or a class.

    Args:
        container: ``"tensor"``, ``"numpy"``, ``"list"``, ``"scalar"``, ``"torch"``, ``"slangpy"`` or ``"texture"``.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_return", "float twice(float x) { return 2 * x; }")
        >>> m.twice.return_type("numpy")([1.0, 2.0])
        array([2., 4.], dtype=float32)
    """
    return _with_config(function, returns=container_named(container))


def torch(function: F, /) -> F:
    """Returns this function for torch: its results are torch tensors, whatever the arguments are.

    torch's autograd records a call if one of its torch tensors requires gradients: an argument, or a tensor that a fused function
    takes from outside. Its results must then be torch tensors, and with this container they always are.

    Raises:
        MissingPackageError: if torch is not installed.

    Example:
        >>> import torch
        >>> import fusepy as fp
        >>> source = "[Differentiable] float area(float a, float x) { return a * x * x; }"
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_torch", source)
        >>> a = torch.tensor([3.0], requires_grad=True)
        >>> m.area.torch()(a, 2.0).backward()
        >>> a.grad
        tensor([4.])
    """
    return return_type(function, "torch")


def strict_broadcasting(function: F, /, strict: bool = True) -> F:
    """Returns this function so that it accepts only identical shapes, and values without batch axes."""
    return _with_config(function, strict_broadcasting=strict)


def strict(function: F, /, strict: bool = True) -> F:
    """Returns this function so that it refuses NumPy arrays of ``float64`` and ``int64`` where Slang takes smaller types only.

    Without it, they are converted when they are uploaded, with one `PrecisionWarning` per line of your program.

    Example:
        >>> import numpy as np
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_strict", "float twice(float x) { return 2 * x; }")
        >>> m.twice.strict()(np.ones(3))
        Traceback (most recent call last):
        ...
        fusepy.errors.NoMatchError: ...
    """
    return _with_config(function, strict=strict)


# ---- globals: no new program ----------------------------------------------------------------------------------------


def set(function: F, /, *values: Any, **named: Any) -> F:
    """Returns this function with values for globals of its module: uniforms, textures, samplers, buffers, parameter blocks.

    Lists, dicts and arrays are copied now. Tensors, buffers and textures are bound; each call reads their contents at that time.
    Dicts (or objects) stand for structs and are merged with earlier values. Setting a value compiles nothing.

    Args:
        values: one dict of values by name; ``named`` the same by keyword. A callable is a hook whose result is set.

    Raises:
        UnknownNameError: if the module has no such global; names the nearest.
        UnsupportedArgumentError, RangeError, ShapeError: now or in the call, if a value does not fit its type.

    Example:
        >>> import fusepy as fp
        >>> source = "uniform float gain; float lift(float x) { return x * gain; }"
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_set", source)
        >>> lift = m.lift.set(gain=2)
        >>> lift([1.0, 2.0]), lift.set(gain=3)([1.0, 2.0])
        ([2.0, 4.0], [3.0, 6.0])
    """
    asked: dict[str, Any] = named
    plain = not values
    for value in named.values():
        if value.__class__ is not float:  # a float needs no copy
            plain = False
    if not plain:
        if len(values) == 1 and callable(values[0]) and not isinstance(values[0], Mapping):
            ask: Callable[[Any], Any] = values[0]

            def run(context: CallContext) -> None:
                context.set(ask(context.function))

            return hook(function, run)
        asked = given(function.__name__, values, named)
    known = function.tracer.global_names()
    if known is not None:
        for name in asked:
            if name not in known:
                raise no_global(name, known, function.__name__)
    before = function.setup
    if before is None:
        return function.variant(Setup(asked))
    return function.variant(Setup(merged(before.values, asked), before.hooks, before.encoder))


def hook(function: F, /, hook: Any, method: Any = None) -> F:
    """Returns this function with a callback that runs before each call and may `set` globals for it.

    Args:
        hook: a callable that takes a `CallContext`; or an object, with `method` of its class (``hook(scene, Scene.bind)``).

    Raises:
        ArgumentError: if it cannot be called like that.

    Example:
        >>> import fusepy as fp
        >>> source = "uniform float time; float wave(float x) { return x + time; }"
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_hooked", source)
        >>> class Clock:
        ...     now = 0.0
        ...     def bind(self, context):
        ...         self.now += 1.0
        ...         context.set(time=self.now)
        >>> wave = m.wave.hook(Clock(), Clock.bind)
        >>> wave(10.0), wave(10.0)
        (11.0, 12.0)
    """
    before = function.setup or NO_SETUP
    return function.variant(Setup(before.values, (*before.hooks, hook_of(hook, method)), before.encoder))


# ---- options: programs of their own ---------------------------------------------------------------------------------


def options(function: F, options: Mapping[str, Any] | None = None, /, **named: Any) -> F:
    """Returns this function compiled with other options.

    Args:
        options: options by name; ``named`` the same by keyword.
        numthreads: the thread group as ``[x]``, ``[x, y]`` or ``[x, y, z]``. Two or three numbers make groups that are tiles
            of the grid, x along its last dimension, so that threads of a group are neighbours on the screen.
            Kernels that reduce or scan choose their own groups by their sizes; `explain` says so.
        deterministic: True for gradients with the same bits on every run, also where threads add to one element: of tensors,
            textures, buffers and pointers that Slang reads at any index. Each is the exact sum, rounded once. While the program
            runs, a sum takes 44 bytes for each float or half of the gradient, and 272 for a double.
        fast_math: True for arithmetic of floats that is faster and less exact on CUDA: ``/``, `sqrt`, `exp`, `log`, `pow`, `sin`
            and the like. Elsewhere it changes nothing. The guide on numbers has the errors.

    Raises:
        ArgumentError: for an unknown option, a group that the device cannot run, or a value of another type.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_opt", "int f(int2 p) { return p.x + 10 * p.y; }")
        >>> m.f.options(numthreads=[8, 8])(fp.grid((2, 3))).to_numpy().tolist()
        [[0, 1, 2], [10, 11, 12]]
    """
    asked = by_name(options, named, f"{function.__name__}.options()", 'options({"numthreads": [16, 16]})')
    for name in [n for n in asked if n not in OPTIONS]:
        raise ArgumentError(f"{function.__name__}: there is no option {name!r}", hint=did_you_mean(str(name), OPTIONS))
    made: dict[str, Any] = {name: truth(asked[name], function.__name__, name) for name in _SWITCHES if name in asked}
    if "numthreads" in asked:
        made["numthreads"] = thread_group(asked["numthreads"], function.__name__, function.tracer.device)
        made |= {"group_rank": 0, "group": ()}
    return _with_options(function, **made) if made else function


def call_group_shape(function: F, /, shape: Any) -> F:
    """Returns this function with thread groups that are tiles of this shape, slowest dimension first (the last three of many).

    Raises:
        ArgumentError: for a group that the device cannot run; in the call, if the grid has fewer dimensions.
    """
    sizes = call_group(shape, function.__name__)
    if not sizes:
        return function
    group = thread_group(sizes[::-1][:3], function.__name__, function.tracer.device)
    rank = len(sizes) - next((i for i, n in enumerate(sizes) if n > 1), len(sizes))
    return _with_options(function, numthreads=group, group_rank=rank, group=tuple(sizes[len(sizes) - max(rank, 1) :]))


def constants(function: F, /, constants: Mapping[str, Any] | None = None, **named: Any) -> F:
    """Returns this function with values for link-time constants (``extern static const int N;``), which are part of its program.

    Args:
        constants: bool, int or float by name, or a sequence for a vector; ``named`` the same by keyword.

    Raises:
        UnknownNameError: if the module declares no such constant; names the nearest.
        UnsupportedArgumentError, RangeError: if a value does not fit its type.

    Example:
        >>> import fusepy as fp
        >>> source = "extern static const int N = 1; int times(int x) { return x * N; }"
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_const", source)
        >>> m.times(5), m.times.constants({"N": 3})(5)
        (5, 15)
    """
    asked = by_name(constants, named, f"{function.__name__}.constants()", 'constants({"N": 3})')
    listed = constant_list(asked, function.tracer.constant_types(), function.__name__)
    kept = {c[1]: c for c in (*function.config.options.constants, *listed)}
    return _with_options(function, constants=tuple(kept[name] for name in sorted(kept)))


def type_conformances(function: F, /, conformances: Any) -> F:
    """Returns this function linked with types that values of an interface may have at run time.

    Args:
        conformances: ``{"IShape": ["Circle", "Box"]}``, where the index of a type is its id, or a sequence of
            ``(interface, type)`` or ``(interface, type, id)``, or of slangpy's ``TypeConformance``.

    Raises:
        ArgumentError: for anything else; CompileError in the call, if a type does not exist or does not conform.
    """
    listed = conformance_list(conformances, function.__name__)
    return _with_options(function, conformances=tuple(dict.fromkeys([*function.config.options.conformances, *listed])))


def _with_config(function: F, **changes: Any) -> F:
    return function.variant(function.setup, replace(function.config, **changes))


def _with_options(function: F, **changes: Any) -> F:
    return _with_config(function, options=replace(function.config.options, **changes))
