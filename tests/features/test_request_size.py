"""The bytes that every request carries: the whole product against a server that answers."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.stubs.sse_server import Reply, running
from tui_agent.config.extensions.note_files import notes_folder
from tui_agent.config.session_options import SessionOptions
from tui_agent.session.headless_turn import run_turn
from tui_agent.wiring.session import open_session
from tui_agent.wiring.startup_context import load_startup_context

ALWAYS = {
    "read_file", "write_file", "edit_file", "list_directory", "glob", "grep", "run_command", "run_tests",
    "write_todos", "repo_map", "spawn_subtask", "delegate_readonly",
}  # fmt: skip
Body = dict[str, Any]


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionOptions:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    return SessionOptions(
        cwd=tmp_path / "work",
        client="headless",
        interactive=False,
        data_dir=tmp_path / "data",
        model="openai-chat/test",
        typed_keys=(("OPENAI_API_KEY", "x"),),
    )


async def _first_request(options: SessionOptions) -> Body:
    async with running() as server:
        server.replies.append(Reply(text="Done."))
        async with open_session(replace(options, base_url=f"{server.url}/v1")) as opened:
            await run_turn(opened, "go", lambda record: None)
    [asked] = server.requests
    return asked.body


def _size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":")).encode())


def _prompt_size(body: Body, options: SessionOptions) -> int:
    """Bytes of the system prompt without the path of the workspace, which is long in a test."""
    return len(_system(body).replace(str(options.cwd), "").encode())


def _names(body: Body) -> set[str]:
    return {tool["function"]["name"] for tool in body["tools"]}


def _system(body: Body) -> str:
    return str(body["messages"][0]["content"])


async def test_the_first_headless_request_carries_at_most_4_05_kb_of_tools_and_1_5_kb_of_prompt(
    options: SessionOptions,
) -> None:
    body = await _first_request(replace(options, policy="accept-edits"))
    assert _names(body) == ALWAYS
    assert _size(body["tools"]) <= 4_050
    assert "Nobody can answer" in _system(body) and _prompt_size(body, options) <= 1_500


async def test_the_apps_requests_carry_at_most_5_6_kb_of_tools_with_every_one_of_them(
    options: SessionOptions, tmp_path: Path
) -> None:
    attended = replace(options, client="app", interactive=True, policy="plan")
    skill = tmp_path / ".config" / "tui-agent" / "skills" / "pdf" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\ndescription: Reads PDF files.\n---\nUse pdftotext.")
    note = notes_folder(load_startup_context(attended).config) / "a.md"
    note.parent.mkdir(parents=True)
    note.write_text("# A\n\nText.\n")
    body = await _first_request(attended)
    asking = {"ask_user", "present_plan", "write_note", "search_notes", "read_skill"}
    assert _names(body) == ALWAYS | asking
    assert _size(body["tools"]) <= 5_600
    assert _prompt_size(body, options) <= 1_500


@pytest.mark.slow
async def test_tools_that_cannot_be_used_are_not_offered_and_plan_mode_alone_changes_them(
    options: SessionOptions,
) -> None:
    attended = replace(options, client="app", interactive=True)
    first = await _first_request(attended)
    second, plan, after = [
        await _first_request(replace(attended, continue_latest=True, policy=policy))
        for policy in ("accept-edits", "plan", "ask")
    ]
    assert _names(first) == ALWAYS | {"ask_user", "write_note"}
    assert first["tools"] == second["tools"] == after["tools"]
    assert _names(plan) == _names(first) | {"present_plan"}


async def test_plan_mode_without_a_user_asks_for_the_plan_as_the_answer(options: SessionOptions) -> None:
    body = await _first_request(replace(options, policy="plan"))
    assert _names(body) == ALWAYS
    system = _system(body)
    assert "Your answer is the plan" in system and "present_plan" not in system
    assert "End with a few lines" not in system and "Decide yourself" not in system


async def test_the_prompt_has_the_date_of_the_sessions_start_also_in_a_later_run(
    options: SessionOptions,
) -> None:
    first = await _first_request(options)
    later = await _first_request(replace(options, continue_latest=True))
    assert f"\nDate: {datetime.now(UTC).astimezone():%Y-%m-%d}\n" in _system(first)
    assert _system(later) == _system(first)
    assert later["tools"] == first["tools"]
