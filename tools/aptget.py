"""Installation of Debian packages, and the sources that this machine gets them from, as apt reports them.

It reads apt's index targets and source files (one-line and deb822). A suite that is added here uses the mirror, the key and the
options that the machine's owner chose; apt handles proxies and passwords. Standard library only, because it runs before any
package is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

BACKPORTS_FILE = Path("/etc/apt/sources.list.d/fusepy-backports.sources")

# option names of the one-line format whose deb822 field is a different word (sources.list(5))
_FIELDS = {"arch": "Architectures", "lang": "Languages", "target": "Targets", "pdiffs": "PDiffs", "signed-by": "Signed-By"}
_ONE_LINE = re.compile(r"^deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)")


class SetupError(Exception):
    """An error that stops the set-up; its message gives the alternative."""


@dataclass(frozen=True)
class Entry:
    """One entry of apt's sources. `number` counts as apt does: lines of a ``.list`` file, stanzas of a ``.sources`` file."""

    number: int
    uris: tuple[str, ...]
    suites: tuple[str, ...]
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """One package index of apt: its suite, and the file and number of its source entry."""

    origin: str
    codename: str
    component: str
    uri: str
    file: str
    number: int


def parse_list(text: str) -> list[Entry]:
    """Returns the ``deb`` lines of a one-line ``.list`` file."""
    entries: list[Entry] = []
    for number, line in enumerate(text.splitlines(), 1):
        found = _ONE_LINE.match(line.split("#")[0].strip())
        if found is None:
            continue
        options: dict[str, str] = {}
        for option in (found["options"] or "").split():
            name, _, value = option.partition("=")
            if name[-1:] not in ("+", "-"):  # `arch+=` and `arch-=` change apt's defaults, and the new suite does not need them
                options[_FIELDS.get(name.lower(), name.title())] = value.replace(",", " ")
        entries.append(Entry(number, (found["uri"],), (found["suite"],), options))
    return entries


def parse_stanzas(text: str) -> list[dict[str, str]]:
    """Returns the stanzas of deb822 text. A value keeps its continuation lines; comments are dropped."""
    stanzas: list[dict[str, str]] = [{}]
    name = ""
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if not line.strip():
            if stanzas[-1]:
                stanzas.append({})
        elif line[0] in " \t":
            stanzas[-1][name] += "\n" + line
        else:
            name, _, value = line.partition(":")
            stanzas[-1][name] = value.strip()
    return [stanza for stanza in stanzas if stanza]


def parse_sources(text: str) -> list[Entry]:
    """Returns the enabled ``deb`` stanzas of a deb822 ``.sources`` file."""
    own = {"Types", "Uris", "Suites", "Components", "Enabled"}
    entries: list[Entry] = []
    for number, stanza in enumerate(parse_stanzas(text), 1):
        # field names are case-insensitive in deb822
        fields = {name.title(): value for name, value in stanza.items()}
        if "deb" not in fields.get("Types", "").split() or fields.get("Enabled", "yes").lower() in ("no", "false", "0", "off"):
            continue
        options = {name: value for name, value in fields.items() if name not in own and not name.startswith("X-")}
        entries.append(Entry(number, tuple(fields.get("Uris", "").split()), tuple(fields.get("Suites", "").split()), options))
    return entries


def parse_targets(text: str) -> list[Target]:
    """Returns the package indices in the output of ``apt-get indextargets``."""
    targets: list[Target] = []
    for stanza in parse_stanzas(text):
        if stanza.get("Created-By") != "Packages":
            continue
        file, _, number = stanza.get("Sourcesentry", "").rpartition(":")
        targets.append(
            Target(
                origin=stanza.get("Origin", ""),
                codename=stanza.get("Codename", ""),
                component=stanza.get("Component", ""),
                uri=stanza.get("Repo-URI", ""),
                file=file,
                number=int(number) if number.isdigit() else 0,
            )
        )
    return targets


def main_target(targets: list[Target], codename: str) -> Target | None:
    """Returns the index of the release's own `main` packages."""
    found = [t for t in targets if t.codename == codename and t.component == "main"]
    return min(found, key=lambda t: t.origin != "Debian", default=None)


def entry_of(target: Target, text: str) -> Entry:
    """Returns the source entry of a target from the text of its file, or the bare address if the file no longer has it."""
    entries = parse_sources(text) if target.file.endswith(".sources") else parse_list(text)
    plain = Entry(target.number, (target.uri,), (target.codename,))
    return next((entry for entry in entries if entry.number == target.number), plain)


def stanza_for(entry: Entry, suite: str) -> str:
    """Returns a deb822 stanza for another suite of the same mirror, with the same key and options."""
    lines = [
        "# Written by fusepy's tools/setup_driver.py, which takes its graphics driver from this suite.",
        "Types: deb",
        f"URIs: {' '.join(entry.uris)}",
        f"Suites: {suite}",
        "Components: main",
        *(f"{name}: {value}" for name, value in sorted(entry.options.items())),
    ]
    return "\n".join(lines) + "\n"


def candidate_in(policy: str) -> str | None:
    """Returns the version that apt would install, from the output of ``apt-cache policy NAME``."""
    found = re.search(r"^\s*Candidate:\s*(\S+)", policy, re.MULTILINE)
    return found[1] if found and found[1] != "(none)" else None


def root_prefix() -> list[str]:
    """Returns the words to put before a command so that it runs as root.

    Raises:
        SetupError: if this process is not root and sudo would ask for a password.
    """
    if os.geteuid() == 0:
        return []
    asked = ["sudo", "-n", "true"]
    if shutil.which("sudo") and subprocess.run(asked, capture_output=True, stdin=subprocess.DEVNULL).returncode == 0:
        return ["sudo", "-n"]
    raise SetupError("installing needs root, or a sudo without a password")


class Apt:
    """apt-get, run as root without questions. Each method raises `SetupError` with apt's last lines if apt fails."""

    def __init__(self) -> None:
        if not shutil.which("apt-get"):
            raise SetupError("this system has no apt-get")
        self._root = root_prefix()

    def update(self) -> None:
        """Fetches the package lists. A source that fails is only reported, because the necessary one may work."""
        try:
            self._apt("update")
        except SetupError as error:
            print(f"warning: {error}", flush=True)

    def install(self, *packages: str, suite: str | None = None) -> None:
        """Installs packages, optionally from one suite, and never removes any."""
        target = ["-t", suite] if suite else []
        self._apt("install", "--no-install-recommends", "--no-remove", *target, *packages)

    def candidate(self, package: str) -> str | None:
        """Returns the version of a package that would be installed, or None if apt does not know the package."""
        return candidate_in(_output(["apt-cache", "policy", package]))

    def has_suite(self, suite: str) -> bool:
        """True if apt's lists have packages of this suite."""
        return any(target.codename == suite for target in parse_targets(_output(["apt-get", "indextargets"])))

    def add_suite(self, codename: str, suite: str) -> None:
        """Adds a suite for the release `codename`, unless it exists, and fetches its lists."""
        if self.has_suite(suite):
            return
        target = main_target(parse_targets(_output(["apt-get", "indextargets"])), codename)
        if target is None:
            raise SetupError(f"apt's sources name no mirror with the suite {codename}, so {suite} cannot be found")
        source = Path(target.file)
        text = source.read_text(encoding="utf-8") if source.is_file() else ""
        # an address can contain a password: the new file is as private as the original
        mode = stat.S_IMODE(source.stat().st_mode) if source.is_file() else 0o644
        print(f"Adding the suite {suite} to apt's sources in {BACKPORTS_FILE}", flush=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".sources") as draft:
            draft.write(stanza_for(entry_of(target, text), suite))
            draft.flush()
            _run([*self._root, "install", "-m", f"{mode:o}", draft.name, str(BACKPORTS_FILE)])
        self.update()
        if not self.has_suite(suite):
            _run([*self._root, "rm", "-f", str(BACKPORTS_FILE)])
            raise SetupError(f"this machine's mirror has no suite {suite}; the added source was removed again")

    def _apt(self, *arguments: str) -> None:
        options = ["-y", "-q", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3", "-o", "Dpkg::Use-Pty=0"]
        _run([*self._root, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "apt-get", *options, *arguments])


def _run(command: list[str]) -> None:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(command, text=True, errors="replace", **pipes)
    if done.returncode:
        said = "\n".join("  " + line for line in done.stdout.strip().splitlines()[-15:])
        raise SetupError(f"`{' '.join(command)}` failed:\n{said}")


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, errors="replace", env={**os.environ, "LC_ALL": "C"}).stdout
