"""The files of the page: the libraries are what npm has, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.rules.tree import REPOSITORY, ROOT

STATIC = ROOT / "studio" / "static"
OWN = [path for path in sorted(STATIC.iterdir()) if path.is_file()]


def test_the_libraries_are_unchanged() -> None:
    tool = REPOSITORY / "tools" / "vendor_studio.py"
    assert subprocess.run([sys.executable, str(tool), "--check"]).returncode == 0


def test_nothing_is_loaded_from_elsewhere_and_no_script_stands_in_the_page() -> None:
    for path in OWN:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text.replace("ws://${location.host}", ""), path.name
        assert len(text.splitlines()) <= 300, path.name
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<script[^>]*>([^<]*)</script>", page) == [""] * 5
    assert not re.search(r"<style|\son\w+=|\sstyle=", page)


def test_every_name_that_a_module_imports_is_there() -> None:
    exported = {
        path.name: set(re.findall(r"export (?:async )?(?:function|const|class) \{?\s*(\w+)", path.read_text())) for path in OWN
    }
    exported["html.js"] |= set(re.findall(r"use\w+", (STATIC / "html.js").read_text()))
    for path in OWN:
        for names, module in re.findall(r'^import \{ ([^}]+) \} from "\./(\w+\.js)"', path.read_text(encoding="utf-8"), re.M):
            assert set(names.split(", ")) <= exported[module], f"{path.name} from {module}"
