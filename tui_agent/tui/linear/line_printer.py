"""Prints a session's events as plain lines, and turns typed lines into commands.

Invariant: every line is cleaned of control sequences. Diffs compare the contents recorded in the session, not the
files on disk.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from tui_agent.errors import BlobNotFound
from tui_agent.folds.comparison.net_changes import diff_contents
from tui_agent.folds.projection import current_branch, fold
from tui_agent.folds.session.approvals import Approvals
from tui_agent.folds.session.changed_files import ChangedFile, FilesChanged, format_folders
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.text.labels import (
    MAP_COMES_LATER,
    always_label,
    describe_saved_rule,
    mention_name,
    mention_result,
    missing_map_notice,
)
from tui_agent.folds.text.undo_sentences import (
    describe_kept_files,
    describe_remains,
    describe_restored,
)
from tui_agent.ports.session import AppSession
from tui_agent.protocol.app_commands import SHARED_COMMANDS
from tui_agent.protocol.commands import (
    AnswerQuestion,
    Command,
    DecidePermission,
    Interrupt,
    Redo,
    Steer,
    SubmitPrompt,
    Undo,
)
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextStuck,
    ContextWarned,
    RepomapBuilt,
    RepomapUsed,
)
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken, FileChanged
from tui_agent.protocol.events.model import ModelDelta, ModelFailed, ModelResponded, ModelRetried
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded, PluginUnloaded
from tui_agent.protocol.events.policy import (
    OPENS_FILES,
    PermissionChoice,
    PermissionDecided,
    PermissionRequested,
    Reach,
)
from tui_agent.protocol.events.session import CommandRejected, ErrorRaised, SessionHeadMoved
from tui_agent.protocol.events.slash_command import CommandRan
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.events.turn import (
    QuestionAsked,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserSteered,
)
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.parts import TextPart
from tui_agent.protocol.stored_text import text_preview
from tui_agent.protocol.unicode_text import format_count
from tui_agent.session.command_effects import describe_effect
from tui_agent.session.headless_turn import block_text
from tui_agent.tui.modals.effect_table import effect_lines, numbered_commands, question_of
from tui_agent.tui.transcript.diff import parse_diff
from tui_agent.tui.untrusted_text import clean, clean_line, reveal_line
from tui_agent.units import format_duration, format_percent

Say = Callable[[str], None]
HELP = (
    "Type a message, or a number to answer a question. /undo and /redo undo and redo a turn, "
    "/undo 2 undoes turn 2 and all later ones, "
    "/diff prints the changes, /stop stops the turn, /quit quits."
)
_COMMANDS: Mapping[str, Callable[[], Command]] = {"/stop": Interrupt, "/undo": Undo, "/redo": Redo}
_NO = "4"
_SIGN_WORDS = {"+": "added, ", "-": "removed, ", " ": "", "@": "…"}


class LinePrinter:
    """Prints the session's events as lines, and turns typed lines into commands."""

    def __init__(self, session: AppSession, say: Say) -> None:
        self.session = session
        self.say = say
        self.state = SessionState()
        self.approvals = Approvals()
        self.changes = ChangedFileLines(session)
        self.verbs: dict[str, str] = {}
        self._streamed_text: dict[str, str] = {}
        """Maps a request's id to the printed part of its streamed answer."""
        self._unfinished_lines: dict[str, str] = {}
        """Maps a request's id to the incomplete last line of its streamed answer."""
        self._has_map_notice = False
        """True once the notice about a missing repository map was printed."""
        self._has_failure_line = False
        """True if a failed model request of the main agent was printed during the current turn."""
        self.under_way = False
        """True from the time a message is sent until its turn starts."""

    def write_event(self, record: Envelope) -> None:
        """Update the session's state from an event, and print the lines for the event."""
        if self.state.apply(record):
            self.under_way = False
        self.approvals.apply(record)
        self.changes.keep(record)
        lines = self.lines(record) if record.agent == MAIN_AGENT else self._delegate_lines(record)
        for line in lines:
            self.say(clean(line))

    def _delegate_lines(self, record: Envelope) -> list[str]:
        """Return the lines for an event of a delegate, prefixed with the delegate's name."""
        match record.payload:
            case AgentSpawned(task=task):
                return [f"{record.agent} begins, {clean_line(text_preview(task))}"]
            case AgentFinished(success=success, reason=reason):
                return [f"{record.agent} {'is done' if success else f'ended, {reason}'}"]
            case ModelDelta() | ModelResponded():
                return []
            case PermissionRequested():
                return [f"{record.agent} asks", *self.lines(record)]
            case _:
                return [f"{record.agent}, {line}" for line in self.lines(record)]

    def lines(self, record: Envelope) -> list[str]:
        """Return the lines to print for an event."""
        match record.payload:
            case UserMessageReceived(text=text, mentions=mentions):
                return [f"you, {text_preview(text)}", *map(_mention_line, mentions)]
            case UserSteered(mentions=mentions):
                return [_mention_line(mention) for mention in mentions]
            case TurnStarted(is_continuation=continues):
                self._has_failure_line = False
                return ["the agent continues"] if continues else []
            case ToolCalled() as call:
                call_words = (reveal_line(call.verb), reveal_line(call.target))
                self.verbs[call.call_id] = ", ".join(filter(None, call_words))
                return []
            case ToolFinished() as done:
                name = self.verbs.pop(done.call_id, done.name)
                outcome = f", {clean_line(done.summary)}" if done.summary else ""
                return [f"tool {name}, {done.status}{outcome}, {format_duration(done.duration_ms / 1000)}"]
            case ModelDelta(request_id=request_id, part_kind="text", text=text):
                return self._streamed_lines(request_id, text)
            case ModelResponded(request_id=request_id, parts=parts):
                streamed = self._streamed_text.pop(request_id, "")
                self._unfinished_lines.pop(request_id, None)
                answer = "\n".join(text_preview(part.text) for part in parts if isinstance(part, TextPart))
                rest = answer.removeprefix(streamed).strip("\n")  # The streamed part is already printed.
                return [rest if streamed else f"answer, {rest}"] if rest else []
            case ModelRetried() as again:
                attempt = f"try {again.attempt + 1} in {format_duration(again.wait_s)}"
                return [f"model, {again.fault}, {again.message}, {attempt}"]
            case ModelFailed() as failed:
                self._has_failure_line |= record.agent == MAIN_AGENT
                return [f"model failed, {failed.message} {failed.hint}".rstrip()]
            case TodoUpdated(items=items):
                return _task_lines(items)
            case CommandRejected(reason=reason, hint=hint) | ErrorRaised(message=reason, hint=hint):
                return [f"refused or failed, {reason} {hint}".rstrip()]
            case CommandRan(display=display):
                return [block_text(block) for block in display]
            case PluginLoaded() | PluginUnloaded() | PluginFailed() as plugin:
                return [clean_line(line) for line in plugin.lines]
            case SessionHeadMoved() | CheckpointRestored() as restored:
                return _undo_lines(restored)
            case TurnFinished() as end:
                return self._turn_end_lines(end)
            case PermissionRequested() as request:
                return self._permission(request)
            case PermissionDecided() as decided:
                return list(filter(None, [describe_saved_rule(decided)]))
            case QuestionAsked() as question:
                return _question_lines(question)
            case _:
                return self._context_lines(record)

    def _turn_end_lines(self, end: TurnFinished) -> list[str]:
        is_explained = end.reason == "model_error" and self._has_failure_line
        detail = [end.detail] if end.detail and not is_explained else []
        reason = end.reason.replace("_", " ")
        return [*detail, f"turn {end.turn}, {reason}, {format_duration(end.duration_ms / 1000)}"]

    def _context_lines(self, record: Envelope) -> list[str]:
        """Return the lines for an event about the context (e.g. a compaction) or about the repository map."""
        match record.payload:
            case ContextWarned(level=level, fraction=fraction):
                return [f"context, {level} the limit, {format_percent(fraction)}"]
            case ContextCompacted() | ContextStuck():
                return [describe_effect(record)]
            case RepomapBuilt(delay_reason=late, duration_ms=waited) if late and not self._has_map_notice:
                self._has_map_notice = True
                return [f"{missing_map_notice(waited)} {MAP_COMES_LATER}"]
            case RepomapUsed(injected=True):
                self._has_map_notice = False
                return []
            case _:
                return []

    def _streamed_lines(self, request_id: str, text: str) -> list[str]:
        """Add `text` to a streamed answer, and return the newly completed lines."""
        complete, newline, rest = (self._unfinished_lines.get(request_id, "") + text).rpartition("\n")
        self._unfinished_lines[request_id] = rest
        if not newline:
            return []
        streamed = self._streamed_text.get(request_id, "")
        self._streamed_text[request_id] = f"{streamed}{complete}\n"
        lines = [line for line in complete.split("\n") if line.strip()]
        return [f"answer, {lines[0]}", *lines[1:]] if lines and not streamed.strip() else lines

    def _permission(self, request: PermissionRequested) -> list[str]:
        state = self.state.view()
        policy = state.settings.policy if state.settings else "ask"
        previews = [
            text_preview(getattr(block, "text", getattr(block, "diff", ""))) for block in request.preview
        ]
        answers = ["1. Yes, this once"]
        labels: tuple[tuple[int, Reach, str], ...] = (
            (2, "session", "Yes, this session"),
            (3, "always", always_label(request)),
        )
        for number, reach, label in labels:
            choice = _find_choice(request, reach)
            text = choice.rule if choice else request.why_unavailable(reach)
            answers.append(f"{number}. {label}: {reveal_line(text)}")
        everywhere = _everywhere_choice(request)
        return [
            f"{question_of(request)} {clean(request.verb, reveal=True)} {clean(request.target, reveal=True)}",
            *(clean(text, reveal=True) for text in previews if text),
            *(
                f"Does: {command}: {', '.join(f'{effect.verb} {effect.target}'.strip() for effect in effects)}"
                for _, command, effects in numbered_commands(request)
            ),
            *(f"{name}: {text}" for name, text in effect_lines(request, policy, state.workspace)),
            *([f"Warning: {reveal_line(request.risk)}"] if request.risk else []),
            *answers,
            "4. No. Text after the number is sent to the agent.",
            *(
                [f"5. {always_label(request, everywhere=True)}: {reveal_line(everywhere.rule)}"]
                if everywhere
                else []
            ),
        ]

    def interpret_line(self, line: str) -> Command | None:
        """Return the command for a typed line; print a hint if the line is not valid now."""
        line = line.strip()
        view = self.approvals.view()
        number, _, words = line.partition(" ")
        if line in _COMMANDS:
            return _COMMANDS[line]()
        numbers = _answer_numbers(view.permissions[0]) if view.permissions else []
        # Only a refusal takes words, so that a message such as "3 files are enough" allows nothing.
        if number in numbers and (number == _NO or not words):
            return self._decide(view.permissions[0], int(number), words.strip())
        if view.questions and line:
            question = view.questions[0]
            question_id, options = question.question_id, question.options
            index = int(line) - 1 if line.isdigit() and question.form != "text" else -1
            if 0 <= index < len(options):
                return AnswerQuestion(question_id=question_id, answer=options[index], choice=index)
            return AnswerQuestion(question_id=question_id, answer=line)
        answer_hint = f"Type {', '.join(numbers[:-1])} or {numbers[-1]}." if view.permissions else ""
        if not line or (answer_hint and line.isdigit()):
            self.say(answer_hint or HELP)
            return None
        if line == "/help":
            self._say_help()
            return None
        if line.startswith("/") and "/" not in number[1:]:
            return SubmitPrompt(text=line)  # the engine runs the command, or explains why it does not
        if self.state.view().turn_running or self.under_way:
            if answer_hint:
                self.say(f"Sent to the agent. The approval is still open. {answer_hint}")
            return Steer(text=line)
        self.under_way = True
        return SubmitPrompt(text=line)

    def say_engine_end(self) -> None:
        """Print the tool calls that were running when the engine ended, and the reason why it ended."""
        for call_words in self.verbs.values():
            self.say(f"tool {call_words}, not finished")
        failure = self.session.failure
        self.say(clean("The engine stopped." if failure is None else f"The engine stopped. {failure}"))

    def _say_help(self) -> None:
        self.say(HELP)
        for offers in (SHARED_COMMANDS, *self.state.view().commands.values()):
            for offer in offers:
                words = f"/{offer.name} {offer.arguments}".rstrip()
                self.say(clean_line(f"{words}, {offer.help}" if offer.help else words))

    def _decide(self, request: PermissionRequested, number: int, words: str) -> Command | None:
        if str(number) == _NO:
            return DecidePermission(request_id=request.request_id, decision="deny", message=words)
        if number == 1:
            return DecidePermission(request_id=request.request_id, decision="allow")
        reach: Reach = "session" if number == 2 else "always" if number == 3 else "everywhere"
        why = request.why_unavailable(reach)
        if why:
            self.say(f"That answer is {reveal_line(why)}.")
            return None
        return DecidePermission(request_id=request.request_id, decision="allow", reach=reach)


class ChangedFileLines:
    """Keeps the events about files, and describes the changes of the current branch."""

    def __init__(self, session: AppSession) -> None:
        self._session = session
        self._records: list[Record] = []

    def keep(self, record: Envelope) -> None:
        """Keep an event if it is needed to find the changed files."""
        if isinstance(record.payload, FileChanged | CheckpointTaken | CheckpointRestored | SessionHeadMoved):
            self._records.append(record)

    async def lines(self) -> list[str]:
        """Return the changed files with their diffs, as lines to print."""
        view = fold(FilesChanged(), current_branch(self._records))
        lines = [f"{format_count(len(view.files), 'changed file')} {format_folders(view.folders)}".rstrip()]
        for file in view.files:
            lines += await self._file_lines(file)
        return lines

    async def _file_lines(self, file: ChangedFile) -> list[str]:
        contents: dict[str, bytes] = {}
        for digest in filter(None, file.versions):
            with suppress(BlobNotFound):
                contents[digest] = await self._session.read_blob(digest)
        diff, note = await asyncio.to_thread(diff_contents, file, contents.get)
        if diff is None or note:
            return [f"{reveal_line(file.path)}, {note}"]
        head = f"{reveal_line(file.path)}, {diff.added} added, {diff.removed} removed"
        parsed = await asyncio.to_thread(parse_diff, diff.text)
        return [head, *(f"line {line.number}, {_SIGN_WORDS[line.sign]}{line.text}" for line in parsed)]


def _find_choice(request: PermissionRequested, reach: Reach) -> PermissionChoice | None:
    choice = request.choice_for(reach)
    return choice if choice is not None and choice.offered else None


def _everywhere_choice(request: PermissionRequested) -> PermissionChoice | None:
    """Return the choice that saves a rule for every project, or None."""
    choice = _find_choice(request, "everywhere")
    return None if choice is None or choice.rule.startswith(OPENS_FILES) else choice


def _question_lines(question: QuestionAsked) -> list[str]:
    text, options = f"question, {text_preview(question.text)}", question.options
    if question.form == "text":
        alternatives = f", or: {', '.join(options)}" if options else ""
        return [text, f"Type your answer{alternatives}."]
    numbered = [f"{number}. {option}" for number, option in enumerate(options, 1)]
    return [text, *numbered, "Type a number, or your own words."]


def _undo_lines(payload: SessionHeadMoved | CheckpointRestored) -> list[str]:
    """Return the lines to print about an undo or redo, with the restored files."""
    if isinstance(payload, SessionHeadMoved):
        verb = "undo" if payload.reason == "revert" else payload.reason
        done = f"{verb} done" if verb in ("undo", "redo") else ""
        return [line for line in (done, *describe_remains(payload)) if line]
    unrestored = describe_kept_files(payload)
    return [f"{describe_restored(payload)} {unrestored}." if unrestored else describe_restored(payload)]


def _answer_numbers(request: PermissionRequested) -> list[str]:
    """Return the numbers that the user can type to answer a request."""
    return ["1", "2", "3", "4", *(["5"] if _everywhere_choice(request) else [])]


def _task_lines(items: Sequence[TodoItem]) -> list[str]:
    """Return a line for the first task in progress, if there is one."""
    return [
        f"task {number} of {len(items)}, {item.content}"
        for number, item in enumerate(items, 1)
        if item.status == "in_progress"
    ][:1]


def _mention_line(mention: Mention) -> str:
    sent = mention_result(mention)
    return f"mentions {reveal_line(mention_name(mention))}, {clean_line(sent)}"
