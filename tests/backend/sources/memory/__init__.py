"""Tests of fusepy.derivatives."""
