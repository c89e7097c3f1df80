"""The loop of a recorded session once more: its own answers and results in, and whether the same events come out.

Invariant: no model is asked, no tool runs, and nothing is written but in a temporary folder; the workspace is only
read. What cannot be run again from a recording alone (a turn that was stopped) is taken over as it was recorded.
"""

import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio

from tui_agent.cli.exit_codes import Exit
from tui_agent.cli.output import printable, say, say_json
from tui_agent.cli.replay.recorded_tools import ReadOnlyEnvironment, RecordedResults, recorded_tools
from tui_agent.cli.replay.recorded_turn import RecordedTurn
from tui_agent.context.tokens import Tokens
from tui_agent.engine.components import EngineParts
from tui_agent.engine.middleware.memory import WorkingMemory
from tui_agent.engine.middleware.prompts import PromptTexts
from tui_agent.engine.middleware.repo_map import RepoMapSection
from tui_agent.engine.middleware.sections import prompt_sections
from tui_agent.engine.middleware.stuck import StuckNotice
from tui_agent.engine.model.agent import ModelAgent
from tui_agent.engine.recorder import Recorder
from tui_agent.engine.server import Engine
from tui_agent.errors import TuiAgentError, UsageError
from tui_agent.folds.comparison.divergence import Divergence, Turn, compared, first_difference, turns
from tui_agent.plugin_host.loader import LoadedPlugins, PluginHost
from tui_agent.ports.environment import Sandbox
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.commands import AnswerQuestion, Close, Command, DecidePermission, GoOn, SubmitPrompt
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import RunStarted, SessionStarted
from tui_agent.protocol.events.turn import QuestionAnswered, QuestionAsked, TurnFinished
from tui_agent.session.resume import begin
from tui_agent.store.lineage import blobs_of, lineage
from tui_agent.store.sessions import SessionStore
from tui_agent.wiring import policy as judging
from tui_agent.wiring.base import Ground
from tui_agent.wiring.plugins import plugin_places
from tui_agent.workspace.local.environment import LocalEnvironment

PATIENCE_S = 60.0
"""A turn in which nothing is waited for takes no longer; one that does has lost its way."""
_OURS = ("run.", "env.", "session.started", "session.head_moved", "log.", "plugin.loaded")


def rerun(base: Ground, folder: Path, records: Sequence[Record], *, as_json: bool) -> int:
    """Run the session's loop again and print the first event that is another; 0 where there is none, else 1."""
    with tempfile.TemporaryDirectory(prefix="tui-agent-rerun-") as away:
        result = anyio.run(partial(_rerun, base, folder, records, Path(away)))
    return result.tell(folder.name, as_json=as_json)


class Result:
    """What was compared, what was taken over and why, and where the recordings part."""

    def __init__(self) -> None:
        self.turns = 0
        self.events = 0
        self.skipped: list[tuple[int, str]] = []
        self.divergence: Divergence | None = None
        self.turn = 0

    def tell(self, session: str, *, as_json: bool) -> int:
        """Print it; the exit status."""
        found = self.divergence
        if as_json:
            where = None if found is None else {"turn": self.turn, **_fields(found)}
            skipped = [{"turn": turn, "why": why} for turn, why in self.skipped]
            say_json(
                {
                    "session": session,
                    "turns": self.turns,
                    "events": self.events,
                    "taken_over": skipped,
                    "divergence": where,
                }
            )
            return Exit.DONE if found is None else Exit.FAILED
        for turn, why in self.skipped:
            say(f"turn {turn} was taken over as recorded: {why}")
        if found is None:
            many = "1 turn" if self.turns == 1 else f"{self.turns} turns"
            say(f"{session}: the same again, {many} with {self.events} events.")
            return Exit.DONE
        say(f"{session}: another event in turn {self.turn}, at event {found.seq}:")
        say(f"  recorded  {found.recorded}\n  again     {found.again}")
        if found.where != "kind":
            say(f"  {found.where}\n    was {_short(found.was)}\n    now {_short(found.now)}")
        return Exit.FAILED


def _fields(found: Divergence) -> dict[str, object]:
    return {name: getattr(found, name) for name in ("seq", "recorded", "again", "where", "was", "now")}


def _short(value: object) -> str:
    text = printable(repr(value))
    return text if len(text) <= 300 else text[:299] + "…"


async def _rerun(base: Ground, folder: Path, records: Sequence[Record], away: Path) -> Result:
    found, _ = turns(records)
    started = next((one for one in payloads(records) if isinstance(one, SessionStarted)), None)
    if started is None:
        raise UsageError(
            f"The log of {folder.name} does not say how it began.", hint="It cannot be run again."
        )
    bench = Bench(base, folder, records, away, started)
    result = Result()
    async with anyio.create_task_group() as group:
        group.start_soon(bench.engine.serve)
        for number, turn in enumerate(found, 1):
            bench.take_over(turn.before)
            if turn.why_not:
                bench.take_over(turn.events)
                result.skipped.append((number, turn.why_not))
                continue
            result.turn = number
            result.divergence = first_difference(turn.events, await bench.play(turn))
            if result.divergence is not None:
                break
            result.turns += 1
            result.events += compared(turn.events)
        bench.submit(Close(reason="done"))
    bench.close()
    return result


class Bench:
    """An engine over a log of its own, fed with what another log holds."""

    def __init__(
        self, base: Ground, folder: Path, records: Sequence[Record], away: Path, started: SessionStarted
    ) -> None:
        loaded = PluginHost(plugin_places(base), base.config.plugins_disabled).load()
        store = SessionStore(away / "sessions", base.clock, base.redactor)
        self._log = store.create(base.ids.session())
        _lend(folder, self._log.folder)
        self._heard: list[Envelope] = []
        self._results = RecordedResults(records)
        self._news = anyio.Event()
        self._recorder = Recorder(self._log, (), (self._hear,))
        self._base = base
        said = payloads(records)
        self._decided = {
            one.call_id: one for one in said if isinstance(one, PermissionDecided) and one.by == "user"
        }
        self._answers = [one for one in said if isinstance(one, QuestionAnswered)]
        # Where nobody was ever asked, there was nobody to ask, or nothing to ask for.
        alone = not any(isinstance(one, PermissionRequested | QuestionAsked) for one in said)
        self._failures: list[TuiAgentError] = []
        settings = started.settings
        begin(
            self._recorder,
            RunStarted(
                run_id=base.ids.run(),
                pid=os.getpid(),
                client="headless",
                product=started.product,
                model=settings.model,
            ),
            workspace=started.workspace,
            settings=settings,
        )
        self._env = LocalEnvironment(Path(started.workspace))
        self._sandbox = Sandbox(next((one.sandbox for one in said if isinstance(one, EnvStarted)), ""))
        self._outside = RecordedTurn(folder.name, blobs_of(folder))
        self.engine = Engine(self._parts(loaded, alone), self._fail)

    def _parts(self, loaded: LoadedPlugins, alone: bool) -> EngineParts:
        base, recorder = self._base, self._recorder
        texts = PromptTexts((base.config.paths.config_dir / "prompts",))
        memory = WorkingMemory(lambda: recorder.state, base.redactor.text)
        tools = recorded_tools(loaded.tools, self._results)
        own = [
            *prompt_sections(texts, "", "bash", tools.names()),
            StuckNotice(lambda: recorder.state),
            memory,
            RepoMapSection(self._outside),
        ]
        agents = {"default": ModelAgent, **{offered.name: offered.make for offered in loaded.agents}}
        return EngineParts(
            recorder=recorder,
            blobs=self._log.blobs,
            env=ReadOnlyEnvironment(self._env, self._sandbox),
            tools=tools,
            policy=judging.policy(base, loaded.policy_tables)[0],
            middlewares=[*own, *(offered.middleware for offered in loaded.middlewares)],
            agents=agents,
            client=lambda _: self._outside,
            resolve_model=lambda name, url, effort: recorder.state.settings.model,  # type: ignore[union-attr]
            tokens=Tokens(calibration=recorder.calibration),
            repomap=self._outside,
            jitter=lambda: 0.0,
            clock=base.clock,
            ids=base.ids,
            interactive=not alone,
            max_retries=0,
        )

    def submit(self, command: Command) -> None:
        """Hand a command to the engine."""
        self.engine.submit(command.model_copy(update={"id": self._base.ids.command()}))

    def take_over(self, events: Sequence[Envelope]) -> None:
        """Tell the new log what the old one says, as it says it."""
        for event in events:
            if not event.payload.kind.startswith(_OURS):
                self._recorder.append(event.payload, agent=event.agent)
        self._heard.clear()

    async def play(self, turn: Turn) -> list[Envelope]:
        """Say the message again, and what the user answered; the turn's events, to its end."""
        self._heard.clear()
        self._outside.begin(turn.events)
        self.submit(self._begins(turn))
        at = 0
        with anyio.move_on_after(PATIENCE_S):
            while not (at and isinstance(self._heard[at - 1].payload, TurnFinished)):
                while at == len(self._heard) and not self._failures:
                    self._news = anyio.Event()
                    await self._news.wait()
                if self._failures:
                    raise self._failures[0]
                self._answer(self._heard[at])
                at += 1
        first = turn.events[0].payload.kind
        begun = (here for here, one in enumerate(self._heard) if one.payload.kind == first)
        return self._heard[next(begun, 0) : at]

    def _begins(self, turn: Turn) -> Command:
        if turn.message is None:
            return GoOn()
        text = turn.message.text
        return SubmitPrompt(text=text if isinstance(text, str) else self._log.blobs.text(text))

    def _answer(self, event: Envelope) -> None:
        payload = event.payload
        if isinstance(payload, PermissionRequested):
            said = self._decided.get(payload.call_id)
            self.submit(
                DecidePermission(
                    request_id=payload.request_id,
                    decision="deny" if said is None else said.decision,
                    reach="once" if said is None else said.reach,
                    rule="" if said is None else said.rule,
                    message="" if said is None else text_preview(said.message),
                )
            )
        elif isinstance(payload, QuestionAsked) and payload.form == "stuck":
            known = self._answers.pop(0) if self._answers else None
            words = "" if known is None else text_preview(known.answer)
            choice = None if known is None else known.choice
            self.submit(AnswerQuestion(question_id=payload.question_id, answer=words, choice=choice))

    def _hear(self, event: Envelope) -> None:
        self._heard.append(event)
        self._results.hear(event)
        self._news.set()

    def _fail(self, fault: TuiAgentError) -> None:
        self._failures.append(fault)
        self._news.set()

    def close(self) -> None:
        """Let go of the log."""
        self._log.close()


def payloads(records: Sequence[Record]) -> list[Payload]:
    """What is known of the events."""
    return [one.payload for one in records if isinstance(one, Envelope)]


def _lend(folder: Path, to: Path) -> None:
    """Give the new session the long texts that the recording's events name."""
    for strand in lineage(folder).strands:
        blobs = strand.folder / "blobs"
        if blobs.is_dir():
            shutil.copytree(blobs, to / "blobs", dirs_exist_ok=True)
