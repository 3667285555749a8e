"""tools/aptget.py: reading apt's configuration, adding a suite of the same mirror, running apt-get as root."""

from __future__ import annotations

import os
from pathlib import Path

import aptget
import pytest

TARGETS = """\
MetaKey: main/binary-amd64/Packages
Codename: bookworm-security
Origin: Debian
Suite: oldstable-security
Component: main
Created-By: Packages
Repo-URI: http://mirror.example/debian-security/
Sourcesentry: /etc/apt/sources.list.d/debian.sources:2

MetaKey: main/binary-amd64/Packages
Codename: bookworm
Origin: Somebody
Component: main
Created-By: Packages
Repo-URI: http://other.example/apt/
Sourcesentry: /etc/apt/sources.list.d/other.list:1

MetaKey: main/i18n/Translation-en
Codename: bookworm
Origin: Debian
Component: main
Created-By: Translations
Repo-URI: http://mirror.example/debian/
Sourcesentry: /etc/apt/sources.list.d/debian.sources:1

MetaKey: main/binary-amd64/Packages
Codename: bookworm
Origin: Debian
Component: main
Created-By: Packages
Repo-URI: http://mirror.example/debian/
Sourcesentry: {entry}
"""

SOURCES = """\
# what this machine was made from
Types: deb deb-src
# http://snapshot.example/archive
URIs: mirror+file:/etc/apt/mirrors/debian.list
Suites: bookworm bookworm-updates
Components: main contrib
X-Repolib-Name: Debian
Check-Valid-Until: no
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg


Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main

types: deb
uris: https://inline.example/debian
suites: bookworm
components: main
signed-by:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBGPL0BUBEADmW5Nd
 -----END PGP PUBLIC KEY BLOCK-----
"""

LIST = """\
# deb http://commented.example/debian bookworm main
deb-src http://mirror.example/debian bookworm main
deb [arch=amd64,arm64 signed-by=/etc/apt/keyrings/own.asc trusted=yes lang+=de] https://u:w@mirror.example/debian bookworm main #

deb http://plain.example/debian/ bookworm main contrib  # second
"""


def stanza(entry: str, text: str) -> str:
    target = aptget.main_target(aptget.parse_targets(TARGETS.format(entry=entry)), "bookworm")
    return aptget.stanza_for(aptget.entry_of(target, text), "bookworm-backports")


def body(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_targets_name_the_release_of_debian_itself():
    targets = aptget.parse_targets(TARGETS.format(entry="/etc/apt/sources.list:3"))
    assert [t.codename for t in targets] == ["bookworm-security", "bookworm", "bookworm"]  # no translations
    main = aptget.main_target(targets, "bookworm")
    assert (main.origin, main.file, main.number) == ("Debian", "/etc/apt/sources.list", 3)
    assert aptget.main_target(targets, "trixie") is None


def test_deb822_source_keeps_mirror_key_and_options():
    assert body(stanza("/etc/apt/sources.list.d/debian.sources:1", SOURCES)) == [
        "Types: deb",
        "URIs: mirror+file:/etc/apt/mirrors/debian.list",
        "Suites: bookworm-backports",
        "Components: main",
        "Check-Valid-Until: no",
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg",
    ]


def test_a_key_inside_the_source_survives_the_copy():
    written = stanza("/etc/apt/sources.list.d/debian.sources:3", SOURCES)
    [entry] = aptget.parse_sources(written)
    assert entry.uris == ("https://inline.example/debian",)
    assert entry.suites == ("bookworm-backports",)
    assert entry.options["Signed-By"].splitlines()[1:] == SOURCES.splitlines()[-4:]


def test_stanzas_count_as_apt_counts_them():
    # The disabled one is left out, and its number is not given to the next.
    assert [(e.number, e.uris) for e in aptget.parse_sources(SOURCES)] == [
        (1, ("mirror+file:/etc/apt/mirrors/debian.list",)),
        (3, ("https://inline.example/debian",)),
    ]


def test_one_line_source_becomes_a_stanza():
    assert body(stanza("/etc/apt/sources.list:3", LIST)) == [
        "Types: deb",
        "URIs: https://u:w@mirror.example/debian",
        "Suites: bookworm-backports",
        "Components: main",
        "Architectures: amd64 arm64",
        "Signed-By: /etc/apt/keyrings/own.asc",
        "Trusted: yes",
    ]
    assert [e.number for e in aptget.parse_list(LIST)] == [3, 5]


def test_a_source_that_vanished_leaves_the_bare_mirror():
    assert "URIs: http://mirror.example/debian/" in body(stanza("/etc/apt/sources.list:9", LIST))


@pytest.mark.parametrize(
    ("policy", "version"),
    [
        ("mesa-vulkan-drivers:\n  Installed: (none)\n  Candidate: 22.3.6-1+deb12u2\n  Version table:\n", "22.3.6-1+deb12u2"),
        ("mesa-vulkan-drivers:\n  Installed: (none)\n  Candidate: (none)\n", None),
        ("", None),
    ],
)
def test_candidate(policy: str, version: str | None):
    assert aptget.candidate_in(policy) == version


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that `aptget` would have run as root."""
    ran: list[list[str]] = []
    monkeypatch.setattr(aptget, "_run", ran.append)
    monkeypatch.setattr(aptget, "root_prefix", lambda: ["sudo", "-n"])
    monkeypatch.setattr(aptget.shutil, "which", lambda name: name)
    return ran


def test_a_suite_that_is_there_is_not_added_again(commands: list[list[str]], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(aptget, "_output", lambda command: TARGETS.format(entry="/etc/apt/sources.list:3"))
    aptget.Apt().add_suite("bookworm", "bookworm-security")
    assert commands == []


def test_a_suite_that_the_mirror_lacks_is_taken_away_again(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    private = tmp_path / "own.list"
    private.write_text("deb https://u:w@mirror.example/debian bookworm main\n")
    private.chmod(0o600)
    monkeypatch.setattr(aptget, "_output", lambda command: TARGETS.format(entry=f"{private}:1"))
    with pytest.raises(aptget.SetupError, match="no suite bookworm-backports"):
        aptget.Apt().add_suite("bookworm", "bookworm-backports")
    write, update, remove = commands
    assert write[:5] == ["sudo", "-n", "install", "-m", "600"]
    assert update[-1] == "update"
    assert remove == ["sudo", "-n", "rm", "-f", write[-1]]


def test_install_removes_nothing_and_asks_nothing(commands: list[list[str]]):
    aptget.Apt().install("a", "b", suite="s")
    [command] = commands
    assert command[:4] == ["sudo", "-n", "env", "DEBIAN_FRONTEND=noninteractive"]
    assert command[-5:] == ["--no-remove", "-t", "s", "a", "b"]


def test_root_comes_from_sudo_only_without_a_password(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    sudo = tmp_path / "sudo"
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    sudo.write_text("#!/bin/sh\nexit 0\n")
    sudo.chmod(0o755)
    assert aptget.root_prefix() == ["sudo", "-n"]
    sudo.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(aptget.SetupError, match="needs root"):
        aptget.root_prefix()
