"""Integers: the divisors of quotients, and operands of both signs."""
