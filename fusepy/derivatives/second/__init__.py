"""Second order: derivatives of the gradients and tangents that Slang computes, of gradients of loops, and of gathers.

A gradient is never taken back through backwards. What depends on `x` in ``vjp(f)(x, g)``, with a weight `u` for each of its
results, is ``<g, jvp(f)(x, u)>``, so its gradient is a ``vjp`` of a ``jvp``. The tangent along `u` is the same, since second
derivatives are symmetric. See docs/decisions/023-gradients-are-recorded.md.

Imports what `derivatives` imports, and its rules; `forward` and `rules` call it.
"""
