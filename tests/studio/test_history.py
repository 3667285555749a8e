"""Undo steps of documents, and the files that these are saved in."""

from __future__ import annotations

import pytest

from fusepy.errors import StudioError
from fusepy.studio.document import Document
from fusepy.studio.history import History
from tests.studio.test_document import KINDS, chain


def test_a_slide_is_one_undo_step_and_a_load_is_another():
    history = History(chain(), "chain.json")
    for value in (1, 2, 3):
        history.take(history.document.set(KINDS, "gain", "k", value), ("gain", "k"), going=value < 3)
    history.take(history.document.set(KINDS, "gain", "k", 7), ("gain", "k"))
    history.load(Document(), "empty.json")
    assert (history.path, history.saved) == ("empty.json", True)
    for wanted in (7, 3, None):
        history.undo()
        assert history.path == "chain.json"
        assert history.document.nodes["gain"].values.get("k") == wanted
    assert history.saved
    assert not history.can_undo
    history.keep(history.document, "copy.json")  # also of the steps that are undone
    with pytest.raises(StudioError, match="nothing to undo"):
        history.undo()
    history.redo()
    assert (history.path, history.saved, history.document.nodes["gain"].values["k"]) == ("copy.json", False, 3)
    history.take(history.document.remove(["gain"]))
    with pytest.raises(StudioError, match="nothing to redo"):
        history.redo()
