"""Handlers for hooks in the chat: a row if a hook stopped, changed or added something, or failed."""

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
    suffix = f" {row.verb} {row.target}".rstrip() if row is not None else f" {payload.tool}".rstrip()
    head, level = _describe_result(payload, suffix)
    if not head:
        return False
    source = (
        f"{payload.command} ({payload.event}{', from the project' if payload.source == 'project' else ''})"
    )
    draft.notice(ev, "hook", level, (head, f"hook: {source}"))
    if payload.changed and row is not None and ev.agent not in draft.delegates:
        index = draft.tools[row.call_id]
        updated = replace(
            row, target=payload.target, arguments=payload.arguments, revision=draft.revision + 1
        )
        return draft.put(index, updated)
    return True


def _describe_result(payload: HookRan, suffix: str) -> tuple[str, NoticeLevel]:
    """Return the headline, empty if there is nothing to say; `suffix` names the call after a space."""
    reason = f": {payload.reason}" if payload.reason else ""
    if payload.fault:
        consequence = " You are asked about the call." if payload.event == "before_tool" else ""
        return f"A hook failed{' at' if suffix else ''}{suffix}: {payload.fault}{consequence}", "warning"
    if payload.decision == "deny":
        return (
            f"A hook {'objects to' if payload.event.startswith('after') else 'refused'}{suffix}{reason}",
            "warning",
        )
    if payload.changed:
        return (
            f"A hook changed{suffix}{' and requires your approval' * (payload.decision == 'ask')}{reason}",
            "info",
        )
    if payload.decision == "ask":
        return f"A hook requires your approval{' for' if suffix else ''}{suffix}{reason}", "info"
    if payload.context:
        return f"A hook added context{' to' if suffix else ''}{suffix}", "info"
    return "", "info"
