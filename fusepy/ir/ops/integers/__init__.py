"""Integers: the divisors of quotients, and operands of both signs.

Imports what `ir.ops` may import, and of `ir.ops` the files that `ir.ops.arithmetic` imports, and `ir.ops.math`.
"""
