"""Types, graphs, their rules and their text; knows no device. May import `errors` and `place` only."""

from fusepy.ir.printer import print_graph as print_graph  # which gives graphs their text
