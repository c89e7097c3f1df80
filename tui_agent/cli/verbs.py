"""The table of commands. Invariant: a command's module is imported only when it is called."""

from typing import NamedTuple


class Verb(NamedTuple):
    """One command: its module and its line in the list of commands.

    The module has `configure(parser)` and `run(arguments) -> int`.
    """

    module: str
    summary: str


VERBS: dict[str, Verb] = {
    "run": Verb("tui_agent.cli.run.command", "run one turn without the app and print the answer"),
    "demo": Verb("tui_agent.cli.run.demo", "watch a built-in scenario, offline"),
    "sessions": Verb("tui_agent.cli.sessions.command", "list, show and manage recorded sessions"),
    "trace": Verb("tui_agent.cli.trace", "show a session's figures: events, tools, files, tokens, cost"),
    "checkout-part": Verb("tui_agent.cli.checkout_part", "write the workspace as it was after a part"),
    "compare": Verb("tui_agent.cli.compare.command", "compare two sessions or branches"),
    "replay": Verb("tui_agent.cli.replay.command", "show a recorded session at any of its events"),
    "map": Verb("tui_agent.cli.map", "rank a repository's files for a question"),
    "policy": Verb("tui_agent.cli.policy.command", "show how a command line would be judged"),
    "redact": Verb("tui_agent.cli.redact", "remove secrets from text on standard input"),
    "models": Verb("tui_agent.cli.models", "list the models, or check that one answers"),
    "agents": Verb("tui_agent.cli.agents", "list the agents"),
    "plugins": Verb("tui_agent.cli.plugins", "list, create, check or disable plugins"),
    "themes": Verb("tui_agent.cli.themes", "list or preview themes"),
    "config": Verb("tui_agent.cli.config", "show settings and where they come from"),
    "trust": Verb("tui_agent.cli.trust", "decide if a folder's own files may steer the program"),
    "bug": Verb("tui_agent.cli.bug", "write a bug report to a file; nothing is sent"),
    "doctor": Verb("tui_agent.cli.doctor.command", "check the installation and suggest fixes"),
}

APP = Verb("tui_agent.cli.app", "open the app in the current directory")
