"""The user's commands to pin messages, and to restore messages removed by compaction.

Invariant: the tokens of restored messages are counted before the restore is recorded.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from tui_agent.context.request_assembly import PackedRequest
from tui_agent.engine.components import EngineParts
from tui_agent.errors import ConfigError
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.projection import copy_state
from tui_agent.protocol.commands import PinContext, RestoreContext
from tui_agent.protocol.events.context import ContextPacked, ContextPinned, ContextRestored, CountedMessage
from tui_agent.protocol.messages import Message

LIST_HINT = "See the messages with /compact list."
Measure: TypeAlias = Callable[[Sequence[Message]], Awaitable[PackedRequest]]


def require_messages(parts: EngineParts, command: RestoreContext | PinContext) -> None:
    """Raise `ConfigError` if the messages or the summary named in the command do not exist."""
    fold = parts.recorder.model_messages()
    known = {message.seq for message in fold.originals()}
    if command.seqs and not known.issuperset(command.seqs):
        raise ConfigError("This message is not in the history.", hint=LIST_HINT)
    if isinstance(command, PinContext):
        return
    if command.compaction is not None and command.compaction != fold.removed.newest_compaction:
        raise ConfigError("Only the newest summary can be undone.", hint=LIST_HINT)
    if command.compaction is None and not command.seqs:
        raise ConfigError("Name a message or a summary to restore.", hint=LIST_HINT)


def pin_messages(parts: EngineParts, command: PinContext) -> None:
    """Pin or unpin messages. Raise `ConfigError` if one of the messages does not exist."""
    require_messages(parts, command)
    parts.recorder.append(ContextPinned(seqs=command.seqs, pinned=command.pinned), cause=command.id)


async def restore_messages(parts: EngineParts, command: RestoreContext, measure: Measure) -> None:
    """Restore messages that compaction removed, and record the new size of the next request."""
    recorder, fold = parts.recorder, parts.recorder.model_messages()
    present = fold.view()
    restored = ModelMessages(fold.agent, copy_state(fold.history))  # without the view that `fold` has cached
    restored.history.restore(frozenset(command.seqs), command.compaction, -1)
    manifest = (await measure(restored.view())).manifest
    recorder.append(
        ContextRestored(
            seqs=command.seqs,
            compaction=command.compaction,
            after_tokens=manifest.total_tokens,
            sections=manifest.sections,
            added=_restored_messages(present, restored, manifest),
        ),
        cause=command.id,
    )


def _restored_messages(
    present: Sequence[Message], restored: ModelMessages, manifest: ContextPacked
) -> tuple[CountedMessage, ...]:
    """Return the messages in `restored` that are not in `present`, with their token counts."""
    quoted = iter([seq for seq, marker in restored.removed.restored.items() if marker == -1])
    present_ids = {id(message) for message in present}
    pairs = zip(restored.view(), manifest.added, strict=False)
    return tuple(
        CountedMessage(seq=next(quoted, -1) if message.seq == -1 else message.seq, tokens=counted.tokens)
        for message, counted in pairs
        if id(message) not in present_ids
    )
