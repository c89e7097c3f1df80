"""A secret that is everywhere in a session stands in no file that the program writes, and in nothing that it prints.

But for the contents and names of files: `checkpoints.git`, a bundle and an archive hold those as they were, or they
could not be put back. What else these hold is looked at too.
"""

import base64
import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.e2e.conftest import Program

pytestmark = pytest.mark.e2e

CANARY = "canary-Zq8w+Xv/71Lk"
"""No issuer's format: only the variable says that it is a secret."""
ISSUED = "".join(("gh", "p_", "Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4fGh7J"))
SPELLED = (CANARY, ISSUED, base64.b64encode(CANARY.encode()).decode().rstrip("=")[:-1], CANARY.encode().hex())

SCRIPT = f"""
answers:
  - reasoning: "I think of {ISSUED} and {CANARY}."
    text: "The token is {CANARY}, the other {ISSUED}."
    pace: 2000
    calls:
      - run_command: {{command: "cat notes.txt; printf %s {CANARY} | base64; printf %s {ISSUED} | tee {ISSUED}.txt"}}
      - write_file: {{path: "{ISSUED}.md", content: "token: {CANARY}"}}
      - read_file: {{path: "no-{ISSUED}"}}
  - text: "Done with {ISSUED}."
"""
CONFIG = """
[[hook]]
event = "after_tool"
command = "cat notes.txt >&2; echo '{\\"additional_context\\": \\"'$(cat notes.txt)'\\"}'"
[[hook]]
event = "before_turn"
command = "cat notes.txt >&2; exit 1"
"""


def call(program: Program, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        program.line(*words),
        env={**program.environment, "MY_LOGIN_TOKEN": CANARY},
        cwd=program.workspace,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def found(text: str | bytes) -> list[str]:
    raw = text.encode() if isinstance(text, str) else text
    return [one for one in SPELLED if one.encode() in raw]


def git(*words: str) -> bytes:
    return subprocess.run(["git", *words], capture_output=True, check=True).stdout


def test_no_secret_stands_in_any_file_or_output(program: Program, tmp_path: Path) -> None:
    (program.workspace / "notes.txt").write_text(f"{CANARY} {ISSUED}\n")
    (tmp_path / "script.yaml").write_text(SCRIPT)
    config = program.home / ".config" / "tui-agent"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(CONFIG)
    model = ("--model", f"scripted:{tmp_path / 'script.yaml'}", "--policy", "bypass")
    printed = [call(program, "run", f"Use {CANARY} and {ISSUED}.", "--json", *model)]
    assert printed[0].returncode == 0, printed[0].stderr
    kinds = [json.loads(line)["payload"]["kind"] for line in printed[0].stdout.splitlines()]
    assert "tool.progress" in kinds and "hook.ran" in kinds and "model.delta" in kinds
    exported = [program.home / f"out.{kind}" for kind in ("markdown", "html", "jsonl")]
    for path in exported:
        kind = path.suffix[1:]
        printed += [call(program, "sessions", "export", "latest", "--format", kind, "-o", str(path))]
    assert all(path.is_file() for path in exported), [one.stderr for one in printed]
    printed.append(call(program, "trace", "latest", "--json"))
    printed.append(call(program, "sessions", "list"))
    printed.append(call(program, "sessions", "search", "token"))
    assert [
        (one.args, found(one.stdout + one.stderr)) for one in printed if found(one.stdout + one.stderr)
    ] == []
    events = [json.loads(line)["payload"] for line in printed[0].stdout.splitlines()]
    changed = [one for one in events if one["kind"] == "file.changed"]
    assert changed and all(one["after_sha256"] for one in changed)
    written = [path for path in program.home.rglob("*") if path.is_file()]
    written = [path for path in written if "checkpoints.git" not in path.parts]
    assert any(path.name == "events.jsonl" for path in written)
    held = {path.relative_to(program.home): found(path.read_bytes()) for path in written}
    assert {path: what for path, what in held.items() if what} == {}
    assert not [path for path in written if found(path.name)]
    [shadow] = (path for path in program.home.rglob("checkpoints.git") if path.is_dir())
    assert git("-C", str(shadow), "rev-list", "--all")
    assert (
        found(
            git("-C", str(shadow), "log", "--all", "--format=%an %ae %cn %ce %B")
            + git("-C", str(shadow), "for-each-ref")
        )
        == []
    )


def test_a_bundle_and_an_archive_hold_secrets_only_as_files_of_the_workspace(
    program: Program, tmp_path: Path
) -> None:
    (program.workspace / "notes.txt").write_text(f"{CANARY} {ISSUED}\n")
    (tmp_path / "script.yaml").write_text(SCRIPT)
    model = ("--model", f"scripted:{tmp_path / 'script.yaml'}", "--policy", "bypass")
    assert call(program, "run", f"Use {CANARY} and {ISSUED}.", *model).returncode == 0
    bundle, archive = tmp_path / "s.bundle", tmp_path / "s.tar.gz"
    for path, kind in ((bundle, "bundle"), (archive, "archive")):
        done = call(program, "sessions", "export", "latest", "--format", kind, "-o", str(path))
        assert (done.returncode, found(done.stdout + done.stderr)) == (0, []), done.stderr
    git("clone", "-q", str(bundle), str(tmp_path / "clone"))
    assert (tmp_path / "clone" / "notes.txt").read_text() == f"{CANARY} {ISSUED}\n"
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "packed", filter="data")
    members = {path.name: path for path in (tmp_path / "packed").rglob("*") if path.is_file()}
    assert {"events.jsonl", "repo.bundle"} <= set(members)
    assert {
        name: what
        for name, path in members.items()
        if name != "repo.bundle" and (what := found(path.read_bytes()))
    } == {}
    git("clone", "-q", str(members["repo.bundle"]), str(tmp_path / "again"))
    assert (tmp_path / "again" / "notes.txt").read_text() == f"{CANARY} {ISSUED}\n"
