"""Hooks: asked before something happens and told after it, one after the other, each run recorded.

Invariant: a hook can only make a decision stricter, or answer what the profile alone would have asked the user; one
that fails makes a call be asked about, and stops nothing else. What a hook changed is judged and shown anew.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import anyio
from pydantic import JsonValue

from tui_agent.engine.components import EngineParts
from tui_agent.ports.hook import Hook, HookAnswer, HookReply
from tui_agent.ports.policy import Decision
from tui_agent.protocol.base import JsonMap, text_preview
from tui_agent.protocol.events.hook import HookDecision, HookEvent, HookRan
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.ids import MAIN_AGENT, AgentId
from tui_agent.protocol.parts import TextContent, ToolCallPart

RULE: Final = "hook"
"""The rule id of what a hook decided."""
MAX_REASON = 2_000
MAX_CONTEXT = 20_000
MAX_WORDS = 120
_RANK: Final[dict[HookDecision, int]] = {"": 0, "allow": 1, "ask": 2, "deny": 3}
_MAY_SAY: Final[Mapping[HookEvent, frozenset[HookDecision]]] = {
    "before_tool": frozenset({"allow", "ask", "deny"}),
    "after_tool": frozenset({"allow", "deny"}),
    "before_prompt": frozenset({"allow", "deny"}),
    "before_turn": frozenset({"allow", "deny"}),
    "before_compaction": frozenset({"allow", "deny"}),
}
_STOPPED = "It was stopped with what it was asked about."


@dataclass(frozen=True, slots=True)
class Heard:
    """What all hooks together said. `call` is the call as it stands now; `ran` is to be recorded by who wanted it so."""

    decision: HookDecision = ""
    reason: str = ""
    call: ToolCallPart | None = None
    ran: tuple[HookRan, ...] = ()

    def and_then(self, ran: HookRan) -> "Heard":
        """With what one more said: the strictest counts, and a fault means asking."""
        said: HookDecision = "ask" if ran.fault else ran.decision
        all_ran = (*self.ran, ran)
        if _RANK[said] <= _RANK[self.decision]:
            return replace(self, ran=all_ran)
        return replace(
            self,
            decision=said,
            reason=f"a hook failed: {ran.fault}" if ran.fault else ran.reason,
            ran=all_ran,
        )


NOTHING: Final = Heard()

Fitting = Callable[[ToolCallPart], tuple[str, str]]
"""What is wrong with a call's arguments (empty: nothing), and the row's word for it."""


def weighed(decision: Decision, heard: Heard) -> Decision:
    """The policy's decision and the hooks': deny wins, then asking. An allow answers only what the profile asks."""
    if heard.decision == "deny" and decision.verdict != "deny":
        return Decision("deny", RULE, f"a hook refused it{_because(heard)}", decision.classes)
    if heard.decision == "ask" and decision.verdict == "allow":
        reason = heard.reason or "a hook wants you to be asked"
        return replace(decision, verdict="ask", rule_id=RULE, reason=reason, choices=())
    if heard.decision == "ask" and decision.verdict == "ask" and heard.reason:
        return replace(decision, reason=f"{decision.reason}; {heard.reason}")
    if heard.decision == "allow" and decision.verdict == "ask" and decision.by_profile:
        why = f"a hook allowed it{_because(heard)}"
        return Decision("allow", RULE, why, decision.classes, own=decision.own)
    return decision


def _because(heard: Heard) -> str:
    return f": {heard.reason}" if heard.reason else ""


class Hooks:
    """The hooks of a session; holds nothing of its own."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts

    def wanted(self, event: HookEvent) -> bool:
        """Whether anybody wants to hear of it."""
        return any(hook.event == event for hook in self._parts.hooks)

    async def before_tool(self, call: ToolCallPart, agent: AgentId, fitting: Fitting) -> Heard:
        """Ask about a call; each hook sees it as the ones before it left it. Recorded."""
        heard = replace(NOTHING, call=call)
        for hook in self._of("before_tool", call.name):
            reply, ran = await self._ask(hook, _about(call), agent, call)
            changed = reply.answer.updated_input
            now = call if changed is None else call.model_copy(update={"arguments": dict(changed)})
            if now.arguments != call.arguments:
                wrong, target = fitting(now)
                if wrong:
                    ran = _failed(ran, f"The arguments that it gave do not fit: {wrong}")
                else:
                    call = now
                    more = {"changed": True, "arguments": call.arguments, "target": target}
                    ran = ran.model_copy(update=more)
            self._parts.recorder.append(ran, agent=agent)
            heard = replace(heard.and_then(ran), call=call)
            if heard.decision == "deny":
                break
        return heard

    async def after_tool(self, call: ToolCallPart, ended: ToolFinished, agent: AgentId) -> None:
        """Tell of a call's result. Recorded."""
        if self.wanted("after_tool"):
            text = "\n".join(text_preview(one.text) for one in ended.content if isinstance(one, TextContent))
            response: JsonMap = {"status": ended.status, "text": text, "summary": ended.summary}
            more = {**_about(call), "tool_response": response, "duration_ms": ended.duration_ms}
            await self.tell("after_tool", more, agent, call)

    async def hear(
        self,
        event: HookEvent,
        more: Mapping[str, JsonValue],
        agent: AgentId = MAIN_AGENT,
        call: ToolCallPart | None = None,
    ) -> Heard:
        """Ask all hooks of an event, until one says no. Only those that are cancelled are recorded here."""
        heard = NOTHING
        for hook in self._of(event, call.name if call is not None else ""):
            _, ran = await self._ask(hook, more, agent, call)
            heard = heard.and_then(ran)
            if heard.decision == "deny" and event.startswith("before"):
                break
        return heard

    async def tell(
        self,
        event: HookEvent,
        more: Mapping[str, JsonValue],
        agent: AgentId = MAIN_AGENT,
        call: ToolCallPart | None = None,
    ) -> Heard:
        """`hear`, recorded."""
        heard = await self.hear(event, more, agent, call)
        self.record(heard, agent)
        return heard

    def record(self, heard: Heard, agent: AgentId = MAIN_AGENT) -> None:
        """Put into the log what `hear` heard."""
        for ran in heard.ran:
            self._parts.recorder.append(ran, agent=agent)

    def _of(self, event: HookEvent, tool: str) -> Iterator[Hook]:
        return (hook for hook in self._parts.hooks if hook.event == event and hook.fits(tool))

    async def _ask(
        self, hook: Hook, more: Mapping[str, JsonValue], agent: AgentId, call: ToolCallPart | None
    ) -> tuple[HookReply, HookRan]:
        """One hook's reply, and what is to be recorded of it."""
        parts, state = self._parts, self._parts.recorder.state
        asked: JsonMap = {**parts.hook_facts, "hook_event": hook.event, "agent": agent, "turn": state.turn}
        asked["policy"] = state.settings.policy if state.settings is not None else "ask"
        began = parts.clock.monotonic()
        ran = HookRan(
            event=hook.event,
            command=hook.words[:MAX_WORDS],
            source=hook.source,
            call_id=call.call_id if call is not None else None,
            tool=call.name if call is not None else "",
        )
        try:
            reply = await hook.ask({**asked, **more}, hook.time_limit_s)
        except anyio.get_cancelled_exc_class():
            parts.recorder.append(_failed(_timed(ran, parts, began), _STOPPED), agent=agent)
            raise
        return reply, _said(_timed(ran, parts, began), reply)


def _about(call: ToolCallPart) -> JsonMap:
    return {"call_id": call.call_id, "tool_name": call.name, "tool_input": call.arguments}


def _timed(ran: HookRan, parts: EngineParts, began: float) -> HookRan:
    return ran.model_copy(update={"duration_ms": round((parts.clock.monotonic() - began) * 1_000, 1)})


def _failed(ran: HookRan, fault: str) -> HookRan:
    return ran.model_copy(update={"fault": fault[:MAX_REASON], "decision": "", "reason": "", "context": ""})


def _said(ran: HookRan, reply: HookReply) -> HookRan:
    """The record with the reply in it; a decision that means nothing at this event is a fault."""
    ran = ran.model_copy(update={"exit_code": reply.exit_code})
    answer = reply.answer
    if reply.fault:
        return _failed(ran, reply.fault)
    wrong = _meaningless(ran.event, answer)
    if wrong:
        return _failed(ran, wrong)
    context = answer.additional_context
    if len(context) > MAX_CONTEXT:
        context = f"{context[:MAX_CONTEXT]}\n[… {len(context) - MAX_CONTEXT:,} characters more]"
    said = {"decision": answer.decision, "reason": answer.reason[:MAX_REASON], "context": context}
    return ran.model_copy(update=said)


def _meaningless(event: HookEvent, answer: HookAnswer) -> str:
    if answer.decision and answer.decision not in _MAY_SAY.get(event, frozenset({"allow"})):
        return f"It said {answer.decision}, which nothing can be done about at {event}."
    if answer.updated_input is not None and event != "before_tool":
        return f"It gave arguments, which there are none of at {event}."
    return ""
