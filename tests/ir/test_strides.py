"""Arithmetic on extents and strides: the axes of a copy."""

from __future__ import annotations

from fusepy.ir.strides import in_words, merged


def test_axes_are_merged_and_words_as_large_as_they_can_be() -> None:
    assert merged((4, 1, 5), 12, (60, 7, 12), (60, 60, 12)) == [(240, 1, 1)]
    assert merged((4, 5), 12, (-60, 12), (60, 12)) == [(4, -60, 60), (60, 1, 1)]
    assert in_words([(4, -60, 60), (60, 1, 1)], (64, 244, 0, 0)) == (4, [(4, -15, 15), (15, 1, 1)])
    assert in_words([(240, 1, 1)], (64, 64, 32, 32)) == (16, [(15, 1, 1)])
    assert in_words([(3, 2, 1), (1, 1, 1)], (5, 5, 0, 0)) == (1, [(3, 2, 1)])
