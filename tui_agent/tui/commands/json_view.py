"""Events as JSON: those of a span, or one alone. Invariant: what is shown is what the log holds."""

import json
from typing import TYPE_CHECKING

from pydantic import JsonValue
from textual.strip import Strip

from tui_agent.folds.trace.spans import Span
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.unicode_text import counted
from tui_agent.tui.modals.approval_full import json_strips
from tui_agent.tui.modals.json_rows import Line, json_lines
from tui_agent.tui.modals.viewer import Viewer

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live

MOST_EVENTS = 200


def open_events(live: "Live", span: Span) -> None:
    """The events from the one that opened the span to the one that closed it, its own agent's only."""
    values: list[JsonValue] = []
    lines: list[Line] = []

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        if not lines:
            return viewer.say(width, "reading …", "t3")
        return json_strips(lines, viewer.looks, width)

    viewer = Viewer(lambda: live.app.looks, f"Events of {span.name}", draw)
    live.app.push_screen(viewer)

    async def read() -> None:
        found = await live.reading.events_between(span.first_seq, span.last_seq, MOST_EVENTS)
        for record in found:
            if isinstance(record, Envelope):
                values.append(json.loads(record.model_dump_json()))
            else:
                values.append(record.raw)
        for value in values:
            lines.extend(json_lines(value))
        viewer.plain = "\n".join(json.dumps(value, ensure_ascii=False) for value in values)
        viewer.right = counted(len(values), "event")
        if viewer.is_attached:
            viewer.redraw()

    live.worker(read(), "events")
