"""What a run without a screen says on standard error while it goes on: each thing once."""

import pytest

from tests.stubs.story import Story
from tui_agent.cli.run.command import WarningPrinter
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextStuck,
    ContextTruncated,
    ContextWindowInferred,
    RepomapBuilt,
    Truncation,
)
from tui_agent.protocol.events.hook import HOOK_STOPPED, HookRan
from tui_agent.protocol.events.model import ModelRetried
from tui_agent.protocol.events.plugin import NOT_ANSWERED, RESTARTS, PluginFailed
from tui_agent.protocol.events.session import LogRepaired, SessionStarted
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.protocol.stored_text import BlobText


def cut(what: str, digest: str) -> Truncation:
    whole = BlobText(preview="", blob_sha256=digest * 64, size=9)
    return Truncation(
        label=what,
        raw_chars=20_000,
        chars=900,
        artifact=Artifact.from_blob("task", whole, lines=1, preview_size=1),
    )


def compacted(seq: int, *cuts: Truncation) -> ContextCompacted:
    return ContextCompacted(
        through_seq=seq,
        summary="what came before",
        removed_seqs=(),
        turns=1,
        before_tokens=9_000,
        after_tokens=5_000,
        trigger="limit",
        truncations=cuts,
    )


def test_what_happens_at_each_step_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    story, shown = Story(), list[Record]()
    telling = WarningPrinter(shown.append)
    tight = ContextStuck(message="Little room is left.", hint="/model", automatic=True)
    learnt = ContextWindowInferred(profile="local", window=9_000, refused_tokens=12_000)
    for at in range(20):
        for event in (
            learnt,
            tight,
            compacted(at, cut("the task", "a")),
            ContextTruncated(window=9, truncations=(cut("a summary", "b"),)),
            RepomapBuilt(files=0, skipped=0, partial=True, duration_ms=3_000, delay_reason="not there"),
        ):
            telling(story(event))
    told = capsys.readouterr().err.splitlines()
    assert len(shown) == 100 and len(told) == 5
    assert "9.0k tokens" in told[0] and "12.0k" in told[0] and "context_window" in told[0]
    assert told[1] == "tui-agent: Little room is left. /model" and "the task" in told[2]
    assert "without the repository map" in told[4]


def test_what_else_is_cut_is_said_and_what_a_delegate_goes_without_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    story = Story()
    telling = WarningPrinter(lambda record: None)
    telling(story(compacted(1, cut("the task", "a"))))
    telling(story(compacted(2, cut("the task", "a"), cut("tasks", "b"))))
    telling(story(compacted(3, cut("the plan", "c")), "subtask-1"))
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2 and "tasks" in told[1]


def test_a_damaged_log_is_said_with_the_place_of_what_was_moved(capsys: pytest.CaptureFixture[str]) -> None:
    settings = SessionSettings(model=ModelInfo(profile="m", provider="p", model="m"))
    moved = LogRepaired(moved_bytes=7, side_file="events.torn-1")
    story, telling = Story(), WarningPrinter(lambda record: None)
    telling(story(SessionStarted(workspace="/w", product="p", settings=settings)))
    telling(story(moved))
    expected = (
        "No line of the session's log was intact, so the session starts empty. Its old log was moved to"
    )
    assert capsys.readouterr().err == f"tui-agent: {expected} events.torn-1 in . (7 B).\n"
    telling = WarningPrinter(lambda record: None)
    telling(story(moved))
    telling(story(LogRepaired(moved_bytes=0, side_file="", bad_lines=(4, 5))))
    told = capsys.readouterr().err
    assert "The end of the session's log was damaged. It was moved to events.torn-1 in . (7 B)." in told
    assert "2 damaged lines were skipped in events.jsonl." in told


def test_a_hook_that_failed_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    story, telling = Story(), WarningPrinter(lambda record: None)
    for fault in ("", HOOK_STOPPED, "It failed: ValueError: boom", "It failed: ValueError: boom"):
        telling(story(HookRan(event="before_prompt", command="plugin mine", source="plugin", fault=fault)))
    expected = "tui-agent: The hook before_prompt (plugin mine): It failed: ValueError: boom\n"
    assert capsys.readouterr().err == expected


def test_each_new_try_of_a_request_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    story, telling = Story(), WarningPrinter(lambda record: None)
    for attempt in (1, 2):
        telling(
            story(
                ModelRetried(
                    request_id=RequestId("r1"),
                    attempt=attempt,
                    fault="transport",
                    message="http://127.0.0.1:1/v1 does\nnot answer.",
                    wait_s=2.0,
                )
            )
        )
    assert capsys.readouterr().err.splitlines() == [
        "tui-agent: http://127.0.0.1:1/v1 does not answer. Attempt 2 in 2 s.",
        "tui-agent: http://127.0.0.1:1/v1 does not answer. Attempt 3 in 2 s.",
    ]


def test_of_a_plugin_only_the_part_that_failed_is_off(capsys: pytest.CaptureFixture[str]) -> None:
    story = Story()
    telling = WarningPrinter(lambda record: None)
    telling(story(PluginFailed(plugin="mw", part="middleware guard", message="`wrap_tool` failed: boom.")))
    telling(story(PluginFailed(plugin="mw", message="boom", where="mw.py:3")))
    telling(story(PluginFailed(plugin="mcp:slow", message=NOT_ANSWERED, where="config.toml")))
    telling(story(PluginFailed(plugin="mcp:odd", message=f"It ended with 3.{RESTARTS}", where="config.toml")))
    assert capsys.readouterr().err.splitlines() == [
        "tui-agent: The middleware guard of the plugin mw is off. `wrap_tool` failed: boom.",
        "tui-agent: The plugin mw is off. boom (mw.py:3)",
        "tui-agent: The MCP server slow is still starting. It has not answered yet. Its tools are used as soon as it "
        "answers.",
        "tui-agent: The MCP server odd is restarting. It ended with 3.",
    ]
