"""Thread shapes: what was measured to be best stays chosen (decision 002)."""

from __future__ import annotations

import pytest

from fusepy.backend.tuning import choose


@pytest.mark.parametrize(
    ("largest", "moved", "threads", "per_thread"),
    [
        (4, 12, 512, 32),  # a + b
        (4, 16, 512, 32),
        (4, 44, 1024, 8),  # ten floats to one
        (12, 24, 1024, 16),  # float3 to float3
        (12, 36, 1024, 8),  # two float3, or six floats, to one
        (12, 48, 1024, 8),
        (64, 192, 1024, 4),
        (6, 6, 1024, 32),
        (1, 3, 512, 32),
    ],
)
def test_software(largest: int, moved: int, threads: int, per_thread: int) -> None:
    shape = choose("software", largest, True, moved)
    assert (shape.threads, shape.per_thread, shape.batched) == (threads, per_thread, False)
    assert moved * per_thread <= 384 or per_thread in (4, 32)


def test_strided_kernels_and_gpus_look_at_the_largest_element_only() -> None:
    for moved in (0, 12, 96):
        assert choose("software", 4, False, moved).per_group == 4096
        assert choose("vulkan", 4, True, moved).batched
        assert choose("vulkan", 12, True, moved).per_group == 256
        assert choose("cuda", 12, True, moved).per_thread == 2
