"""What `sessions tree --json` says, as rows: branches and forks, each with the messages that were said on it.

Invariant: plain data; a field that is missing or of another type is empty, nothing is raised.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from tui_agent.tui.cli_client import JsonRow, json_rows, number_of, text_of


@dataclass(frozen=True, slots=True)
class Came:
    """What came of something: how it stands, in words, and what it cost, changed and called."""

    state: str = ""
    words: str = ""
    answer: str = ""
    files: tuple[tuple[str, int, int], ...] = ()
    tools: tuple[tuple[str, int], ...] = ()
    cost_usd: float | None = None
    duration_s: float = 0.0
    iterations: int = 0
    tests_passed: int | None = None
    tests_failed: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """One row: a branch, or (`message`) what was said on it. `last_seq` is where one goes, `seq` where it begins.

    `current`: the open session stands on this branch. `turns` and `changed` are a branch's.
    """

    session: str
    kind: str
    name: str
    depth: int
    seq: int
    last_seq: int
    at: float
    came: Came
    title: str = ""
    workspace: str = ""
    path: str = ""
    at_seq: int | None = None
    current: bool = False
    message: bool = False
    text: str = ""
    again: str = ""
    """Without a text of its own: the message that is answered again."""
    turns: int = 0
    changed: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, int, bool]:
        """What tells it from every other row, also after the tree was read again."""
        return self.session, self.seq, self.message


def tree_rows(said: str) -> list[Node]:
    """The rows of a tree in drawing order."""
    found: list[Node] = []
    for row in json_rows(said):
        head = _branch(row)
        messages = [_message(head, one) for one in _objects(row.get("prompts"))]
        known = {one.seq: one.text for one in found if one.message}
        messages = [replace(one, again=known.get(one.at_seq or -1, "")) for one in messages]
        found += [replace(head, came=_whole(head.came, messages)), *messages]
    return found


def _branch(row: JsonRow) -> Node:
    at_seq = _whole_number(row.get("at_seq"))
    kind = text_of(row, "kind") or "main"
    outcome = row.get("outcome")
    ended = outcome if isinstance(outcome, dict) else {}
    return Node(
        session=text_of(row, "session"),
        kind=kind,
        name=kind if at_seq is None else f"{kind} at {at_seq}",
        depth=round(number_of(row, "depth")),
        seq=round(number_of(row, "first_seq")),
        last_seq=round(number_of(row, "last_seq")),
        at=number_of(row, "started"),
        came=Came(text_of(ended, "state"), text_of(ended, "words"), cost_usd=_amount(row.get("cost_usd"))),
        title=text_of(row, "title"),
        workspace=text_of(row, "workspace"),
        path=text_of(row, "path"),
        at_seq=at_seq,
        current=row.get("current") is True,
        turns=round(number_of(row, "turns")),
        changed=tuple(one for one in _list(row.get("changed")) if isinstance(one, str)),
    )


def _message(branch: Node, row: JsonRow) -> Node:
    return replace(
        branch,
        seq=round(number_of(row, "seq")),
        last_seq=round(number_of(row, "last_seq")),
        at=number_of(row, "at"),
        text=text_of(row, "text"),
        message=True,
        came=_came(row),
    )


def _came(row: JsonRow) -> Came:
    outcome, tools = row.get("outcome"), row.get("tools")
    ended = outcome if isinstance(outcome, dict) else {}
    called = tools if isinstance(tools, dict) else {}
    return Came(
        state=text_of(ended, "state"),
        words=text_of(ended, "words"),
        answer=text_of(row, "answer"),
        files=tuple(
            (text_of(one, "path"), round(number_of(one, "added")), round(number_of(one, "removed")))
            for one in _objects(row.get("files"))
        ),
        tools=tuple((name, count) for name, count in called.items() if isinstance(count, int)),
        cost_usd=_amount(row.get("cost_usd")),
        duration_s=number_of(row, "duration_s"),
        iterations=round(number_of(row, "iterations")),
        tests_passed=_whole_number(row.get("tests_passed")),
        tests_failed=_whole_number(row.get("tests_failed")),
    )


def _whole(ended: Came, messages: Sequence[Node]) -> Came:
    """What a branch's messages came to together; the answer and the tests are those of the newest that has any."""
    files: dict[str, tuple[int, int]] = {}
    tools: dict[str, int] = {}
    for one in messages:
        for path, added, removed in one.came.files:
            before = files.get(path, (0, 0))
            files[path] = before[0] + added, before[1] + removed
        for name, count in one.came.tools:
            tools[name] = tools.get(name, 0) + count
    tested = next((one.came for one in reversed(messages) if one.came.tests_passed is not None), ended)
    return replace(
        ended,
        answer=next((one.came.answer for one in reversed(messages) if one.came.answer), ""),
        files=tuple((path, *counts) for path, counts in files.items()),
        tools=tuple(tools.items()),
        duration_s=sum(one.came.duration_s for one in messages),
        iterations=sum(one.came.iterations for one in messages),
        tests_passed=tested.tests_passed,
        tests_failed=tested.tests_failed,
    )


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _objects(value: JsonValue) -> list[JsonRow]:
    return [one for one in _list(value) if isinstance(one, dict)]


def _whole_number(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _amount(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
