"""Conversion of a session to a case: its files at the start, its messages, its answers, proposed assertions, and the
`case.toml` with comments for the person who edits it.

Invariant: the session is only read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

import tomlkit
from anyio.to_thread import run_sync

from tui_agent.errors import CheckpointError, UsageError
from tui_agent.evals.frozen.frozen_session import (
    ANSWERS_FILE,
    EDITS_FOLDER,
    EVENTS_FILE,
    WORKSPACE,
    CallEnds,
    RecordedDecision,
    RecordedEvents,
    RecordedReply,
    escape_path,
)
from tui_agent.export.archive.checkpoint_export import checkout_part, find_checkpoint_stores, open_store
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.comparison.divergence import Turn, split_turns
from tui_agent.models.replay_model import RecordedAnswers, answers_format, read_recording, recorded_answers
from tui_agent.ports.log import BlobReader
from tui_agent.protocol.envelope import Envelope, find_payload
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import CheckpointTaken, FileChanged
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import (
    IterationStarted,
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    UserSteered,
)
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import COMPACTION_AGENT, MAIN_AGENT
from tui_agent.protocol.parts import TextPart, ToolCallPart, Usage, tool_calls
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_reader import read_records

BUDGET_FACTOR = 2
"""Factor for a new case's limits of message parts and iterations.

Each limit is this many times the number that the session used.
"""
RECORDING = "recording"
FIXTURE = "fixture"
EXPECTED = "expected"
_REPLAYED = frozenset(("ok", "failed", "denied", "invalid"))
"""Statuses of calls whose results a replay can reproduce."""


@dataclass(frozen=True, slots=True)
class CaseDraft:
    """The content of a case that was made from a session.

    `parts`, `iterations`: numbers of parts and iterations in the session.
    """

    session: str
    messages: tuple[str, ...]
    policy: str
    allowed_tools: tuple[str, ...] | None
    fixture: str
    recording: str
    test_command: str
    tools: tuple[str, ...]
    files: Mapping[str, str]
    parts: int
    iterations: int


def format_case(name: str, draft: CaseDraft) -> str:
    """Return the text of `case.toml` for the case in the folder `name`."""
    document = tomlkit.document()
    document.add(
        tomlkit.comment(f"Frozen from the session {draft.session}. To replay it without an API key:")
    )
    document.add(tomlkit.comment(f"tui-agent eval run {name} -m oracle"))
    first, *others = draft.messages
    document["prompt"] = tomlkit.string(first, multiline="\n" in first)
    if others:
        document["follow_ups"] = tomlkit.item(others).multiline(multiline=True)
    document["category"] = "frozen"
    document["policy"] = draft.policy
    if draft.allowed_tools is not None:
        document["allowed_tools"] = list(draft.allowed_tools)
    document["fixture"] = draft.fixture
    document["recording"] = draft.recording
    if draft.test_command:
        document["test_command"] = draft.test_command
        document["test_command"].comment("the last tests that passed")
    document["budgets"] = tomlkit.table()
    document["budgets"].comment(f"{BUDGET_FACTOR} times what the session used")
    document["budgets"]["max_parts"] = BUDGET_FACTOR * draft.parts
    document["budgets"]["max_iterations"] = BUDGET_FACTOR * max(1, draft.iterations)
    document["expected"] = tomlkit.table()
    document["expected"].comment("delete checks that another good solution may fail")
    document["expected"]["tools"] = list(draft.tools)
    if draft.files:
        document["expected"]["files"] = dict(draft.files)
    return tomlkit.dumps(document)


@dataclass(slots=True)
class FrozenCase:
    """A case made from a session. `notes` say what the case leaves out."""

    folder: Path
    turns: int = 0
    calls: int = 0
    notes: list[str] = field(default_factory=list)


async def freeze_session(session: Path, dest: Path) -> FrozenCase:
    """Make a case from the folder `session`, and write it to the new or empty folder `dest`.

    Raise `UsageError` if nothing can be replayed, and `CheckpointError` if there are no checkpoints.
    """
    freezer = _Freezer(session, dest)
    freezer.collect()
    await checkout_part(session, -1, dest / FIXTURE)
    await freezer.write_edits()
    await freezer.write_expected()
    await run_sync(freezer.write)
    return freezer.case


class _Freezer:
    """Collects the parts of a case from the records of a session, and writes them."""

    def __init__(self, session: Path, dest: Path) -> None:
        self.case = FrozenCase(dest)
        self._session, self._dest = session, dest
        self._records = read_records(session)
        self._blobs: BlobReader = open_blobs(session)
        first = find_payload(self._records, SessionStarted)
        if first is None:
            raise UsageError(
                f"The log of {session.name} lacks its first events.", hint="Freeze another session."
            )
        self._started = first
        self._ends = CallEnds(first.workspace)
        self._messages: list[str] = []
        self._answers: list[ModelResponded] = []
        self._events: list[Envelope] = []
        self._edits: dict[int, dict[str, str]] = {}
        """Maps a turn to the user's changes before the turn. The changes map a path to a commit with the changed file."""
        self._removed: dict[int, tuple[str, ...]] = {}
        self._files: dict[str, str] = {}
        """Maps a path that tool calls changed to the case's file with the final content; empty for a deleted path."""

    @property
    def _payloads(self) -> list[Payload]:
        return [event.payload for event in self._events]

    def collect(self) -> None:
        """Collect messages, answers and calls of the turns that can be replayed.

        Raise `UsageError` if no turn can be replayed.
        """
        turns, _ = split_turns(self._records)
        for number, turn in enumerate(turns, 1):
            reason = _stop_reason(turn)
            if reason:
                self.case.notes.append(f"The case ends before turn {number}: {reason}.")
                break
            self._add_turn(number, turn)
        if not self._answers:
            raise UsageError(
                f"The session {self._session.name} has no turn that can be replayed.",
                hint=" ".join(self.case.notes) or "Freeze a session in which the model answered.",
            )
        self.case.turns, self.case.calls = len(self._messages), len(self._ends.calls)

    def _add_turn(self, number: int, turn: Turn) -> None:
        # Only answers that took part in the conversation; their order is that of the turn's `ModelResponded` events.
        answers = recorded_answers(turn.events, self._blobs)
        if not answers:
            self.case.notes.append(f"Turn {number} is left out: the model gave no answer.")
            return
        text = "" if turn.message is None else self._blobs.read_text(turn.message.text)
        self._messages.append(text)
        self._note_edits([*turn.before, *turn.events])
        for event in turn.events:
            if event.agent == COMPACTION_AGENT:
                continue  # the replay compacts nothing, because its model has room for the whole conversation
            self._events.append(event)
            self._ends.turn = len(self._messages)
            self._ends.apply(event)
            match event.payload:
                case ModelResponded(author="model") if event.agent == MAIN_AGENT:
                    self._answers.append(answers[0])
                    answers = answers[1:]
                case UserSteered(text=steered):
                    self._add_steered(number, self._blobs.read_text(steered), is_followed=bool(answers))
        self._close_turn(turn)

    def _add_steered(self, number: int, text: str, *, is_followed: bool) -> None:
        # The message came after an answer without calls, and the model answered once more. A replay would end the
        # turn at the answer without calls.
        if is_followed and self._answers and not tool_calls(self._answers[-1].parts):
            self._messages.append(text)  # the agent had ended its work, so the message starts a turn
            return
        self.case.notes.append(f"The message that you sent during turn {number} is not replayed.")

    def _close_turn(self, turn: Turn) -> None:
        """Remove the unfinished calls from the last answer, so that the replayed turn ends like the recorded turn."""
        last = self._answers[-1]
        open_calls = {
            call.call_id
            for call in tool_calls(last.parts)
            if call.call_id not in self._ends.calls or self._ends.calls[call.call_id].status not in _REPLAYED
        }
        for call_id in open_calls:
            self._ends.calls.pop(call_id, None)
        parts = tuple(
            part for part in last.parts if not (isinstance(part, ToolCallPart) and part.call_id in open_calls)
        )
        if not tool_calls(parts) and not any(isinstance(part, TextPart) for part in parts):
            self._answers.pop()
        else:
            self._answers[-1] = last.model_copy(
                update={"parts": parts, "finish": "tool_calls" if tool_calls(parts) else "stop"}
            )
            if not tool_calls(parts):
                return
        end = turn.events[-1].payload
        reason = end.reason if isinstance(end, TurnFinished) else "its program ended"
        self._answers.append(
            ModelResponded(
                request_id=last.request_id,
                first_part=0,
                parts=(TextPart(text=f"The recorded turn ended here: {reason}."),),
                finish="stop",
                usage=Usage(),
                cost_usd=None,
                duration_ms=0.0,
            )
        )

    def _note_edits(self, events: Sequence[Envelope]) -> None:
        turn = len(self._messages)
        # The fixture already has the user's changes before the first turn.
        if turn == 1:
            return
        for event in events:
            if isinstance(event.payload, CheckpointTaken) and event.payload.author == "human":
                for path in event.payload.paths:
                    self._edits.setdefault(turn, {})[path] = event.payload.commit

    async def write_edits(self) -> None:
        """Write the files that the user changed between turns."""
        for turn, paths in self._edits.items():
            for path, commit in paths.items():
                content = await self._read_file(commit, path)
                if content is None:
                    self._removed[turn] = (*self._removed.get(turn, ()), path)
                else:
                    _write_bytes(self._dest / RECORDING / EDITS_FOLDER / str(turn) / path, content)

    async def write_expected(self) -> None:
        """Write the final content of the files that calls changed."""
        commits = [payload.commit for payload in self._payloads if isinstance(payload, CheckpointTaken)]
        changed = {
            payload.path
            for payload in self._payloads
            if isinstance(payload, FileChanged) and payload.author == "agent"
        }
        for path in sorted(changed) if commits else ():
            content = await self._read_file(commits[-1], path)
            self._files[path] = "" if content is None else f"{EXPECTED}/{path}"
            if content is not None:
                _write_bytes(self._dest / EXPECTED / path, content)

    async def _read_file(self, commit: str, path: str) -> bytes | None:
        """Return a file's content in a checkpoint, or None if the checkpoint does not have the file."""
        # The checkpoints of a fork's common part are in the stores of its ancestors.
        for store in find_checkpoint_stores(self._session):
            shadow = open_store(store)
            try:
                files = {file.path for file in await shadow.list_files(commit)}
            except CheckpointError:
                continue
            return await shadow.read_file(commit, path) if path in files else None
        return None

    def write(self) -> None:
        """Write the recording, and the case for a person to edit."""
        recording, payloads = self._dest / RECORDING, self._payloads
        recording.mkdir(exist_ok=True)
        delegates = read_recording(self._records, self._blobs).delegates
        answers = answers_format().dump_json(RecordedAnswers(self._answers, delegates), indent=1).decode()
        workspace = escape_path(Path(self._started.workspace))
        (recording / ANSWERS_FILE).write_text(answers.replace(workspace, WORKSPACE), "utf-8")
        events = RecordedEvents(
            session=self._session.name,
            attended=any(isinstance(payload, PermissionRequested | QuestionAsked) for payload in payloads),
            decisions={
                payload.call_id: RecordedDecision(
                    decision=payload.decision,
                    reach=payload.reach if payload.reach == "session" else "once",
                    message=self._blobs.read_text(payload.message),
                )
                for payload in payloads
                if isinstance(payload, PermissionDecided) and payload.decided_by == "user"
            },
            replies=tuple(
                RecordedReply(answer=self._blobs.read_text(payload.answer), choice=payload.choice)
                for payload in payloads
                if isinstance(payload, QuestionAnswered) and payload.answered_by == "user"
            ),
            removed=self._removed,
            calls=tuple(sorted(self._ends.calls.values(), key=lambda call: call.seq)),
        )
        (recording / EVENTS_FILE).write_text(events.model_dump_json(indent=1, exclude_defaults=True), "utf-8")
        draft = CaseDraft(
            session=self._session.name,
            messages=tuple(self._messages),
            policy=self._started.settings.policy,
            allowed_tools=self._started.allowed_tools,
            fixture=FIXTURE,
            recording=RECORDING,
            test_command=_last_passed_tests(payloads),
            tools=tuple(sorted({call.tool for call in events.calls if call.status == "ok"})),
            files=self._files,
            parts=sum(_count_parts(payload) for payload in payloads),
            iterations=sum(isinstance(payload, IterationStarted) for payload in payloads),
        )
        (self._dest / "case.toml").write_text(format_case(self._dest.name, draft), "utf-8")


def _count_parts(payload: Payload) -> int:
    """Return the number of message parts that an event adds to the session."""
    match payload:
        case ModelResponded(parts=parts):
            return len(parts)
        case ToolFinished(part=int()):
            return 1
    return 0


def _stop_reason(turn: Turn) -> str:
    """Return the reason why a turn cannot be replayed; empty if the turn can be replayed."""
    message = turn.message
    if message is None:
        return ""
    if message.attachments:
        return "its message has a picture"
    if message.to_agent:
        return "you sent its message to a named agent"
    return "its slash command runs shell commands" if message.shell else ""


def _last_passed_tests(payloads: Sequence[Payload]) -> str:
    """Return the last test command that passed in the workspace's top folder; empty if there is none."""
    passed = (
        payload.command
        for payload in reversed(payloads)
        if isinstance(payload, TestFinished) and payload.exit_code == 0 and not payload.folder
    )
    return next(passed, "")


def _write_bytes(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
