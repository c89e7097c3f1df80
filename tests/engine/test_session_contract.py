"""One contract for a session in this process and for one whose engine runs in its own."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from tui_agent import api
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import BlobNotFound, ConfigError, SessionLocked, TuiAgentError
from tui_agent.ports.session import Session
from tui_agent.protocol.commands import ContinueTurn, Interrupt, SetBudgets, SetPolicy, SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.session import CommandRejected, RunFinished
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.parts import TextPart
from tui_agent.protocol.settings import Budgets
from tui_agent.session.remote_session import RemoteSession
from tui_agent.wiring.session import open_session

SCRIPT = """
window: 50000
answers:
  - text: I read it.
    calls:
      - read_file: {path: hello.txt}
  - text: "It says hello."
  - text: "LONG"
  - calls:
      - run_command: {command: sleep 30}
"""
FORMS = ("local", "api", pytest.param("remote", marks=pytest.mark.slow))


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionOptions:
    for variable in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "hello.txt").write_text("hello\n")
    script = tmp_path / "script.yaml"
    script.write_text(SCRIPT.replace("LONG", "word " * 4000))
    return SessionOptions(
        cwd=workspace,
        client="headless",
        model=f"scripted:{script}",
        policy="bypass",
        data_dir=tmp_path / "data",
    )


@asynccontextmanager
async def opened(form: str, options: SessionOptions) -> AsyncIterator[Session]:
    if form == "local":
        async with open_session(options) as local:
            yield local
        return
    if form == "api":
        async with api.open_session(
            options.cwd,
            session=options.session,
            continue_latest=options.continue_latest,
            model=options.model,
            policy=options.policy,
            data_dir=options.data_dir,
            max_iterations=options.max_iterations,
        ) as conversation:
            yield conversation
        return
    remote = RemoteSession.spawn(options)
    refused: TuiAgentError | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(remote.serve)
        try:
            await remote.wait_until_open()
            yield remote
        except TuiAgentError as error:
            refused = error
        finally:
            with anyio.CancelScope(shield=True):
                await remote.aclose()
    if refused is not None:
        raise refused


class Reading:
    """Everything that a follower gave so far."""

    def __init__(self, session: Session, after: int = -1) -> None:
        self._follower = session.follow(after)
        self.events: list[Envelope] = []

    async def until(self, kind: type, count: int = 1) -> list[Envelope]:
        with anyio.fail_after(30):
            while sum(isinstance(event.payload, kind) for event in self.events) < count:
                batch = await self._follower.next_batch()
                assert batch, f"the session ended before {kind.__name__}"
                self.events += [record for record in batch if isinstance(record, Envelope)]
        return [event for event in self.events if isinstance(event.payload, kind)]

    async def rest(self) -> list[Envelope]:
        with anyio.fail_after(30):
            while batch := await self._follower.next_batch():
                self.events += [record for record in batch if isinstance(record, Envelope)]
        return self.events


def _without_deltas(events: list[Envelope]) -> list[Envelope]:
    """What every history holds: deltas of answers that are whole may be left out."""
    return [event for event in events if event.payload.kind != "model.delta"]


PLUGIN = """
from tui_agent.plugin_api import command

def list_days(text, state):
    return [day for day in ("monday", "tuesday") if day.startswith(text)]

@command("/standup", help="Report", complete=list_days)
async def standup(text, state):
    return "Report."
"""


@pytest.mark.parametrize("form", FORMS)
async def test_the_arguments_of_a_plugins_command_are_completed(form: str, options: SessionOptions) -> None:
    plugins = options.cwd.parent / "xdg_config_home" / "tui-agent" / "plugins"
    plugins.mkdir(parents=True)
    (plugins / "days.py").write_text(PLUGIN)
    async with opened(form, options) as session:
        assert list(await session.complete("standup", "tu")) == ["tuesday"]
        assert list(await session.complete("nothing", "")) == []


@pytest.mark.parametrize("form", ("local", "api", "remote"))
async def test_a_turn_runs_and_every_event_arrives_once_in_order(form: str, options: SessionOptions) -> None:
    async with opened(form, options) as session:
        reading = Reading(session)
        command = session.submit(SubmitPrompt(text="what does it say?"))
        (end,) = await reading.until(TurnFinished)
        assert isinstance(end.payload, TurnFinished) and end.payload.reason == "finished"
        assert [event.seq for event in reading.events] == list(range(len(reading.events)))
        caused = {event.payload.kind for event in reading.events if event.cause == command}
        assert {"user.message", "turn.started", "turn.finished"} <= caused
        (result,) = [e.payload for e in reading.events if isinstance(e.payload, ToolFinished)]
        assert isinstance(result, ToolFinished) and result.status == "ok"


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
async def test_a_long_answer_is_a_blob_that_can_be_read(form: str, options: SessionOptions) -> None:
    async with opened(form, options) as session:
        reading = Reading(session)
        for count in (1, 2):
            session.submit(SubmitPrompt(text="go on"))
            await reading.until(TurnFinished, count)
        last = [e.payload for e in reading.events if isinstance(e.payload, ModelResponded)][-1]
        assert isinstance(last, ModelResponded) and isinstance(last.parts[0], TextPart)
        text = last.parts[0].text
        assert not isinstance(text, str) and text.size == 20_000
        assert (await session.read_blob(text.blob_sha256)).decode() == "word " * 4000
        with pytest.raises(BlobNotFound):
            await session.read_blob("0" * 64)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
async def test_closing_stops_a_running_command_and_a_later_session_continues(
    form: str, options: SessionOptions
) -> None:
    async with opened(form, options) as session:
        reading = Reading(session)
        for count in (1, 2):
            session.submit(SubmitPrompt(text="go on"))
            await reading.until(TurnFinished, count)
        session.submit(SubmitPrompt(text="sleep"))
        while not any(event.payload.kind == "tool.started" for event in reading.events[-3:]):
            await reading.until(object, len(reading.events) + 1)
        identity = session.id
    events = await reading.rest()
    assert isinstance(events[-1].payload, RunFinished)
    statuses = [e.payload.status for e in events if isinstance(e.payload, ToolFinished)]
    assert statuses[-1] == "interrupted"

    async with opened(form, replace(options, model=None, policy=None, session="latest")) as session:
        assert session.id == identity
    async with opened(form, replace(options, model=None, policy=None, continue_latest=True)) as session:
        assert session.id == identity
        again = Reading(session)
        session.submit(SetPolicy(policy="plan"))
        while not any(event.payload.kind == "settings.changed" for event in again.events):
            await again.until(object, len(again.events) + 1)
        seqs = [event.seq for event in again.events]
        assert seqs == sorted(set(seqs))
        before = _without_deltas(events)
        assert _without_deltas(again.events)[: len(before)] == before


@pytest.mark.slow_variants
@pytest.mark.parametrize("form", FORMS)
async def test_a_turn_that_a_limit_ended_goes_on_without_a_message(
    form: str, options: SessionOptions
) -> None:
    async with opened(form, replace(options, max_iterations=1)) as session:
        reading = Reading(session)
        session.submit(SubmitPrompt(text="read"))
        await reading.until(TurnFinished)
        session.submit(SetBudgets(budgets=Budgets()))
        session.submit(ContinueTurn())
        first, second = [
            each.payload
            for each in await reading.until(TurnFinished, 2)
            if isinstance(each.payload, TurnFinished)
        ]
        assert (first.reason, second.reason) == ("iteration_limit", "finished")
        session.submit(ContinueTurn())
        (rejected,) = await reading.until(CommandRejected)
        assert isinstance(rejected.payload, CommandRejected)
        assert rejected.payload.reason == "The agent has answered; there is nothing to continue."


@pytest.mark.parametrize("form", FORMS)
async def test_what_cannot_be_done_is_rejected_with_a_reason(form: str, options: SessionOptions) -> None:
    async with opened(form, options) as session:
        reading = Reading(session)
        session.submit(Interrupt())
        (rejected,) = await reading.until(CommandRejected)
        assert (
            isinstance(rejected.payload, CommandRejected) and rejected.payload.reason == "Nothing is running."
        )


@pytest.mark.slow_variants
@pytest.mark.parametrize("form", FORMS)
async def test_a_second_opener_is_refused_while_the_first_holds_the_session(
    form: str, options: SessionOptions
) -> None:
    async with opened(form, replace(options, session="ses_shared")) as session:
        with pytest.raises(SessionLocked):
            async with opened("remote" if form == "local" else "local", replace(options, session=session.id)):
                pass


@pytest.mark.parametrize("form", FORMS)
async def test_a_session_in_which_nothing_was_said_leaves_nothing_behind(
    form: str, options: SessionOptions
) -> None:
    async with opened(form, options) as session:
        session.submit(SetPolicy(policy="plan"))
        kinds = await _kinds_until(session, "settings.changed")
    assert kinds[0] == "session.started"
    assert list((options.data_dir or Path()).glob("sessions/*")) == []


@pytest.mark.slow_variants
@pytest.mark.parametrize("form", FORMS)
async def test_the_first_message_makes_the_session_with_all_that_was_before(
    form: str, options: SessionOptions
) -> None:
    async with opened(form, options) as session:
        session.submit(SetPolicy(policy="plan"))
        await _kinds_until(session, "settings.changed")
        session.submit(SubmitPrompt(text="read"))
        seen = await _kinds_until(session, "turn.finished")
    (log,) = (options.data_dir or Path()).glob("sessions/*/events.jsonl")
    stored = [json.loads(line) for line in log.read_bytes().splitlines()]
    assert [event["seq"] for event in stored] == list(range(len(stored)))
    assert [event["payload"]["kind"] for event in stored][: len(seen)] == seen


async def _kinds_until(session: Session, kind: str) -> list[str]:
    """The kinds of all events up to the first of this kind."""
    follower = session.follow()
    kinds: list[str] = []
    with anyio.fail_after(20):
        while kind not in kinds:
            kinds += [r.payload.kind for r in await follower.next_batch() if isinstance(r, Envelope)]
    follower.close()
    return kinds[: kinds.index(kind) + 1]


@pytest.mark.parametrize("form", FORMS)
async def test_an_unknown_model_is_refused_before_anything_runs(form: str, options: SessionOptions) -> None:
    with pytest.raises(ConfigError):
        async with opened(form, replace(options, model="scripted:/nowhere.yaml")):
            pass
    assert not (options.data_dir or Path()).exists()
