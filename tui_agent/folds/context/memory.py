"""The working memory of a task: how what comes and goes changes its blocks, and its lines for a person and a model.

Invariant: pure, and bounded whatever comes. What was shown to hold says so itself where a file that it rests on was
changed since.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.events.context import MemoryUpdated
from tui_agent.protocol.events.files import FileChanged

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
    "verified_facts": "Known to hold",
    "open_questions": "Open",
}

MOST: Final = {"explored_files": 30, "relevant_symbols": 24, "verified_facts": 12, "open_questions": 8}
"""Of the blocks to which something is added: so many, the newest."""
MOST_CHANGED: Final = 200
_RESTS = re.compile(r" \[([^\[\]]*)\]$")
_SINCE = re.compile(r"; \S.* was changed since$")


def of_command(command: str, what: str) -> str:
    """A fact, or a fault, of a command: it rests on all files."""
    return f"`{command}` {what}"


def of_places(fact: str, places: Sequence[str]) -> str:
    """A fact that rests on these places, as `src/app.py:10-24`."""
    return f"{fact} [{', '.join(places)}]"


def after_update(memory: JsonMap, update: MemoryUpdated) -> JsonMap:
    """The memory with what an event says of it: new blocks, then what is gone, then what is new at the end of lists."""
    now: JsonMap = {**memory, **update.blocks}
    for block in {**update.gone, **update.newest}:
        away = {*update.gone.get(block, ()), *update.newest.get(block, ())}
        known = [one for one in texts(now, block) if one not in away and plain(one) not in away]
        now[block] = [*_bounded([*known, *dict.fromkeys(update.newest.get(block, ()))], MOST.get(block))]
    return now


def after_change(memory: JsonMap, change: FileChanged) -> JsonMap:
    """The memory where a file was changed: what the agent changed so far, and facts that may hold no more."""
    now: JsonMap = {**memory}
    path = change.path
    if change.author != "human":
        held = memory.get("patch_summary")
        changes = dict(held) if isinstance(held, dict) else {}
        added, removed = _pair(changes.pop(path, None))
        added, removed = added + change.added, removed + change.removed
        if change.holds is not None or added != removed:  # what came and went again changed nothing
            changes[path] = [added, removed]
        now["patch_summary"] = dict(list(changes.items())[-MOST_CHANGED:])
    facts = texts(memory, "verified_facts")
    if facts:
        now["verified_facts"] = [
            f"{one}; {path} was changed since" if _rests_on(one, path) else one for one in facts
        ]
    if change.holds is None:
        for block, own in (("explored_files", path), ("relevant_symbols", f"({path})")):
            if any(one.endswith(own) for one in texts(memory, block)):
                now[block] = [
                    one for one in texts(memory, block) if one != own and not one.endswith(f" {own}")
                ]
    return now


def plain(fact: str) -> str:
    """A fact without the remark that something it rests on was changed."""
    return _SINCE.sub("", fact)


def texts(memory: JsonMap, block: str) -> list[str]:
    """The items of a block that is a list."""
    held = memory.get(block)
    return [one for one in held if isinstance(one, str)] if isinstance(held, list) else []


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


def _bounded(items: Sequence[str], most: int | None) -> Sequence[str]:
    """The newest; facts that something was changed since go first."""
    if most is None or len(items) <= most:
        return items
    doubtful = [one for one in items if plain(one) != one][: len(items) - most]
    return [one for one in items if one not in doubtful][-most:]


def _rests_on(fact: str, path: str) -> bool:
    """Whether a fact that nothing speaks against yet rests on a file."""
    if plain(fact) != fact:
        return False
    places = _RESTS.search(fact)
    if places is None:
        return fact.startswith("`")
    return any(place.rpartition(":")[0] == path or place == path for place in places[1].split(", "))


def _pairs(held: Mapping[str, JsonValue]) -> Iterator[tuple[str, tuple[int, int]]]:
    return (
        (name, _pair(value)) for name, value in held.items() if isinstance(value, list) and len(value) == 2
    )


def _pair(value: JsonValue) -> tuple[int, int]:
    return (_number(value[0]), _number(value[1])) if isinstance(value, list) and len(value) == 2 else (0, 0)


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0
