"""L1: the working memory of a task as lines, for a person and for a model."""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from tui_agent.protocol.base import JsonMap

BLOCKS: Final = (
    "task",
    "failing_tests",
    "explored_files",
    "relevant_symbols",
    "patch_summary",
    "verified_facts",
    "open_questions",
)
TITLES: Final = {
    "task": "Task",
    "failing_tests": "Failing tests",
    "explored_files": "Files looked at",
    "relevant_symbols": "Symbols",
    "patch_summary": "Changed so far",
    "verified_facts": "Shown to hold",
    "open_questions": "Open",
}

MOST: Final = {"explored_files": 30, "relevant_symbols": 24}
"""Of the blocks to which something is added: so many, the newest."""


def with_newest(memory: JsonMap, newest: Mapping[str, Sequence[str]]) -> JsonMap:
    """The memory with these behind what its lists hold; of what was there already only the newest place stays."""
    more: JsonMap = {}
    for block, items in newest.items():
        held = memory.get(block)
        known = [one for one in held if isinstance(one, str)] if isinstance(held, list) else []
        together = dict.fromkeys(one for one in known if one not in items)
        together.update(dict.fromkeys(items))
        more[block] = [*list(together)[-MOST.get(block, len(together)) :]]
    return {**memory, **more}


def lines(memory: JsonMap, block: str) -> list[str]:
    """A block as a person and a model read it; empty where nothing is in it."""
    match memory.get(block):
        case dict() as held if block == "task":
            return [f"{name}: {value}" for name, value in held.items() if value]
        case dict() as held:
            return [f"{name} +{added} -{removed}" for name, (added, removed) in _pairs(held)]
        case list() as held:
            return [str(one) for one in held]
        case _:
            return []


def told(memory: JsonMap) -> list[tuple[str, list[str]]]:
    """Each block that has something in it: its title and its lines, in order."""
    blocks = [(TITLES[name], lines(memory, name)) for name in BLOCKS]
    return [(title, some) for title, some in blocks if some]


def _pairs(held: JsonMap) -> list[tuple[str, tuple[int, int]]]:
    pairs = [(name, value) for name, value in held.items() if isinstance(value, list) and len(value) == 2]
    return [(name, (_number(value[0]), _number(value[1]))) for name, value in pairs]


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0
