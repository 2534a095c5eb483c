import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = sorted(ROOT.glob("requirements*.lock"))
SCRIPTS = [
    path
    for path in (*ROOT.glob("installer/*"), ROOT / ".ci" / "run")
    if path.is_file() and path.read_text(encoding="utf-8").startswith("#!/usr/bin/env bash")
]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_has_a_hash_for_everything_and_neither_addresses_nor_torch(lock):
    text = lock.read_text()
    entries = re.split(r"\n(?=[a-z0-9])", text.strip())

    assert "://" not in text
    assert not re.search(r"^torch", text, re.MULTILINE)
    assert all("==" in entry and "--hash=sha256:" in entry for entry in entries)


def test_the_development_lock_agrees_with_the_one_for_running():
    running, developing = (_pins(ROOT / name) for name in ("requirements.lock", "requirements-dev.lock"))

    assert running.items() <= developing.items()


def test_every_declared_package_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    declared = [*project["dependencies"], *extras["models"], *extras["shell"], *extras["dev"], *extras["build"]]
    names = {re.match(r"[\w.-]+", entry)[0].lower().replace("_", "-") for entry in declared}

    assert names - _pins(ROOT / "requirements-dev.lock").keys() == set()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_strict_executable_and_parses(script):
    text = script.read_text()

    assert "set -euo pipefail" in text
    assert script.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", script], check=True)


def test_bootstrap_explains_itself_and_refuses_what_it_does_not_know():
    helped = subprocess.run([ROOT / "installer" / "bootstrap", "--help"], capture_output=True, text=True, check=False)
    refused = subprocess.run([ROOT / "installer" / "bootstrap", "--bogus"], capture_output=True, text=True, check=False)

    assert (helped.returncode, refused.returncode) == (0, 2)
    assert "--check" in helped.stdout


def test_make_help_lists_every_target():
    helped = subprocess.run(["make", "-C", ROOT, "help"], capture_output=True, text=True, check=True).stdout

    for target in ("setup", "page", "pack", "run", "test", "check", "lock", "clean"):
        assert re.search(rf"^{target} +\S", helped, re.MULTILINE)


def _pins(lock):
    return dict(re.findall(r"^([a-z0-9][\w.-]*)(?:\[[\w,-]+\])?==(\S+)", lock.read_text(), re.MULTILINE))
