"""Derivatives: the rules of operations, and reverse mode over recorded nodes. Gradients are nodes like all others.

Imports `ir`, `passes`.
"""
