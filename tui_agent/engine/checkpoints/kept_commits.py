"""Finds git commits that were made during turns. An undo of the turns keeps these commits.

Invariant: this module runs no program, and only reads the repository's reflog.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tui_agent.config.project.repository import MAX_BYTES, find_repository, read_small_text
from tui_agent.engine.recorder import Recorder
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.session import MAX_KEPT_COMMITS
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted

MAX_SUBJECT_CHARS = 72
_NEW_COMMIT = ("commit", "cherry-pick", "revert")
"""The first words of the reflog's lines about a new commit."""


def find_kept_commits(recorder: Recorder, after: int) -> tuple[str, ...]:
    """Return the newest commits of the turns since the event `after`, oldest first. Blocks."""
    spans = list(_turn_spans(recorder.records_after(after - 1)))
    commits = find_new_commits(Path(recorder.state.workspace), spans) if spans else []
    return tuple(commits[-MAX_KEPT_COMMITS:])


def _turn_spans(records: Iterable[Record]) -> Iterator[tuple[float, float]]:
    """Yield the start and the end of each turn, in seconds since the epoch.

    `records`: begins with the last event before the first turn.
    """
    start, ended = 0.0, 0.0
    for number, record in enumerate(records):
        payload = record.payload
        if number == 0:
            ended = record.time
        elif number == 1 or isinstance(payload, TurnStarted):
            is_first = isinstance(payload, TurnStarted) and payload.turn == 1
            start = record.time if is_first else max(record.time, int(ended) + 1.0)
        elif isinstance(payload, TurnFinished):
            yield start, record.time
            ended = record.time


def find_new_commits(root: Path, spans: Sequence[tuple[float, float]]) -> list[str]:
    """Return the commits made during the time spans, oldest first. Blocks.

    `spans`: (start, end) in seconds since the epoch.
    """
    repository = find_repository(root)
    text = "" if repository is None else read_small_text(repository.git_folder / "logs/HEAD", 16 * MAX_BYTES)
    parents: dict[str, str] = {}
    subjects: dict[str, str] = {}
    for line in text.splitlines():
        head, _, message = line.partition("\t")
        words = head.split()
        action, _, subject = message.partition(": ")
        if len(words) < 4 or not words[-2].isdigit():
            continue
        old, new, time = words[0], words[1], int(words[-2])
        if action == "commit (amend)":
            old = parents.pop(old, old)
        elif action.startswith("reset"):
            parents = _commits_after_reset(new, parents)
        if action.startswith(_NEW_COMMIT) and any(int(start) <= time <= end for start, end in spans):
            parents[new], subjects[new] = old, subject
    return [f"{commit[:7]} {_clean(subjects[commit])}" for commit in parents]


def _commits_after_reset(end: str, parents: Mapping[str, str]) -> dict[str, str]:
    """Return the commits before the first commit whose parent is `end`. They remain after a reset to `end`.

    `parents`: maps each commit to its parent.
    """
    left: dict[str, str] = {}
    for commit, parent in parents.items():
        if parent == end:
            break
        left[commit] = parent
    return left


def _clean(subject: str) -> str:
    text = subject.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text if len(text) <= MAX_SUBJECT_CHARS else f"{text[: MAX_SUBJECT_CHARS - 1]}…"
