"""Whether Slang can differentiate a call, and why not. Imports what `backend.slang` may import, and that but for its oracle."""
