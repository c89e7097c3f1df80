"""Hooks of the real program: bash commands of the user's and of a trusted project's."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Program
from tui_agent.config.extensions import claude_hooks
from tui_agent.config.small_files import read_small

pytestmark = pytest.mark.e2e

SCRIPT = """
answers:
  - calls:
      - write_file: {path: note.txt, content: "one"}
  - text: Done.
"""
CONFIG = """
[[hook]]
event = "before_tool"
matcher = "write_file"
command = "bash ~/hook.sh"
"""


@pytest.fixture
def asked(program: Program) -> Path:
    """Where the user's hook notes what it was given."""
    (program.workspace / "script.yaml").write_text(SCRIPT)
    config = program.home / ".config" / "tui-agent"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(CONFIG)
    return program.home / "asked.json"


def hook(program: Program, script: str) -> None:
    (program.home / "hook.sh").write_text(f"cat > ~/asked.json\n{script}\n")


def run(program: Program, *more: str) -> tuple[int, list[dict[str, Any]]]:
    done = program.run_in_process(
        "run", "go", "--json", "--model", "scripted:script.yaml", "--policy", "accept-edits", *more
    )
    return done.returncode, [json.loads(line)["payload"] for line in done.stdout.splitlines()]


def ran(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in events if one["kind"] == "hook.ran"]


def test_a_bash_hook_refuses_a_call(program: Program, asked: Path) -> None:
    hook(program, "echo 'no notes' >&2; exit 2")
    _, events = run(program)
    assert not (program.workspace / "note.txt").exists()
    assert [(one["decision"], one["reason"], one["exit_code"]) for one in ran(events)] == [
        ("deny", "no notes", 2)
    ]
    given = json.loads(asked.read_text())
    assert given["tool_name"] == "write_file"
    assert given["tool_input"]["path"] == "note.txt"
    assert Path(given["cwd"]) == program.workspace.resolve()
    assert Path(given["transcript_path"]).is_file()


@pytest.mark.smoke
def test_a_bash_hook_changes_what_is_written(program: Program, asked: Path) -> None:
    hook(program, """echo '{"updated_input": {"path": "note.txt", "content": "two"}}'""")
    run(program)
    assert (program.workspace / "note.txt").read_text() == "two"


def test_a_hook_cannot_lift_what_the_policy_guards(program: Program, asked: Path) -> None:
    hook(
        program,
        """echo '{"decision": "allow", "updated_input": {"path": ".git/hooks/x", "content": "two"}}'""",
    )
    (program.workspace / ".git" / "hooks").mkdir(parents=True)
    _, events = run(program)
    assert not (program.workspace / ".git" / "hooks" / "x").exists()
    assert any(one["kind"] == "permission.decided" and one["decision"] == "deny" for one in events)


def test_a_broken_hook_lets_nothing_pass_where_no_one_can_be_asked(program: Program, asked: Path) -> None:
    hook(program, "exit 1")
    _, events = run(program)
    assert not (program.workspace / "note.txt").exists()
    assert ran(events)[0]["fault"]


def test_a_hook_sees_no_key_of_a_provider_but_the_rest_of_the_users_variables(
    program: Program, asked: Path
) -> None:
    hook(program, "env > ~/seen.txt")
    own = {"OPENAI_API_KEY": "sk-never-to-be-seen", "CHAT_TOKEN": "the-users-own-token"}
    words = ("run", "go", "--model", "scripted:script.yaml")
    done = subprocess.run(
        program.line(*words),
        env={**program.environment, **own},
        cwd=program.workspace,
        capture_output=True,
        timeout=90,
        check=False,
    )
    assert b"Unexpected" not in done.stderr
    seen = (program.home / "seen.txt").read_text()
    assert "OPENAI_API_KEY" not in seen and "CHAT_TOKEN=the-users-own-token" in seen


def test_a_projects_hook_runs_only_when_it_is_trusted_and_as_it_was(program: Program) -> None:
    (program.workspace / "script.yaml").write_text(SCRIPT)
    own = program.workspace / ".tui_agent"
    own.mkdir()
    (own / "config.toml").write_text('[[hook]]\nevent = "before_tool"\ncommand = "bash .tui_agent/h.sh"\n')
    (own / "h.sh").write_text("touch ran; echo mine >&2; exit 2\n")
    status, _ = run(program)
    assert status != 0 and not (program.workspace / "ran").exists()
    assert program.run_in_process("trust", "--yes").returncode == 0
    _, events = run(program)
    assert (program.workspace / "ran").exists()
    assert [(one["source"], one["reason"]) for one in ran(events)] == [("project", "mine")]


def test_hooks_are_listed(program: Program, asked: Path) -> None:
    shown = program.run_in_process("config", "show").stdout
    assert "hook.0" in shown and "bash ~/hook.sh" in shown
    assert "before_tool bash ~/hook.sh" in program.run_in_process("doctor").stdout


def write_claude_settings(folder: Path, **events: str) -> None:
    """Write hooks into the settings of Claude Code: one command for each event."""
    (folder / ".claude").mkdir()
    hooks = {name: [{"hooks": [{"type": "command", "command": line}]}] for name, line in events.items()}
    (folder / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))


def test_hooks_of_claude_code_run_as_they_are(program: Program) -> None:
    (program.workspace / "script.yaml").write_text(SCRIPT)
    change = """jq -c '{hookSpecificOutput: {hookEventName, permissionDecision: "allow", updatedInput:
        (.tool_input + {content: (.tool_name + " " + .tool_input.file_path)})}}'"""
    write_claude_settings(
        program.home,
        PreToolUse=change.replace("hookEventName,", 'hookEventName: "PreToolUse",'),
        UserPromptSubmit="echo It is Monday.",
    )
    _, events = run(program)
    written = program.workspace / "note.txt"
    assert written.read_text() == f"Write {written.resolve()}"
    assert [(one["event"], one["fault"]) for one in ran(events)] == [
        ("before_prompt", ""),
        ("before_tool", ""),
    ]
    assert "before_tool jq" in program.run_in_process("doctor").stdout


def test_a_projects_hooks_of_claude_code_need_trust(program: Program) -> None:
    (program.workspace / "script.yaml").write_text(SCRIPT)
    write_claude_settings(program.workspace, PreToolUse='"$CLAUDE_PROJECT_DIR"/.claude/hooks/no.sh')
    (program.workspace / ".claude" / "hooks").mkdir()
    script = program.workspace / ".claude" / "hooks" / "no.sh"
    script.write_text("#!/bin/sh\ntouch ran; echo mine >&2; exit 2\n")
    script.chmod(0o755)
    status, _ = run(program)
    assert status != 0 and not (program.workspace / "ran").exists()
    assert program.run_in_process("trust", "--yes").returncode == 0
    _, events = run(program)
    assert [(one["source"], one["reason"]) for one in ran(events)] == [("project", "mine")]
    script.write_text("#!/bin/sh\nrm -rf ran\n")
    status, _ = run(program)
    assert status != 0 and (program.workspace / "ran").exists()


def test_a_run_reads_the_settings_of_claude_code_once_and_names_hooks_that_are_left_out(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[Path] = []

    def read(path: Path) -> str | None:
        reads.append(path)
        return read_small(path)

    monkeypatch.setattr(claude_hooks, "read_small", read)
    (program.workspace / "script.yaml").write_text(SCRIPT)
    write_claude_settings(program.home, PreToolUse="exit 2")
    settings = program.home / ".claude" / "settings.json"
    settings.write_text(settings.read_text() + ",")
    done = program.run_in_process("run", "go", "--model", "scripted:script.yaml")
    assert "settings.json: its hooks are left out" in done.stderr
    assert reads == [settings]
