"""Tests, in folders like the packages of fusepy: `tests/<package>/test_<file>.py`. Each other folder says what it is for."""
