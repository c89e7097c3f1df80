"""Execution of hooks, one after another, with a record of each run.

Invariant: if the policy would ask because of the permission profile alone, a hook can allow the call. If the policy
would ask for any other reason, or denies the call, a hook cannot allow it.

If a hook for a call fails, the user is asked about the call.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

import anyio
from pydantic import JsonValue

from tui_agent.engine.components import EngineParts
from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.decision.rule_choices import HOOKED, only_once
from tui_agent.ports.hook import Hook, HookAnswer, HookReply
from tui_agent.ports.policy import Decision
from tui_agent.protocol.events.hook import HOOK_STOPPED, HookDecision, HookEvent, HookRan
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.ids import MAIN_AGENT, AgentId
from tui_agent.protocol.parts import ToolCallPart, text_previews
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.protocol.unicode_text import clip_line
from tui_agent.units import format_number

HOOK_RULE: Final = "hook"
"""Rule id in the record of a hook's decision."""
MAX_REASON_CHARS = 2_000
MAX_CONTEXT_CHARS = 20_000
MAX_LABEL_CHARS = 120
_RANK: Final[dict[HookDecision, int]] = {"": 0, "allow": 1, "ask": 2, "deny": 3}
_ALLOWED_DECISIONS: Final[Mapping[HookEvent, frozenset[HookDecision]]] = {
    "before_tool": frozenset({"allow", "ask", "deny"}),
    "after_tool": frozenset({"allow", "deny"}),
    "before_prompt": frozenset({"allow", "deny"}),
    "before_turn": frozenset({"allow", "deny"}),
    "before_compaction": frozenset({"allow", "deny"}),
}


@dataclass(frozen=True, slots=True)
class HookVerdict:
    """The combined answer of several hooks.

    - `call`: the call as changed by the hooks.
    - `outcomes`: events to record.
    """

    decision: HookDecision = ""
    reason: str = ""
    call: ToolCallPart | None = None
    outcomes: tuple[HookRan, ...] = ()

    def with_outcome(self, ran: HookRan) -> "HookVerdict":
        """Return the verdict combined with the answer of one more hook; the strictest decision wins."""
        # A hook that failed might have refused the call, so the user is asked.
        decision: HookDecision = "ask" if ran.fault else ran.decision
        all_ran = (*self.outcomes, ran)
        if _RANK[decision] <= _RANK[self.decision]:
            return replace(self, outcomes=all_ran)
        return replace(
            self,
            decision=decision,
            reason=f"a hook failed ({ran.command}): {ran.fault}" if ran.fault else ran.reason,
            outcomes=all_ran,
        )


NO_VERDICT: Final = HookVerdict()

CheckArguments = Callable[[ToolCallPart], tuple[str, str]]
"""Function that checks a call and returns (fault, target). The fault is empty for valid arguments."""


def merge_decisions(decision: Decision, hook_verdict: HookVerdict) -> Decision:
    """Merge the decisions of the policy and the hooks: "deny" wins over "ask", and "ask" over "allow"."""
    if hook_verdict.decision == "deny" and decision.verdict != "deny":
        return Decision(
            "deny", HOOK_RULE, f"a hook refused this call{_reason_suffix(hook_verdict)}", decision.classes
        )
    if hook_verdict.decision == "ask" and decision.verdict == "allow":
        reason = hook_verdict.reason or "a hook asks for your approval"
        return replace(decision, verdict="ask", rule_id=HOOK_RULE, reason=reason, choices=only_once(HOOKED))
    if hook_verdict.decision == "ask" and decision.verdict == "ask" and hook_verdict.reason:
        return replace(decision, reason=f"{decision.reason}; {hook_verdict.reason}")
    if hook_verdict.decision == "allow" and decision.verdict == "ask" and decision.by_profile:
        why = f"a hook allowed this call{_reason_suffix(hook_verdict)}"
        return Decision(
            "allow", HOOK_RULE, why, decision.classes, private_temp_paths=decision.private_temp_paths
        )
    return decision


def _reason_suffix(hook_verdict: HookVerdict) -> str:
    return f": {hook_verdict.reason}" if hook_verdict.reason else ""


class Hooks:
    """Runs the hooks of a session."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts

    def has_hooks(self, event: HookEvent, subject: str | None = None) -> bool:
        """Return True if there is a hook for this event and subject, e.g. a tool (None: any subject)."""
        return any(
            hook.event == event and (subject is None or hook.matches(subject)) for hook in self._parts.hooks
        )

    async def before_tool(self, call: ToolCallPart, agent: AgentId, fitting: CheckArguments) -> HookVerdict:
        """Run the hooks before a call, and record their answers.

        `fitting`: checks the arguments that a hook returns. Arguments with a fault are not used.
        """
        hook_verdict = replace(NO_VERDICT, call=call)
        for hook in self._hooks_for("before_tool", call.name):
            reply, ran = await self._ask(hook, _call_facts(call), agent, call)
            changed = reply.answer.updated_input
            new_call = call if changed is None else call.model_copy(update={"arguments": dict(changed)})
            if new_call.arguments != call.arguments:
                fault, target = fitting(new_call)
                if fault:
                    ran = _with_fault(ran, f"The arguments that the hook returned were refused: {fault}")
                else:
                    call = new_call  # the next hook gets the changed call
                    change = {"arguments_changed": True, "arguments": call.arguments, "target": target}
                    ran = ran.model_copy(update=change)
            self._parts.recorder.append(ran, agent=agent)
            hook_verdict = replace(hook_verdict.with_outcome(ran), call=call)
            if hook_verdict.decision == "deny":
                break
        return hook_verdict

    async def after_tool(self, call: ToolCallPart, ended: ToolFinished, agent: AgentId) -> None:
        """Run the hooks after a call, and record their answers."""
        if self.has_hooks("after_tool"):
            text = "\n".join(text_previews(ended.content))
            response: JsonMap = {"status": ended.status, "text": text, "summary": ended.summary}
            facts = {**_call_facts(call), "tool_response": response, "duration_ms": ended.duration_ms}
            await self.run_hooks("after_tool", facts, agent, call)

    async def ask_hooks(
        self,
        event: HookEvent,
        facts: Mapping[str, JsonValue],
        agent: AgentId = MAIN_AGENT,
        call: ToolCallPart | None = None,
    ) -> HookVerdict:
        """Run the hooks of an event; the caller must `record` the answers."""
        hook_verdict = NO_VERDICT
        for hook in self._hooks_for(event, _subject(facts, call)):
            _, ran = await self._ask(hook, facts, agent, call)
            hook_verdict = hook_verdict.with_outcome(ran)
            # Hooks after an event cannot prevent it, so a denial does not spare the others.
            if hook_verdict.decision == "deny" and event.startswith("before"):
                break
        return hook_verdict

    async def run_hooks(
        self,
        event: HookEvent,
        facts: Mapping[str, JsonValue],
        agent: AgentId = MAIN_AGENT,
        call: ToolCallPart | None = None,
    ) -> HookVerdict:
        """Run the hooks of an event, and record their answers."""
        hook_verdict = await self.ask_hooks(event, facts, agent, call)
        self.record(hook_verdict, agent)
        return hook_verdict

    def record(self, hook_verdict: HookVerdict, agent: AgentId = MAIN_AGENT) -> None:
        """Record the answers that `ask_hooks` returned."""
        for ran in hook_verdict.outcomes:
            self._parts.recorder.append(ran, agent=agent)

    def _hooks_for(self, event: HookEvent, subject: str) -> Iterator[Hook]:
        return (hook for hook in self._parts.hooks if hook.event == event and hook.matches(subject))

    async def _ask(
        self, hook: Hook, facts: Mapping[str, JsonValue], agent: AgentId, call: ToolCallPart | None
    ) -> tuple[HookReply, HookRan]:
        parts, state = self._parts, self._parts.recorder.state
        session_facts: JsonMap = {
            **parts.hook_facts,
            "hook_event": hook.event,
            "agent": agent,
            "turn": state.turn,
        }
        session_facts["policy"] = state.settings.policy if state.settings is not None else "ask"
        started = parts.clock.monotonic()
        ran = HookRan(
            event=hook.event,
            command=clip_line(hook.label, MAX_LABEL_CHARS),
            source=hook.source,
            call_id=call.call_id if call is not None else None,
            tool=call.name if call is not None else "",
        )
        try:
            reply = await hook.run({**session_facts, **facts}, hook.time_limit_s)
        except anyio.get_cancelled_exc_class():
            parts.recorder.append(_with_fault(_with_duration(ran, parts, started), HOOK_STOPPED), agent=agent)
            raise
        return reply, _with_reply(_with_duration(ran, parts, started), reply)


def _subject(facts: Mapping[str, JsonValue], call: ToolCallPart | None) -> str:
    """Return the text to compare with a hook's matcher, such as the name of the called tool."""
    return call.name if call is not None else str(facts.get("source") or facts.get("trigger") or "")


def _call_facts(call: ToolCallPart) -> JsonMap:
    return {"call_id": call.call_id, "tool_name": call.name, "tool_input": call.arguments}


def _with_duration(ran: HookRan, parts: EngineParts, started: float) -> HookRan:
    return ran.model_copy(update={"duration_ms": round((parts.clock.monotonic() - started) * 1_000, 1)})


def _with_fault(ran: HookRan, fault: str) -> HookRan:
    return ran.model_copy(
        update={"fault": fault[:MAX_REASON_CHARS], "decision": "", "reason": "", "context": ""}
    )


def _with_reply(ran: HookRan, reply: HookReply) -> HookRan:
    """Return the event `ran` with the hook's reply."""
    ran = ran.model_copy(update={"exit_code": reply.exit_code})
    answer = reply.answer
    fault = reply.fault or _find_fault(ran.event, answer)
    if fault:
        return _with_fault(ran, fault)
    context = answer.additional_context
    if len(context) > MAX_CONTEXT_CHARS:
        left_out = len(context) - MAX_CONTEXT_CHARS
        context = f"{context[:MAX_CONTEXT_CHARS]}\n[… {format_number(left_out)} characters left out]"
    fields = {"decision": answer.decision, "reason": answer.reason[:MAX_REASON_CHARS], "context": context}
    return ran.model_copy(update=fields)


def _find_fault(event: HookEvent, answer: HookAnswer) -> str:
    if answer.decision and answer.decision not in _ALLOWED_DECISIONS.get(event, frozenset({"allow"})):
        return f"The hook answered {answer.decision}, which is not allowed for {event}."
    if answer.updated_input is not None and event != "before_tool":
        return f"The hook returned arguments, but {event} has no arguments."
    return ""
