"""The JavaScript libraries of ``fusepy studio``: downloads the pinned versions with npm and writes them into ``static/vendor/``.

    python tools/vendor_studio.py            # downloads again; needs npm and the network
    python tools/vendor_studio.py --check    # compares the files with the digests in the README; needs neither

To renew a library, change its version here, run the first line, run the tests of the studio, and look at the page.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).resolve().parent.parent / "fusepy" / "studio" / "static" / "vendor"
README = VENDOR / "README.md"
# package, version, licence, purpose, {file here: file in the package}
LIBRARIES: list[tuple[str, str, str, str, dict[str, str]]] = [
    (
        "@xyflow/react",
        "12.12.1",
        "MIT",
        "the canvas: nodes, ports, lines (with d3-drag, d3-selection, d3-zoom: ISC; classcat, zustand: MIT)",
        {"xyflow.js": "dist/umd/index.js", "xyflow.css": "dist/base.css", "xyflow.LICENSE": "LICENSE"},
    ),
    # 18 is the last major version that comes as a script, without a bundler
    ("react", "18.3.1", "MIT", "elements", {"react.js": "umd/react.production.min.js", "react.LICENSE": "LICENSE"}),
    (
        "react-dom",
        "18.3.1",
        "MIT",
        "elements on a page",
        {"react-dom.js": "umd/react-dom.production.min.js", "react-dom.LICENSE": "LICENSE"},
    ),
    ("htm", "3.1.1", "Apache-2.0", "elements as templates", {"htm.js": "dist/htm.module.js", "htm.LICENSE": "LICENSE"}),
]


def download(package: str, version: str, files: dict[str, str]) -> None:
    """Writes the files of one package. npm compares the package with the registry's digest."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", f"{package}@{version}"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as packed:
            for here, there in files.items():
                found = packed.extractfile(f"package/{there}")
                assert found is not None, f"{package}@{version} has no {there}"
                (VENDOR / here).write_bytes(found.read())


def readme() -> str:
    """The text of the README, with the digests of the files that are there."""
    rows = [f"| {package} | {version} | {licence} | {purpose} |" for package, version, licence, purpose, _ in LIBRARIES]
    names = sorted(name for *_, files in LIBRARIES for name in files)
    digests = [f"{hashlib.sha256((VENDOR / name).read_bytes()).hexdigest()}  {name}" for name in names]
    return "\n".join(
        [
            "# Libraries of the page\n",
            "Unchanged files from npm, with their licences. `python tools/vendor_studio.py` writes this folder; the first lines",
            "of that file say how to renew a library.\n",
            "| package | version | licence | purpose |\n|---|---|---|---|",
            *rows,
            "\nSHA-256:\n\n```text",
            *digests,
            "```\n",
        ]
    )


def main() -> None:
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if README.read_text(encoding="utf-8") == readme() else "the files differ from the digests in README.md")
    VENDOR.mkdir(parents=True, exist_ok=True)
    for package, version, _, _, files in LIBRARIES:
        download(package, version, files)
    README.write_text(readme(), encoding="utf-8")


if __name__ == "__main__":
    main()
