"""Makes sure that a headless browser exists for the tests of pages, installing Debian's where none does.

Run by `make test`. Where none can be had it says why and exits with 0: the tests that need one are skipped then, except on CI.
Standard library only.
"""

from __future__ import annotations

import shutil
import sys

from aptget import Apt, SetupError

# All of them speak the DevTools protocol over a pipe. The first has no window at all, and is the smallest: 62 MB to fetch.
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome-stable", "google-chrome", "microsoft-edge-stable")
PACKAGE = "chromium-headless-shell"  # Ubuntu's `chromium` is a stub that wants a snap, so only this name is asked for


def find_browser() -> str | None:
    """The path of a browser that is installed."""
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
    """Returns 0 in any case: what depends on a browser says by itself when there is none."""
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
