"""NumPy's functions that move elements: views, which no kernel computes where strides can say them, and arrays made of others.

Inside a fused function they are recorded. A view of a tensor or NumPy array outside of one is a view, in the same memory.
"""

from __future__ import annotations
