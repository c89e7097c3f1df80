"""The transcript's side of hooks: a row for what one stopped, changed or added, and for one that failed."""

from dataclasses import replace

from tui_agent.folds.dispatch import Handlers
from tui_agent.folds.transcript.entries import NoticeLevel
from tui_agent.folds.transcript.state import Draft
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.hook import HookRan
from tui_agent.protocol.ids import CallId

ON_HOOKS: Handlers[Draft] = Handlers()


@ON_HOOKS.on(HookRan)
def _on_hook_ran(draft: Draft, ev: Envelope, payload: HookRan) -> bool:
    row = draft.tool(draft.delegates.get(ev.agent, draft.tools.get(payload.call_id or CallId(""))))
    of = f" {row.verb} {row.target}".rstrip() if row is not None else f" {payload.tool}".rstrip()
    head, level = _hook_words(payload, of)
    if not head:
        return False
    named = f"{payload.command} ({payload.event}{', of the project' if payload.source == 'project' else ''})"
    draft.notice(ev, "hook", level, (head, f"hook: {named}"))
    if payload.changed and row is not None and ev.agent not in draft.delegates:
        index = draft.tools[row.call_id]
        now = replace(row, target=payload.target, arguments=payload.arguments, revision=draft.revision + 1)
        return draft.put(index, now)
    return True


def _hook_words(payload: HookRan, of: str) -> tuple[str, NoticeLevel]:
    """The headline, empty where there is nothing to tell; `of` is the call's row."""
    why = f": {payload.reason}" if payload.reason else ""
    if payload.fault:
        then = " The call is asked about." if payload.event == "before_tool" else ""
        return f"A hook failed{' at' if of else ''}{of}: {payload.fault}{then}", "warning"
    if payload.decision == "deny":
        return (
            f"A hook {'objects to' if payload.event.startswith('after') else 'refused'}{of}{why}",
            "warning",
        )
    if payload.changed:
        return f"A hook changed{of}{', and wants you to be asked' * (payload.decision == 'ask')}{why}", "info"
    if payload.decision == "ask":
        return f"A hook wants you to be asked{' about' if of else ''}{of}{why}", "info"
    if payload.context:
        return f"A hook added context{' to' if of else ''}{of}", "info"
    return "", "info"
