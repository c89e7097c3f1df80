"""The transcript's side of the context: what was summarised, put away, brought back, and how full it is."""

from tui_agent.folds.context.cut_labels import HELPS, learnt, not_whole, too_long
from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.text.labels import CAME, LATER, unmapped
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

ON_CONTEXT: Handlers[Draft] = Handlers()

_LISTED = "/compact list shows what was put away, and brings it back."
_WARNINGS = {
    "near": "The context is near the soft limit.",
    "over": "The context is over the soft limit.",
    "compaction": "The context is almost full; old turns will be summarised.",
}


def short_tokens(count: int) -> str:
    """A number of tokens as a person reads it: `412`, `1.2k`, `42k`."""
    if count < 1_000:
        return str(count)
    return f"{count / 1_000:.1f}k"


@ON_CONTEXT.on(SessionContextLoaded)
def _on_session_context_loaded(draft: Draft, ev: Envelope, payload: SessionContextLoaded) -> bool:
    turns = counted(payload.turns, "turn")
    words = f"{turns} of {payload.from_session} as a summary; its log is kept"
    head = draft.head(ev, f"notice.{ev.seq}")
    draft.add(NoticeEntry(*head, "context", "info", (words,), (MarkdownBlock(text=payload.summary),)))
    return True


@ON_CONTEXT.on(ContextCompacted)
def _on_context_compacted(draft: Draft, ev: Envelope, payload: ContextCompacted) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    turns = counted(payload.turns, "turn")
    how = "" if not payload.fault else " from what is recorded, without the model"
    words = f"{turns} summarised{how}: {_became(payload.before_tokens, payload.after_tokens)}"
    why = (f"The model did not do it: {payload.fault}",) if payload.fault else ()
    lost = tuple(map(not_whole, draft.newly_cut(payload.cuts)))
    head = draft.head(ev, f"notice.{ev.seq}")
    blocks = (MarkdownBlock(text=payload.summary),) if text_preview(payload.summary) else ()
    level: NoticeLevel = "warning" if lost else "info"
    draft.put_away = None
    draft.add(NoticeEntry(*head, "compaction", level, (words, *lost, *why, _LISTED), blocks))
    return True


@ON_CONTEXT.on(InstructionsLoaded)
def _on_instructions_loaded(draft: Draft, ev: Envelope, payload: InstructionsLoaded) -> bool:
    if ev.agent != MAIN_AGENT or payload.why != "nested":
        return False
    now = [f"{one.path} holds from here on{', cut to its beginning' * one.cut}" for one in payload.files]
    lost = [f"{path} holds no more" for path in payload.gone if path not in payload.order]
    return bool(now or lost) and bool(draft.notice(ev, "context", "info", (*now, *lost)))


@ON_CONTEXT.on(ContextCut)
def _on_context_cut(draft: Draft, ev: Envelope, payload: ContextCut) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    draft.notice(ev, "context", "warning", (too_long(payload), HELPS))
    return True


@ON_CONTEXT.on(ContextLearnt)
def _on_context_learnt(draft: Draft, ev: Envelope, payload: ContextLearnt) -> bool:
    draft.notice(ev, "context", "info", learnt(payload))
    return True


def _became(before: int, after: int) -> str:
    return f"the context went from {short_tokens(before)} to {short_tokens(after)} tokens"


@ON_CONTEXT.on(ContextReduced)
def _on_context_reduced(draft: Draft, ev: Envelope, payload: ContextReduced) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    count = len(payload.call_ids)
    index, known = draft.put_away or (-1, 0)
    outputs = counted(known + count, "old output")
    also = f"The agent can read them again. {_LISTED}"
    if known:
        draft.renotice(index, "info", (f"{outputs} put away, bit by bit, for want of room", also))
    else:
        words = f"{outputs} put away: {_became(payload.before_tokens, payload.after_tokens)}"
        index = draft.notice(ev, "compaction", "info", (words, also))
    draft.put_away = index, known + count
    return True


@ON_CONTEXT.on(ContextRestored)
def _on_context_restored(draft: Draft, ev: Envelope, payload: ContextRestored) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    count = len(payload.seqs)
    back = counted(count, "message is", "messages are")
    words = "The summary was taken back: all that it stood for is" if payload.compaction is not None else back
    draft.notice(ev, "context", "info", (f"{words} in the context again.",))
    return True


@ON_CONTEXT.on(ContextPinned)
def _on_context_pinned(draft: Draft, ev: Envelope, payload: ContextPinned) -> bool:
    if ev.agent != MAIN_AGENT:
        return False
    one = len(payload.seqs) == 1
    many = counted(len(payload.seqs), "message is", "messages are")
    them = "it" if one else "them"
    words = (
        f"{many} pinned: every summary to come keeps {them} word for word."
        if payload.pinned
        else f"{many} no longer pinned: summaries to come may leave {them} out."
    )
    draft.notice(ev, "context", "info", (words,))
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
    words = unmapped(payload.duration_ms)
    draft.unmapped = draft.notice(ev, "context", "info", (words, LATER)), words
    return True


@ON_CONTEXT.on(RepomapUsed)
def _on_repomap_used(draft: Draft, ev: Envelope, payload: RepomapUsed) -> bool:
    if not payload.injected or draft.unmapped is None:
        return False
    (index, words), draft.unmapped = draft.unmapped, None
    return draft.renotice(index, "info", (words, CAME))


@ON_CONTEXT.on(ContextWarned)
def _on_context_warned(draft: Draft, ev: Envelope, payload: ContextWarned) -> bool:
    if payload.level == "below" or ev.agent != MAIN_AGENT:
        return False
    level: NoticeLevel = "warning" if payload.level == "compaction" else "info"
    said = f"{_WARNINGS[payload.level]} {payload.fraction * 100:.0f} % is used."
    draft.notice(ev, "context", level, (said,))
    return True
