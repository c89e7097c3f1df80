"""`policy rules`: the rules in force and their sources."""

import argparse

from tui_agent.cli.context import load_context
from tui_agent.cli.options import Verbs
from tui_agent.cli.output import dim, escape_control, say, say_json_lines, warn
from tui_agent.policy.rules.grammar import Rule
from tui_agent.wiring import policy as judging
from tui_agent.wiring.plugins import load_external_plugins

OPTION_GROUPS = ("place", "extensions", "project")
EXAMPLES = """\
examples:
  tui-agent policy rules
  tui-agent policy rules --json | jq -r .rule
"""


def add_verbs(verbs: Verbs) -> None:
    """Add the verb `load_rules`."""
    verbs.add(
        "rules",
        list_rules,
        "list the rules in force and their sources",
        examples=EXAMPLES,
        groups=OPTION_GROUPS,
    )


def list_rules(arguments: argparse.Namespace) -> int:
    """Print a line for each rule of the user and of trusted project files."""
    base = load_context(arguments)
    rules = judging.load_rules(base)
    for fault in judging.load_catalog(base, load_external_plugins(base).policy_tables)[1]:
        warn(f"The plugin {fault.plugin} is not used: {fault.message}")
    if arguments.json:
        say_json_lines(as_json(rule) for rule in rules)
        return 0
    for rule in rules:
        say(f"{escape_control(rule.text)}  {dim(escape_control(rule.source))}")
    if not rules:
        say(f"No rules. Add some in {base.config.paths.config_dir / judging.RULES_FILE}.")
    return 0


def as_json(rule: Rule) -> dict[str, object]:
    """Return a rule as a JSON object. `bounded`: a project's rule, which allows only work on its folder."""
    return {
        "rule": rule.text,
        "verdict": rule.verdict,
        "what": rule.what,
        "about": rule.rest,
        "source": rule.source,
        "bounded": rule.bounded,
    }
