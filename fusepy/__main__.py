"""``python -m fusepy``: the ``fusepy`` command."""

import sys

from fusepy.cli import main

if __name__ == "__main__":
    sys.exit(main())
