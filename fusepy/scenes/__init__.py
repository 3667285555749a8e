"""Scenes for rays: meshes, boxes, instances of these, cameras.

Imports `modules`, `language` and above.
"""
