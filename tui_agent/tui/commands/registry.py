"""What each action of the registry does, by name.

Invariant: a handler reads views and submits commands or opens something to look at; rules about sessions are the
engine's. A test holds these names and the registry together.
"""

from collections.abc import Callable, Mapping

from tui_agent.tui.commands import branches as branching
from tui_agent.tui.commands import choices as choose
from tui_agent.tui.commands import compaction as compacting
from tui_agent.tui.commands import compare as comparing
from tui_agent.tui.commands import doctor, knowledge, model, session
from tui_agent.tui.commands import export as exporting
from tui_agent.tui.commands import info as look
from tui_agent.tui.commands import replay as replaying
from tui_agent.tui.commands import rewind as rewinding
from tui_agent.tui.commands import shell as work
from tui_agent.tui.commands import trust as trusting
from tui_agent.tui.context import AppContext

HANDLERS: Mapping[str, Callable[[AppContext, str], None]] = {
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
