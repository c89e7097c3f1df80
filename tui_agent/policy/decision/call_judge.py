"""The judge of one tool call: judges the tool itself, and each effect of the call.

Invariant: each decision has its own judge, so no state is kept between decisions.
"""

from collections.abc import Callable

from tui_agent.policy.decision.command_judge import CommandJudge
from tui_agent.policy.decision.file_judge import FileJudge
from tui_agent.policy.decision.judgement import Judgement
from tui_agent.policy.decision.line_uses import Lines
from tui_agent.policy.decision.profiles import PROFILES
from tui_agent.policy.decision.rule_index import (
    RuleIndex,
    first_judgement,
    rule_judgement,
    stopping_judgement,
)
from tui_agent.policy.interpreter.command_report import FileUse, LineReport
from tui_agent.policy.places.path_places import Guards, place
from tui_agent.policy.rules.grammar import BINDING, bound_name
from tui_agent.policy.rules.hosts import is_private_host, read_host
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import (
    Effect,
    InternalEffect,
    McpCallEffect,
    NetworkEffect,
    ReadEffect,
    RunEffect,
    WriteEffect,
)


class CallJudge:
    """Judges one tool call.

    `read_line`: function that interprets any command line.
    `lines`: reports on the call's own command lines.
    """

    def __init__(
        self,
        rules: RuleIndex,
        guards: Guards,
        facts: PolicyFacts,
        tool: str,
        read_line: Callable[[RunEffect], LineReport],
        lines: Lines,
    ) -> None:
        self._rules = rules
        self._facts = facts
        self._profile = PROFILES[facts.policy]
        self._name = tool
        self._tool_rules = rules.rules_for_tool(tool)
        self._allowed = first_judgement(self._tool_rules, "allow")
        self._files = FileJudge(rules, guards, self._profile, facts, self._allowed)
        self._lines = lines
        self._commands = CommandJudge(rules, self._files, self._profile, facts, read_line)

    def judge_tool(self, *, known: bool) -> list[Judgement]:
        """Return the judgements about the tool itself.

        `known`: True if the call's effects are known. `allow` rules for the tool are then ignored, because each effect
        is judged by itself.
        """
        allowed = self._facts.allowed_tools
        if allowed is not None and self._name not in allowed:
            return [Judgement("deny", "tools.not-allowed", f"the tool {self._name} is not allowed here")]
        judgements = [rule_judgement(rule) for rule in self._tool_rules if rule.verdict != "allow"]
        if not known and self._allowed is not None and self._profile.hears_allow_rules:
            judgements.append(self._allowed)
        return judgements

    def judge(self, effect: Effect) -> list[Judgement]:
        """Return the judgements about one effect of the call, such as reading a file or running a command line."""
        match effect:
            case InternalEffect():
                return [Judgement("allow", "internal", "it affects only this session")]
            case ReadEffect():
                use = FileUse(effect.path, "read", below=effect.recursive)
                return [self._files.judge_place(use, place(effect.path, self._facts))]
            case WriteEffect(removes=removes):
                use = FileUse(effect.path, "delete" if removes else "write", below=removes)
                return [self._files.judge_place(use, place(effect.path, self._facts))]
            case NetworkEffect():
                return [self._connect(effect.host)]
            case RunEffect():
                return self._commands.judge(effect, self._lines[effect])
            case McpCallEffect():
                return [self._call(effect)]

    def _call(self, effect: McpCallEffect) -> Judgement:
        """Judge a call of an MCP server's tool."""
        # A rule can allow a tool that only reads, even if the profile denies such calls. A rule saved by an approval
        # ends when the tool's description or schema changes.
        bound = bound_name(self._name, effect)
        allowed = self._allowed or first_judgement(self._rules.rules_for_tool(bound), "allow")
        policy, verdict = self._facts.policy, self._profile.calls
        if verdict == "deny" and effect.read_only and allowed is not None:
            return allowed
        why = f"policy {policy} {'allows no' if verdict == 'deny' else 'requires approval for'} calls to MCP servers"
        saved = any(rule.rest.startswith(f"{self._name}{BINDING}") for rule in self._rules.rules_for("tool"))
        if verdict == "ask" and saved:
            why = f"the server {effect.server} changed this tool since you allowed it"
        return self._files.by_profile(verdict, allowed, "calls", why)

    def _connect(self, host: str) -> Judgement:
        parsed = read_host(host)
        if parsed is None:
            return Judgement("deny", "guard.host", f"it is not certain which host {host[:80]!r} means")
        rules = self._rules.rules_for_host(host)
        allowed = first_judgement(rules, "allow")
        # Local servers and the metadata services of clouds often need no login, so a careless yes would be enough.
        if allowed is None and is_private_host(parsed):
            why = f"{host} is this machine or in a private network; only a rule in policy.toml can allow this: `allow connect {host}`"
            return Judgement("deny", "network.private", why)
        stopped = stopping_judgement(rules)
        verdict = self._profile.connects
        if stopped is not None and (stopped.verdict == "deny" or verdict != "deny"):
            return stopped
        says = "allows no network" if verdict == "deny" else "requires approval for network access"
        why = f"policy {self._facts.policy} {says}"
        return self._files.by_profile(verdict, allowed or self._allowed, "network", why)
