"""Operations that run on pipelines of their own, beside regions.

Imports what `ir` may import, and `ir`.
"""
