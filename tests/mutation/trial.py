"""One mutant against the tests that are to notice it, in a process of its own.

Invariant: no file changes; the fault is put into the module while it is imported, so several runs side by side and
whoever works on the code are not in each other's way. What comes of the trial itself, and not of a test, is never
taken for a test that noticed: it raises `Spoiled`.
"""

import importlib
import importlib.abc
import importlib.machinery
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest

from tests.mutation.covering import Covered
from tests.mutation.mutants import Mutant, mutated
from tests.mutation.watching import ROOT, Chooser, Recorder

How = Literal["failed", "hung", "died", "no program", "unnoticed"]
_OURS = ("tui_agent", "tests", "plugins")
_MEMORY = 6 << 30
_BROKEN = 70
"""The status of a trial whose module cannot even be imported with its fault."""
_UNLOADED = 71
_PRINTED = 4_000


class Spoiled(Exception):
    """A trial that tells nothing about its mutant."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended, and the test that failed first."""

    how: How
    seconds: float
    test: str = ""

    @property
    def noticed(self) -> bool:
        """Whether a test failed, never ended, or took its process with it."""
        return self.how in ("failed", "hung", "died")


@dataclass(frozen=True, slots=True)
class _Ended:
    """`status` is None where its time was up; `printed` is the end of what it printed."""

    status: int | None
    said: dict[str, Any]
    printed: str
    seconds: float


class _Faulty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module with a fault in it."""

    def __init__(self, name: str, path: Path, mutant: Mutant) -> None:
        self._name = name
        self._path = path
        self._mutant = mutant
        self.broken = False

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return spec_from_loader(name, self, origin=str(self._path)) if name == self._name else None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self._path)
        code = compile(mutated(self._path.read_text(encoding="utf-8"), self._mutant), str(self._path), "exec")
        self.broken = True
        exec(code, module.__dict__)
        self.broken = False


def cover(modules: Sequence[str], tests: Sequence[str], limit_s: float = 1_800.0) -> Covered:
    """Run the tests on the program as it is, and note who runs what. Raises `Spoiled` where one fails."""

    def run() -> tuple[int, dict[str, Any]]:
        watching = Recorder(modules)
        watching.begin()
        for path in modules:
            importlib.import_module(_name(path))
        status = _pytest(tests, watching)
        foreign = [name for name, module in sys.modules.items() if _is_foreign(name, module)]
        return status, {"lines": watching.lines(), "seconds": watching.seconds, "foreign": foreign}

    ended = _apart(run, limit_s)
    if ended.status != 0:
        raise Spoiled(f"the tests fail without any fault (status {ended.status}):\n{ended.printed}")
    _warm(ended.said["foreign"])
    lines = {
        path: {int(line): frozenset(each) for line, each in found.items()}
        for path, found in ended.said["lines"].items()
    }
    return Covered(lines, ended.said["seconds"])


def try_out(path: str, mutant: Mutant | None, limits: Mapping[str, float]) -> Outcome:
    """Run tests, each with its limit in seconds and in this order, with the fault in the module at `path` (below the
    project's folder); without one where it is None. Raises `Spoiled`."""

    def run() -> tuple[int, dict[str, Any]]:
        choosing = Chooser(limits)
        faulty = None if mutant is None else _Faulty(_name(path), ROOT / path, mutant)
        if faulty is not None:
            sys.meta_path.insert(0, faulty)
        try:
            module = importlib.import_module(_name(path))
        except Exception:
            if faulty is None or not faulty.broken:
                raise
            return _BROKEN, {}
        if faulty is not None and module.__loader__ is not faulty:
            return _UNLOADED, {}
        status = _pytest(list(dict.fromkeys(test.split("::")[0] for test in limits)), choosing)
        return status, {"failed": choosing.failed, "timed_out": choosing.timed_out}

    if not limits:
        return Outcome("unnoticed", 0.0)
    ended = _apart(run, 30.0 + sum(limits.values()))
    failed = str(ended.said.get("failed", ""))
    match ended.status:
        case 0:
            return Outcome("unnoticed", ended.seconds)
        case None:
            return Outcome("hung", ended.seconds)
        case pytest.ExitCode.TESTS_FAILED if failed:
            return Outcome("hung" if ended.said["timed_out"] else "failed", ended.seconds, failed)
        case 70:
            return Outcome("no program", ended.seconds)
        case int(number) if number < 0:
            return Outcome("died", ended.seconds)
        case number:
            raise Spoiled(f"{path}: {mutant}: the trial itself failed (status {number}):\n{ended.printed}")


def _name(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def _is_foreign(name: str, module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return bool(file) and name.split(".")[0] not in _OURS and not str(file).startswith(f"{ROOT}/tests")


def _warm(names: Sequence[str]) -> None:
    """Import what the tests import of others, once for all the trials to come."""
    for name in names:
        with suppress(ImportError):
            importlib.import_module(name)


def _apart(run: Callable[[], tuple[int, dict[str, Any]]], limit_s: float) -> _Ended:
    """How something ends in a process of its own."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as printed:
        child = os.fork()
        if child == 0:
            _be_tried(run, said.fileno(), printed.fileno())
        watched = os.pidfd_open(child)
        try:
            ended, _, _ = select.select([watched], [], [], limit_s)
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)  # with all that it started and did not end
        finally:
            os.close(watched)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status) if ended else None
        said.seek(0)
        found = json.loads(said.read() or "{}")
        printed.seek(max(0, printed.seek(0, os.SEEK_END) - _PRINTED))
        text = printed.read().decode(errors="replace")
    return _Ended(code, found, text, time.monotonic() - began)


def _address_space() -> int:
    """The bytes that this process has mapped: libraries of earlier tests, such as duckdb, can map very much."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()


def _be_tried(run: Callable[[], tuple[int, dict[str, Any]]], said: int, printed: int) -> None:
    """The child's part; it never returns."""
    status = 3
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        limit = _address_space() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))  # a fault can make a loop that only grows
        for name in [one for one in sys.modules if one.split(".")[0] in _OURS]:
            del sys.modules[
                name
            ]  # where other tests have run in this process, those without the fault are there
        status, found = run()
        os.write(said, json.dumps(found).encode())
    finally:
        if sys.exception() is not None:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(status)


def _pytest(tests: Sequence[str], plugin: object) -> int:
    return int(pytest.main(["-x", "-q", "-p", "no:xdist", "--assert=plain", *tests], plugins=[plugin]))
