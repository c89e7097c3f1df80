"""Measurements inside one process: folding and appending generated events."""

import itertools
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tui_agent.folds.context.meter import ContextMeter
from tui_agent.folds.session.agents import AgentsTree
from tui_agent.folds.session.approvals import Approvals
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.todo_list import Todo
from tui_agent.folds.trace.fold import Trace
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.envelope import SCHEMA_VERSION, Envelope
from tui_agent.protocol.events.model import ModelDelta, ModelRequested, ModelResponded
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import (
    IterationFinished,
    IterationStarted,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
)
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT, CallId, RequestId, SessionId
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart, Usage
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.session.clock import RandomIds, SystemClock
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore

MODEL = ModelInfo(profile="mock", provider="openai-chat", model="mock", window=200_000)
FOLDS = (SessionState, Transcript, Trace, Todo, ContextMeter, FilesChanged, AgentsTree, Metrics, Approvals)
ANSWER = "The loop reads one line too many, because the bound is inclusive.\n\n- `read` stops at `end`\n- the test asks for it\n"


LAST_WORDS = "the test asks for it"


def started(workspace: Path) -> SessionStarted:
    """Return the first event of a session."""
    return SessionStarted(workspace=str(workspace), product="bench", settings=SessionSettings(model=MODEL))


def turns() -> Iterator[list[Payload]]:
    """Yield turns endlessly: a message, a tool call with its result, and a streamed answer."""
    part = itertools.count()
    for turn in itertools.count(1):
        first, second = 2 * turn - 1, 2 * turn
        call = CallId(f"call_{turn}")
        arguments = {"path": f"src/module_{turn}.py"}
        asked = [RequestId(f"req_{number}") for number in (first, second)]
        yield [
            UserMessageReceived(text=f"Look at module {turn} and say what is wrong with it."),
            TurnStarted(turn=turn),
            IterationStarted(iteration=first, local_iteration=1),
            requested(asked[0], first),
            responded(
                asked[0], next(part), ToolCallPart(call_id=call, name="read_file", arguments=arguments)
            ),
            ToolCalled(
                call_id=call,
                name="read_file",
                arguments=arguments,
                iteration=first,
                verb="read",
                target=arguments["path"],
            ),
            ToolStarted(call_id=call, writes=False),
            ToolFinished(
                call_id=call,
                name="read_file",
                status="ok",
                part=next(part),
                content=(TextContent(text="line of code\n" * 40),),
                summary="40 lines",
            ),
            TodoUpdated(
                items=(TodoItem(id="1", content="look", status="completed"), TodoItem(id="2", content="say"))
            ),
            IterationFinished(iteration=first, action="calls", duration_ms=5),
            IterationStarted(iteration=second, local_iteration=2),
            requested(asked[1], second),
            *(
                ModelDelta(request_id=asked[1], part_kind="text", part_index=0, text=ANSWER[at : at + 40])
                for at in range(0, len(ANSWER), 40)
            ),
            responded(asked[1], next(part), TextPart(text=ANSWER)),
            IterationFinished(iteration=second, action="message", duration_ms=5),
            TurnFinished(turn=turn, reason="finished", duration_ms=10),
        ]


def requested(request: RequestId, iteration: int) -> ModelRequested:
    """Return the event of a model request."""
    return ModelRequested(
        request_id=request,
        iteration=iteration,
        local_iteration=1,
        model=MODEL,
        tools=("read_file",),
        messages=2,
        max_tokens=4096,
    )


def responded(request: RequestId, part: int, content: TextPart | ToolCallPart) -> ModelResponded:
    """Return the event of an answer with one part."""
    return ModelResponded(
        request_id=request,
        first_part=part,
        parts=(content,),
        finish="stop",
        usage=Usage(input_tokens=1000, output_tokens=50),
        cost_usd=None,
        duration_ms=5,
    )


def events(count: int) -> list[Envelope]:
    """Return the `count` events of a session."""
    payloads = itertools.chain([started(Path("/work"))], itertools.chain.from_iterable(turns()))
    return [
        Envelope(
            v=SCHEMA_VERSION,
            seq=seq,
            time=1_700_000_000 + seq / 10,
            session=SessionId("ses_bench"),
            agent=MAIN_AGENT,
            parent=seq - 1 if seq else None,
            cause=None,
            payload=payload,
        )
        for seq, payload in enumerate(itertools.islice(payloads, count))
    ]


def fold_seconds(count: int) -> float:
    """Return the CPU seconds to fold a session of `count` events into all views of the app."""
    made = events(count)
    folds = [make() for make in FOLDS]
    before = time.process_time()
    for event in made:
        for fold in folds:
            fold.apply(event)
    return time.process_time() - before


def store(root: Path) -> SessionStore:
    """Return a session store below `root` with the usual redaction."""
    return SessionStore(root, SystemClock(), Redactor())


def append_us(depth: int, sample: int = 500) -> float:
    """Return the mean duration in microseconds of `sample` appends to a log that already has `depth` events."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        log = store(Path(folder)).create(RandomIds().session())
        payloads = itertools.chain([started(Path(folder))], itertools.chain.from_iterable(turns()))
        for payload in itertools.islice(payloads, depth):
            log.append(payload)
        probes = list(itertools.islice(payloads, sample))
        before = time.perf_counter()
        for payload in probes:
            log.append(payload)
        took = time.perf_counter() - before
        log.close()
    return took / sample * 1_000_000


def long_session(root: Path, workspace: Path, messages: int) -> SessionId:
    """Write a session with this many messages of user and model; return its id."""
    session = RandomIds().session()
    log = store(root).create(session)
    log.append(started(workspace))
    for turn in itertools.islice(turns(), messages // 2):
        for payload in turn:
            log.append(payload)
    log.close()
    return session
