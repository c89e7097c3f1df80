"""The real program as a process: a home of its own, a workspace, and a stand-in model over HTTP."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal
from tui_agent.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Program:
    """The program as installed beside this interpreter, with a home and a workspace of its own."""

    home: Path
    workspace: Path
    command: tuple[str, ...] = (sys.executable, "-m", "tui_agent")

    @property
    def environment(self) -> dict[str, str]:
        """No key, no configuration and no colour wish of whoever runs the tests."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}
        return {
            **kept,
            "HOME": str(self.home),
            "OPENAI_API_KEY": "sk-e2e",
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm",
        }

    @property
    def data(self) -> Path:
        return self.home / "data"

    def line(self, *words: str) -> list[str]:
        """The command line of a call, with this program's folders."""
        end = words.index("--") if "--" in words else len(words)
        place = ("--data-dir", str(self.data))
        return [*self.command, *words[:end], *place, *words[end:]]

    def run(self, *words: str, stdin: str = "", timeout: float = 90) -> subprocess.CompletedProcess[str]:
        """Call it and wait for its end."""
        return subprocess.run(
            self.line(*words),
            input=stdin,
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=self.workspace,
            timeout=timeout,
            check=False,
        )

    def run_in_process(
        self, *words: str, stdin: str = "", environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command line in this process, which takes a tenth of the time of a start of the program.

        For calls that prepare a test or look at what is left, and where nothing depends on a process of its own.
        """
        environment = {**self.environment, **(environ or {})}
        line = self.line(*words)
        output, errors = (TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(errors):
            for name in os.environ.keys() - environment.keys():
                patch.delenv(name)
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", StringIO(stdin))
            patch.chdir(self.workspace)
            status = main(line[len(self.command) :])
        texts = [stream.buffer.getvalue().decode() for stream in (output, errors)]  # type: ignore[attr-defined]
        return subprocess.CompletedProcess(line, status, *texts)

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Call it and follow what it prints."""
        return subprocess.Popen(
            self.line(*words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=self.workspace,
        )


def new_program(folder: Path) -> Program:
    """With its home and a workspace of a few files in this folder."""
    made = Program(folder / "home", folder / "work")
    made.home.mkdir()
    made.workspace.mkdir()
    for number in range(30):
        (made.workspace / f"note{number}.txt").write_text(f"note {number}\n")
    return made


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return new_program(tmp_path)


@pytest.fixture
def start(program: Program) -> Callable[..., Terminal]:
    """Start the program with these words in a terminal of a size (columns, lines)."""

    def begin(*words: str, size: tuple[int, int] = (120, 40)) -> Terminal:
        line = program.line(*words)
        return Terminal(line, size=size, cwd=program.workspace, environment=program.environment)

    return begin


@pytest.fixture(scope="session")
def model_url() -> Iterator[str]:
    """The address of a stand-in model (benchmarks/mock_llm.py) on this machine."""
    command = [sys.executable, "-m", "benchmarks.mock_llm", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as served:
        assert served.stdout is not None
        try:
            yield served.stdout.readline().split()[-1]
        finally:
            served.terminate()


@pytest.fixture
def mock(model_url: str) -> tuple[str, ...]:
    """The options that make the stand-in the model."""
    return ("--model", "mock", "--base-url", model_url)
