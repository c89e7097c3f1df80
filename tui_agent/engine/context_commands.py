"""L4: carries out what a user wants kept or brought back of a context."""

from tui_agent.engine.parts import EngineParts
from tui_agent.errors import ConfigError
from tui_agent.protocol.commands import PinContext, RestoreContext
from tui_agent.protocol.events.context import ContextPinned, ContextRestored

LIST = "/compact list shows what there is."


def change_context(parts: EngineParts, command: RestoreContext | PinContext) -> None:
    """Record it. Raises `ConfigError` where there is nothing of the kind; nothing changes then."""
    recorder = parts.recorder
    fold = recorder.history()
    known = {one.seq for one in fold.originals()}
    if command.seqs and not known.issuperset(command.seqs):
        raise ConfigError("This message is not in the history.", hint=LIST)
    match command:
        case PinContext(seqs=seqs, pinned=pinned):
            recorder.append(ContextPinned(seqs=seqs, pinned=pinned), cause=command.id)
        case RestoreContext(seqs=seqs, compaction=compaction):
            if compaction is not None and compaction != fold.forgotten.newest:
                raise ConfigError("Only the newest summary can be taken back.", hint=LIST)
            if compaction is None and not seqs:
                raise ConfigError("Nothing was named that could come back.", hint=LIST)
            recorder.append(ContextRestored(seqs=seqs, compaction=compaction), cause=command.id)
