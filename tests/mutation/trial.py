"""One mutant against the tests that are to notice it, in a process of its own.

Invariant: no file changes; the fault is put into the module while it is imported, so several runs side by side and
whoever works on the code are not in each other's way.
"""

import importlib.abc
import importlib.machinery
import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from tests.mutation.mutants import Mutant, mutated

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`status` is pytest's; None where the time was up."""

    status: int | None
    seconds: float

    @property
    def noticed(self) -> bool:
        """Whether some test failed, or never ended, or could not even begin."""
        return self.status != 0


class _Faulty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module with a fault in it."""

    def __init__(self, name: str, path: Path, mutant: Mutant) -> None:
        self._name = name
        self._path = path
        self._mutant = mutant

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return spec_from_loader(name, self, origin=str(self._path)) if name == self._name else None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self._path)
        tree = mutated(self._path.read_text(encoding="utf-8"), self._mutant)
        exec(compile(tree, str(self._path), "exec"), module.__dict__)


def try_out(path: str, mutant: Mutant | None, tests: Sequence[str], limit_s: float) -> Outcome:
    """Run the tests with the fault in the module at `path` (below the project's folder); without one where it is None."""
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _be_tried(path, mutant, tests)
    watched = os.pidfd_open(child)
    try:
        ended, _, _ = select.select([watched], [], [], limit_s)
        if not ended:
            os.killpg(child, signal.SIGKILL)
    finally:
        os.close(watched)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status) if ended else None
    return Outcome(code, time.monotonic() - began)


def _be_tried(path: str, mutant: Mutant | None, tests: Sequence[str]) -> None:
    """The child's part; it never returns."""
    os.setsid()
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(quiet, descriptor)
    for name in [one for one in sys.modules if one.split(".")[0] in ("tui_agent", "tests")]:
        del sys.modules[
            name
        ]  # where other tests have run in this process, the module without the fault is there
    if mutant is not None:
        name = path.removesuffix(".py").replace("/", ".")
        sys.meta_path.insert(0, _Faulty(name, ROOT / path, mutant))
    status = 3
    try:
        plain = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=", "-m", "not soak")
        status = int(pytest.main([*plain, *tests]))
    finally:
        os._exit(status)
