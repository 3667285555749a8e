"""The methods of slangpy's device that fusepy's device has too."""

from __future__ import annotations

from typing import Any

import slangpy as spy


class NativeMethods:
    """Methods of a slangpy device, for programs written for slangpy. All recorded work is submitted first."""

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

    def wait_for_idle(self) -> None:
        """Waits until all work is done; the same as `wait`."""
        self.sgl.wait_for_idle()
