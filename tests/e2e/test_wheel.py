"""The wheel by itself: in a new environment that holds only what the lock names, without a network."""

import email
import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, Program

pytestmark = pytest.mark.e2e

NO_SOCKETS = """
import socket

def refuse(self, address, *more):
    raise OSError(f"the network is cut off: {address}")

socket.socket.connect = socket.socket.connect_ex = refuse
"""


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked() -> set[str]:
    """The names of the lock, by their canonical spelling."""
    text = (ROOT / "requirements" / "lock.txt").read_text()
    return {canonical(name) for name in re.findall(r"^([A-Za-z0-9._-]+)==", text, re.M)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=120,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment's folder: the wheel's files, and links to the locked dependencies' own."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for distribution in metadata.distributions():
        name = canonical(distribution.metadata["Name"])
        if name not in locked() or name == "tui-agent":
            continue
        for top in {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "/")}:
            link, target = site / top, Path(str(distribution.locate_file(top)))
            if not link.exists() and target.exists():
                link.symlink_to(target)
    return folder


def cut_off(folder: Path) -> list[str]:
    """What to put before a command so that it has no network: a namespace of its own where the system lets us."""
    isolated = ["unshare", "--map-root-user", "--net"]
    try:
        if subprocess.run([*isolated, "true"], capture_output=True, check=False).returncode == 0:
            return isolated
    except FileNotFoundError:
        pass
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "sitecustomize.py").write_text(NO_SOCKETS)
    return []


def test_the_wheel_carries_themes_plugins_and_demos(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for kind in ("themes", "plugins", "demos"):
        shipped = {name.split(f"_bundled/{kind}/")[1] for name in names if f"_bundled/{kind}/" in name}
        present = {
            path.relative_to(ROOT / kind).as_posix()
            for path in (ROOT / kind).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        assert present
        assert shipped == present
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests/")]


def test_the_lock_holds_all_that_the_wheel_requires(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (path,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        about = email.message_from_bytes(archive.read(path))
    required = [line for line in about.get_all("Requires-Dist", []) if "extra ==" not in line]
    names = {canonical(re.split(r"[^A-Za-z0-9._-]", line)[0]) for line in required}
    assert names
    assert not names - locked()


def test_the_installed_wheel_runs_a_demo_without_a_network(installed: Path, program: Program) -> None:
    python = str(installed / "bin" / "python")
    environment = {name: value for name, value in program.environment.items() if name != "PYTHONPATH"}
    command = [*cut_off(installed), python, "-m", "tui_agent"]

    def call(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*command, *words],
            capture_output=True,
            text=True,
            env={**environment, "PATH": f"{installed / 'bin'}{os.pathsep}{environment['PATH']}"},
            cwd=program.workspace,
            timeout=90,
            check=False,
        )

    done = call("demo", "bugfix", "--headless", "--json", "--data-dir", str(program.data))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["payload"]["kind"] == "run.finished"
    doctor = call("doctor", "--json", "--data-dir", str(program.data))
    states = {line["check"]: line["state"] for line in map(json.loads, doctor.stdout.splitlines())}
    assert states["installation"] == "ok"
    assert states["plugins"] == "ok"


def test_the_installed_package_is_the_wheels(installed: Path) -> None:
    done = subprocess.run(
        [installed / "bin" / "python", "-c", "import tui_agent; print(tui_agent.__file__)"],
        capture_output=True,
        text=True,
        cwd=installed,
        check=True,
    )
    assert Path(done.stdout.strip()).is_relative_to(installed)
