"""The gate in front of every tool call: policy, then the user where the policy asks.

Invariant: a `permission.decided` for exactly these effects and this content is in the log before a call starts; a
call that changed while the user thought is asked again, and so is one that was answered by a rule that cannot stand.
"""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import get_args

from anyio import to_thread
from pydantic import BaseModel

from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.components import EngineParts
from tui_agent.engine.mailbox import Waiting
from tui_agent.engine.tools.access import allowed_tools
from tui_agent.engine.tools.hooks import NOTHING, RULE, Heard, weighed
from tui_agent.engine.tools.sandbox_retry import Again, Granted, opened_by, opening_rule
from tui_agent.engine.tools.verdict import Verdict
from tui_agent.errors import ConfigError, EnvironmentFault, ToolError
from tui_agent.policy.decision.classes import NETWORK, READ_ONLY
from tui_agent.policy.decision.edited_rule import find_fault
from tui_agent.policy.decision.escalations import GIT
from tui_agent.ports.environment import (
    ExecResult,
    FindsPrograms,
    KnowsOwnFiles,
    KnowsSecrets,
    WorkspaceScan,
)
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.ports.tool import Foreseeing, Preview, Tool
from tui_agent.protocol.commands import DecidePermission
from tui_agent.protocol.display import TextBlock
from tui_agent.protocol.effects import Effect, Reads, Runs, digest
from tui_agent.protocol.events.policy import Choice, Deed, PermissionDecided, PermissionRequested, Reach
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.ids import AgentId
from tui_agent.protocol.parts import ToolCallPart
from tui_agent.protocol.settings import AgentState, PolicyName
from tui_agent.workspace.local.granted_paths import ReachingEnvironment, reaching
from tui_agent.workspace.local.secret_files import public_certificates

_LOOKED_UP = 20
_ASKED_BEFORE = "you were asked about this call, and the program ended before you answered"
LEAVING, OPENING = "sandbox.leave", "sandbox.open"
TRYING = "sandbox.try"
OUTSIDE = "It runs outside the sandbox."
_ONCE_ONLY = tuple(
    Choice(reach=reach, rule="", offered=reach == "once", why="" if reach == "once" else "not offered here")
    for reach in get_args(Reach)
)
_READING_PROFILES = frozenset({"plan", "read-only-delegate"})
NOBODY = "no one is there to answer"
NO_ONE = f"the policy asks, and {NOBODY}"


@dataclass(frozen=True, slots=True)
class _Case:
    """One call as it is judged."""

    call: ToolCallPart
    tool: Tool[BaseModel]
    args: BaseModel
    effects: tuple[Effect, ...]
    agent: AgentId
    heard: Heard
    scan: WorkspaceScan = field(default_factory=WorkspaceScan)
    tried: ExecResult | None = None
    """How its trial in the sandbox ended; None if there was none."""


class Gate:
    """Judges calls, one at a time."""

    def __init__(self, parts: EngineParts, states: StateKeeper, waiting: Waiting[DecidePermission]) -> None:
        self._parts = parts
        self._states = states
        self._waiting = waiting

    async def decide(
        self,
        call: ToolCallPart,
        tool: Tool[BaseModel],
        args: BaseModel,
        agent: AgentId,
        heard: Heard = NOTHING,
        tried: ExecResult | None = None,
    ) -> Verdict:
        """The decision about a call, recorded. Waits for the user where the policy asks, or a hook (`heard`). `tried` is how a
        trial in the sandbox ended."""
        effects = tool.effects(args)
        case = _Case(call, tool, args, effects, agent, heard, await self._look(effects), tried)
        open_calls = self._parts.recorder.state.open_calls
        asked_before = any(one.asked for one in open_calls if one.call_id == call.call_id)
        preview = Preview(())
        wrong = wrong_rule = ""
        while True:
            judged = self._where(case)
            decision = weighed(self._judge(case, judged), heard)
            if (
                asked_before and decision.verdict == "allow"
            ):  # the answer never came: nothing stands in for it
                decision = replace(decision, verdict="ask", reason=_ASKED_BEFORE)
            if self._parts.try_confined and _may_try(case, decision) and not asked_before:
                preview = await self._preview(case, judged)
                if preview.time_limit_s is not None:
                    return self._try(case, decision, judged, preview.content)
            if tried is not None:
                decision = replace(decision, reason=f"{_trial_words(tried)}; {decision.reason}")
            if decision.verdict != "ask":
                return self._by_rule(case, decision, preview.content, judged)
            if not self._parts.interactive:
                nobody = (
                    f"{decision.reason.rstrip(' .')}, and {NOBODY}" if decision.rule_id == RULE else NO_ONE
                )
                return self._by_rule(case, decision, "", judged, nobody)
            preview = await self._preview(case, judged)
            request = self._request(case, decision, preview, await self._deeds(case, judged))
            if wrong:
                request = request.model_copy(update={"wrong": wrong, "wrong_rule": wrong_rule})
            self._parts.recorder.append(request, agent=agent)
            answer = await self._wait(request, agent)
            wrong, wrong_rule = self._wrong(case, request, answer), answer.rule
            if wrong:
                continue  # nothing is kept of it, and the call waits
            now = await self._preview(case, judged)
            same = now.content == preview.content and self._where(case) == judged
            if answer.decision == "deny" or same:
                again = weighed(self._judge(case, judged), heard)
                if again.verdict == "deny":
                    return self._by_rule(case, again, preview.content, judged)
                return self._by_user(case, decision, request, answer, judged)
            preview = now  # what was shown is no longer what would happen: ask again

    async def decide_after_trial(
        self, call: ToolCallPart, tool: Tool[BaseModel], args: BaseModel, agent: AgentId, tried: ExecResult
    ) -> Granted | str:
        """Decide about a call whose trial in the sandbox failed: what is open to its commands, or why it may not run."""
        verdict = await self.decide(call, tool, args, agent, tried=tried)
        return verdict.granted() if verdict.allowed else verdict.for_model

    def _try(self, case: _Case, decision: Decision, judged: dict[str, str], content: str) -> Verdict:
        """Record that the call is tried in the sandbox, which may find out what the policy does not understand."""
        trial = replace(decision, verdict="allow", rule_id=TRYING, unanswered=False)
        self._record(case, trial, True, f"{decision.reason}; it is tried read-only in the sandbox", content)
        return Verdict(True, judged=judged, looks=True, read_only=True, trial=True, own=decision.own)

    async def run_again(
        self, call: ToolCallPart, tool: Tool[BaseModel], args: BaseModel, agent: AgentId, refused: ExecResult
    ) -> Again:
        """Whether a call that the sandbox refused something may run again, recorded: with the files that were kept from it,
        or else outside the sandbox. The user alone says so, whatever the profile."""
        if refused.wanted:
            return await self._with_files(
                _Case(call, tool, args, tool.effects(args), agent, NOTHING), refused
            )
        return Again(await self._leave(_Case(call, tool, args, tool.effects(args), agent, NOTHING), refused))

    async def _with_files(self, case: _Case, refused: ExecResult) -> Again:
        """Whether it may run again in the sandbox with the files that it wanted."""
        paths = tuple(one.path.rstrip("/") for one in refused.wanted)
        names = " and ".join(one.name.rstrip("/") for one in refused.wanted)
        always = self._parts.remember_readable is not None
        keeps = " Always writes it into your configuration, as [sandbox] readable." if always else ""
        decision = Decision(
            "ask",
            OPENING,
            refused.blocked,
            choices=(_ONCE_ONLY[0], *_opened_for(paths, always=always)),
            risk=f"It runs again in the sandbox and can read {names}; the model sees what it prints.{keeps}",
            default_no=True,
        )
        if not self._parts.interactive:
            self._record(case, decision, False, NO_ONE, "")
            return Again(
                f"It was not run with it: {NO_ONE}. --readable opens files to the commands of a run."
            )
        judged, wrong = self._where(case), ""
        while True:
            preview = await self._preview(case, judged)
            request = self._request(case, decision, preview, await self._deeds(case, judged))
            content = f"{opening_rule(paths)} {preview.content}"
            request = request.model_copy(update={"digest": self._digest(case, content), "wrong": wrong})
            self._parts.recorder.append(request, agent=case.agent)
            answer = await self._wait(request, case.agent)
            if answer.decision == "deny" or answer.rule in ("", opening_rule(paths)):
                break
            wrong = "What is opened to commands cannot be written otherwise here."
        verdict = self._by_user(case, decision, request, answer, judged)
        return Again(opened=paths) if verdict.allowed else Again(f"With it: {verdict.for_model}")

    async def _leave(self, case: _Case, refused: ExecResult) -> str:
        """Why it may not run again outside the sandbox; empty where it may."""
        agent, judged = case.agent, self._where(case)
        decision = Decision(
            "ask", LEAVING, refused.blocked, choices=_ONCE_ONLY, risk=OUTSIDE, default_no=True
        )
        if not self._parts.interactive:
            self._record(case, decision, False, NO_ONE, "")
            return f"It was not run outside the sandbox: {NO_ONE}."
        preview = await self._preview(case, judged)
        request = self._request(case, decision, preview, await self._deeds(case, judged))
        outside = {"digest": self._digest(case, f"outside {preview.content}"), "confined": ""}
        request = request.model_copy(update=outside)
        self._parts.recorder.append(request, agent=agent)
        answer = await self._wait(request, agent)
        answer = answer.model_copy(update={"reach": "once", "rule": ""})
        verdict = self._by_user(case, decision, request, answer, judged)
        return "" if verdict.allowed else f"Outside the sandbox: {verdict.for_model}"

    def _wrong(self, case: _Case, request: PermissionRequested, answer: DecidePermission) -> str:
        """What is wrong with a rule that came with the answer; empty where none came, or it can stand."""
        if answer.decision == "deny" or answer.reach == "once" or not answer.rule:
            return ""
        choice = next((one for one in request.choices if one.reach == answer.reach), None)
        if choice is not None and not choice.offered:
            return f"A rule is {choice.why or 'not offered here'}."
        if choice is not None and answer.rule == choice.rule:
            return ""
        return find_fault(answer.rule, lambda rule: self._judge(case, self._where(case), rule).verdict)

    def _where(self, case: _Case) -> dict[str, str]:
        """Where the paths that it touches lead now."""
        paths = self._parts.policy.paths(case.effects, self._parts.recorder.state.granted)
        typed = any(isinstance(effect, Runs) for effect in case.effects)
        meant = {path: _at_home(path) if typed else path for path in sorted(paths)}
        found = self._parts.env.resolve_all(meant.values())
        return {path: found[at] for path, at in meant.items()}

    async def _look(self, effects: Sequence[Effect]) -> WorkspaceScan:
        """Look for names of the workspace that change what commands mean, if there are any commands."""
        env = self._parts.env
        if isinstance(env, KnowsSecrets) and any(isinstance(effect, Runs) for effect in effects):
            opened = opened_by(self._parts.recorder.state.granted)
            scan = await to_thread.run_sync(env.scan)
            secrets = tuple(file for file in scan.secrets if file.path.rstrip("/") not in opened)
            return replace(scan, secrets=secrets)
        return WorkspaceScan()

    def _judge(self, case: _Case, judged: dict[str, str], *more: str) -> Decision:
        return self._parts.policy.decide(case.call.name, case.effects, self._facts(case, judged, *more))

    def _facts(self, case: _Case, judged: dict[str, str], *more: str) -> PolicyFacts:
        state = self._parts.recorder.state_of(case.agent)
        env, programs = self._parts.env, self._programs(case)
        finder = env if isinstance(env, FindsPrograms) else None
        return PolicyFacts(
            workspace=env.root,
            policy=state.settings.policy if state.settings else "ask",
            resolved=judged,
            granted=(*state.granted, *more),
            allowed_tools=allowed_tools(self._parts, case.agent),
            interactive=self._parts.interactive or case.heard.decision in {"allow", "deny"},
            own_programs=finder.own_programs(programs) if finder else frozenset(),
            git_steered=bool(finder and GIT in programs and finder.git_is_steered(self._git_folders(case))),
            sandboxed=bool(env.sandbox.kind),
            own_files=env.only_confined(judged.values()) if isinstance(env, KnowsOwnFiles) else frozenset(),
            secrets=case.scan.secrets,
            public_files=public_certificates(judged.values()),
            links=case.scan.links,
            option_names=case.scan.option_names,
            odd_names=case.scan.odd_names,
            steering_files=case.scan.steering_files,
            unscanned=case.scan.unscanned,
        )

    async def _preview(self, case: _Case, judged: dict[str, str]) -> Preview:
        """What the call would do. A call in the workspace that would fail whatever the answer raises its `ToolError`:
        nobody is asked about it. Of one outside the model is told nothing that it was not allowed to read."""
        env = reaching(self._parts.env, case.effects, judged)
        outside = isinstance(env, ReachingEnvironment) and env.outside
        try:
            if isinstance(case.tool, Foreseeing) and not outside:
                await case.tool.foresee(case.args, env, self._parts.recorder.state_of(case.agent))
            return _with_arguments(case, await case.tool.preview(case.args, env))
        except (ToolError, EnvironmentFault) as fault:
            if isinstance(fault, ToolError) and not outside:
                raise
            return Preview((TextBlock(text=f"No preview: {fault}"),), content=str(fault))

    def _digest(self, case: _Case, content: str) -> str:
        exact = json.dumps(case.call.arguments, sort_keys=True, ensure_ascii=True)
        return digest(case.call.name, case.effects, exact + content)

    async def _deeds(self, case: _Case, judged: dict[str, str]) -> tuple[Deed, ...]:
        """What its commands do, as they are judged; which files would be new is looked up."""
        if not any(isinstance(effect, Runs) for effect in case.effects):
            return ()
        new: set[str] = set()
        for path in self._parts.policy.written(case.effects)[:_LOOKED_UP]:
            with suppress(EnvironmentFault):  # what cannot be looked at is not called new
                if await self._parts.env.stat(path) is None:
                    new.add(path)
        return self._parts.policy.deeds(case.effects, new, self._facts(case, judged))

    def _request(
        self, case: _Case, decision: Decision, preview: Preview, deeds: tuple[Deed, ...]
    ) -> PermissionRequested:
        bound = preview.time_limit_s or case.tool.spec.timeout
        runs = any(isinstance(effect, Runs) for effect in case.effects)
        return PermissionRequested(
            request_id=self._parts.ids.request(),
            call_id=case.call.call_id,
            tool=case.call.name,
            verb=case.tool.spec.verb,
            target=case.tool.target(case.args),
            effects=case.effects,
            digest=self._digest(case, preview.content),
            preview=preview.blocks,
            choices=decision.choices,
            deeds=deeds,
            risk=decision.risk,
            reason=decision.reason,
            default_no=decision.default_no,
            time_limit_s=bound if runs else None,
            confined=self._parts.env.sandbox.kind if runs else "",
        )

    async def _wait(self, request: PermissionRequested, agent: AgentId) -> DecidePermission:
        self._states.set(AgentState.WAITING, f"{request.verb} {request.target}".strip(), agent=agent)
        answer = await self._waiting.wait(request.request_id)
        self._states.set(AgentState.RUNNING, agent=agent)
        return answer

    def _by_rule(
        self, case: _Case, decision: Decision, content: str, judged: dict[str, str], why: str = ""
    ) -> Verdict:
        allowed = decision.verdict == "allow"
        reason = why or decision.reason
        self._record(case, decision, allowed, reason, content)
        if allowed:
            return self._allowed(case, decision, judged)
        return Verdict(
            False,
            f"Not allowed: {reason} (rule {decision.rule_id}). Do not try to get around it; "
            "go on without it, or say what you need.",
            f"denied: {reason}",
        )

    def _by_user(
        self,
        case: _Case,
        decision: Decision,
        request: PermissionRequested,
        answer: DecidePermission,
        judged: dict[str, str],
    ) -> Verdict:
        allowed = answer.decision == "allow"
        rule = answer.rule or next(
            (choice.rule for choice in request.choices if choice.reach == answer.reach and choice.offered), ""
        )
        if allowed and answer.reach == "always" and rule:
            self._remember(rule)
        reason = f"the user allowed it ({answer.reach})" if allowed else "the user said no"
        self._parts.recorder.append(
            PermissionDecided(
                call_id=case.call.call_id,
                request_id=request.request_id,
                decision=answer.decision,
                by="user",
                policy=self._policy(case.agent),
                rule_id=decision.rule_id,
                reason=reason,
                digest=request.digest,
                effects=case.effects,
                reach=answer.reach if allowed else "once",
                rule=rule if allowed and answer.reach != "once" else "",
                message=answer.message,
            ),
            agent=case.agent,
        )
        if allowed:
            return self._allowed(case, decision, judged)
        before = f"{_trial_words(case.tried)}. " if case.tried is not None else ""
        words = f" They say: {answer.message}" if answer.message else ""
        return Verdict(False, f"{before}The user did not allow this call.{words}", "denied by you")

    def _remember(self, rule: str) -> None:
        """Keep what the user allowed for always: files that commands may read in the configuration, else as a rule."""
        paths = opened_by([rule])
        if paths and self._parts.remember_readable is not None:
            try:
                self._parts.remember_readable(paths)
            except ConfigError as fault:  # then it holds for this session
                self._parts.recorder.append(
                    ErrorRaised(where="configuration", message=fault.message, hint=fault.hint)
                )
        elif not paths and self._parts.remember_rule is not None:
            self._parts.remember_rule(rule)

    def _record(self, case: _Case, decision: Decision, allowed: bool, reason: str, content: str) -> None:
        self._parts.recorder.append(
            PermissionDecided(
                call_id=case.call.call_id,
                request_id=None,
                decision="allow" if allowed else "deny",
                by="engine" if decision.verdict == "ask" or decision.unanswered else "rule",
                policy=self._policy(case.agent),
                rule_id=decision.rule_id,
                reason=reason,
                digest=self._digest(case, content),
                effects=case.effects,
            ),
            agent=case.agent,
        )

    def _allowed(self, case: _Case, decision: Decision, judged: dict[str, str]) -> Verdict:
        """What was allowed includes the network where its classes name it, and always where nothing is asked. What nobody was
        asked about and only reads, and all of `plan`, cannot write the workspace: so a misjudged line changes nothing."""
        network = NETWORK in decision.classes or self._policy(case.agent) == "bypass"
        root = self._parts.env.root.rstrip("/") + "/"
        written = {judged[path] for path in self._parts.policy.written(case.effects) if path in judged}
        written -= set(decision.own)
        outside = tuple(sorted(path for path in written if not f"{path}/".startswith(root)))
        unasked = decision.verdict == "allow"
        only_reads = unasked and decision.classes == (READ_ONLY,)
        shown = not unasked or decision.named or self._policy(case.agent) == "bypass"
        return Verdict(
            True,
            judged=judged,
            network=network,
            writable=outside,
            looks=only_reads and GIT not in self._programs(case),
            shown=(*(judged.values() if shown else ()), *opened_by(self._parts.recorder.state.granted)),
            below=decision.below,
            sealed=decision.sealed,
            own=decision.own,
            read_only=only_reads or self._policy(case.agent) in _READING_PROFILES,
        )

    def _programs(self, case: _Case) -> tuple[str, ...]:
        return self._parts.policy.programs(case.effects)

    def _git_folders(self, case: _Case) -> tuple[str, ...]:
        return self._parts.policy.git_folders(case.effects)

    def _policy(self, agent: AgentId) -> PolicyName:
        settings = self._parts.recorder.state_of(agent).settings
        return settings.policy if settings else "ask"


def _may_try(case: _Case, decision: Decision) -> bool:
    """Return True if a trial may stand for an answer; where a hook asks, it may not."""
    return decision.may_try and case.tried is None and case.heard.decision != "ask"


def _trial_words(tried: ExecResult) -> str:
    """How a trial in the sandbox failed."""
    if tried.ended == "timeout":
        return "it was tried read-only in the sandbox, and did not end in time"
    refused = tried.blocked.rstrip(".")
    status = "its program was not found" if tried.exit_code is None else f"exit status {tried.exit_code}"
    end = refused[:1].lower() + refused[1:] or status
    return f"it was tried read-only in the sandbox, and failed: {end}"


def _opened_for(paths: Sequence[str], *, always: bool) -> tuple[Choice, ...]:
    """That commands may read these files in this session, or from now on."""
    rule = opening_rule(paths)
    session = Choice(reach="session", rule=rule, why="commands may read it")
    kept = "written into your configuration" if always else "not offered here"
    return session, Choice(reach="always", rule=rule if always else "", offered=always, why=kept)


def _with_arguments(case: _Case, preview: Preview) -> Preview:
    """A preview that shows something: of a call that has none, its arguments, where its target is not all of them. Of one
    that only reads or runs, its target and its command say them."""
    known = case.effects and all(isinstance(effect, Reads | Runs) for effect in case.effects)
    told = list(case.call.arguments.values()) in ([], [case.tool.target(case.args)])
    if preview.blocks or known or told:
        return preview
    said = json.dumps(case.call.arguments, indent=2, ensure_ascii=False)
    return replace(preview, blocks=(TextBlock(text=said),))


def _at_home(path: str) -> str:
    """A path of a command as its shell takes it: `~` and `~ada` are homes. To a file tool they are names as any other."""
    return os.path.expanduser(path)  # noqa: PTH111 - a home that is nowhere stays as it is written, as in a shell
