"""A secret that is everywhere in a session stands in no file that the program writes, and in nothing that it prints.

But for `checkpoints.git`: it holds the files as they were, and their names, or they could not be put back. What is exported
of it warns, or is redacted.
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
PIN = "pin-4711-9932"
"""No rule knows it, but the file that holds it is one with secrets."""
SPELLED = (
    CANARY,
    ISSUED,
    PIN,
    base64.b64encode(CANARY.encode()).decode().rstrip("=")[:-1],
    CANARY.encode().hex(),
)

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


SECRETS = {"MY_LOGIN_TOKEN": CANARY}


def call(program: Program, *words: str) -> "subprocess.CompletedProcess[str]":
    return program.run_in_process(*words, environ=SECRETS)


def call_process(program: Program, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        program.line(*words),
        env={**program.environment, **SECRETS},
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


def recorded(program: Program, tmp_path: Path) -> "subprocess.CompletedProcess[str]":
    (program.workspace / "notes.txt").write_text(f"{CANARY} {ISSUED}\n")
    (program.workspace / "service").mkdir()
    (program.workspace / "service" / ".env").write_text(f"PIN={PIN}\n")
    (tmp_path / "script.yaml").write_text(SCRIPT)
    config = program.home / ".config" / "tui-agent"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(CONFIG)
    model = ("--model", f"scripted:{tmp_path / 'script.yaml'}", "--policy", "bypass")
    return call_process(program, "run", f"Use {CANARY} and {ISSUED}.", "--json", *model)


def test_no_secret_stands_in_any_file_or_output(program: Program, tmp_path: Path) -> None:
    printed = [recorded(program, tmp_path)]
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


WARNING = "tui-agent: This export contains the workspace's files unchanged, including any keys in them. To remove secrets, add --redact.\n"


def content_of(export: Path, folder: Path) -> bytes:
    """Everything in an export: its members, and every object and path of its checkpoints."""
    folder.mkdir()
    bundle, texts = export, []
    if export.suffix == ".gz":
        with tarfile.open(export) as archive:
            archive.extractall(folder, filter="data")
        bundle = folder / "repo.bundle"
        texts = [path.read_bytes() for path in folder.rglob("*") if path.is_file() and path != bundle]
    subprocess.run(["git", "clone", "-q", "--mirror", str(bundle), str(folder / "git")], check=True)
    objects = subprocess.run(
        ["git", "-C", str(folder / "git"), "cat-file", "--batch-all-objects", "--batch", "--unordered"],
        capture_output=True,
        check=True,
    )
    return b"".join((*texts, objects.stdout))


def test_exports_of_files_warn_or_are_redacted(program: Program, tmp_path: Path) -> None:
    assert recorded(program, tmp_path).returncode == 0
    for form, name in (("bundle", "x.bundle"), ("archive", "x.tar.gz")):
        plain, redacted = program.home / name, program.home / f"clean-{name}"
        export = ("sessions", "export", "latest", "--format", form)
        assert call(program, *export, "-o", str(plain)).stderr == WARNING, form
        assert call(program, *export, "--redact", "-o", str(redacted)).stderr == "", form
        assert set(found(content_of(plain, tmp_path / f"{form}-plain"))) >= {CANARY, ISSUED, PIN}, form
        assert found(content_of(redacted, tmp_path / f"{form}-redacted")) == [], form
    imported = call(program, "sessions", "import", str(redacted))
    assert (imported.returncode, imported.stderr) == (0, "")
    session = imported.stdout.split(":")[0].split()[0]
    assert call(program, "sessions", "verify", session).returncode == 0
    out = tmp_path / "out"
    assert call(program, "checkout-part", session, "-1", str(out)).returncode == 0
    assert (out / "service" / ".env").read_text() == "[redacted: secret file]\n"
    assert (out / "notes.txt").read_text() == "[redacted: MY_LOGIN_TOKEN] [redacted: github token]\n"
