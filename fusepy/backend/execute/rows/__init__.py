"""Plans of regions that go along rows, and the choice among all plans. Imports what `backend.execute` may import, and that."""
