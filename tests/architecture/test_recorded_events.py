"""Each kind of event is recorded by some part of the program, or its description says that none does."""

import ast

from tests.architecture.source import product
from tui_agent.protocol.events.union import KINDS


def test_an_event_says_so_exactly_if_no_part_of_the_program_records_it() -> None:
    calls = [node.func for source in product() for node in source.nodes if isinstance(node, ast.Call)]
    built = {func.id if isinstance(func, ast.Name) else getattr(func, "attr", "") for func in calls}
    reserved = {
        kind
        for kind, cls in KINDS.items()
        if "No part of this version records this event" in (cls.__doc__ or "")
    }
    assert reserved == {kind for kind, cls in KINDS.items() if cls.__name__ not in built}
