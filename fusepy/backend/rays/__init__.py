"""Ray-tracing pipelines: the text of their entry points, the pipeline with its shader table, and their plans.

Imports what `backend.execute` may import, and `backend.execute`.
"""
