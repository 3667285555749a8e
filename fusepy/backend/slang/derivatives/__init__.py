"""Questions about derivatives: can Slang differentiate a call, and why not? Imports what `backend.slang` may, and its files."""
