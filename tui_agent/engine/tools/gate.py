"""The gate in front of every tool call: the policy decides, and asks the user if necessary.

Invariant: before a call starts, the log has a `permission.decided` for exactly its effects and content. If a call
changed while the user was thinking, or the user answered with an invalid rule, the user is asked again.
"""

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field, replace

from anyio import to_thread

from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.components import EngineParts
from tui_agent.engine.mailbox import Waiting
from tui_agent.engine.tools.access import allowed_tools
from tui_agent.engine.tools.hooks import NOTHING, RULE, Heard, weighed
from tui_agent.engine.tools.registry import CheckedCall
from tui_agent.engine.tools.sandbox_retry import (
    ONCE_ONLY,
    Again,
    Granted,
    Verdict,
    opened_by,
    opening_choices,
    opening_rule,
    trial_message,
)
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
from tui_agent.ports.tool import Foreseeing, Preview
from tui_agent.protocol.commands import DecidePermission
from tui_agent.protocol.display import TextBlock
from tui_agent.protocol.effects import Reads, Runs, digest
from tui_agent.protocol.events.policy import Deed, PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.ids import AgentId
from tui_agent.protocol.settings import AgentState, PolicyName
from tui_agent.workspace.local.granted_paths import ReachingEnvironment, reaching
from tui_agent.workspace.local.secret_files import public_certificates

_MAX_STAT_FILES = 20
_ASKED_BEFORE = "you were asked about this call, but the program ended before you answered"
LEAVING, OPENING = "sandbox.leave", "sandbox.open"
TRYING = "sandbox.try"
OUTSIDE = "It runs outside the sandbox."
_READING_PROFILES = frozenset({"plan", "read-only-delegate"})
NOBODY = "no one is there to answer"
NO_ONE = f"the policy asks, and {NOBODY}"


@dataclass(frozen=True, slots=True)
class _JudgedCall(CheckedCall):
    """A call with the facts that it is judged by."""

    heard: Heard = NOTHING
    scan: WorkspaceScan = field(default_factory=WorkspaceScan)
    tried: ExecResult | None = None
    """The result of its trial in the sandbox; None if there was none."""


class Gate:
    """Decides about calls, one at a time."""

    def __init__(self, parts: EngineParts, states: StateKeeper, waiting: Waiting[DecidePermission]) -> None:
        self._parts = parts
        self._states = states
        self._waiting = waiting

    async def decide(
        self, checked: CheckedCall, heard: Heard = NOTHING, tried: ExecResult | None = None
    ) -> Verdict:
        """Decide about a call and record the decision. Waits for the user if the policy or a hook (`heard`) asks.

        `tried` is the result of a trial in the sandbox.
        """
        case = _judged_call(checked, heard, await self._scan_workspace(checked), tried)
        open_calls = self._parts.recorder.state.open_calls
        asked_before = any(item.asked for item in open_calls if item.call_id == case.call.call_id)
        preview = Preview(())
        rule_fault = faulty_rule = ""
        while True:
            judged = self._resolve_paths(case)
            decision = weighed(self._judge(case, judged), heard)
            # The user was asked by an earlier run: only the user's answer counts, not a rule that allows it now.
            if asked_before and decision.verdict == "allow":
                decision = replace(decision, verdict="ask", reason=_ASKED_BEFORE)
            if self._parts.try_confined and _can_try(case, decision) and not asked_before:
                preview = await self._preview(case, judged)
                if preview.time_limit_s is not None:
                    return self._start_trial(case, decision, judged, preview.content)
            if tried is not None:
                decision = replace(decision, reason=f"{trial_message(tried)}; {decision.reason}")
            if decision.verdict != "ask":
                return self._verdict_by_rule(case, decision, preview.content, judged)
            if not self._parts.interactive:
                nobody = (
                    f"{decision.reason.rstrip(' .')}, and {NOBODY}" if decision.rule_id == RULE else NO_ONE
                )
                return self._verdict_by_rule(case, decision, "", judged, nobody)
            preview = await self._preview(case, judged)
            request = self._request(case, decision, preview, await self._describe_effects(case, judged))
            if rule_fault:
                request = request.model_copy(update={"wrong": rule_fault, "wrong_rule": faulty_rule})
            self._parts.recorder.append(request, agent=case.agent)
            answer = await self._wait(request, case.agent)
            rule_fault, faulty_rule = self._find_rule_fault(case, request, answer), answer.rule
            if rule_fault:
                continue  # ask again: an answer with a faulty rule has no effect
            present = await self._preview(case, judged)
            is_unchanged = present.content == preview.content and self._resolve_paths(case) == judged
            if answer.decision == "deny" or is_unchanged:
                # The rules may have changed while the user was thinking; a new rule that denies wins.
                latest = weighed(self._judge(case, judged), heard)
                if latest.verdict == "deny":
                    return self._verdict_by_rule(case, latest, preview.content, judged)
                return self._verdict_by_user(case, decision, request, answer, judged)
            preview = present  # ask again: the call would no longer do what the user saw

    async def decide_after_trial(self, checked: CheckedCall, tried: ExecResult) -> Granted | str:
        """Decide about a call whose trial in the sandbox failed. Return its permissions, or the reason for a denial."""
        verdict = await self.decide(checked, tried=tried)
        return verdict.granted if verdict.allowed else verdict.for_model

    def _start_trial(
        self, case: _JudgedCall, decision: Decision, judged: dict[str, str], content: str
    ) -> Verdict:
        """Record that the call is tried in the sandbox, because the policy does not understand the command."""
        trial = replace(decision, verdict="allow", rule_id=TRYING, unanswered=False)
        self._record(case, trial, True, f"{decision.reason}; it is tried read-only in the sandbox", content)
        granted = Granted(judged=judged, looks=True, read_only=True, trial=True, own=decision.own)
        return Verdict(True, granted=granted)

    async def run_again(self, checked: CheckedCall, refused: ExecResult) -> Again:
        """Decide and record whether a call may run again after the sandbox refused something.

        It may run with the hidden files that it needs, or else outside the sandbox. Only the user can allow that,
        whatever the policy.
        """
        case = _judged_call(checked)
        if refused.wanted:
            return await self._decide_with_files(case, refused)
        return await self._decide_outside(case, refused)

    async def _decide_with_files(self, case: _JudgedCall, refused: ExecResult) -> Again:
        """Ask whether the call may run again in the sandbox with the hidden files that it needs."""
        paths = tuple(file.path.rstrip("/") for file in refused.wanted)
        names = " and ".join(file.name.rstrip("/") for file in refused.wanted)
        always = self._parts.remember_readable is not None
        effect_of_always = " Always adds it to [sandbox] readable in your config.toml." if always else ""
        decision = Decision(
            "ask",
            OPENING,
            refused.blocked,
            choices=(ONCE_ONLY[0], *opening_choices(paths, always=always)),
            risk=f"It runs again in the sandbox and can read {names}; the model sees what it prints."
            f"{effect_of_always}",
            default_no=True,
        )
        if not self._parts.interactive:
            self._record(case, decision, False, NO_ONE, "")
            return Again(
                f"It was not run again with the file: {NO_ONE}. Use --readable to open files to a run's commands."
            )
        judged, rule_fault = self._resolve_paths(case), ""
        while True:
            preview = await self._preview(case, judged)
            request = self._request(case, decision, preview, await self._describe_effects(case, judged))
            content = f"{opening_rule(paths)} {preview.content}"
            request = request.model_copy(update={"digest": self._digest(case, content), "wrong": rule_fault})
            self._parts.recorder.append(request, agent=case.agent)
            answer = await self._wait(request, case.agent)
            if answer.decision == "deny" or answer.rule in ("", opening_rule(paths)):
                break
            rule_fault = "You cannot edit the list of files here."
        verdict = self._verdict_by_user(case, decision, request, answer, judged)
        return Again(opened=paths) if verdict.allowed else Again(f"With the file: {verdict.for_model}")

    async def _decide_outside(self, case: _JudgedCall, refused: ExecResult) -> Again:
        """Ask whether the call may run again outside the sandbox."""
        judged = self._resolve_paths(case)
        decision = Decision("ask", LEAVING, refused.blocked, choices=ONCE_ONLY, risk=OUTSIDE, default_no=True)
        if not self._parts.interactive:
            self._record(case, decision, False, NO_ONE, "")
            return Again(f"It was not run outside the sandbox: {NO_ONE}.")
        preview = await self._preview(case, judged)
        request = self._request(case, decision, preview, await self._describe_effects(case, judged))
        outside = {"digest": self._digest(case, f"outside {preview.content}"), "confined": ""}
        request = request.model_copy(update=outside)
        self._parts.recorder.append(request, agent=case.agent)
        answer = await self._wait(request, case.agent)
        answer = answer.model_copy(update={"reach": "once", "rule": ""})
        verdict = self._verdict_by_user(case, decision, request, answer, judged)
        return Again() if verdict.allowed else Again(f"Outside the sandbox: {verdict.for_model}")

    def _find_rule_fault(
        self, case: _JudgedCall, request: PermissionRequested, answer: DecidePermission
    ) -> str:
        """Return the fault of a rule in the user's answer; empty if there is no rule, or it is valid."""
        if answer.decision == "deny" or answer.reach == "once" or not answer.rule:
            return ""
        choice = next((choice for choice in request.choices if choice.reach == answer.reach), None)
        if choice is not None and not choice.offered:
            return f"A rule is {choice.why or 'not available here'}."
        if choice is not None and answer.rule == choice.rule:
            return ""
        return find_fault(
            answer.rule, lambda rule: self._judge(case, self._resolve_paths(case), rule).verdict
        )

    def _resolve_paths(self, case: _JudgedCall) -> dict[str, str]:
        """Return the real paths behind the paths that the decision depends on."""
        paths = self._parts.policy.paths(case.effects, self._parts.recorder.state.granted)
        expanded = {path: _expand_home(path) if case.is_command else path for path in sorted(paths)}
        resolved = self._parts.env.resolve_all(expanded.values())
        return {path: resolved[expanded_path] for path, expanded_path in expanded.items()}

    async def _scan_workspace(self, checked: CheckedCall) -> WorkspaceScan:
        """Scan the workspace for names that change the meaning of commands, if there are any commands."""
        env = self._parts.env
        if isinstance(env, KnowsSecrets) and checked.is_command:
            opened = opened_by(self._parts.recorder.state.granted)
            scan = await to_thread.run_sync(env.scan)
            secrets = tuple(file for file in scan.secrets if file.path.rstrip("/") not in opened)
            return replace(scan, secrets=secrets)
        return WorkspaceScan()

    def _judge(self, case: _JudgedCall, judged: dict[str, str], *more: str) -> Decision:
        return self._parts.policy.decide(case.call.name, case.effects, self._facts(case, judged, *more))

    def _facts(self, case: _JudgedCall, judged: dict[str, str], *more: str) -> PolicyFacts:
        state = self._parts.recorder.state_of(case.agent)
        env, programs = self._parts.env, self._parts.policy.programs(case.effects)
        finder = env if isinstance(env, FindsPrograms) else None
        return PolicyFacts(
            workspace=env.root,
            policy=state.settings.policy if state.settings else "ask",
            resolved=judged,
            granted=(*state.granted, *more),
            allowed_tools=allowed_tools(self._parts, case.agent),
            interactive=self._parts.interactive or case.heard.decision in {"allow", "deny"},
            own_programs=finder.own_programs(programs) if finder else frozenset(),
            git_steered=bool(
                finder
                and GIT in programs
                and finder.git_is_steered(self._parts.policy.git_folders(case.effects))
            ),
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

    async def _preview(self, case: _JudgedCall, judged: dict[str, str]) -> Preview:
        """Return a preview of the call.

        A call in the workspace that would fail anyway raises its `ToolError` here, so that nobody is asked about it. For
        a call outside, the error would tell the model about files that it may not read yet.
        """
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

    def _digest(self, case: _JudgedCall, content: str) -> str:
        exact = json.dumps(case.call.arguments, sort_keys=True, ensure_ascii=True)
        return digest(case.call.name, case.effects, exact + content)

    async def _describe_effects(self, case: _JudgedCall, judged: dict[str, str]) -> tuple[Deed, ...]:
        """Return a description of the commands' effects, with the files that they would create."""
        if not case.is_command:
            return ()
        new: set[str] = set()
        for path in self._parts.policy.written(case.effects)[:_MAX_STAT_FILES]:
            with suppress(EnvironmentFault):  # a path that cannot be checked does not count as new
                if await self._parts.env.stat(path) is None:
                    new.add(path)
        return self._parts.policy.deeds(case.effects, new, self._facts(case, judged))

    def _request(
        self, case: _JudgedCall, decision: Decision, preview: Preview, deeds: tuple[Deed, ...]
    ) -> PermissionRequested:
        time_limit = preview.time_limit_s or case.tool.spec.timeout
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
            time_limit_s=time_limit if case.is_command else None,
            confined=self._parts.env.sandbox.kind if case.is_command else "",
        )

    async def _wait(self, request: PermissionRequested, agent: AgentId) -> DecidePermission:
        self._states.set(AgentState.WAITING, f"{request.verb} {request.target}".strip(), agent=agent)
        answer = await self._waiting.wait(request.request_id)
        self._states.set(AgentState.RUNNING, agent=agent)
        return answer

    def _verdict_by_rule(
        self, case: _JudgedCall, decision: Decision, content: str, judged: dict[str, str], why: str = ""
    ) -> Verdict:
        allowed = decision.verdict == "allow"
        reason = why or decision.reason
        self._record(case, decision, allowed, reason, content)
        if allowed:
            return self._allow(case, decision, judged)
        return Verdict(
            False,
            f"Not allowed: {reason} (rule {decision.rule_id}). Do not work around it: "
            "continue without it, or say what you need.",
            f"denied: {reason}",
        )

    def _verdict_by_user(
        self,
        case: _JudgedCall,
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
            self._remember_rule(rule)
        reason = f"you allowed it ({answer.reach})" if allowed else "you said no"
        self._parts.recorder.append(
            PermissionDecided(
                call_id=case.call.call_id,
                request_id=request.request_id,
                decision=answer.decision,
                by="user",
                policy=self._policy_name(case.agent),
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
            return self._allow(case, decision, judged)
        trial = f"{trial_message(case.tried)}. " if case.tried is not None else ""
        message = f" The user says: {answer.message}" if answer.message else ""
        return Verdict(False, f"{trial}The user did not allow this call.{message}", "denied by you")

    def _remember_rule(self, rule: str) -> None:
        """Store what the user always allows: readable files in config.toml, anything else as a rule."""
        paths = opened_by([rule])
        if paths and self._parts.remember_readable is not None:
            try:
                self._parts.remember_readable(paths)
            except ConfigError as fault:  # it then applies to this session only
                self._parts.recorder.append(
                    ErrorRaised(where="configuration", message=fault.message, hint=fault.hint)
                )
        elif not paths and self._parts.remember_rule is not None:
            self._parts.remember_rule(rule)

    def _record(
        self, case: _JudgedCall, decision: Decision, allowed: bool, reason: str, content: str
    ) -> None:
        self._parts.recorder.append(
            PermissionDecided(
                call_id=case.call.call_id,
                request_id=None,
                decision="allow" if allowed else "deny",
                by="engine" if decision.verdict == "ask" or decision.unanswered else "rule",
                policy=self._policy_name(case.agent),
                rule_id=decision.rule_id,
                reason=reason,
                digest=self._digest(case, content),
                effects=case.effects,
            ),
            agent=case.agent,
        )

    def _allow(self, case: _JudgedCall, decision: Decision, judged: dict[str, str]) -> Verdict:
        """Return the verdict of an allowed call, with the permissions of its commands.

        Network access is included if the decision's classes name it, or with the policy `bypass`. A command that nobody
        was asked about and that only reads, and every command under `plan`, gets a read-only workspace, so that a
        misjudged command changes nothing.
        """
        network = NETWORK in decision.classes or self._policy_name(case.agent) == "bypass"
        root = self._parts.env.root.rstrip("/") + "/"
        written_paths = {judged[path] for path in self._parts.policy.written(case.effects) if path in judged}
        written_paths -= set(decision.own)
        outside = tuple(sorted(path for path in written_paths if not f"{path}/".startswith(root)))
        is_unasked = decision.verdict == "allow"
        is_read_only = is_unasked and decision.classes == (READ_ONLY,)
        may_read_secrets = not is_unasked or decision.named or self._policy_name(case.agent) == "bypass"
        granted = Granted(
            judged=judged,
            network=network,
            writable=outside,
            looks=is_read_only and GIT not in self._parts.policy.programs(case.effects),
            shown=(
                *(judged.values() if may_read_secrets else ()),
                *opened_by(self._parts.recorder.state.granted),
            ),
            below=decision.below,
            sealed=decision.sealed,
            own=decision.own,
            read_only=is_read_only or self._policy_name(case.agent) in _READING_PROFILES,
        )
        return Verdict(True, granted=granted)

    def _policy_name(self, agent: AgentId) -> PolicyName:
        settings = self._parts.recorder.state_of(agent).settings
        return settings.policy if settings else "ask"


def _judged_call(
    checked: CheckedCall,
    heard: Heard = NOTHING,
    scan: WorkspaceScan | None = None,
    tried: ExecResult | None = None,
) -> _JudgedCall:
    return _JudgedCall(
        checked.call,
        checked.tool,
        checked.args,
        checked.agent,
        checked.effects,
        heard,
        scan or WorkspaceScan(),
        tried,
    )


def _can_try(case: _JudgedCall, decision: Decision) -> bool:
    """Return True if a trial in the sandbox may replace asking the user; not if a hook asks."""
    return decision.may_try and case.tried is None and case.heard.decision != "ask"


def _with_arguments(case: _JudgedCall, preview: Preview) -> Preview:
    """Return the preview, with the call's arguments if it would be empty and the target does not show them all.

    For a call that only reads or runs something, the target and the command are enough.
    """
    reads_or_runs = case.effects and all(isinstance(effect, Reads | Runs) for effect in case.effects)
    target_is_all = list(case.call.arguments.values()) in ([], [case.tool.target(case.args)])
    if preview.blocks or reads_or_runs or target_is_all:
        return preview
    arguments = json.dumps(case.call.arguments, indent=2, ensure_ascii=False)
    return replace(preview, blocks=(TextBlock(text=arguments),))


def _expand_home(path: str) -> str:
    """Expand `~` and `~user` in a command's path, as its shell does. For file tools they are ordinary names."""
    return os.path.expanduser(path)  # noqa: PTH111 - an unknown home stays as written, as in a shell
