"""The working memory of a task: applies updates to its blocks, and formats them for the user and the model.

Invariant: the size of the memory is limited.
"""

import re
from collections.abc import Sequence
from typing import Final

from tui_agent.protocol.events.context import MemoryUpdated
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.stored_text import JsonMap

TITLES: Final = {
    "task": "Task",
    "failing_tests": "Failing tests",
    "explored_files": "Files read",
    "relevant_symbols": "Symbols",
    "patch_summary": "Changed so far",
    "verified_facts": "Verified facts",
    "open_questions": "Open questions",
}
"""Titles of the blocks of the memory, in order."""

MAX_ITEMS: Final = {"explored_files": 30, "relevant_symbols": 24, "verified_facts": 12, "open_questions": 8}
"""Maps the name of a block to its maximum number of items. If there are more, outdated and old items are dropped."""
MAX_CHANGED_FILES: Final = 200
DIGEST_CHARS: Final = 12
"""Number of stored characters of the SHA-256 of a file's original content."""
_PLACES_SUFFIX = re.compile(r" \[([^\[\]]*)\]$")
_CHANGED_SUFFIX = " was changed since"
_NOTE_START = re.compile(r"; (?=\S)")


def command_fact(command: str, result: str) -> str:
    """Return the text of a fact about a command: `result` is a word such as `failed` or `passed`."""
    return f"`{command}` {result}"


def fact_with_places(fact: str, places: Sequence[str]) -> str:
    """Return the text of a fact, followed by its locations in the source, such as `src/app.py:10-24`."""
    return f"{fact} [{', '.join(places)}]"


def apply_update(memory: JsonMap, update: MemoryUpdated) -> JsonMap:
    """Return the memory after an update. The update replaces blocks, removes items, and appends items, in this order."""
    updated: JsonMap = {**memory, **update.blocks}
    for block in {**update.removed, **update.appended}:
        replaced = {*update.removed.get(block, ()), *update.appended.get(block, ())}
        remaining = [
            item
            for item in block_items(updated, block)
            if item not in replaced and strip_change_note(item) not in replaced
        ]
        updated[block] = [
            *_limit_items([*remaining, *dict.fromkeys(update.appended.get(block, ()))], MAX_ITEMS.get(block))
        ]
    return updated


def apply_file_change(memory: JsonMap, change: FileChanged) -> JsonMap:
    """Return the memory after a file changed, with facts about the file marked as outdated."""
    updated: JsonMap = {**memory}
    path, summary = change.path, memory.get("patch_summary")
    changes = dict(summary) if isinstance(summary, dict) else {}
    if change.author != "human" or path in changes:
        original = changes.pop(path, (change.disk_sha256_before or "")[:DIGEST_CHARS])
        # A file with its original content again is no longer a change.
        if original != (change.disk_sha256_after or "")[:DIGEST_CHARS]:
            changes[path] = original
        updated["patch_summary"] = dict(list(changes.items())[-MAX_CHANGED_FILES:])
    facts = block_items(memory, "verified_facts")
    if facts:
        updated["verified_facts"] = [
            f"{item}; {path} was changed since" if _depends_on(item, path) else item for item in facts
        ]
    if change.disk_sha256_after is None:
        for block, suffix in (("explored_files", path), ("relevant_symbols", f"({path})")):
            if any(item.endswith(suffix) for item in block_items(memory, block)):
                updated[block] = [
                    item
                    for item in block_items(memory, block)
                    if item != suffix and not item.endswith(f" {suffix}")
                ]
    return updated


def apply_mentions(memory: JsonMap, mentions: Sequence[Mention]) -> JsonMap:
    """Return the memory after a user's message. Mentioned files count as read, because the model gets their text."""
    paths = [
        mention.path for mention in mentions if mention.path and mention.kind in ("file", "symbol", "image")
    ]
    return apply_update(memory, MemoryUpdated(appended={"explored_files": tuple(paths)})) if paths else memory


def strip_change_note(fact: str) -> str:
    """Return a fact without the note `; … was changed since`. The note marks outdated facts."""
    return _NOTE_START.split(fact, maxsplit=1)[0] if fact.endswith(_CHANGED_SUFFIX) else fact


def block_items(memory: JsonMap, block: str) -> list[str]:
    """Return the items of a list in the memory; empty if the block is not a list."""
    items = memory.get(block)
    return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []


def block_lines(memory: JsonMap, block: str) -> list[str]:
    """Return a block of the memory as lines for people and models."""
    match memory.get(block):
        case dict() as value if block == "task":
            return [f"{name}: {detail}" for name, detail in value.items() if detail]
        case dict() as value:
            return list(value)
        case list() as value:
            return [str(item) for item in value]
        case _:
            return []


def list_blocks(memory: JsonMap) -> list[tuple[str, list[str]]]:
    """Return (title, lines) for each non-empty block of the memory, in order."""
    blocks = [(title, block_lines(memory, name)) for name, title in TITLES.items()]
    return [(title, text_lines) for title, text_lines in blocks if text_lines]


def _limit_items(items: Sequence[str], max_count: int | None) -> Sequence[str]:
    """Return up to `max_count` items. Outdated facts are dropped first, then the oldest items."""
    if max_count is None or len(items) <= max_count:
        return items
    outdated = [item for item in items if strip_change_note(item) != item][: len(items) - max_count]
    return [item for item in items if item not in outdated][-max_count:]


def _depends_on(fact: str, path: str) -> bool:
    """Return True if a fact depends on this file and is not marked as outdated yet."""
    if strip_change_note(fact) != fact:
        return False
    places = _PLACES_SUFFIX.search(fact)
    if places is None:
        return fact.startswith("`")
    return any(place.rpartition(":")[0] == path or place == path for place in places[1].split(", "))
