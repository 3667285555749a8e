"""Configuring a function: what it sets, how it is compiled, what runs before it, and where it is recorded.

Every method returns a new function and leaves the old one as it was. Those that change no program (`set`, `hook`) share the
compiled programs of the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from fusepy.backend.device.recorder import check_encoder
from fusepy.backend.emit.options import NO_OPTIONS, Options
from fusepy.errors import ArgumentError, did_you_mean
from fusepy.functions.options import by_name, call_group, conformance_list, constant_list, thread_group
from fusepy.location import user_line
from fusepy.trace.setup import NO_SETUP, CallContext, Setup, given, hook_of, merged, no_global
from fusepy.trace.trace import current_trace

Self = TypeVar("Self", bound="Configured")
_OPTIONS = ("numthreads",)


class Configured:
    """What can be configured about any function; see `Function`.

    Functions that differ in what they have set alone share their attributes, which are therefore never changed once a function
    is made; `_setup` is the only one that each has by itself.
    """

    __slots__ = ("_setup",)

    __name__: str
    _device: Any
    _setup: Setup | None
    _options: Options
    _programs: dict[Any, Any]
    _recorded: dict[Any, Any]

    # ---- globals: no new program --------------------------------------------------------------------------------

    def set(self: Self, *values: Any, **named: Any) -> Self:
        """This function with values for globals of its module: uniforms, textures, samplers, buffers, parameter blocks.

        Snapshots are taken of lists, dicts and arrays; Tensors, buffers and textures are bound, and their contents read on every
        call. Dicts (or objects) stand for structs and are merged with what was set before. Setting compiles nothing.

        Args:
            values: one dict of values by name; ``named`` the same by keyword. A callable is a hook whose result is set.

        Raises:
            UnknownNameError: if the module has no such global; names the nearest.
            UnsupportedArgumentError, RangeError, ShapeError: here or in the call, if a value does not fit its type.

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
            if value.__class__ is not float:  # which is its own snapshot
                plain = False
        if not plain:
            if len(values) == 1 and callable(values[0]) and not isinstance(values[0], Mapping):
                ask: Callable[[Any], Any] = values[0]

                def hook(context: CallContext) -> None:
                    context.set(ask(context.function))

                return self.hook(hook)
            asked = given(self.__name__, values, named)
        known = self._global_names()
        if known is not None:
            for name in asked:
                if name not in known:
                    raise no_global(name, known, self.__name__)
        before = self._setup
        if before is None:
            return self._set_up(Setup(asked))
        return self._set_up(Setup(merged(before.values, asked), before.hooks, before.encoder))

    def hook(self: Self, hook: Any, method: Any = None) -> Self:
        """This function with a callback before each call, which may `set` globals for it.

        Args:
            hook: called with a `CallContext`; or an object, with `method` of its class (``hook(scene, Scene.bind)``).

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
        before = self._setup or NO_SETUP
        return self._set_up(Setup(before.values, (*before.hooks, hook_of(hook, method)), before.encoder))

    def _set_up(self: Self, setup: Setup | None) -> Self:
        """This function with another setup. All else is not copied but shared, since values may be set every frame."""
        made = object.__new__(self.__class__)
        made.__dict__ = self.__dict__
        made._setup = setup
        return made

    def _apart(self: Self, setup: Setup | None, **changes: Any) -> Self:
        """This function with another setup, and with attributes of its own, of which some differ."""
        made = object.__new__(self.__class__)
        made.__dict__.update(self.__dict__, **changes)
        made._setup = setup
        return made

    def _global_names(self) -> Sequence[str] | None:
        """The globals that may be set, where they are known before the first call."""
        return None

    # ---- options: programs of their own -------------------------------------------------------------------------

    def options(self: Self, options: Mapping[str, Any] | None = None, /, **named: Any) -> Self:
        """This function compiled differently.

        Args:
            options: options by name; ``named`` the same by keyword.
            numthreads: the thread group as ``[x]``, ``[x, y]`` or ``[x, y, z]``. Two or three numbers make groups that are tiles
                of the grid, x along its last dimension, so that threads of a group are neighbours on the screen.
                Kernels that reduce or scan have groups of their own, which their sizes ask for; `explain` says where that is so.

        Raises:
            ArgumentError: for an unknown option, or a group that the device cannot run.

        Example:
            >>> import fusepy as fp
            >>> m = fp.Module.load_from_source(fp.default_device(), "doc_opt", "int f(int2 p) { return p.x + 10 * p.y; }")
            >>> m.f.options(numthreads=[8, 8])(fp.grid((2, 3))).to_numpy().tolist()
            [[0, 1, 2], [10, 11, 12]]
        """
        asked = by_name(options, named, f"{self.__name__}.options()", 'options({"numthreads": [16, 16]})')
        for name in asked:
            if name not in _OPTIONS:
                raise ArgumentError(f"{self.__name__}: there is no option {name!r}", hint=did_you_mean(str(name), _OPTIONS))
        if not asked:
            return self
        return self._with_options(numthreads=thread_group(asked["numthreads"], self.__name__, self._device), group_rank=0)

    def call_group_shape(self: Self, shape: Any) -> Self:
        """This function with thread groups that are tiles of this shape, slowest dimension first, as slangpy says it.

        Raises:
            ArgumentError: for a group that the device cannot run; in the call, if the grid has fewer dimensions.
        """
        sizes = call_group(shape, self.__name__)
        group = thread_group(sizes, self.__name__, self._device)
        rank = max((i + 1 for i, n in enumerate(sizes) if n > 1), default=0)
        return self._with_options(numthreads=group, group_rank=rank)

    def constants(self: Self, constants: Mapping[str, Any] | None = None, **named: Any) -> Self:
        """This function with values for link-time constants (``extern static const int N;``), which become part of its program.

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
        asked = by_name(constants, named, f"{self.__name__}.constants()", 'constants({"N": 3})')
        listed = constant_list(asked, self._constant_types(), self.__name__)
        kept = {c[1]: c for c in (*self._options.constants, *listed)}
        return self._with_options(constants=tuple(kept[name] for name in sorted(kept)))

    def _constant_types(self) -> Mapping[str, str] | None:
        """Names and types of the link-time constants, where they are known before the first call."""
        return None

    def type_conformances(self: Self, conformances: Any) -> Self:
        """This function linked with types that values of an interface may have at run time.

        Args:
            conformances: ``{"IShape": ["Circle", "Box"]}``, where a type's place is its id, or a sequence of
                ``(interface, type)`` or ``(interface, type, id)``, or of slangpy's ``TypeConformance``.

        Raises:
            ArgumentError: for anything else; CompileError in the call, if a type does not exist or does not conform.
        """
        listed = conformance_list(conformances, self.__name__)
        return self._with_options(conformances=tuple(dict.fromkeys([*self._options.conformances, *listed])))

    typeconformance = type_conformances

    def _with_options(self: Self, **changes: Any) -> Self:
        return self._configured(_options=replace(self._options or NO_OPTIONS, **changes))

    def _configured(self: Self, **changes: Any) -> Self:
        raise NotImplementedError

    # ---- recording ----------------------------------------------------------------------------------------------

    def append_to(self, encoder: Any, *args: Any, _result: Any = None, **kwargs: Any) -> Any:
        """Records a call into your slangpy command encoder, which you submit; results are Tensors.

        Barriers stand before and after it. Arrays among the arguments are uploaded at once. Memory that the recorded work uses is
        kept as long as `encoder` is: hold on to it until you have submitted its command buffer.

        Args:
            encoder: a ``slangpy.CommandEncoder`` of the same device, outside of any pass.
            _result: Tensors to write to.

        Raises:
            ArgumentError: if `encoder` is no command encoder, or finished, or a result would have to go to an array.

        Example:
            >>> import fusepy as fp
            >>> m = fp.Module.load_from_source(fp.default_device(), "doc_append", "float twice(float x) { return 2 * x; }")
            >>> encoder = m.device.sgl.create_command_encoder()
            >>> result = m.twice.append_to(encoder, [1.0, 2.0])
            >>> _ = m.device.sgl.submit_command_buffer(encoder.finish())
            >>> result.to_numpy()
            array([2., 4.], dtype=float32)
        """
        check_encoder(encoder, self.__name__)
        if current_trace() is not None:
            raise ArgumentError(
                f"{self.__name__}.append_to() inside a fused function", place=user_line(), hint="append the fused function itself"
            )
        before = self._setup or NO_SETUP
        made = self._apart(Setup(before.values, before.hooks, encoder), _programs=self._recorded, _returns="tensor")
        return made(*args, _result=_result, **kwargs)  # type: ignore[operator]


__all__ = ["CallContext", "Configured"]
