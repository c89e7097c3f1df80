"""Run suites of tasks and compare models and configurations; show how many tests passed during a session."""

from tui_agent.cli.evals.commits import add_commits_verb
from tui_agent.cli.evals.freeze import add_freeze_verb
from tui_agent.cli.evals.graph import add_graph_verb
from tui_agent.cli.evals.report import add_report_verb
from tui_agent.cli.evals.suite_list import add_list_verb
from tui_agent.cli.evals.suite_run import EXAMPLES, add_suite_verbs
from tui_agent.cli.options import Parser, Verbs


def configure(parser: Parser) -> None:
    """Add the subcommands of `eval`."""
    verbs = Verbs(parser, EXAMPLES)
    add_suite_verbs(verbs)
    add_list_verb(verbs)
    add_report_verb(verbs)
    add_graph_verb(verbs)
    add_commits_verb(verbs)
    add_freeze_verb(verbs)
