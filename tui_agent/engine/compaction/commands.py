"""Carries out what a user wants kept or brought back of a context.

Invariant: what comes back is counted before it is recorded, whole, so that the meter holds at once what the history takes.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from tui_agent.context.assembly import Packed
from tui_agent.engine.components import EngineParts
from tui_agent.errors import ConfigError
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.protocol.commands import PinContext, RestoreContext
from tui_agent.protocol.events.context import ContextPacked, ContextPinned, ContextRestored, CountedMessage
from tui_agent.protocol.messages import Message

LIST = "/compact list shows what there is."
Measure: TypeAlias = Callable[[Sequence[Message]], Awaitable[Packed]]


def require_there(parts: EngineParts, command: RestoreContext | PinContext) -> None:
    """Raises `ConfigError` where there is nothing of the kind."""
    fold = parts.recorder.history()
    known = {one.seq for one in fold.originals()}
    if command.seqs and not known.issuperset(command.seqs):
        raise ConfigError("This message is not in the history.", hint=LIST)
    if isinstance(command, PinContext):
        return
    if command.compaction is not None and command.compaction != fold.forgotten.newest:
        raise ConfigError("Only the newest summary can be taken back.", hint=LIST)
    if command.compaction is None and not command.seqs:
        raise ConfigError("Nothing was named that could come back.", hint=LIST)


def pin(parts: EngineParts, command: PinContext) -> None:
    """Keep messages over every compaction to come, or no longer. Raises `ConfigError`; nothing changes then."""
    require_there(parts, command)
    parts.recorder.append(ContextPinned(seqs=command.seqs, pinned=command.pinned), cause=command.id)


async def bring_back(parts: EngineParts, command: RestoreContext, measure: Measure) -> None:
    """Put messages back into the context, with what the next request would then hold."""
    recorder, fold = parts.recorder, parts.recorder.history()
    held = fold.view()
    would_be = ModelMessages.taken_up(fold.kept())
    would_be.restore(frozenset(command.seqs), command.compaction, -1)
    manifest = (await measure(would_be.view())).manifest
    recorder.append(
        ContextRestored(
            seqs=command.seqs,
            compaction=command.compaction,
            after_tokens=manifest.total_tokens,
            sections=manifest.sections,
            added=_back(held, would_be, manifest),
        ),
        cause=command.id,
    )


def _back(
    held: Sequence[Message], would_be: ModelMessages, manifest: ContextPacked
) -> tuple[CountedMessage, ...]:
    """What of the manifest was not in the context before: a quotation under the event of what it quotes."""
    quoted = iter([seq for seq, by in would_be.forgotten.back.items() if by == -1])
    before = {id(one) for one in held}
    pairs = zip(would_be.view(), manifest.added, strict=False)
    return tuple(
        CountedMessage(seq=next(quoted, -1) if one.seq == -1 else one.seq, tokens=counted.tokens)
        for one, counted in pairs
        if id(one) not in before
    )
