"""One branch from a point on, in figures: how it ended, what it took, which files it left, and all that over time.

Invariant: pure but for the texts that `Branch.text` gives. Everything counts from the fork point on: what stood before
it is in no figure.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from tui_agent.folds.base import fold
from tui_agent.folds.comparison.files import FileEnd, file_ends
from tui_agent.folds.comparison.work_clock import Beat, beats, working_ms
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.view import SessionStateView
from tui_agent.folds.text.labels import TURN_ENDS
from tui_agent.folds.trace.metrics import Metrics, MetricsView
from tui_agent.folds.trace.parts import Parts
from tui_agent.protocol.base import BlobText, JsonMap, LongText, text_preview
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.session import SessionForked, SessionHeadMoved
from tui_agent.protocol.events.tool import ToolCalled
from tui_agent.protocol.events.turn import TurnEnd, TurnFinished, TurnStarted
from tui_agent.protocol.ids import MAIN_AGENT, CallId
from tui_agent.protocol.parts import TextPart, ToolCallPart
from tui_agent.protocol.settings import ModelInfo

OutcomeState: TypeAlias = Literal["done", "failed", "denied", "stopped", "open", "none"]
MOST_FAILURES: Final = 5
_LOCAL_PROVIDERS: Final = frozenset(("ollama", "lm_studio", "llamafile", "demo", "scripted"))
_ENDS: Final[dict[TurnEnd, OutcomeState]] = {
    "finished": "done",
    "denied": "denied",
    "model_error": "failed",
    "error": "failed",
}


@dataclass(frozen=True, slots=True)
class Branch:
    """What is compared: the records of one branch, in order, and what reads a stored content (None: it is gone)."""

    session: str
    records: Sequence[Record]
    text: Callable[[str], bytes | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a branch ended: a word for a symbol, and the words beside it."""

    state: OutcomeState = "none"
    words: str = "no answer"


@dataclass(frozen=True, slots=True)
class Side:
    """One of two branches. Figures are of what came after the fork point; `cost_usd` is None where no price is known.

    `change` says in words what the fork changed, `changed` is that as JSON. `asked` counts calls and questions that a
    person was asked about, `denied` every call that was denied. `added` and `removed` are the lines of `files`.
    `failures` are tests that fail at the end. `last_seq` is the branch's newest event.
    """

    session: str
    name: str
    title: str = ""
    model: str = ""
    local: bool = False
    effort: str = ""
    policy: str = ""
    changed: JsonMap = field(default_factory=dict)
    change: str = ""
    outcome: Outcome = Outcome()
    duration_ms: float = 0.0
    cost_usd: float | None = None
    iterations: int = 0
    parts: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    asked: int = 0
    denied: int = 0
    added: int = 0
    removed: int = 0
    files: tuple[FileEnd, ...] = ()
    tools: dict[str, int] = field(default_factory=dict)
    timeline: tuple[Beat, ...] = ()
    answer: str = ""
    failures: tuple[str, ...] = ()
    last_seq: int = -1


def side(branch: Branch, shared: int) -> Side:
    """The figures of a branch whose first `shared` records are another one's too."""
    before, tail = branch.records[:shared], branch.records[shared:]
    events = [record for record in tail if isinstance(record, Envelope)]
    state, metrics = fold(SessionState(), branch.records), fold(Metrics(), events)
    began = _goes_on(before)
    since = before[-1].at if before else None
    line = beats(events, since, began)
    files = file_ends(events, branch.text)
    forked = next((one.payload for one in events if isinstance(one.payload, SessionForked)), None)
    model = state.settings.model if state.settings else ModelInfo(profile="", provider="", model="")
    return Side(
        session=branch.session,
        name=_name(events, bool(before), state),
        title=state.title,
        model=model.model,
        local=_is_local(model),
        effort=model.effort or "",
        policy=state.settings.policy if state.settings else "",
        changed=forked.changed.model_dump(mode="json", exclude_defaults=True) if forked else {},
        change=_change(forked, branch.records) if forked else "",
        outcome=_outcome(metrics, events),
        duration_ms=working_ms(events, since, began),
        cost_usd=metrics.cost_usd,
        iterations=line[-1].iterations if line else 0,
        parts=len(fold(Parts(), events)),
        tokens_in=metrics.input_tokens,
        tokens_out=metrics.output_tokens,
        asked=line[-1].asked if line else 0,
        denied=metrics.denials,
        added=sum(one.added for one in files),
        removed=sum(one.removed for one in files),
        files=files,
        tools=dict(sorted(metrics.tools.items(), key=lambda pair: (-pair[1], pair[0]))),
        timeline=line,
        answer=_answer(events, branch.text),
        failures=_failures(events),
        last_seq=branch.records[-1].seq if branch.records else -1,
    )


def _name(events: Sequence[Envelope], shares: bool, state: SessionStateView) -> str:
    """By how it parts from the other; what goes back and forth later on is its own matter."""
    match events[0].payload if events else None:
        case SessionForked(at_seq=seq):
            return f"fork at {seq}"
        case SessionHeadMoved(to_seq=seq):
            return f"branch at {seq}"
        case _:
            pass
    return "main" if shares else state.title or "untitled"


def _is_local(model: ModelInfo) -> bool:
    host = urlsplit(model.base_url).hostname or ""
    near = host in ("localhost", "127.0.0.1", "::1") or host.endswith(".localhost")
    return near or (not host and model.provider in _LOCAL_PROVIDERS)


def _change(forked: SessionForked, records: Sequence[Record]) -> str:
    """What the fork changed that model, effort and policy of the branch do not tell."""
    changed = forked.changed
    said = [f"context {changed.context_mode}"] if changed.context_mode else []
    if changed.result is not None:
        call = _called(changed.call_id, records)
        said.append(f"another result of {call}" if call else "another tool result")
    if changed.message is not None:
        said.append(f'asked instead: "{" ".join(text_preview(changed.message).split())}"')
    return ", ".join(said)


def _called(call_id: CallId | None, records: Sequence[Record]) -> str:
    for record in reversed(records):
        payload = record.payload if isinstance(record, Envelope) else None
        if isinstance(payload, ToolCalled) and payload.call_id == call_id:
            return f"{payload.verb} {payload.target}".strip()
    return ""


# -- how it ended --------------------------------------------------------------------------------------------------


def _outcome(metrics: MetricsView, events: Sequence[Envelope]) -> Outcome:
    """The end in words: `done, 32 tests pass`, `2 tests fail, agent says done`, `stopped`, `no answer`."""
    reason = next((end for end in TURN_ENDS if end == metrics.last_turn_end), None)
    if reason is None or _goes_on(events):
        started = metrics.model_calls or metrics.iterations or metrics.turns
        return Outcome("open", "has not ended") if started else Outcome()
    failed, passed = metrics.tests_failed or 0, metrics.tests_passed or 0
    if reason == "finished" and failed:
        return Outcome("failed", f"{_tests(failed, 'fail')}, agent says done")
    tests = _tests(failed, "fail") if failed else _tests(passed, "pass") if passed else ""
    words = f"{TURN_ENDS[reason]}, {tests}" if tests else TURN_ENDS[reason]
    return Outcome(_ENDS.get(reason, "stopped"), words)


def _goes_on(records: Sequence[Record]) -> bool:
    """Whether a turn runs at the end of these."""
    for record in reversed(records):
        payload = record.payload if isinstance(record, Envelope) else None
        if isinstance(payload, TurnFinished | TurnStarted):
            return isinstance(payload, TurnStarted)
    return False


def _tests(count: int, verb: str) -> str:
    return f"1 test {verb}{'es' if verb == 'pass' else 's'}" if count == 1 else f"{count} tests {verb}"


def _failures(events: Sequence[Envelope]) -> tuple[str, ...]:
    tests = next((one.payload for one in reversed(events) if isinstance(one.payload, TestFinished)), None)
    return tests.failures[:MOST_FAILURES] if tests else ()


def _answer(events: Sequence[Envelope], text: Callable[[str], bytes | None]) -> str:
    """The newest words of the main agent that asked for no call, whole."""
    for event in reversed(events):
        payload = event.payload
        if not isinstance(payload, ModelResponded) or event.agent != MAIN_AGENT:
            continue
        if not any(isinstance(part, ToolCallPart) for part in payload.parts):
            return "\n\n".join(
                _whole(part.text, text) for part in payload.parts if isinstance(part, TextPart)
            )
    return ""


def _whole(words: LongText, text: Callable[[str], bytes | None]) -> str:
    if not isinstance(words, BlobText):
        return words
    data = text(words.blob_sha256)
    if data is None:
        return f"{words.preview}\n(the rest of these {words.size} bytes is missing)"
    return data.decode("utf-8", "replace")
