"""Run calls of real programs, shut into a sandbox with canary files and stub programs, and note what they did.

The sandbox has no network and a read-only root; everything that can be written is a memory file system. `sh`, through which
awk and others start programs, is a stub, too.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tui_agent.policy.catalog.catalog import Catalog
from tui_agent.policy.decision.escalations import follows_link, reads_secrets_below
from tui_agent.policy.decision.path_patterns import matches_path
from tui_agent.policy.interpreter.command_report import Certainty, CommandReport, Doubt, FileUse
from tui_agent.policy.interpreter.line import read_line
from tui_agent.policy.places.path_places import Guards, place
from tui_agent.ports.environment import SecretFile, WorkspaceLink
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect

BWRAP = shutil.which("bwrap")
WORK = "/tmp/w"
FILES = {
    "README.md": "# a\nb 2\nx > y\nabc,1,2\n", "data/a.csv": "a,1\nb,2\nx,3\n", "names.txt": "3\n1\n2\n", "package.json": '{"a": {"env": "x y"}, "b": 1}\n',
    "src/main.py": "a = 1\n", "src/util.py": "b = 2\n", "src/.hidden.py": "c\n", ".env": "TOKEN=CANARY-INSIDE\n", "src/.env": "TOKEN=CANARY-INSIDE\n",
    "odd/-rf": "a\n", "odd/-delete": "a\n", "odd/x y.py": "a\n", "odd/'q'": "a\n", "odd/@f": "a\n", "odd/plain.py": "a\n",
}  # fmt: skip
"""The files of the folder that calls run in; `.env` holds a secret."""
STUBS = ("EVIL", "id", "rm", "tee", "touch", "mv", "cp", "less", "pager", "editor", "vi", "gpg", "xx")
CATALOG = Catalog()
GUARDS = Guards()
FACTS = PolicyFacts(
    WORK,
    "ask",
    secrets=tuple(SecretFile(name, f"{WORK}/{name}") for name in FILES if name.endswith(".env")),
    links=(WorkspaceLink("linked", "/tmp/outside"),),
)
DRIVER = Path(__file__).with_name("sandbox_driver.py")


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that a call did and a harmless one does not do, and the beginning of its output."""

    faults: tuple[str, ...]
    output: str


def run_calls(lines: Sequence[str], *, seconds: float = 20, jobs: int = 2) -> list[Outcome]:
    """Run lines of bash in the same folder: many together, and each by itself where they did anything."""
    size = max(1, -(-len(lines) // jobs))
    parts = [lines[start : start + size] for start in range(0, len(lines), size)]
    with ThreadPoolExecutor(jobs) as pool:
        found = pool.map(lambda part: _run_part(part, seconds), parts)
        return [outcome for part in found for outcome in part]


def _run_part(lines: Sequence[str], seconds: float) -> list[Outcome]:
    assert BWRAP is not None
    setup = {"files": FILES, "stubs": STUBS, "lines": lines, "seconds": seconds}
    with tempfile.TemporaryDirectory() as folder:
        shell = Path(folder) / "sh"
        shell.write_text("#!/bin/bash\n: > /tmp/marks/$$-sh\n")
        shell.chmod(0o755)
        command = [
            BWRAP, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--ro-bind", str(shell),
            str(Path("/bin/sh").resolve()), "--unshare-all", "--die-with-parent", "--new-session", "--clearenv",
            str(Path(sys.executable).resolve()), "-I", "-S", "-c", DRIVER.read_text(encoding="utf-8"),
        ]  # fmt: skip
        finished = subprocess.run(
            command, input=json.dumps(setup), capture_output=True, text=True, check=False
        )
    results = [json.loads(text) for text in finished.stdout.splitlines()]
    assert len(results) == len(lines), finished.stderr[-2000:]
    return [Outcome(tuple(found["faults"]), found["output"]) for found in results]


def is_harmless(line: str) -> bool:
    """Return True if our reading of a line, with the rules for its files, leaves nothing to ask about."""
    report = read_line(RunEffect(script=line), CATALOG)
    return not report.refusal and bool(report.commands) and all(map(_is_harmless, report.commands))


def _is_harmless(command: CommandReport) -> bool:
    if any(effect != "reads" for effect in command.effects) or not all(map(_is_void, command.doubts)):
        return False
    if not all(map(_may_be_used, command.files)) or set(command.folders) != {""}:
        return False
    if command.name == "grep" and any(use.action == "list" for use in command.files):
        return False  # -l and -L read files of which they print only names
    uses = [(use, use.path) for use in command.files]
    return not follows_link(command, uses, FACTS) and not reads_secrets_below(command, uses, FACTS)


def _is_void(doubt: Doubt) -> bool:
    """Return True if no file that fits has a name that is a danger."""
    value = doubt.value
    if value is None or not value.names_files:
        return False
    names = [name for name in FILES if matches_path(value.text.removeprefix("./"), name)]
    odd = " *?['\"\\" if value.splits else ""
    return not any(name[0] in "-+@|=" or set(name) & set(odd) for name in names)


def _may_be_used(use: FileUse) -> bool:
    """Return True for files of the folder without secrets. A program that prints only names of those may read them."""
    bounded = use.certainty is Certainty.BOUNDED
    if use.certainty is Certainty.UNKNOWN or use.action not in ("read", "list"):
        return False
    at = place(use.path, FACTS)
    if (
        at.relative is None
        or f"{at.relative}/".startswith("linked/")
        or GUARDS.is_secret(at, pattern=bounded)
    ):
        return False
    return not bounded or not any(matches_path(at.relative, secret.name) for secret in FACTS.secrets)
