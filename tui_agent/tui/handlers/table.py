"""L7: what each action of the registry does, by name.

Invariant: a handler reads views and submits commands or opens something to look at; rules about sessions are the
engine's. A test holds these names and the registry together.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tui_agent.tui.handlers import (
    branching,
    choose,
    compacting,
    comparing,
    doctor,
    exporting,
    knowledge,
    look,
    model,
    replaying,
    rewinding,
    session,
    trusting,
    work,
)

if TYPE_CHECKING:
    from tui_agent.tui.live import Live

HANDLERS: "Mapping[str, Callable[[Live, str], None]]" = {
    **look.HANDLERS,
    **doctor.HANDLERS,
    **choose.HANDLERS,
    **model.HANDLERS,
    **session.HANDLERS,
    **rewinding.HANDLERS,
    **replaying.HANDLERS,
    **comparing.HANDLERS,
    **branching.HANDLERS,
    **exporting.HANDLERS,
    **trusting.HANDLERS,
    **work.HANDLERS,
    **compacting.HANDLERS,
    **knowledge.HANDLERS,
}
