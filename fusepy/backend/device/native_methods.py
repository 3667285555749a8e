"""The methods of a slangpy device, on a device of fusepy's."""

from __future__ import annotations

from typing import Any

import slangpy as spy


class NativeMethods:
    """Methods of a slangpy device that programs written for it call on a device; all recorded work is submitted first."""

    @property
    def sgl(self) -> spy.Device:
        """The slangpy device."""
        raise NotImplementedError

    def create_buffer(self, *args: Any, **kwargs: Any) -> Any:
        """A raw buffer, as slangpy makes it."""
        return self.sgl.create_buffer(*args, **kwargs)

    def create_texture(self, *args: Any, **kwargs: Any) -> Any:
        """A texture, as slangpy makes it; `usage` says whether kernels may read it, write it, or both."""
        return self.sgl.create_texture(*args, **kwargs)

    def create_sampler(self, *args: Any, **kwargs: Any) -> Any:
        """A sampler, as slangpy makes it."""
        return self.sgl.create_sampler(*args, **kwargs)

    def create_command_encoder(self, *args: Any, **kwargs: Any) -> Any:
        """A command encoder, for `Function.append_to`."""
        return self.sgl.create_command_encoder(*args, **kwargs)

    def submit_command_buffer(self, *args: Any, **kwargs: Any) -> Any:
        """Submits what a command encoder has finished, behind all calls made so far."""
        return self.sgl.submit_command_buffer(*args, **kwargs)

    def wait_for_idle(self) -> None:
        """Waits until all work is done; the same as `wait`."""
        self.sgl.wait_for_idle()
