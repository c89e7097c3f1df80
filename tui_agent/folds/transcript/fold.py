"""The transcript: the entries that the chat shows, in order.

Invariant: an entry keeps its `id` and position forever.
"""

from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.text.labels import (
    LARGER_WINDOW_HINT,
    MAP_COMES_LATER,
    MAP_SENT_LATER,
    inferred_window_notice,
    missing_map_notice,
    shortened_summary_notice,
    truncation_notice,
)
from tui_agent.folds.transcript.entries import NoticeLevel, TranscriptView
from tui_agent.folds.transcript.messages import MESSAGE_HANDLERS
from tui_agent.folds.transcript.notices import NOTICE_HANDLERS, count_unknown
from tui_agent.folds.transcript.packed_list import UNPACKED_ITEMS
from tui_agent.folds.transcript.tool_calls import TOOL_HANDLERS
from tui_agent.folds.transcript.transcript_state import Draft
from tui_agent.protocol.display_blocks import MarkdownBlock
from tui_agent.protocol.envelope import Envelope, UnknownEvent
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextPinned,
    ContextReduced,
    ContextRestored,
    ContextStuck,
    ContextTruncated,
    ContextWarned,
    ContextWindowInferred,
    RepomapBuilt,
    RepomapUsed,
)
from tui_agent.protocol.events.instructions import InstructionsLoaded
from tui_agent.protocol.events.model import ModelDelta
from tui_agent.protocol.events.session import SessionContextLoaded
from tui_agent.protocol.stored_text import text_preview
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import format_percent, format_tokens

_CONTEXT_HANDLERS: Handlers[Draft] = Handlers()

_LIST_HINT = "/compact list shows the shortened outputs and can restore them."
_WARNINGS = {
    "near": "The context is near the soft limit.",
    "over": "The context is over the soft limit, where models often answer less well. /compact summarises old turns.",
    "compaction": "The context is almost full; old turns will be summarised.",
}


@_CONTEXT_HANDLERS.on(SessionContextLoaded)
def _on_session_context_loaded(draft: Draft, ev: Envelope, payload: SessionContextLoaded) -> None:
    turns = format_count(payload.turns, "turn")
    headline = f"Added a summary of {turns} from {payload.from_session}"
    draft.add_notice(ev, "context", "info", (headline,), (MarkdownBlock(text=payload.summary),))


@_CONTEXT_HANDLERS.on(ContextCompacted, main_only=True)
def _on_context_compacted(draft: Draft, ev: Envelope, payload: ContextCompacted) -> None:
    turns = format_count(payload.turns, "turn")
    method = "" if not payload.fault else " without the model"
    headline = (
        f"{turns} summarised{method}: {_describe_reduction(payload.before_tokens, payload.after_tokens)}"
    )
    fault = f"The model could not summarise: {payload.fault}" if payload.fault else ""
    cuts = payload.truncations
    cut_note = shortened_summary_notice(cuts) if draft.announce_truncations(cuts) else ""
    blocks = (MarkdownBlock(text=payload.summary),) if text_preview(payload.summary) else ()
    level: NoticeLevel = "warning" if cut_note else "info"
    draft.reduction_notice = None
    draft.add_notice(ev, "compaction", level, (headline, cut_note, fault, _LIST_HINT), blocks)


@_CONTEXT_HANDLERS.on(InstructionsLoaded, main_only=True)
def _on_instructions_loaded(draft: Draft, ev: Envelope, payload: InstructionsLoaded) -> None:
    if payload.trigger != "nested":
        return
    loaded = [
        f"{file.path} applies from here on{' (only its beginning)' * file.truncated}"
        for file in payload.files
    ]
    removed = [f"{path} no longer applies" for path in payload.removed if path not in payload.order]
    if loaded or removed:
        draft.add_notice(ev, "context", "info", (*loaded, *removed))


@_CONTEXT_HANDLERS.on(ContextTruncated, main_only=True)
def _on_context_cut(draft: Draft, ev: Envelope, payload: ContextTruncated) -> None:
    draft.add_notice(ev, "context", "warning", (truncation_notice(payload), LARGER_WINDOW_HINT))


@_CONTEXT_HANDLERS.on(ContextWindowInferred)
def _on_context_learnt(draft: Draft, ev: Envelope, payload: ContextWindowInferred) -> None:
    draft.add_notice(ev, "context", "info", inferred_window_notice(payload))


def _describe_reduction(before: int, after: int) -> str:
    return f"the context went from {format_tokens(before)} to {format_tokens(after)} tokens"


@_CONTEXT_HANDLERS.on(ContextReduced, main_only=True)
def _on_context_reduced(draft: Draft, ev: Envelope, payload: ContextReduced) -> None:
    count = len(payload.call_ids)
    index, known = draft.reduction_notice or (-1, 0)
    outputs = format_count(known + count, "old output")
    hint = f"The agent can read them again. {_LIST_HINT}"
    if known:
        draft.update_notice(index, "info", (f"{outputs} shortened in the last requests", hint))
    else:
        headline = f"{outputs} shortened: {_describe_reduction(payload.before_tokens, payload.after_tokens)}"
        index = draft.add_notice(ev, "compaction", "info", (headline, hint))
    draft.reduction_notice = index, known + count


@_CONTEXT_HANDLERS.on(ContextRestored, main_only=True)
def _on_context_restored(draft: Draft, ev: Envelope, payload: ContextRestored) -> None:
    messages = format_count(len(payload.seqs), "message is", "messages are")
    undone = "The summary was undone: all messages that it replaced are"
    subject = messages if payload.compaction is None else undone
    draft.add_notice(ev, "context", "info", (f"{subject} in the context again.",))


@_CONTEXT_HANDLERS.on(ContextPinned, main_only=True)
def _on_context_pinned(draft: Draft, ev: Envelope, payload: ContextPinned) -> None:
    messages = format_count(len(payload.seqs), "message is", "messages are")
    pronoun = "it" if len(payload.seqs) == 1 else "them"
    line = (
        f"{messages} pinned: later summaries keep {pronoun} word for word."
        if payload.pinned
        else f"{messages} no longer pinned: later summaries may leave {pronoun} out."
    )
    draft.add_notice(ev, "context", "info", (line,))


@_CONTEXT_HANDLERS.on(ContextStuck, main_only=True)
def _on_context_stuck(draft: Draft, ev: Envelope, payload: ContextStuck) -> None:
    draft.add_notice(ev, "context", "warning", (payload.message, payload.hint))


@_CONTEXT_HANDLERS.on(RepomapBuilt, main_only=True)
def _on_repomap_built(draft: Draft, ev: Envelope, payload: RepomapBuilt) -> None:
    if payload.delay_reason and draft.missing_map_notice is None:
        line = missing_map_notice(payload.duration_ms)
        draft.missing_map_notice = draft.add_notice(ev, "context", "info", (line, MAP_COMES_LATER)), line


@_CONTEXT_HANDLERS.on(RepomapUsed)
def _on_repomap_used(draft: Draft, ev: Envelope, payload: RepomapUsed) -> None:
    if payload.injected and draft.missing_map_notice is not None:
        (index, line), draft.missing_map_notice = draft.missing_map_notice, None
        draft.update_notice(index, "info", (line, MAP_SENT_LATER))


@_CONTEXT_HANDLERS.on(ContextWarned, main_only=True)
def _on_context_warned(draft: Draft, ev: Envelope, payload: ContextWarned) -> None:
    if payload.level == "below":
        return
    level: NoticeLevel = "warning" if payload.level == "compaction" else "info"
    line = f"{_WARNINGS[payload.level]} {format_percent(payload.fraction)} is used."
    draft.add_notice(ev, "context", level, (line,))


# `join` copies the tables, so it must come after the last handler of this module.
_ALL_HANDLERS = Handlers.join(MESSAGE_HANDLERS, TOOL_HANDLERS, NOTICE_HANDLERS, _CONTEXT_HANDLERS)


class Transcript:
    """Builds from events the entries that the chat shows.

    The newest `keep` entries are never compressed. Reading older entries is slower.
    """

    def __init__(self, keep: int = UNPACKED_ITEMS) -> None:
        self._draft = Draft(keep)

    def apply(self, ev: Envelope) -> bool:
        """Apply one event. Return True if an entry changed."""
        draft = self._draft
        revision_before = draft.revision
        _ALL_HANDLERS.apply(draft, ev)
        if not isinstance(ev.payload, ModelDelta):  # a log may be read without the deltas
            draft.last_event_time = ev.time
        return draft.revision != revision_before

    def count_unknown(self, record: UnknownEvent) -> None:
        """Count an event of an unknown kind, for a notice in the chat."""
        count_unknown(self._draft, record)

    def drain(self) -> list[int]:
        """Return the indexes of the entries that are new or changed since the last call, in order."""
        changed = sorted(self._draft.changed)
        self._draft.changed.clear()
        return changed

    def view(self) -> TranscriptView:
        """Return the entries. The view is valid until the next `apply`."""
        return TranscriptView(self._draft.entries, self._draft.revision)
