"""Ray-tracing pipelines: the text of their entry points, the pipeline with its shader table, and their place in a program.

Imports what `backend.execute` may import, and `backend.execute`.
"""
