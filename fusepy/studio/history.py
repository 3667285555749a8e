"""`History`: the open document with its undo steps."""

from __future__ import annotations

from fusepy.errors import StudioError
from fusepy.studio.document import Document

DEEPEST = 1000  # undo steps


class History:
    """A document, the documents before it, and those that undo has left, each with the file that it is saved in.

    Attributes:
        path: the file of the document, relative to the folder of the studio; None if it has none yet.

    Example:
        >>> from fusepy.studio.kinds import NodeKind
        >>> history = History(Document())
        >>> kinds = {"uv": NodeKind("uv", "uv", "Sources", (), ())}
        >>> history.take(history.document.add(kinds, "uv", (0, 0)))
        >>> history.undo()
        >>> len(history.document.nodes), history.can_undo, history.can_redo
        (0, False, True)
    """

    def __init__(self, document: Document, path: str | None = None):
        self.open(document, path)

    def open(self, document: Document, path: str | None) -> None:
        """Opens another document, without undo steps."""
        self.document, self.path = document, path
        self._kept = {path: document}  # the saved documents by their files
        self._before: list[tuple[Document, str | None]] = []
        self._after: list[tuple[Document, str | None]] = []
        self._slide: object = None

    def take(self, document: Document, slide: object = None, going: bool = False) -> None:
        """Makes this the document. The edits of one slide of a slider are one undo step.

        Args:
            slide: identifies the slider; ``None`` for other edits.
            going: True until the last edit of the slide.
        """
        if document != self.document:
            if slide is None or slide != self._slide:
                self._step()
            self._after.clear()
            self.document = document
        self._slide = slide if going else None

    def load(self, document: Document, path: str | None) -> None:
        """Makes this the document, of another file. An undo goes back to the file before."""
        self._step()
        self._after.clear()
        self.document, self.path, self._slide = document, path, None
        if path is not None:
            self._kept[path] = document

    def undo(self) -> None:
        """Goes back by one step.

        Raises:
            StudioError: if there is none.
        """
        if not self._before:
            raise StudioError("there is nothing to undo", hint="edit the graph first")
        self._after.append((self.document, self.path))
        self.document, self.path = self._before.pop()
        self._slide = None

    def redo(self) -> None:
        """Goes forward by one step that was undone.

        Raises:
            StudioError: if there is none.
        """
        if not self._after:
            raise StudioError("there is nothing to redo", hint="undo an edit first")
        self._before.append((self.document, self.path))
        self.document, self.path = self._after.pop()
        self._slide = None

    def keep(self, document: Document, path: str) -> None:
        """Notes that this document has been saved in a file, which is that of its undo steps from now on, too."""
        old = self.path
        self._before, self._after = ([(d, path if p == old else p) for d, p in steps] for steps in (self._before, self._after))
        self.path, self._kept[path] = path, document

    def _step(self) -> None:
        self._before = [*self._before[-DEEPEST + 1 :], (self.document, self.path)]

    @property
    def can_undo(self) -> bool:
        """True if there is a step back."""
        return bool(self._before)

    @property
    def can_redo(self) -> bool:
        """True if there is a step forward."""
        return bool(self._after)

    @property
    def saved(self) -> bool:
        """True if nothing has changed since the document was opened or saved."""
        return self.document == self._kept.get(self.path)
