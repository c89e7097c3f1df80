"""What past commits say: files that were touched when the same words were spoken of.

Invariant: only commits that lead to the present one count; merges and commits of very many files say nothing.
"""

from pathlib import Path

from tui_agent.config.git import ask_git, repository_of
from tui_agent.context.repomap.index_db import Kept
from tui_agent.folds.text.word_forms import pieces

MAX_COMMITS = 4_000
GIT_S = 20.0
MAX_TOUCHED = 30
MAX_MESSAGE = 4_000
BEST = 60
_MARK, _FIELD = "\x02", "\x03"


def head(root: Path) -> str:
    """The present commit; empty where there is none."""
    repository = repository_of(root)
    return repository.commit if repository is not None else ""


def refresh(kept: Kept, root: Path) -> None:
    """Keep the messages of the newest commits. Leaves the old ones where git cannot say."""
    now = head(root)
    if not now or kept.meta("history") == now:
        return
    listed = ask_git(root, "rev-list", "--no-merges", f"--max-count={MAX_COMMITS}", now, patience=GIT_S)
    if listed is None:
        return
    wanted = listed.decode("ascii", "replace").split()
    known = kept.commits.known()
    new = [sha for sha in wanted if sha not in known]
    found = _read(root, new) if new else []
    with kept.writing():
        kept.commits.forget(known[sha] for sha in known.keys() - set(wanted))
        for sha, message, files in found:
            kept.commits.put(sha, message, files)
        kept.set_meta("history", now)


def _read(root: Path, shas: list[str]) -> list[tuple[str, str, list[str]]]:
    how = (
        "--no-walk=unsorted",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--name-only",
        "--relative",
        "-z",
    )
    said = ask_git(root, "log", *how, f"--format={_MARK}%H{_FIELD}%B{_FIELD}", *shas, patience=GIT_S)
    found = []
    for record in (said or b"").decode("utf-8", "surrogateescape").split(_MARK)[1:]:
        sha, _, rest = record.partition(_FIELD)
        message, _, names = rest.partition(_FIELD)
        files = [name for name in names.strip("\0\n").split("\0") if name.strip()]
        if 0 < len(files) <= MAX_TOUCHED:
            words = " ".join(pieces(message[:MAX_MESSAGE]))
            found.append((sha, words, [name.encode("utf-8", "replace").decode() for name in files]))
        else:
            found.append((sha, "", []))
    return found
