"""A material for examples: copper with small dents, and patches of crust."""

import numpy as np


def material(size):
    """Its texels, which repeat: colour (size, size, 3), slopes (size, size, 2), and a logit of the roughness (size, size)."""
    random = np.random.default_rng(4)

    def bumps(width):
        """Smooth noise, of waves of about this many texels."""
        waves = np.hypot(*np.meshgrid(np.fft.fftfreq(size), np.fft.fftfreq(size))) * width
        noise = np.fft.ifft2(np.fft.fft2(random.normal(size=(size, size))) * np.exp(-8 * (waves - 1) ** 2)).real
        return noise / noise.std()

    crust, dents = np.clip(1.5 * bumps(60) - 0.7, 0, 1)[..., None], -np.abs(bumps(7))
    slope = np.stack([np.roll(dents, -1, axis) - np.roll(dents, 1, axis) for axis in (1, 0)], -1)
    colour = (1 - crust) * [0.95, 0.48, 0.25] + crust * [0.10, 0.16, 0.13]
    parts = {"colour": colour, "slope": 0.35 * slope * (1 - crust), "gloss": -1.4 + 2.4 * crust[..., 0]}
    return {name: part.astype(np.float32) for name, part in parts.items()}
