"""Operations of floats whose digits or infinities need care.

Imports what `ir/ops` may import.
"""
