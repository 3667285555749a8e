"""Derivatives of scans whose results follow from the ones before: running extremes, and scans by Slang functions."""
