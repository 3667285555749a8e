"""The studio: documents, evaluation, and the server."""
