"""Handlers for the context in the chat: summaries, stored outputs, restored messages and warnings."""

from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.text.labels import CAME, HELPS, LATER, learnt, not_whole, too_long, unmapped
from tui_agent.folds.transcript.entries import NoticeEntry, NoticeLevel
from tui_agent.folds.transcript.state import Draft
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.display import MarkdownBlock
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextCut,
    ContextLearnt,
    ContextPinned,
    ContextReduced,
    ContextRestored,
    ContextStuck,
    ContextWarned,
    RepomapBuilt,
    RepomapUsed,
)
from tui_agent.protocol.events.instructions import InstructionsLoaded
from tui_agent.protocol.events.session import SessionContextLoaded
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.protocol.unicode_text import counted
from tui_agent.units import format_percent, format_tokens

ON_CONTEXT: Handlers[Draft] = Handlers()

_LIST_HINT = "/compact list shows what was put away and can restore it."
_WARNINGS = {
    "near": "The context is near the soft limit.",
    "over": "The context is over the soft limit.",
    "compaction": "The context is almost full; old turns will be summarised.",
}


@ON_CONTEXT.on(SessionContextLoaded)
def _on_session_context_loaded(draft: Draft, ev: Envelope, payload: SessionContextLoaded) -> None:
    turns = counted(payload.turns, "turn")
    headline = f"Added a summary of {turns} from {payload.from_session}"
    head = draft.head(ev, f"notice.{ev.seq}")
    draft.add(NoticeEntry(*head, "context", "info", (headline,), (MarkdownBlock(text=payload.summary),)))


@ON_CONTEXT.on(ContextCompacted)
def _on_context_compacted(draft: Draft, ev: Envelope, payload: ContextCompacted) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    turns = counted(payload.turns, "turn")
    method = "" if not payload.fault else " without the model"
    headline = (
        f"{turns} summarised{method}: {_describe_reduction(payload.before_tokens, payload.after_tokens)}"
    )
    fault = (f"The model could not summarise: {payload.fault}",) if payload.fault else ()
    cut_notes = tuple(map(not_whole, draft.newly_cut(payload.cuts)))
    head = draft.head(ev, f"notice.{ev.seq}")
    blocks = (MarkdownBlock(text=payload.summary),) if text_preview(payload.summary) else ()
    level: NoticeLevel = "warning" if cut_notes else "info"
    draft.put_away = None
    draft.add(NoticeEntry(*head, "compaction", level, (headline, *cut_notes, *fault, _LIST_HINT), blocks))
    return True


@ON_CONTEXT.on(InstructionsLoaded)
def _on_instructions_loaded(draft: Draft, ev: Envelope, payload: InstructionsLoaded) -> bool:
    if ev.agent != MAIN_AGENT or payload.why != "nested":
        return False
    loaded = [
        f"{file.path} applies from here on{' (only its beginning)' * file.cut}" for file in payload.files
    ]
    removed = [f"{path} no longer applies" for path in payload.gone if path not in payload.order]
    return bool(loaded or removed) and bool(draft.notice(ev, "context", "info", (*loaded, *removed)))


@ON_CONTEXT.on(ContextCut)
def _on_context_cut(draft: Draft, ev: Envelope, payload: ContextCut) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    draft.notice(ev, "context", "warning", (too_long(payload), HELPS))
    return True


@ON_CONTEXT.on(ContextLearnt)
def _on_context_learnt(draft: Draft, ev: Envelope, payload: ContextLearnt) -> None:
    draft.notice(ev, "context", "info", learnt(payload))


def _describe_reduction(before: int, after: int) -> str:
    return f"the context went from {format_tokens(before)} to {format_tokens(after)} tokens"


@ON_CONTEXT.on(ContextReduced)
def _on_context_reduced(draft: Draft, ev: Envelope, payload: ContextReduced) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    count = len(payload.call_ids)
    index, known = draft.put_away or (-1, 0)
    outputs = counted(known + count, "old output")
    hint = f"The agent can read them again. {_LIST_HINT}"
    if known:
        draft.renotice(index, "info", (f"{outputs} put away, over several requests", hint))
    else:
        headline = f"{outputs} put away: {_describe_reduction(payload.before_tokens, payload.after_tokens)}"
        index = draft.notice(ev, "compaction", "info", (headline, hint))
    draft.put_away = index, known + count
    return True


@ON_CONTEXT.on(ContextRestored)
def _on_context_restored(draft: Draft, ev: Envelope, payload: ContextRestored) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    count = len(payload.seqs)
    messages = counted(count, "message is", "messages are")
    undone = "The summary was undone: all its messages are"
    subject = messages if payload.compaction is None else undone
    draft.notice(ev, "context", "info", (f"{subject} in the context again.",))
    return True


@ON_CONTEXT.on(ContextPinned)
def _on_context_pinned(draft: Draft, ev: Envelope, payload: ContextPinned) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    messages = counted(len(payload.seqs), "message is", "messages are")
    pronoun = "it" if len(payload.seqs) == 1 else "them"
    line = (
        f"{messages} pinned: later summaries keep {pronoun} word for word."
        if payload.pinned
        else f"{messages} no longer pinned: later summaries may leave {pronoun} out."
    )
    draft.notice(ev, "context", "info", (line,))
    return True


@ON_CONTEXT.on(ContextStuck)
def _on_context_stuck(draft: Draft, ev: Envelope, payload: ContextStuck) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    draft.notice(ev, "context", "warning", (payload.message, payload.hint))
    return True


@ON_CONTEXT.on(RepomapBuilt)
def _on_repomap_built(draft: Draft, ev: Envelope, payload: RepomapBuilt) -> bool:
    if not payload.late or ev.agent != MAIN_AGENT or draft.unmapped is not None:
        return False
    line = unmapped(payload.duration_ms)
    draft.unmapped = draft.notice(ev, "context", "info", (line, LATER)), line
    return True


@ON_CONTEXT.on(RepomapUsed)
def _on_repomap_used(draft: Draft, ev: Envelope, payload: RepomapUsed) -> bool:
    if not payload.injected or draft.unmapped is None:
        return False
    (index, line), draft.unmapped = draft.unmapped, None
    return draft.renotice(index, "info", (line, CAME))


@ON_CONTEXT.on(ContextWarned)
def _on_context_warned(draft: Draft, ev: Envelope, payload: ContextWarned) -> bool:
    if payload.level == "below" or ev.agent != MAIN_AGENT:
        return False
    level: NoticeLevel = "warning" if payload.level == "compaction" else "info"
    line = f"{_WARNINGS[payload.level]} {format_percent(payload.fraction)} is used."
    draft.notice(ev, "context", level, (line,))
    return True
