"""A headless browser for the tests of pages: installs Debian's if there is none.

`make test` runs it. If no browser is available it prints the reason and exits with 0: the tests that need one are then skipped,
except on CI. Standard library only.
"""

from __future__ import annotations

import shutil
import sys

from aptget import Apt, SetupError

# all of them speak the DevTools protocol over a pipe; the first has no window and is the smallest: 62 MB to download
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome-stable", "google-chrome", "microsoft-edge-stable")
PACKAGE = "chromium-headless-shell"  # Ubuntu's `chromium` is a stub that installs a snap, so only this name is requested


def find_browser() -> str | None:
    """Returns the path of an installed browser, or None."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def install(apt: Apt) -> None:
    """Installs the browser.

    Raises:
        SetupError: if apt has none, or fails.
    """
    apt.update()
    if apt.candidate(PACKAGE) is None:
        raise SetupError(f"apt knows no package {PACKAGE}")
    print(f"Installing a headless browser ({PACKAGE}); half a minute", flush=True)
    apt.install(PACKAGE)


def main() -> int:
    """Installs a browser if necessary. Returns 0 in any case: tests report a missing browser themselves."""
    if find_browser() is None:
        try:
            install(Apt())
        except SetupError as error:
            print(
                f"No headless browser, so pages are not tested: {error}\nInstall one of: {', '.join(BROWSERS)}", file=sys.stderr
            )
    print(f"Headless browser: {find_browser() or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
