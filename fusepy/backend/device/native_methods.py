"""The methods of slangpy's device that fusepy's device has too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import slangpy as spy

from fusepy.backend.sources.slangpy_modules import remember


class NativeMethods:
    """The attributes and methods of a slangpy device, for programs written for slangpy: ``info``, ``create_buffer``,
    ``create_command_encoder``, ``load_program``, and every other one. All recorded work is submitted first.
    """

    _hash: int  # that of the slangpy device

    if not TYPE_CHECKING:  # a misspelled name stays an error for type checkers

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or not hasattr(spy.Device, name):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return getattr(self.sgl, name)

    def __eq__(self, other: object) -> bool:
        """True for the device itself, and for its slangpy device, as events and resources of slangpy name it."""
        return other is self or (isinstance(other, spy.Device) and other is self.raw)

    def __hash__(self) -> int:
        return self._hash

    @property
    def raw(self) -> spy.Device:
        """The sgl device. Recorded work is not submitted."""
        raise NotImplementedError

    @property
    def sgl(self) -> spy.Device:
        """The slangpy device."""
        raise NotImplementedError

    def create_buffer(self, *args: Any, **kwargs: Any) -> Any:
        """Creates a raw buffer with slangpy."""
        return self.sgl.create_buffer(*args, **kwargs)

    def create_texture(self, *args: Any, **kwargs: Any) -> Any:
        """Creates a texture with slangpy; `usage` says whether kernels may read it, write it, or both."""
        return self.sgl.create_texture(*args, **kwargs)

    def create_sampler(self, *args: Any, **kwargs: Any) -> Any:
        """Creates a sampler with slangpy."""
        return self.sgl.create_sampler(*args, **kwargs)

    def create_command_encoder(self, *args: Any, **kwargs: Any) -> Any:
        """Creates a command encoder, for `Function.append_to`."""
        return self.sgl.create_command_encoder(*args, **kwargs)

    def submit_command_buffer(self, *args: Any, **kwargs: Any) -> Any:
        """Submits a finished command buffer, after all calls made so far."""
        return self.sgl.submit_command_buffer(*args, **kwargs)

    def load_module_from_source(self, module_name: str, source: str, *args: Any, **kwargs: Any) -> spy.SlangModule:
        """Loads Slang source with slangpy. `Module` and entry points take the result; the text is kept for `Module`."""
        module = self.sgl.load_module_from_source(module_name, source, *args, **kwargs)
        remember(module, source)
        return module
