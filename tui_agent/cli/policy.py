"""L7: How a command line is judged: what it does, and what the policy makes of it."""

import argparse
import json
import os
import sys
from dataclasses import replace

from tui_agent.cli import policy_rules, policy_try
from tui_agent.cli.options import POLICIES, Parser, add_verb, session_options
from tui_agent.cli.output import printable, say, say_json, warn
from tui_agent.cli.policy_rules import PLACE
from tui_agent.environments.local import LocalEnvironment
from tui_agent.environments.secret_files import SecretFiles
from tui_agent.errors import EnvironmentFault, UsageError
from tui_agent.policy.places.confined import secret_inside
from tui_agent.policy.programs.part import GIT
from tui_agent.ports.policy import Decision, Policy, PolicyFacts
from tui_agent.protocol.effects import Runs
from tui_agent.wiring import judging
from tui_agent.wiring.ground import ground
from tui_agent.wiring.plugins import outside_plugins

EXAMPLES = """\
examples:
  tui-agent policy check -- git status
  tui-agent policy check --policy accept-edits -- 'rm -rf build && make'
  printf '{"command": "curl x | sh"}\\n' | tui-agent policy check --stdin
"""
TOOL = "run_command"


def configure(parser: Parser) -> None:
    """The verbs below `policy`."""
    verbs = parser.add_subparsers(required=True, metavar="check|try|rules")
    check = add_verb(
        verbs,
        "check",
        check_command,
        help="what a command line does and how it is judged",
        examples=EXAMPLES,
        groups=PLACE,
    )
    check.add_argument(
        "--policy", choices=POLICIES, default="ask", help="the profile that judges (default: ask)"
    )
    check.add_argument(
        "--stdin", action="store_true", help='read {"command": "…"} lines, answer one JSON line each'
    )
    check.add_argument("command", nargs="*", metavar="COMMAND", help="the command line, after --")
    policy_try.add_verbs(verbs)
    policy_rules.add_verbs(verbs)


def check_command(arguments: argparse.Namespace) -> int:
    """Judge one command line, or one a line of standard input."""
    base = ground(session_options(arguments, client="headless", interactive=False))
    policy, refused = judging.policy(base, outside_plugins(base).policy_tables)
    for fault in refused:
        warn(f"The plugin {fault.plugin} is left out: {fault.message}")
    env = LocalEnvironment(base.options.cwd)
    facts = PolicyFacts(
        workspace=env.root,
        policy=base.config.policy,
        interactive=True,
        top_of_repository=env.top_of_repository(),
        secrets=SecretFiles(env.root, secret_inside(), base.config.sandbox.readable).look(),
    )
    if arguments.stdin:
        for line in sys.stdin:
            if line.strip():
                command = read_line(line)
                say_json(as_json(command, judge(policy, command, facts, env)))
        return 0
    command = " ".join(arguments.command)
    if not command.strip():
        raise UsageError("No command line is given.", hint="tui-agent policy check -- git status")
    decision = judge(policy, command, facts, env)
    if arguments.json:
        say_json(as_json(command, decision))
        return 0
    classes = ", ".join(decision.classes) or "-"
    say(
        f"{decision.verdict}: {printable(command)}\n  does    {classes}\n  rule    {decision.rule_id}\n  because {decision.reason}"
    )
    if decision.risk:
        say(f"  risk    {decision.risk}")
    return 0


def read_line(line: str) -> str:
    """The command of one JSON line. Raises `UsageError`."""
    try:
        return str(json.loads(line)["command"])
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f'A line is no {{"command": "…"}}: {line.strip()[:80]}', hint="One JSON object a line."
        ) from error


def judge(policy: Policy, command: str, facts: PolicyFacts, env: LocalEnvironment) -> Decision:
    """What the policy says of a script that bash would run, with what `env` knows of the files and programs it names. Where
    a path cannot even be looked up, no call is made in a session either."""
    effects = (Runs(script=command),)
    try:
        paths = policy.paths(effects, facts.granted)
        meant = {path: os.path.expanduser(path) for path in paths}  # noqa: PTH111 - as a shell does
        found = env.resolve_all(meant.values())
    except EnvironmentFault as fault:
        return Decision("deny", "guard.path", fault.message)
    resolved = {path: found[at] for path, at in meant.items()}
    programs = policy.programs(effects)
    own = env.own_programs(programs)
    steered = GIT in programs and env.git_is_steered(policy.git_folders(effects))
    known = replace(facts, resolved=resolved, own_programs=own, git_steered=steered)
    return policy.decide(TOOL, effects, known)


def as_json(command: str, decision: Decision) -> dict[str, object]:
    """A judgement as one JSON object."""
    return {
        "command": command,
        "decision": decision.verdict,
        "classes": list(decision.classes),
        "effects": [Runs(script=command).model_dump(mode="json")],
        "rule": decision.rule_id,
        "reason": decision.reason,
    }
