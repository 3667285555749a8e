"""The choice of a device by a call. Imports what `backend.device` may import, and its `device`."""
