"""The writer of a case's TOML file, with comments for the person who edits it."""

from collections.abc import Mapping

import tomlkit

from tui_agent.fast_dataclass import dataclass

BUDGET_FACTOR = 2
"""Factor for a new case's limits of message parts and iterations.

Each limit is this many times the number that the session used.
"""


@dataclass(frozen=True, slots=True)
class CaseDraft:
    """The content of a case that was made from a session.

    `parts`, `iterations`: numbers of parts and iterations in the session.
    """

    session: str
    messages: tuple[str, ...]
    policy: str
    allowed_tools: tuple[str, ...] | None
    fixture: str
    recording: str
    test_command: str
    tools: tuple[str, ...]
    files: Mapping[str, str]
    parts: int
    iterations: int


def format_case(name: str, draft: CaseDraft) -> str:
    """Return the text of `case.toml` for the case in the folder `name`."""
    document = tomlkit.document()
    document.add(
        tomlkit.comment(f"Frozen from the session {draft.session}. To replay it without an API key:")
    )
    document.add(tomlkit.comment(f"tui-agent eval run {name} -m oracle"))
    first, *others = draft.messages
    document["prompt"] = tomlkit.string(first, multiline="\n" in first)
    if others:
        document["follow_ups"] = tomlkit.item(others).multiline(multiline=True)
    document["category"] = "frozen"
    document["policy"] = draft.policy
    if draft.allowed_tools is not None:
        document["allowed_tools"] = list(draft.allowed_tools)
    document["fixture"] = draft.fixture
    document["recording"] = draft.recording
    if draft.test_command:
        document["test_command"] = draft.test_command
        document["test_command"].comment("the last tests that passed")
    document["budgets"] = tomlkit.table()
    document["budgets"].comment(f"{BUDGET_FACTOR} times what the session used")
    document["budgets"]["max_parts"] = BUDGET_FACTOR * draft.parts
    document["budgets"]["max_iterations"] = BUDGET_FACTOR * max(1, draft.iterations)
    document["expected"] = tomlkit.table()
    document["expected"].comment("delete checks that another good solution may fail")
    document["expected"]["tools"] = list(draft.tools)
    if draft.files:
        document["expected"]["files"] = dict(draft.files)
    return tomlkit.dumps(document)
