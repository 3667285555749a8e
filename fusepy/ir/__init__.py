"""Types of Slang, graphs of calls, the rules that graphs obey, and their text.

Imports `errors`. It knows no device, and never imports slangpy.
"""

from fusepy.ir.printer import print_graph as print_graph  # sets `Graph.__str__`
