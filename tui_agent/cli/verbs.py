"""The table of commands. Invariant: plain names; a command's module is imported only when it is called."""

from typing import NamedTuple


class Verb(NamedTuple):
    """One command: the module that implements it, and what the list of commands says about it.

    The module has `configure(parser)` and `run(arguments) -> int`, and `COMMON`: the groups of common options
    that mean something for it.
    """

    module: str
    summary: str


VERBS: dict[str, Verb] = {
    "run": Verb("tui_agent.cli.run.command", "one turn without a screen; prints the answer"),
    "demo": Verb("tui_agent.cli.run.demo", "a built-in scenario, offline, live in the app"),
    "sessions": Verb("tui_agent.cli.sessions.command", "list the recorded sessions, or show one's events"),
    "trace": Verb("tui_agent.cli.trace", "a session's figures: events, tools, files, tokens, cost, answer"),
    "checkout-part": Verb("tui_agent.cli.checkout_part", "the workspace as it was after a part of a session"),
    "compare": Verb("tui_agent.cli.compare.command", "two sessions, or branches, side by side"),
    "replay": Verb("tui_agent.cli.replay.command", "a recorded session as it was at any of its events"),
    "map": Verb("tui_agent.cli.map", "a repository's files ranked for a question, with their symbols"),
    "policy": Verb("tui_agent.cli.policy.command", "how a command line would be judged"),
    "redact": Verb("tui_agent.cli.redact", "text without its secrets, line for line"),
    "models": Verb("tui_agent.cli.models", "list the models, or check that one answers"),
    "agents": Verb("tui_agent.cli.agents", "list the agents"),
    "plugins": Verb("tui_agent.cli.plugins", "list, start or check plugins"),
    "themes": Verb("tui_agent.cli.themes", "list or preview themes"),
    "config": Verb("tui_agent.cli.config", "show the settings and where each comes from"),
    "trust": Verb("tui_agent.cli.trust", "whether a folder's own files may steer the program"),
    "bug": Verb("tui_agent.cli.bug", "a report of what went wrong, as a file; nothing is sent"),
    "doctor": Verb("tui_agent.cli.doctor.command", "what works here, what does not, and what to do about it"),
}

APP = Verb("tui_agent.cli.app", "the full-screen app on the current directory")
