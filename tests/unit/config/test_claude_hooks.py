"""Hooks in Claude Code's settings: which of them run, and the JSON that their commands read and print."""

import json
import re
from pathlib import Path

import pytest

from tui_agent.config.extensions.claude_hooks import (
    describe_event,
    load_claude_hooks,
    matcher_subject,
    read_answer,
)
from tui_agent.config.paths import find_paths
from tui_agent.config.project.project_files import read_project_files
from tui_agent.config.project.trust_effects import describe_effect
from tui_agent.ports.hook import Hook, HookAnswer, HookReply
from tui_agent.protocol.stored_text import JsonMap

FACTS: JsonMap = {
    "session_id": "s1",
    "transcript_path": "/data/events.jsonl",
    "cwd": "/work",
    "policy": "accept-edits",
    "hook_event": "before_tool",
    "call_id": "c1",
    "tool_name": "edit_file",
    "tool_input": {"path": "a.py", "old_text": "1", "new_text": "2"},
}


def command_of(command: str, **more: object) -> dict[str, object]:
    return {"type": "command", "command": command, **more}


def settings(**events: object) -> str:
    return json.dumps({"permissions": {"allow": ["Bash"]}, "hooks": events})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for folder in ("home/.claude", "work/.claude/hooks"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path / "home"


def load(home: Path, project: Path):
    paths = find_paths(project, {"HOME": str(home)})
    return load_claude_hooks(paths, read_project_files(project))


def test_the_users_hooks_and_those_of_a_project_are_read(home: Path) -> None:
    project = home.parent / "work"
    (home / ".claude/settings.json").write_text(
        settings(
            PreToolUse=[{"matcher": "Edit|Write", "hooks": [command_of("./check", timeout=5)]}],
            Notification=[{"hooks": [command_of("./never")]}],
            Stop=[{"matcher": "", "hooks": [command_of("./done")]}],
        )
    )
    (project / ".claude/settings.local.json").write_text(
        settings(SessionStart=[{"matcher": "resume", "hooks": [command_of(".claude/hooks/start.sh")]}])
    )
    (project / ".claude/hooks/start.sh").write_text("echo hello")
    loaded = load(home, project)
    assert loaded.faults == ()
    assert [(hook.event, hook.command, hook.matcher, source) for hook, source in loaded.hooks] == [
        ("before_tool", "./check", "Edit|Write", "user"),
        ("after_turn", "./done", "", "user"),
        ("session_start", ".claude/hooks/start.sh", "resume", "project"),
    ]
    assert loaded.hooks[0][0].timeout == 5


def test_trust_covers_a_projects_hooks_and_their_scripts(home: Path) -> None:
    project = home.parent / "work"
    (project / ".claude/hooks/start.sh").write_text("echo hello")
    (project / ".claude/settings.json").write_text('{"permissions": {"allow": ["Bash"]}}')
    assert read_project_files(project).files == (), "without hooks there is nothing to trust"
    (project / ".claude/settings.json").write_text(settings(Stop=[{"hooks": [command_of("./done")]}]))
    files = read_project_files(project)
    assert [file.name for file in files.files] == [".claude/hooks/start.sh", ".claude/settings.json"]
    assert [describe_effect(file) for file in files.files] == ["a program for a hook", "runs ./done"]


def test_a_home_folder_that_is_the_project_has_its_hooks_once(home: Path) -> None:
    (home / ".claude/settings.json").write_text(settings(Stop=[{"hooks": [command_of("./done")]}]))
    assert [source for _, source in load(home, home).hooks] == ["user"]


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "7", '{"hooks": []}', '{"hooks": {"Stop": 7}}', '{"hooks": {"Stop": [7]}}', "[" * 100_000],
)
def test_settings_of_another_form_are_reported_and_left_out(home: Path, text: str) -> None:
    (home / ".claude/settings.json").write_text(text)
    loaded = load(home, home.parent / "work")
    assert loaded.hooks == () and "settings.json" in loaded.faults[0]


def test_settings_that_are_too_large_are_reported_and_left_out(home: Path) -> None:
    project = home.parent / "work"
    large = settings(Stop=[{"hooks": [command_of("./done" + " " * (1 << 20))]}])
    (home / ".claude/settings.json").write_text(large)
    (project / ".claude/settings.json").write_text(large)
    loaded = load(home, project)
    assert loaded.hooks == ()
    assert ["larger than 1 MB. Its hooks are left out." in fault for fault in loaded.faults] == [True, True]


def test_an_entry_that_cannot_run_is_reported_and_the_others_run(home: Path) -> None:
    (home / ".claude/settings.json").write_text(
        settings(
            PreToolUse=[
                {"matcher": "(", "hooks": [command_of("./a")]},
                {"hooks": [{"type": "prompt", "prompt": "Is this safe?"}, command_of("./b", timeout="x"), 7]},
                {"hooks": [command_of(""), command_of("./c")]},
            ]
        )
    )
    loaded = load(home, home.parent / "work")
    assert [hook.command for hook, _ in loaded.hooks] == ["./c"]
    assert len(loaded.faults) == 5
    assert any("its type is 'prompt'" in fault for fault in loaded.faults)


def test_matchers_compare_claude_codes_names() -> None:
    names = (
        "run_command",
        "run_tests",
        "edit_file",
        "mcp_memory_read_graph",
        "new",
        "overflow",
        "git_commit",
    )
    assert [matcher_subject(name) for name in names] == [
        "Bash",
        "Bash",
        "Edit",
        "mcp__memory__read_graph",
        "startup",
        "auto",
        "git_commit",
    ]
    pattern = re.compile("Edit|mcp__memory__.*")
    hook = Hook("before_tool", "x", "user", ask, pattern, subject_name=matcher_subject)
    assert [hook.matches(name) for name in names] == [False, False, True, True, False, False, False]


async def ask(facts: JsonMap, limit: float) -> HookReply:
    return HookReply()


def test_a_call_is_described_as_claude_code_describes_it() -> None:
    assert describe_event(FACTS) == {
        "session_id": "s1",
        "transcript_path": "/data/events.jsonl",
        "cwd": "/work",
        "hook_event_name": "PreToolUse",
        "permission_mode": "acceptEdits",
        "tool_name": "Edit",
        "tool_use_id": "c1",
        "tool_input": {"file_path": "/work/a.py", "old_string": "1", "new_string": "2"},
    }
    start = describe_event({**FACTS, "hook_event": "session_start", "source": "resume"} | {"tool_name": None})
    assert (start["hook_event_name"], start["source"]) == ("SessionStart", "resume")


def answer(event: str, output: object, exit_code: int = 0, error: str = "") -> HookAnswer | str:
    printed = output if isinstance(output, str) else json.dumps(output)
    return read_answer({**FACTS, "hook_event": event}, exit_code, printed.encode(), error)


def test_the_forms_of_an_answer_are_understood() -> None:
    specific = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "ask",
        "permissionDecisionReason": "late",
        "updatedInput": {"file_path": "/work/a.py", "old_string": "1", "new_string": "3"},
        "additionalContext": "Be careful.",
    }
    changed = {"path": "a.py", "old_text": "1", "new_text": "3"}
    assert answer("before_tool", {"hookSpecificOutput": specific}) == HookAnswer(
        "ask", "late", changed, "Be careful."
    )
    assert answer("before_tool", {"decision": "approve"}) == HookAnswer("allow")
    assert answer("after_tool", {"decision": "block", "reason": "lint"}) == HookAnswer("deny", "lint")
    assert answer("before_prompt", {"continue": False, "stopReason": "no"}) == HookAnswer("deny", "no")
    assert answer("before_tool", "", 2, "no") == HookAnswer("deny", "no")
    assert answer("before_tool", {"suppressOutput": True}) == HookAnswer()


def test_text_is_context_only_where_claude_code_takes_it_as_such() -> None:
    assert answer("before_prompt", "It is Monday.") == HookAnswer(additional_context="It is Monday.")
    assert answer("session_start", "It is Monday.") == HookAnswer(additional_context="It is Monday.")
    assert answer("before_tool", "checked 3 files") == HookAnswer()


def test_a_reason_to_go_on_is_context_for_the_next_turn() -> None:
    assert answer("after_turn", {"decision": "block", "reason": "Tests fail."}) == HookAnswer(
        additional_context="Tests fail."
    )
    assert answer("after_turn", "", 2, "Tests fail.") == HookAnswer(additional_context="Tests fail.")


@pytest.mark.parametrize(
    "printed", ["{", '{"decision": "maybe"}', '{"hookSpecificOutput": 7}', '{"decision": []}']
)
def test_an_invalid_answer_is_an_error(printed: str) -> None:
    assert isinstance(answer("before_tool", printed), str)
