"""The gate in front of every tool call: applies the policy, and asks the user if necessary.

Invariant: before a call starts, the log has a `permission.decided` for exactly its effects and content.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from anyio import to_thread

from tui_agent.engine.agent_state import StateKeeper
from tui_agent.engine.checkpoints.irreversible_effects import find_missing_deletions
from tui_agent.engine.components import EngineParts
from tui_agent.engine.hooks import HOOK_RULE, NO_VERDICT, HookVerdict, merge_decisions
from tui_agent.engine.mailbox import PendingAnswers
from tui_agent.engine.tools.judged_call import CallFacts, JudgedCall, RestorableFiles
from tui_agent.engine.tools.registry import CheckedCall
from tui_agent.engine.tools.sandbox_retry import (
    ONCE_ONLY,
    Rerun,
    SandboxGrant,
    Verdict,
    describe_access,
    files_opened_by,
    join_names,
    opening_choices,
    opening_rule,
    trial_message,
)
from tui_agent.engine.tools.tool_access import offered_names
from tui_agent.errors import ConfigError, EnvironmentFault, ToolCrash, ToolError
from tui_agent.policy.decision.call_classes import NETWORK, READ_ONLY
from tui_agent.policy.decision.escalations import GIT
from tui_agent.policy.decision.rule_choices import ALLOWED, find_edited_rule_fault, only_once
from tui_agent.policy.decision.unconfined_commands import OUTSIDE_RISK
from tui_agent.ports.environment import (
    ExecResult,
    PrivateTempFinder,
    workspace_sandbox,
)
from tui_agent.ports.policy import Decision
from tui_agent.ports.tool import Preview
from tui_agent.protocol.commands import DecidePermission
from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.effects import ReadEffect, RunEffect, digest_effects
from tui_agent.protocol.events.env import LOCAL_ENVIRONMENT
from tui_agent.protocol.events.policy import CommandEffects, PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.ids import AgentId
from tui_agent.protocol.settings import AgentState, PolicyName
from tui_agent.workspace.local.granted_paths import GrantedEnvironment, grant_paths

_MAX_STAT_FILES = 20
_ASKED_BEFORE = "you were asked about this call, but tui-agent exited before you answered"
LEAVE_SANDBOX_RULE, OPEN_FILES_RULE = "sandbox.leave", "sandbox.open"
TRY_IN_SANDBOX_RULE = "sandbox.try"
_READING_PROFILES = frozenset({"plan", "read-only-delegate"})
_PLAN_RULES = frozenset({"plan.writes", "plan.commands"})
_PLAN_TOOL = "present_plan"
NOBODY_TO_ASK = "no one is there to answer"
ASK_IMPOSSIBLE = f"the policy asks, and {NOBODY_TO_ASK}"


class Gate:
    """Decides which tool calls can run, one call at a time."""

    def __init__(
        self,
        parts: EngineParts,
        states: StateKeeper,
        waiting: PendingAnswers[DecidePermission],
        restorable: RestorableFiles,
    ) -> None:
        self._parts = parts
        self._states = states
        self._waiting = waiting
        self._restorable = restorable
        self._facts = CallFacts(parts)

    async def decide(
        self, checked: CheckedCall, hook_verdict: HookVerdict = NO_VERDICT, tried: ExecResult | None = None
    ) -> Verdict:
        """Decide if a call can run, ask the user if necessary, and record the decision.

        `tried`: result of the command's trial in the sandbox.

        Raise `ToolError` if the call would fail even with permission.
        """
        scan, restorable = await self._facts.scan_workspace(checked), await self._restorable.find(checked)
        unrestorable = await self._restorable.find_unrestorable(checked)
        case = JudgedCall.from_checked(checked, hook_verdict, scan, restorable, unrestorable, tried)
        open_calls = self._parts.recorder.state.open_calls
        asked_before = any(item.awaits_decision for item in open_calls if item.call_id == case.call.call_id)
        preview = Preview(())
        rejected: dict[str, str] = {}
        while True:
            judged = self._facts.resolve_paths(case)
            decision = merge_decisions(self._judge(case, judged), hook_verdict)
            if decision.verdict == "allow" and decision.repository_conflict:
                raise ToolError(f"Not run: in the sandbox, {decision.repository_conflict}")
            # An earlier run asked the user about this call, so a rule added later cannot answer for the user.
            if asked_before and decision.verdict == "allow":
                choices = only_once(ALLOWED)
                decision = replace(decision, verdict="ask", reason=_ASKED_BEFORE, choices=choices)
            if self._parts.try_confined and case.can_try(decision) and not asked_before:
                preview = await self._preview(case, judged)
                if preview.time_limit_s is not None:
                    return self._start_trial(case, decision, judged, preview.content)
            if tried is not None:
                decision = replace(decision, reason=f"{trial_message(tried)}; {decision.reason}")
            if decision.verdict != "ask":
                return self._verdict_by_rule(case, decision, preview.content, judged)
            if not self._parts.interactive:
                nobody = ASK_IMPOSSIBLE
                if decision.rule_id == HOOK_RULE:
                    nobody = f"{decision.reason.rstrip(' .')}, and {NOBODY_TO_ASK}"
                return self._verdict_by_rule(case, decision, "", judged, nobody)
            preview = await self._preview(case, judged)
            outside = self._outside_changes(case, preview.content) if decision.leaves_sandbox else {}
            request, answer = await self._ask_user(case, decision, judged, preview, {**outside, **rejected})
            fault = self._find_rule_fault(case, request, answer)
            rejected = {"rule_error": fault, "rejected_rule": answer.rule, "rejected_reach": answer.reach}
            if fault:
                continue  # an answer with an invalid rule has no effect, so ask again
            present = await self._preview(case, judged)
            is_unchanged = present.content == preview.content and self._facts.resolve_paths(case) == judged
            if answer.decision == "deny" or is_unchanged:
                # The rules may have changed while the user decided; a new deny rule wins.
                latest = merge_decisions(self._judge(case, judged), hook_verdict)
                if latest.verdict == "deny":
                    return self._verdict_by_rule(case, latest, preview.content, judged)
                return self._verdict_by_user(case, decision, request, answer, judged)
            preview, rejected = present, {}  # the call would no longer do what the user saw, so ask again

    async def decide_after_trial(self, checked: CheckedCall, tried: ExecResult) -> SandboxGrant | str:
        """Decide about a call after its trial in the sandbox failed.

        Return the call's permissions, or the reason for a denial.
        """
        verdict = await self.decide(checked, tried=tried)
        return verdict.sandbox_grant if verdict.allowed else verdict.for_model

    def _start_trial(
        self, case: JudgedCall, decision: Decision, judged: dict[str, str], content: str
    ) -> Verdict:
        """Return a verdict that allows a read-only trial of a command in the sandbox, and record the decision.

        Used for commands that the policy cannot analyse.
        """
        trial = replace(decision, verdict="allow", rule_id=TRY_IN_SANDBOX_RULE, nobody_to_ask=False)
        self._record(
            case, trial, True, f"{decision.reason}; the command is tried read-only in the sandbox", content
        )
        granted = SandboxGrant(
            judged=judged,
            show_secrets_as_empty=True,
            read_only=True,
            trial=True,
            private_temp_paths=decision.private_temp_paths,
        )
        return Verdict(True, sandbox_grant=granted)

    async def decide_rerun(self, checked: CheckedCall, refused: ExecResult) -> Rerun:
        """Decide about another run after the sandbox blocked a call, and record the decision."""
        case = JudgedCall.from_checked(
            checked, unrestorable=await self._restorable.find_unrestorable(checked)
        )
        if refused.needed_secrets:
            return await self._decide_with_files(case, refused)
        return await self._decide_outside(case, refused)

    async def _decide_with_files(self, case: JudgedCall, refused: ExecResult) -> Rerun:
        paths = tuple(file.path.rstrip("/") for file in refused.needed_secrets)
        names = join_names(refused.needed_secrets)
        always = self._parts.remember_readable is not None
        effect_of_always = (
            " “Always” saves this permission in your config.toml ([sandbox] readable)." if always else ""
        )
        decision = Decision(
            "ask",
            OPEN_FILES_RULE,
            refused.blocked,
            choices=(ONCE_ONLY[0], *opening_choices(refused.needed_secrets, always=always)),
            risk=f"The command runs again in the sandbox and can {describe_access(refused.needed_secrets)}. "
            f"The model sees the output.{effect_of_always}",
            default_no=True,
        )
        if not self._parts.interactive:
            self._record(case, decision, False, ASK_IMPOSSIBLE, "")
            return Rerun(
                f"The command was not run again with access to {names}: {ASK_IMPOSSIBLE}. "
                "Use --readable to let commands read files."
            )
        judged, rule_fault = self._facts.resolve_paths(case), ""
        while True:
            preview = await self._preview(case, judged)
            content = f"{opening_rule(paths)} {preview.content}"
            changes = {
                "digest": self._digest(case, content),
                "rule_error": rule_fault,
                "rerun": "with_files",
                "unrestorable": await self._restorable.find_unrestorable_again(case, refused),
            }
            request, answer = await self._ask_user(case, decision, judged, preview, changes)
            if answer.decision == "deny" or answer.rule in ("", opening_rule(paths)):
                break
            rule_fault = "You cannot edit the list of files here."
        verdict = self._verdict_by_user(case, decision, request, answer, judged)
        if verdict.allowed:
            return Rerun(opened_files=paths)
        return Rerun(f"The command was not run again with access to {names}: {verdict.for_model}")

    async def _decide_outside(self, case: JudgedCall, refused: ExecResult) -> Rerun:
        judged = self._facts.resolve_paths(case)
        missing = self._find_sandbox_only_path(case, judged)
        decision = Decision(
            "ask", LEAVE_SANDBOX_RULE, refused.blocked, choices=ONCE_ONLY, risk=OUTSIDE_RISK, default_no=True
        )
        if not self._parts.interactive:
            self._record(case, decision, False, ASK_IMPOSSIBLE, "")
            return Rerun(f"The command was not run outside the sandbox: {ASK_IMPOSSIBLE}.")
        if missing:
            why = f"{missing} does not exist outside the sandbox"
            self._record(case, decision, False, why, "")
            return Rerun(
                f"The command cannot be run again: {why}. Create {missing} in the workspace instead."
            )
        preview = await self._preview(case, judged)
        changes = {
            **self._outside_changes(case, preview.content),
            "rerun": "outside",
            "unrestorable": await self._restorable.find_unrestorable_again(case, refused),
        }
        request, answer = await self._ask_user(case, decision, judged, preview, changes)
        # No rule may let later commands leave the sandbox unasked, whatever a client sends.
        answer = answer.model_copy(update={"reach": "once", "rule": ""})
        verdict = self._verdict_by_user(case, decision, request, answer, judged)
        if verdict.allowed:
            return Rerun()
        return Rerun(f"The command was not run outside the sandbox: {verdict.for_model}")

    def _find_sandbox_only_path(self, case: JudgedCall, judged: dict[str, str]) -> str:
        """Return a path that the call needs and that exists only in the sandbox's own temporary folder, or ""."""
        env, needed = self._parts.env, self._parts.policy.needed_paths(case.effects)
        if not isinstance(env, PrivateTempFinder):
            return ""
        paths = [judged[path] for path in needed if path in judged]
        return min(env.find_private_temp_paths(paths), default="")

    def _outside_changes(self, case: JudgedCall, content: str) -> dict[str, str]:
        """Return the fields of a permission request that need other values if the command runs outside the sandbox."""
        return {"sandbox": "", "digest": self._digest(case, f"outside {content}")}

    def _find_rule_fault(
        self, case: JudgedCall, request: PermissionRequested, answer: DecidePermission
    ) -> str:
        if answer.decision == "deny" or answer.reach == "once" or not answer.rule:
            return ""
        choice = request.choice_for(answer.reach)
        if choice is not None and not choice.offered:
            return f"This rule is {request.why_unavailable(answer.reach)}."
        if choice is not None and answer.rule == choice.rule:
            return ""
        return find_edited_rule_fault(
            answer.rule, lambda rule: self._judge(case, self._facts.resolve_paths(case), rule).verdict
        )

    def _judge(self, case: JudgedCall, judged: dict[str, str], *more: str) -> Decision:
        return self._parts.policy.decide(case.call.name, case.effects, self._facts.find(case, judged, *more))

    async def _preview(self, case: JudgedCall, judged: dict[str, str]) -> Preview:
        """Return a preview of what the call would do. Raise `ToolError` if the call would fail."""
        # Outside the workspace, nothing is raised: the error could reveal files that the model must not read yet.
        env = grant_paths(self._parts.env, case.effects, judged)
        outside = isinstance(env, GrantedEnvironment) and env.outside
        try:
            if not outside:
                await case.tool.predict_failure(case.args, env, self._parts.recorder.state_of(case.agent))
            return _with_arguments(case, await case.tool.preview(case.args, env))
        except (ToolError, EnvironmentFault) as fault:
            if isinstance(fault, ToolCrash) or (isinstance(fault, ToolError) and not outside):
                raise
            return Preview((TextBlock(text=f"No preview: {fault}"),), content=str(fault))

    def _digest(self, case: JudgedCall, content: str) -> str:
        exact = json.dumps(case.call.arguments, sort_keys=True, ensure_ascii=True)
        return digest_effects(case.call.name, case.effects, exact + content)

    async def _describe_effects(self, case: JudgedCall, judged: dict[str, str]) -> tuple[CommandEffects, ...]:
        if not case.is_command:
            return ()
        new: set[str] = set()
        for path in self._parts.policy.written_paths(case.effects)[:_MAX_STAT_FILES]:
            with suppress(EnvironmentFault):  # a path that cannot be checked does not count as new
                if await self._parts.env.stat(path) is None:
                    new.add(path)
        return self._parts.policy.describe_effects(case.effects, new, self._facts.find(case, judged))

    async def _ask_user(
        self,
        case: JudgedCall,
        decision: Decision,
        judged: dict[str, str],
        preview: Preview,
        changes: Mapping[str, object],
    ) -> tuple[PermissionRequested, DecidePermission]:
        """Record a permission request and wait for the user's answer.

        `changes`: values for fields of the request, in place of the usual values.
        """
        time_limit, env = preview.time_limit_s or case.tool.spec.timeout, self._parts.env
        commands, missing = await self._describe_effects(case, judged), tuple[str, ...]()
        if case.tried is None and "rerun" not in changes:  # an earlier run can have deleted the files
            missing = await to_thread.run_sync(find_missing_deletions, Path(env.root), commands)
        request = PermissionRequested(
            request_id=self._parts.ids.request(),
            call_id=case.call.call_id,
            tool=case.call.name,
            verb=case.tool.spec.verb,
            target=case.tool.target(case.args),
            effects=case.effects,
            digest=self._digest(case, preview.content),
            preview=preview.blocks,
            choices=decision.choices,
            commands=commands,
            risk=decision.risk,
            reason=decision.reason,
            default_no=decision.default_no,
            time_limit_s=time_limit if case.is_command else None,
            sandbox=workspace_sandbox(env) if case.is_command else "",
            environment=env.name if case.is_command and env.name != LOCAL_ENVIRONMENT else "",
            outside_paths=tuple(path for path, real in judged.items() if not self._is_inside(real)),
            missing_paths=missing,
            unrestorable=case.unrestorable,
        ).model_copy(update=changes)
        self._parts.recorder.append(request, agent=case.agent)
        self._states.set(AgentState.WAITING, f"{request.verb} {request.target}".strip(), agent=case.agent)
        answer = await self._waiting.wait(request.request_id)
        self._states.set(AgentState.RUNNING, agent=case.agent)
        return request, answer

    def _verdict_by_rule(
        self, case: JudgedCall, decision: Decision, content: str, judged: dict[str, str], why: str = ""
    ) -> Verdict:
        allowed = decision.verdict == "allow"
        reason = why or decision.reason
        self._record(case, decision, allowed, reason, content)
        if allowed:
            return self._allow(case, decision, judged)
        name = (
            "" if f"`{decision.rule_id.removeprefix('rule: ')}`" in reason else f" (rule {decision.rule_id})"
        )
        way_on = "continue without it, or say what you need"
        if decision.rule_id in _PLAN_RULES and _PLAN_TOOL in offered_names(self._parts, case.agent):
            way_on = f"present your plan with {_PLAN_TOOL}; the changes come after its approval"
        return Verdict(
            False, f"Not allowed: {reason}{name}. Do not work around it: {way_on}.", f"denied: {reason}"
        )

    def _verdict_by_user(
        self,
        case: JudgedCall,
        decision: Decision,
        request: PermissionRequested,
        answer: DecidePermission,
        judged: dict[str, str],
    ) -> Verdict:
        allowed = answer.decision == "allow"
        choice = request.choice_for(answer.reach)
        rule = answer.rule or (choice.rule if choice is not None and choice.offered else "")
        reach = answer.reach if allowed else "once"
        if reach in ("always", "everywhere") and rule:
            workspace = "" if reach == "everywhere" else self._parts.env.root
            reach = reach if self._remember_rule(rule, workspace) else "session"
        reason = f"you allowed it ({answer.reach})" if allowed else "you said no"
        self._parts.recorder.append(
            PermissionDecided(
                call_id=case.call.call_id,
                request_id=request.request_id,
                decision=answer.decision,
                decided_by="user",
                policy=self._policy_name(case.agent),
                rule_id=decision.rule_id,
                reason=reason,
                digest=request.digest,
                effects=case.effects,
                reach=reach,
                rule=rule if reach != "once" else "",
                message=answer.message,
            ),
            agent=case.agent,
        )
        if allowed:
            return self._allow(case, decision, judged)
        trial = f"{trial_message(case.tried)}. " if case.tried is not None else ""
        message = _quote_message(answer.message) if answer.message else ""
        return Verdict(False, f"{trial}The user did not allow this call.{message}", "denied by you")

    def _remember_rule(self, rule: str, workspace: str) -> bool:
        """Store the rule of an "always" answer. Return False, and report the reason, if this fails."""
        paths = files_opened_by([rule])
        try:
            if paths and self._parts.remember_readable is not None:
                self._parts.remember_readable(paths)
            elif not paths and self._parts.remember_rule is not None:
                self._parts.remember_rule(rule, workspace)
            else:
                return False
        except ConfigError as fault:  # the answer then applies to this session only
            self._parts.recorder.append(
                ErrorRaised(where="configuration", message=fault.message, hint=fault.hint)
            )
            return False
        return True

    def _record(self, case: JudgedCall, decision: Decision, allowed: bool, reason: str, content: str) -> None:
        by_engine = decision.verdict == "ask" or decision.nobody_to_ask
        decided = PermissionDecided(
            call_id=case.call.call_id,
            request_id=None,
            decision="allow" if allowed else "deny",
            decided_by="engine" if by_engine else "rule",
            policy=self._policy_name(case.agent),
            rule_id=decision.rule_id,
            reason=reason,
            digest=self._digest(case, content),
            effects=case.effects,
        )
        self._parts.recorder.append(decided, agent=case.agent)

    def _allow(self, case: JudgedCall, decision: Decision, judged: dict[str, str]) -> Verdict:
        """Return the verdict that allows a call, with the permissions of its commands."""
        # Under `plan`, and for commands that only read, the workspace is read-only in case the policy misjudged a
        # command.
        policy = self._policy_name(case.agent)
        network = NETWORK in decision.classes or policy == "bypass"
        written_paths = {
            judged[path] for path in self._parts.policy.written_paths(case.effects) if path in judged
        }
        written_paths -= set(decision.private_temp_paths)
        outside = tuple(sorted(path for path in written_paths if not self._is_inside(path)))
        is_unasked = decision.verdict == "allow"
        is_read_only = (only_reads := decision.classes == (READ_ONLY,)) and is_unasked
        # A broad rule does not open files with secrets; the user, a rule for exactly this call, or bypass does.
        may_read_secrets = not is_unasked or decision.allowed_by_exact_rule or policy == "bypass"
        granted = SandboxGrant(
            judged=judged,
            network=network,
            writable=outside,
            show_secrets_as_empty=is_read_only
            and GIT not in self._parts.policy.started_programs(case.effects),
            readable_secrets=(
                *(judged.values() if may_read_secrets else ()),
                *files_opened_by(self._parts.recorder.state.granted_rules),
            ),
            unnamed_secrets=decision.unnamed_secrets,
            repository_read_only=decision.repository_read_only,
            private_temp_paths=decision.private_temp_paths,
            read_only=is_read_only or policy in _READING_PROFILES,
            unsandboxed=decision.leaves_sandbox,
        )
        return Verdict(True, sandbox_grant=granted, only_reads=only_reads)

    def _is_inside(self, path: str) -> bool:
        """Return True if a real path is the workspace or a file in it."""
        # With the slashes, `/work2` is not inside `/work`.
        return f"{path}/".startswith(self._parts.env.root.rstrip("/") + "/")

    def _policy_name(self, agent: AgentId) -> PolicyName:
        settings = self._parts.recorder.state_of(agent).settings
        return settings.policy if settings else "ask"


def _quote_message(message: str) -> str:
    """Return a sentence for the model with the user's message. Other sentences can follow."""
    end = "" if message.endswith((".", "!", "?")) else "."
    return f' The user says: "{message}"{end}'


def _with_arguments(case: JudgedCall, preview: Preview) -> Preview:
    """Return `preview`. Add the call's arguments to an empty preview, unless the user sees them anyway."""
    reads_or_runs = case.effects and all(
        isinstance(effect, ReadEffect | RunEffect) for effect in case.effects
    )
    target_is_all = list(case.call.arguments.values()) in ([], [case.tool.target(case.args)])
    if preview.blocks or reads_or_runs or target_is_all:
        return preview
    arguments = json.dumps(case.call.arguments, indent=2, ensure_ascii=False)
    return replace(preview, blocks=(TextBlock(text=arguments),))
