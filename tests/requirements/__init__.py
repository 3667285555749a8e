"""The rows of tests/requirements.ini, each by the example that it is about."""
