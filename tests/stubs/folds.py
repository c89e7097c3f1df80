"""All projections by name, and their views as data that can be compared."""

from collections.abc import Callable, Iterable
from typing import Any

from tui_agent.folds.context.meter import ContextMeter
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.projection import Projection
from tui_agent.folds.session.agents import AgentsTree
from tui_agent.folds.session.approvals import Approvals
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.todo_list import Todo
from tui_agent.folds.trace.fold import Trace
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.folds.trace.part_list import Parts
from tui_agent.folds.transcript.entries import TranscriptView
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.envelope import Envelope, Record

FOLDS: dict[str, Callable[[], Projection[Any]]] = {
    "agents": AgentsTree,
    "approvals": Approvals,
    "files": FilesChanged,
    "messages": ModelMessages,
    "meter": ContextMeter,
    "metrics": Metrics,
    "parts": Parts,
    "state": SessionState,
    "todo": Todo,
    "trace": Trace,
    "transcript": Transcript,
}


def plain(view: Any) -> Any:
    """A view as a value that stays what it is when the fold goes on."""
    return tuple(view.entries) if isinstance(view, TranscriptView) else view


def all_folds() -> dict[str, Projection[Any]]:
    """A new one of each."""
    return {name: make() for name, make in FOLDS.items()}


def apply_all(folds: dict[str, Projection[Any]], records: Iterable[Record]) -> dict[str, Any]:
    """Fold records into every projection; returns the views."""
    for record in records:
        if isinstance(record, Envelope):
            for projection in folds.values():
                projection.apply(record)
    return {name: plain(projection.view()) for name, projection in folds.items()}
