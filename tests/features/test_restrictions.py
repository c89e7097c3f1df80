"""A session that may use only some tools, and one that runs without some parts; results that an evaluation records."""

from dataclasses import replace
from pathlib import Path

import pytest

from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError
from tui_agent.protocol.commands import RecordResult
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.events.eval import VerifierFinished
from tui_agent.protocol.events.model import ModelRequested
from tui_agent.protocol.events.session import CommandRejected, SessionStarted
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.frozen_model import Payload
from tui_agent.session.headless_turn import run_turn
from tui_agent.wiring.session import open_session

SCRIPT = """\
answers:
  - calls: [{write_file: {path: b.txt, content: x}}]
  - calls: [{read_file: {path: a.txt}}]
  - text: Done.
"""


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionOptions:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("hello\n")
    (tmp_path / "script.yaml").write_text(SCRIPT)
    return SessionOptions(
        cwd=tmp_path / "work",
        data_dir=tmp_path / "data",
        client="eval",
        policy="bypass",
        model=f"scripted:{tmp_path / 'script.yaml'}",
    )


async def payloads(options: SessionOptions, result: VerifierFinished | None = None) -> list[Payload]:
    """The payloads of a session with one turn. `result` is recorded after the turn."""
    seen: list[Record] = []

    async def record(session: object, _: object) -> None:
        if result is not None:
            session.submit(RecordResult(result=result))  # type: ignore[attr-defined]

    async with open_session(options) as session:
        await run_turn(session, "go", seen.append, after_turn=record)
    return [record.payload for record in seen if isinstance(record, Envelope)]


async def test_a_tool_that_is_not_allowed_is_not_offered_and_denied(options: SessionOptions) -> None:
    found = await payloads(replace(options, allowed_tools=("read_file", "grep")))
    (started,) = (one for one in found if isinstance(one, SessionStarted))
    assert started.allowed_tools == ("read_file", "grep")
    assert {one.tools for one in found if isinstance(one, ModelRequested)} == {("read_file", "grep")}
    assert [one.status for one in found if isinstance(one, ToolFinished)] == ["denied", "ok"]
    assert not (options.cwd / "b.txt").exists()


async def test_without_policy_retry_a_turn_ends_at_its_first_denial(options: SessionOptions) -> None:
    found = await payloads(replace(options, allowed_tools=("read_file",), without=("policy:retry",)))
    (ended,) = (one for one in found if isinstance(one, TurnFinished))
    assert (ended.reason, [one.status for one in found if isinstance(one, ToolFinished)]) == (
        "denied",
        ["denied"],
    )


async def test_parts_of_the_prompt_sections_and_tools_are_left_out_by_name(options: SessionOptions) -> None:
    without = ("prompt:guidance", "section:memory", "tool:grep")
    for left_out in (without, ()):
        found = await payloads(replace(options, without=left_out))
        request = next(one for one in found if isinstance(one, ModelRequested))
        packed = next(one for one in found if isinstance(one, ContextPacked))
        assert ("grep" in request.tools) is not bool(left_out)
        assert ("guidance" in {one.id for one in packed.fragments}) is not bool(left_out)
        assert ("memory.updated" in {one.kind for one in found}) is not bool(left_out)
        (started,) = (one for one in found if isinstance(one, SessionStarted))
        assert started.without == left_out


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"without": ("tool:grop",)}, "There is no 'tool:grop'."),
        ({"without": ("grep",)}, "'grep' cannot be turned off in a session."),
        ({"without": ("skill:none",)}, "There is no 'skill:none'."),
        ({"allowed_tools": ("read_file", "red")}, "allowed_tools: there is no tool 'red'."),
    ],
)
async def test_an_unknown_name_is_an_error(
    options: SessionOptions, changes: dict[str, tuple[str, ...]], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        await payloads(replace(options, **changes))  # type: ignore[arg-type]
    assert caught.value.message == message


@pytest.mark.slow
async def test_only_an_evaluation_records_results(options: SessionOptions) -> None:
    result = VerifierFinished(verifier="check", reward=1.0)
    found = await payloads(options, result)
    assert result in found
    refused = await payloads(replace(options, client="headless"), result)
    assert result not in refused
    assert [one.reason for one in refused if isinstance(one, CommandRejected)] == [
        "Only an evaluation or a simulation can record results."
    ]
