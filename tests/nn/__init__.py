"""Tests of `fusepy.nn`."""
