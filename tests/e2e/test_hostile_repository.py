"""A hostile repository is opened by the real program, with and without a screen: nothing of it runs before it is trusted."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.e2e.conftest import Program
from tests.e2e.terminal import Terminal
from tests.stubs.hostile_repository import Hostile, build

pytestmark = pytest.mark.e2e

SCRIPT = """
answers:
  - calls:
      - list_directory: {path: "."}
      - glob: {pattern: "**/*.py"}
      - grep: {pattern: "trap"}
      - read_file: {path: AGENTS.md}
      - write_file: {path: new.trap, content: "written by the agent\\n"}
  - text: All done here.
"""
VARIABLES = """
answers:
  - calls:
      - run_command: {command: "export -p > told.txt"}
  - text: Told.
"""


@dataclass(frozen=True)
class Opened:
    """The program on the hostile folder, and an address that nothing may ask."""

    program: Program
    hostile: Hostile
    trap: socket.socket

    def asked(self) -> bool:
        """Whether anything connected to the trap's address."""
        try:
            self.trap.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def script(self, text: str) -> str:
        path = self.program.home / "script.yaml"
        path.write_text(text)
        return f"scripted:{path}"

    def nothing_happened(self) -> None:
        assert self.hostile.fired() == [] and not self.asked()

    @property
    def environment(self) -> dict[str, str]:
        """With keys that the repository would like to have sent to it, and a `PATH` that begins with where one is."""
        kept = self.program.environment
        path = f".::{kept['PATH']}"
        return {**kept, "PATH": path, "SOMEONES_SECRET": "sk-someones-secret-0123456789"}

    def run(self, *words: str, timeout: float = 90) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.program.line("run", *words),
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=self.hostile.folder,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
        )


@pytest.fixture
def opened(program: Program, tmp_path: Path) -> Iterator[Opened]:
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.setblocking(False)
        address = f"http://127.0.0.1:{trap.getsockname()[1]}/v1"
        hostile = build(tmp_path / "theirs" / "repo", address)
        safe = replace(program, workspace=hostile.folder, command=(sys.executable, "-P", "-m", "tui_agent"))
        yield Opened(safe, hostile, trap)


def test_a_script_is_told_what_is_there_and_what_decides_and_nothing_happens(opened: Opened) -> None:
    done = opened.run("hi", "--model", opened.script(SCRIPT))
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    for said in (".env", "--ignore-project", "--trust-project", "tui-agent trust"):
        assert said in line
    assert not (opened.program.data / "sessions").exists()
    opened.nothing_happened()


def test_a_run_without_them_works_with_the_tools_and_nothing_happens(opened: Opened) -> None:
    model = opened.script(SCRIPT)
    done = opened.run("go", "--ignore-project", "--json", "--model", model, "--policy", "accept-edits")
    events = [json.loads(line)["payload"] for line in done.stdout.splitlines()]
    finished = {one["name"]: one["status"] for one in events if one["kind"] == "tool.finished"}
    assert len(finished) == 5 and set(finished.values()) == {"ok"}
    assert any(one["kind"] == "checkpoint.taken" for one in events)
    assert (opened.hostile.folder / "new.trap").read_text() == "written by the agent\n"
    opened.nothing_happened()


@pytest.mark.parametrize("option", ["--ignore-project", "--trust-project"])
def test_a_rule_of_the_folder_counts_only_where_it_is_trusted(opened: Opened, option: str) -> None:
    opened.run("go", option, "--model", opened.script(SCRIPT), "--policy", "ask")
    assert (opened.hostile.folder / "new.trap").exists() is (option == "--trust-project")


def test_no_variable_of_the_folder_reaches_a_command(opened: Opened) -> None:
    done = opened.run("go", "--ignore-project", "--model", opened.script(VARIABLES), "--policy", "bypass")
    told = (opened.hostile.folder / "told.txt").read_text()
    assert (
        done.returncode == 0
        and "TRAP_VARIABLE" not in told
        and str(opened.hostile.folder / "bin") not in told
    )
    for name in ("LD_PRELOAD", "BASH_ENV", "OPENAI_BASE_URL", "PYTHONSTARTUP", "GIT_EXTERNAL_DIFF"):
        assert f" {name}=" not in told
    opened.nothing_happened()


def test_a_run_that_trusts_them_uses_them_so_the_traps_are_real(opened: Opened) -> None:
    opened.run("go", "--trust-project", "--json", "--model", opened.script(SCRIPT))
    assert "plugin_file" in opened.hostile.fired() and "hook_before_tool" in opened.hostile.fired()
    assert "plugin_compiled" not in opened.hostile.fired()
    opened.hostile.forget()
    again = opened.run("go", "--json", "--model", opened.script(SCRIPT))
    assert again.returncode == 2  # it was for that run only
    opened.nothing_happened()


QUESTIONS = """
import sys
from tui_agent.cli.main import main
for question in ("doctor", "config show", "models list", "agents list", "plugins list", "themes list", "sessions list",
                 "trust", "policy check -- git status"):
    print("asked:", question)
    words, mark, line = question.partition(" -- ")
    main([*words.split(), *sys.argv[1:], *([mark.strip(), *line.split()] if mark else [])])
"""


def test_questions_to_the_command_line_run_nothing(opened: Opened) -> None:
    """One process asks them all: each start costs more than the question."""
    line = [sys.executable, "-P", "-c", QUESTIONS, "--data-dir", str(opened.program.data)]
    done = subprocess.run(
        line,
        capture_output=True,
        text=True,
        env=opened.environment,
        cwd=opened.hostile.folder,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0 and done.stdout.count("asked:") == 9, done
    opened.nothing_happened()


def test_the_app_asks_first_and_nothing_happens_without_trust(opened: Opened, mock: tuple[str, ...]) -> None:
    line = opened.program.line(*mock, "--policy", "accept-edits")
    with Terminal(line, size=(80, 24), cwd=opened.hostile.folder, environment=opened.environment) as terminal:
        terminal.until_text("Trust this folder's configuration?")
        terminal.press_until("\x1b[A", lambda screen: "› Q  Quit" not in screen, "another row")
        terminal.press_until("v", lambda screen: "Esc close" in screen, "a file's content")
        terminal.send("\x1b")
        terminal.until(lambda screen: "Esc close" not in screen, "the question again")
        opened.nothing_happened()
        assert listening(terminal.process.pid) == []
        terminal.until_text("› W  Ignore")
        terminal.send("\r")
        terminal.until(lambda screen: "Trust this folder's configuration?" not in screen, "an answer")
        terminal.send("hello @src")
        terminal.until_text("src/main.py")
        terminal.send("\x1b\x15")
        terminal.send("hello\r")
        terminal.until_text("Hello from the mock.")
        terminal.until_text("turn 1")
        assert listening(terminal.process.pid) == []
        terminal.send("\x03\x03")
        terminal.until_end()
    opened.nothing_happened()


def test_trusted_in_the_app_its_plugins_are_loaded_by_the_next_engine(
    opened: Opened, mock: tuple[str, ...]
) -> None:
    line = opened.program.line(*mock)
    with Terminal(
        line, size=(120, 40), cwd=opened.hostile.folder, environment=opened.environment
    ) as terminal:
        terminal.until_text("Trust this folder's configuration?")
        opened.nothing_happened()
        terminal.press_until(
            "t", lambda screen: "Trust this folder's configuration?" not in screen, "an answer"
        )
        terminal.until_text("Ask for a change")
        terminal.until(lambda screen: "plugin_file" in opened.hostile.fired(), "the plugin")
        terminal.send("\x03\x03")
        terminal.until_end()


def test_modules_beside_python_m_are_not_imported(opened: Opened) -> None:
    """`python -m tui_agent` puts the folder before everything; what the program itself imports comes from elsewhere."""
    done = subprocess.run(
        [sys.executable, "-m", "tui_agent", "sessions", "list"],
        capture_output=True,
        text=True,
        env=opened.environment,
        cwd=opened.hostile.folder,
        timeout=60,
        check=False,
    )
    assert "No sessions" in done.stdout + done.stderr
    opened.nothing_happened()


def listening(pid: int) -> list[str]:
    """The listening sockets of a process and all below it."""
    found: list[str] = []
    for one in family(pid):
        try:
            held = {str(path.readlink()) for path in Path(f"/proc/{one}/fd").iterdir()}
            tables = [Path(f"/proc/{one}/net/{name}").read_text() for name in ("tcp", "tcp6")]
        except OSError:  # it has ended
            continue
        rows = [row.split() for table in tables for row in table.splitlines()[1:]]
        found += [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in held]
    return found


def family(pid: int) -> list[int]:
    """A process and those below it."""
    try:
        below = [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return [pid]
    return [pid, *(each for child in below for each in family(child))]
