"""Plans of regions that fold, scan or sort. Imports what `backend.execute` may import."""
