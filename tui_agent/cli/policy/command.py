"""Show what the policy decides about a command line, list your rules, or check rules and program tables."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tui_agent.cli.console.exit_codes import Exit
from tui_agent.cli.console.output import dim, escape_control, say, say_json, say_json_lines, say_result
from tui_agent.cli.console.shared_options import POLICIES, Parser, Verbs, add_flag, add_option, load_context
from tui_agent.cli.policy import rule_trial
from tui_agent.cli.policy.rule_trial import OPTION_GROUPS, load_program_tables
from tui_agent.engine.tools.judged_call import find_named_deletions
from tui_agent.errors import EnvironmentFault, UsageError
from tui_agent.policy.decision.call_classes import CLASS_DESCRIPTIONS
from tui_agent.policy.decision.escalations import GIT
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.decision.rule_file import remove_rule
from tui_agent.policy.decision.table_check import check_table_path
from tui_agent.policy.rules.grammar import Rule
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Effect, RunEffect
from tui_agent.wiring.environments import build_confinement, find_sandbox
from tui_agent.wiring.policy import RULES_FILE, load_rules, make_policy
from tui_agent.wiring.startup_context import StartupContext
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.local.secret_files import find_public_certificates

EXAMPLES = """\
examples:
  tui-agent policy check -- git status
  tui-agent policy check --policy accept-edits -- 'rm -rf build && make'
  tui-agent policy check --explain -- 'git diff | head'
  printf '{"command": "curl x | sh"}\\n' | tui-agent policy check --stdin
"""
TABLE_EXAMPLES = """\
examples:
  tui-agent policy check-table ~/.config/tui-agent/programs.toml
"""
REMOVE_EXAMPLES = """\
examples:
  tui-agent policy remove 'allow run pytest *'
"""
RULES_EXAMPLES = """\
examples:
  tui-agent policy rules
  tui-agent policy rules --json | jq -r .rule
"""
TOOL = "run_command"


def configure(parser: Parser) -> None:
    """Add the subcommands of `policy`."""
    verbs = Verbs(parser, EXAMPLES)
    check = verbs.add(
        "check",
        check_command,
        "show what a command line does and what the policy decides about it",
        groups=OPTION_GROUPS,
    )
    add_option(check, "--policy", "the policy profile to use (default: ask)", choices=POLICIES, default="ask")
    add_flag(
        check,
        "--stdin",
        'read {"command": "…"} lines and print a decision for each as JSON; exit status 1 if a line is invalid',
    )
    add_flag(check, "--explain", "also print the chain of reasons, one per line")
    check.add_argument("command", nargs="*", metavar="COMMAND", help="the command line, after --")
    table = verbs.add(
        "check-table",
        check_table_file,
        "check a program table and its examples",
        examples=TABLE_EXAMPLES,
    )
    table.add_argument("file", metavar="FILE", type=Path, help="a program table, such as programs.toml")
    rule_trial.add_verbs(verbs)
    rules = verbs.add(
        "rules",
        list_rules,
        "list the rules that apply here, their scope and their files",
        examples=RULES_EXAMPLES,
        groups=OPTION_GROUPS,
    )
    add_flag(rules, "--all", "also list your rules for other projects")
    remove = verbs.add(
        "remove",
        remove_saved_rule,
        "remove a rule for this project from your policy.toml",
        examples=REMOVE_EXAMPLES,
        groups=OPTION_GROUPS,
    )
    add_flag(
        remove, "--everywhere", "remove a rule that applies in every project (default: only in this project)"
    )
    remove.add_argument(
        "rule", metavar="RULE", help="the rule as `policy rules` prints it: 'allow run pytest *'"
    )


def check_command(arguments: argparse.Namespace) -> int:
    """Print the decision about one command line, or about each line of standard input."""
    base = load_context(arguments)
    catalog = load_program_tables(base)
    policy = make_policy(load_rules(base), base, catalog)
    bench = PolicyBench.for_workspace(base, policy)
    if arguments.stdin:
        return answer_lines(bench, explain=arguments.explain)
    command = " ".join(arguments.command)
    if not command.strip():
        raise UsageError("No command line given.", hint="Example: tui-agent policy check -- git status")
    judged = bench.judge(command)
    decision = judged.decision
    if arguments.json:
        say_json(as_json(command, judged, explain=arguments.explain))
        return 0
    say(f"{decision.verdict}: {escape_control(command)}")
    say(f"  effects {', '.join(CLASS_DESCRIPTIONS[name] for name in decision.classes) or '-'}")
    say(f"  rule    {decision.rule_id}")
    say(f"  because {decision.reason}")
    if decision.risk:
        say(f"  risk    {decision.risk}")
    if decision.repository_read_only:
        say(f"  sandbox {bench.env.sandbox.kind} limits what the command can change")
    if judged.allowed_if_restorable:
        files = escape_control(" and ".join(judged.allowed_if_restorable))
        say(f"  session runs the command without your approval if /undo can restore {files}")
    for reason in judged.reasons if arguments.explain else ():
        say(f"  {escape_control(reason)}")
    return 0


def check_table_file(arguments: argparse.Namespace) -> int:
    """Print each error in a program table with its position; return 1 if there are any."""
    path: Path = arguments.file
    faults = check_table_path(path)
    for fault in faults:
        say_result(
            {"place": fault.place, "reason": fault.reason},
            f"{escape_control(fault.place)}: {escape_control(fault.reason)}",
            as_json=arguments.json,
        )
    if not faults and not arguments.json:
        say(f"{escape_control(str(path))} is valid.")
    return Exit.FAILED if faults else Exit.DONE


def answer_lines(bench: "PolicyBench", *, explain: bool) -> Exit:
    """Read commands from standard input, and print the decision or the error for each as a JSON line."""
    # A command can contain bytes that are not UTF-8; a shell would run it, so it must be judged and not refused.
    sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    status = Exit.DONE
    for number, line in enumerate(sys.stdin, 1):
        if not line.strip():
            continue
        try:
            command = read_line(line)
        except ValueError as error:
            status = Exit.FAILED
            say_json({"line": number, "error": str(error)})
        else:
            say_json(as_json(command, bench.judge(command), explain=explain))
    return status


def read_line(line: str) -> str:
    """Return the command in an input line such as `{"command": "ls"}`. Raise `ValueError` if the line is invalid."""
    try:
        value = json.loads(line)
    except ValueError as error:
        raise ValueError("the line is not valid JSON") from error
    except RecursionError as error:
        raise ValueError("the line nests values too deeply") from error
    if not isinstance(value, dict):
        raise ValueError('the line is not an object such as {"command": "git status"}')
    if "command" not in value:
        raise ValueError('the object has no "command"')
    if not isinstance(value["command"], str):
        raise ValueError('"command" is not a string')
    return value["command"]


@dataclass(frozen=True)
class JudgedCommand:
    """The policy's decision about a command line, and the reasons in order.

    `allowed_if_restorable`: files that the command deletes. A session allows the command if `/undo` can restore them
    all.
    """

    decision: Decision
    reasons: Sequence[str] = ()
    allowed_if_restorable: Sequence[str] = ()


@dataclass(frozen=True)
class PolicyBench:
    """A policy, and the facts about a workspace that the policy needs for its decisions."""

    policy: RulePolicy
    facts: PolicyFacts
    env: LocalEnvironment

    @classmethod
    def for_workspace(cls, base: StartupContext, policy: RulePolicy) -> "PolicyBench":
        """Collect the facts about the workspace and its sandbox, as a session does at its start."""
        env = LocalEnvironment(base.options.cwd, confinement=build_confinement(base, base.options.cwd))
        scan = env.scan()
        facts = PolicyFacts(
            workspace=env.root,
            policy=base.config.policy,
            interactive=True,
            sandboxed=bool(find_sandbox(base, base.options.cwd).kind),
            secrets=scan.secrets,
            links=scan.links,
            option_names=scan.option_names,
            odd_names=scan.odd_names,
            steering_files=scan.steering_files,
            unscanned=scan.unscanned,
        )
        return cls(policy, facts, env)

    def judge(self, command: str) -> JudgedCommand:
        """Judge a bash script. A script is denied if one of its paths cannot be resolved."""
        effects = (RunEffect(script=command),)
        policy, env = self.policy, self.env
        try:
            paths = policy.decision_paths(effects, self.facts.session_rules)
            expanded = {path: os.path.expanduser(path) for path in paths}  # noqa: PTH111 - as a shell does
            real_paths = env.resolve_all(expanded.values())
        except EnvironmentFault as fault:
            return JudgedCommand(Decision("deny", "guard.path", fault.message))
        programs = policy.started_programs(effects)
        resolved = {path: real_paths[target] for path, target in expanded.items()}
        facts = replace(
            self.facts,
            resolved=resolved,
            private_temp_paths=env.find_private_temp_paths(resolved.values()),
            public_files=find_public_certificates(resolved.values()),
            workspace_programs=env.find_workspace_programs(programs),
            local_programs=env.find_files(policy.local_programs(effects)),
            git_is_steered=GIT in programs and env.git_is_steered(policy.git_folders(effects)),
        )
        decision, reasons = policy.decide(TOOL, effects, facts), policy.explain(TOOL, effects, facts)
        return JudgedCommand(decision, reasons, self._find_deletions_to_allow(effects, facts, decision))

    def _find_deletions_to_allow(
        self, effects: Sequence[Effect], facts: PolicyFacts, decision: Decision
    ) -> list[str]:
        """Return the files that must be restorable for the policy to allow the commands.

        The list is empty if restorable files would not change the decision.
        """
        deleted = find_named_deletions(self.policy, self.env, effects) if decision.verdict == "ask" else []
        facts = replace(facts, restorable_files=frozenset(deleted))
        is_allowed = bool(deleted) and self.policy.decide(TOOL, effects, facts).verdict == "allow"
        return [os.path.relpath(path, self.env.root) for path in deleted] if is_allowed else []


def as_json(command: str, judged: JudgedCommand, *, explain: bool = False) -> dict[str, object]:
    """Return a decision about `command` as a JSON object, with its reasons if `explain` is True."""
    decision, files = judged.decision, list(judged.allowed_if_restorable)
    return {
        "command": command,
        "decision": decision.verdict,
        "classes": list(decision.classes),
        "effects": [RunEffect(script=command).model_dump(mode="json")],
        "rule": decision.rule_id,
        "reason": decision.reason,
        **({"allowed_if_restorable": files} if files else {}),
        **({"explanation": list(judged.reasons)} if explain else {}),
    }


def list_rules(arguments: argparse.Namespace) -> None:
    """Print the rules of the user and of a trusted project, one per line."""
    base = load_context(arguments)
    here = ("", os.path.realpath(base.options.cwd))
    rules = [rule for rule in load_rules(base) if arguments.all or rule.workspace in here]
    load_program_tables(base)
    if arguments.json:
        say_json_lines(rule_to_json(rule) for rule in rules)
        return
    for rule in rules:
        scope = rule.scope if rule.workspace in here else f"in {rule.workspace}"
        say(f"{escape_control(rule.text)}  {dim(escape_control(f'{scope}, {rule.source}'))}")
    if not rules:
        say(f"No rules. Add some in {base.config.paths.config_dir / RULES_FILE}.")


def remove_saved_rule(arguments: argparse.Namespace) -> None:
    """Remove a rule of the user from policy.toml. Rules of projects are never removed."""
    base = load_context(arguments)
    path, rule = base.config.paths.config_dir / RULES_FILE, arguments.rule
    remove_rule(path, rule, "" if arguments.everywhere else os.path.realpath(base.options.cwd))
    scope = "in every project" if arguments.everywhere else "in this project"
    say(f"Removed `{escape_control(rule)}` ({scope}) from {escape_control(str(path))}.")


def rule_to_json(rule: Rule) -> dict[str, object]:
    """Return a policy rule as a JSON object.

    - `bounded`: True for a project's rule, which can allow actions only inside the project.
    - `workspace`: the workspace of a user's rule; empty for all workspaces.
    - `scope`: where the rule applies, in words.
    """
    return {
        "rule": rule.text,
        "verdict": rule.verdict,
        "what": rule.kind,
        "about": rule.rest,
        "source": rule.source,
        "bounded": rule.bounded,
        "workspace": rule.workspace,
        "scope": rule.scope,
    }
