"""Serialisation of everything that a screen shows.

Invariant: the same records give the same JSON, live or later.
"""

from pydantic_core import to_jsonable_python

from tui_agent.folds.session.state_json import state_to_json
from tui_agent.folds.views import Views
from tui_agent.protocol.base import JsonMap


def views_to_json(views: Views) -> JsonMap:
    """Return each view by its name as plain JSON.

    `seq`, `at` and `kind` are those of the newest event; the transcript is a list of entries with their type.
    """
    transcript = [
        {"type": type(entry).__name__.removesuffix("Entry").lower(), **to_jsonable_python(entry)}
        for entry in views.transcript.view().entries
    ]
    return {
        "seq": views.seq,
        "at": views.last_at,
        "kind": views.last_kind,
        "state": state_to_json(views.state.view()),
        "transcript": transcript,
        "todo": to_jsonable_python(views.todo.view()),
        "trace": to_jsonable_python(views.trace.view()),
        "context": to_jsonable_python(views.meter.view()),
        "files": to_jsonable_python(views.files.view()),
        "agents": to_jsonable_python(views.agents.view()),
        "metrics": to_jsonable_python(views.metrics.view()),
        "approvals": to_jsonable_python(views.approvals.view()),
        "branches": to_jsonable_python(views.branches.view()),
        "plugins": to_jsonable_python(views.plugins),
    }
