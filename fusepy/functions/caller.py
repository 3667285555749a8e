"""What Slang functions and fused functions share: declaring, the cache of compiled programs, calling."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar, cast

from fusepy.arguments.key import KEYS, signature
from fusepy.arguments.mapping import Mapped, cast_numbers, is_struct, plain_spec, spec_of, unmapped
from fusepy.arguments.nested import flat, too_deep
from fusepy.backend.device.recorder import is_encoder, misplaced
from fusepy.backend.emit.options import NO_OPTIONS, Options
from fusepy.backend.execute.texture_results import Into, into
from fusepy.backend.marshals.result_kinds import container_named
from fusepy.backend.memory.pending import PENDING, RECORDER
from fusepy.backend.memory.recast import TrailingMismatch
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError, CompileError, FusepyError, ShapeError, did_you_mean
from fusepy.functions.inspected import Inspected
from fusepy.functions.nodes import Node, Use
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.program.bound import SetUpProgram, run
from fusepy.program.no_extents import NoExtents
from fusepy.program.program import Program
from fusepy.program.sized import SizedByResult
from fusepy.trace.setup import Setup
from fusepy.trace.trace import user_line

Self = TypeVar("Self", bound="Caller")
OTHERS = 16  # programs beside the first one under a key: extents can say how many axes of structs an array of numbers has


class Caller(Inspected):
    """A callable that compiles itself for each new signature of its arguments. Configuring it makes a new one."""

    __name__: str
    _device: Any  # a Device, or None where the arguments decide

    def __init__(self) -> None:
        self._programs: dict[Any, Program] = {}
        self._raw: dict[str, Any] = {}  # the entry point, for raw dispatch
        self._recorded: dict[Any, Program] = {}  # those that hand out tensors only, for append_to
        self._setup: Setup | None = None
        self._options: Options = NO_OPTIONS
        self._specs: tuple[ArgMap | None, ...] = ()
        self._named_specs: dict[str, ArgMap | None] = {}
        self._structs: dict[int | str, Any] = {}  # of these, what is a struct of a module: it says how arrays of numbers are read
        self._returns: str | None = None
        self._strict = False
        self._exact = False

    # ---- configuring --------------------------------------------------------------------------------------------

    def _configured(self: Self, **changes: Any) -> Self:
        return self._apart(self._setup, **{"_programs": {}, "_recorded": {}, "_raw": {}, **changes})

    def declare(self: Self, *specs: Any, **named: Any) -> Self:
        """This function with its arguments mapped and typed in advance.

        Args:
            specs: per argument a `vmapping` (typing is inferred), a type such as ``m.float3`` (mapping is inferred), or
                ``None`` for one value that all threads see; by position or name.

        Raises:
            ArgumentError: for anything else, and for names that the function does not have.
        """
        for name in named:
            self._check_name(name)
        structs = {k: v for k, v in (*enumerate(specs), *named.items()) if is_struct(v)}
        return self._configured(
            _specs=tuple(map(spec_of, specs)), _named_specs={k: spec_of(v) for k, v in named.items()}, _structs=structs
        )

    def map(self: Self, *specs: Any, **named: Any) -> Self:
        """`declare` as slangpy spells it: with plain dimensions as well, and ``None`` for what is left to be inferred.

        Args:
            specs: per argument dimensions such as ``(0, 1)``, a `vmapping`, a type or its name, or ``None``.

        Raises:
            ArgumentError, ShapeError: for anything else, and for names that the function does not have.

        Example:
            >>> import fusepy as fp
            >>> m = fp.Module.load_from_source(fp.default_device(), "doc_map", "float f(float a, float b) { return a * b; }")
            >>> m.f.map((0,), b=(1,))([1.0, 2.0], b=[10.0, 20.0])
            [[10.0, 20.0], [20.0, 40.0]]
        """
        return self.declare(*map(plain_spec, specs), **{name: plain_spec(spec) for name, spec in named.items()})

    def return_type(self: Self, container: Any) -> Self:
        """This function with its results in this container, a word or a class.

        Args:
            container: ``"tensor"``, ``"numpy"``, ``"list"``, ``"scalar"``, ``"torch"``, ``"slangpy"`` or ``"texture"``.
        """
        return self._configured(_returns=container_named(container))

    def strict_broadcasting(self: Self, strict: bool = True) -> Self:
        """This function accepting only identical shapes beside values without batch axes."""
        return self._configured(_strict=strict)

    def strict(self: Self, strict: bool = True) -> Self:
        """This function refusing NumPy arrays of ``float64`` and ``int64`` where Slang takes smaller types only.

        Others are converted as they are uploaded, with a `PrecisionWarning` for each line that does so.

        Example:
            >>> import numpy as np
            >>> import fusepy as fp
            >>> m = fp.Module.load_from_source(fp.default_device(), "doc_strict", "float twice(float x) { return 2 * x; }")
            >>> m.twice.strict()(np.ones(3))
            Traceback (most recent call last):
            ...
            fusepy.errors.NoMatchError: ...
        """
        return self._configured(_exact=strict)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    # ---- calling ------------------------------------------------------------------------------------------------

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The same as calling the object."""
        return self(*args, **kwargs)

    def _run(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> Any:
        """The path of every call that runs now. Sizes are checked by the program, everything else is in the key."""
        if self._structs:
            args, kwargs = self._as_structs(args, kwargs)
        keys = KEYS
        try:
            key: Hashable = tuple([a.key if a.__class__ is Tensor else keys[a.__class__](a) for a in args])
        except (KeyError, FusepyError, RecursionError):  # the first argument of its class, or one that has no key
            key = tuple([self._key(a, i) for i, a in enumerate(args)])
        if kwargs:
            key = (key, tuple((k, self._key(v, 0, k)) for k, v in kwargs.items()))
            args = (*args, *kwargs.values())
        asked = result
        if result is not None and result.__class__ is not Tensor:
            returns, result = _wanted(result, args)
            key = (key, returns)
        else:
            returns = None
        try:
            program = self._programs.get(key)
            if program is None:
                program = self._program(key, args, kwargs, returns)
            else:
                program.device.counters.plan_hits += 1
            if program.open:
                return self._run(*cast("SizedByResult", program).sized(args, result), asked)
            recorder = RECORDER.get()
            if recorder is not None:
                return recorder(self, program, args, kwargs, asked)
            if PENDING and (result is not None or program.writes):
                program.before(args, result)
            try:
                if self._setup is None:
                    return program(flat(args) if program.nested else args, result)
                return run(self._setup, self, program, args, kwargs, result)
            except TrailingMismatch:
                # another trailing extent than the one that Slang's answer was made for: ask again, which may raise
                return self._again(program, args, kwargs, returns, result)
        except CompileError:  # remembered, and raised again from other lines
            raise
        except FusepyError as error:
            raise error.at(user_line()) from None

    def _prepare(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, tuple[Any, ...], Mapping[str, Any]]:
        return self, *(self._as_structs(args, kwargs) if self._structs else (args, kwargs))

    def _as_structs(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        """Arrays of numbers as arrays of the structs that they were declared as."""
        names, structs = self._parameter_names(), self._structs

        def cast(value: Any, place: int | str) -> Any:
            name = names[place] if isinstance(place, int) and place < len(names) else place
            found = structs.get(place, structs.get(name))
            if found is None and isinstance(place, str) and place in names:
                found = structs.get(names.index(place))
            return value if found is None else cast_numbers(value, found)

        try:
            return tuple(cast(a, i) for i, a in enumerate(args)), {k: cast(v, k) for k, v in kwargs.items()}
        except FusepyError as error:
            raise error.at(user_line()) from None

    def _key(self, value: Any, position: int, name: str = "") -> Hashable:
        """The key of one argument; where it has none, the error says which argument that is."""
        try:
            return signature(value)
        except (FusepyError, RecursionError) as error:
            if is_encoder(value):
                raise misplaced(value, self.__name__).at(user_line()) from None
            names = self._parameter_names()
            name = name or (names[position] if position < len(names) else f"#{position}")
            if isinstance(error, RecursionError):
                raise too_deep(self.__name__, value, name).at(user_line()) from None
            error.what = f"{self.__name__}: argument '{name}{error.below}': {error.what}"
            raise error.at(user_line()) from None

    def _again(
        self, first: Program, args: tuple[Any, ...], kwargs: Mapping[str, Any], returns: str | Into | None, result: Any
    ) -> Any:
        """Runs a call by another program under the same key than the first one, which was made for other extents."""
        for program in list(first.others.values()):
            try:
                return self._by(program, args, kwargs, result)
            except TrailingMismatch:
                continue
        try:
            program = self._compile(args, kwargs, returns)
            found = self._by(program, args, kwargs, result)
        except TrailingMismatch as mismatch:
            raise ShapeError(
                f"{self.__name__}: an argument's trailing axes do not hold the type that it is cast to",
                saw=mismatch.saw,
                expected=mismatch.expected,
                hint="reshape the array so that its last axes are the components, or vcast to another type",
            ) from None
        program.device.counters.plan_misses += 1
        while len(first.others) >= OTHERS:
            first.others.pop(next(iter(first.others)), None)
        self._hold(program, first.others, object())
        return found

    def _by(self, program: Program, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> Any:
        if self._setup is None:
            return program(flat(args) if program.nested else args, result)
        return run(self._setup, self, program, args, kwargs, result)

    @staticmethod
    def _hold(program: Program, table: dict[Any, Program], key: Hashable) -> None:
        """Puts a program into the table in which calls look for it."""
        table[key] = program
        program.home = (table, key)
        program.device.programs.add(program)

    def _program(self, key: Hashable, args: tuple[Any, ...], kwargs: Mapping[str, Any], returns: str | Into | None) -> Program:
        try:
            program = self._compile(args, kwargs, returns)
        except NoExtents as cause:
            program = cast("Program", SizedByResult(cause, tuple(kwargs)))
        program.device.counters.plan_misses += 1
        self._hold(program, self._programs, key)
        return program

    def _compile(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], returns: str | Into | None) -> Program:
        positional = args[: len(args) - len(kwargs)]
        recording = self._record(positional, kwargs)
        if recording.trace.setup is None:
            return Program(recording, returns or self._returns, self._strict, self._options)
        program = SetUpProgram(recording, returns or self._returns, self._strict, self._options)
        program.caller = self
        return program

    def _check_name(self, name: str) -> None:
        names = self._parameter_names()
        if name not in names:
            raise ArgumentError(f"{self.__name__}() has no parameter {name!r}", hint=did_you_mean(name, names))

    def _parameter_names(self) -> list[str]:
        raise NotImplementedError

    def _spec(self, position: int, name: str) -> ArgMap | None:
        """What `declare` said about an argument."""
        if name in self._named_specs:
            return self._named_specs[name]
        return self._specs[position] if position < len(self._specs) else UNSAID

    # ---- graphs -------------------------------------------------------------------------------------------------

    def node(self, outputs: int | None = None) -> Node:
        """This function as a node of a `Graph`: called with values of the graph, it records the call.

        Args:
            outputs: how many results it has. A Slang function and a graph tell it themselves; for a fused function it is 1
                unless it is said, and that one may be a structure, whose parts are taken by index.

        Raises:
            GraphError: for anything but a number.
        """
        return Node(self, outputs)

    def _node_results(self, use: Use, outputs: int | None) -> Any:
        """The structure of what a call as a node returns."""
        raise NotImplementedError


def _wanted(result: Any, args: Sequence[Any]) -> tuple[str | Into | None, Any]:
    """``_result=`` as the container that it names, or the destinations that it is; textures among these decide about code."""
    if isinstance(result, (str, type)):
        return container_named(result), None
    if isinstance(result, Tensor):  # one that `lazy` has made
        return None, result.compute()
    several = isinstance(result, (tuple, list))
    given: Sequence[Any] = cast("Sequence[Any]", result) if several else [result]
    maps = [r.map if isinstance(r, Mapped) else UNSAID for r in given]
    plain = tuple(map(unmapped, given)) if several else unmapped(result)
    return into(plain, list(map(unmapped, flat(args))), maps), plain
