"""Evaluate sessions: show the progress of one by the tests that it ran."""

from tui_agent.cli.evals.graph import EXAMPLES, add_graph_verb
from tui_agent.cli.options import Parser, Verbs


def configure(parser: Parser) -> None:
    """Add the verbs of `eval`."""
    add_graph_verb(Verbs(parser, EXAMPLES))
