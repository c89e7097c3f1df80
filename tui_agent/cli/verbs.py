"""L7: the table of commands. Invariant: plain names; a command's module is imported only when it is called."""

from typing import NamedTuple


class Verb(NamedTuple):
    """One command: the module that implements it, and what the list of commands says about it.

    The module has `configure(parser)` and `run(arguments) -> int`, and `COMMON`: the groups of common options
    that mean something for it.
    """

    module: str
    summary: str


VERBS: dict[str, Verb] = {}

APP = Verb("tui_agent.cli.app", "the full-screen app on the current directory")
