"""Search of past commits by their messages, to find the files that these commits changed.

Invariant: only ancestors of the current commit are used.
"""

from collections.abc import Sequence
from pathlib import Path

from tui_agent.config.project.git_query import locate_repository, query_git
from tui_agent.context.repomap.index_db import IndexFile
from tui_agent.folds.text.word_forms import split_text

MAX_COMMITS, SEARCHED_COMMITS = 4_000, 1_000
"""Maximum number of newest commits in the index, and maximum number searched without an index."""
GIT_S, SEARCH_S = 20.0, 3.0
"""Time limits in seconds for git in the worker process, and for git while a user waits."""
MAX_TOUCHED = 30
MAX_MESSAGE = 4_000
BEST = 60
_MARK, _FIELD = "\x02", "\x03"


def head(root: Path) -> str:
    """Return the hash of the current commit, or an empty string if there is no commit or no git."""
    repository = locate_repository(root)
    return repository.commit if repository is not None else ""


def refresh(index_file: IndexFile, root: Path) -> None:
    """Store the messages of the newest commits in the index."""
    current = head(root)
    if not current or index_file.meta("history") == current:
        return
    listed = query_git(
        root, "rev-list", "--no-merges", f"--max-count={MAX_COMMITS}", current, timeout_s=GIT_S
    )
    if listed is None:
        return
    newest = listed.decode("ascii", "replace").split()
    known = index_file.commits.row_ids()
    new = [sha for sha in newest if sha not in known]
    commits = read_commits(root, new) if new else []
    with index_file.transaction():
        index_file.commits.forget(known[sha] for sha in known.keys() - set(newest))
        for sha, message, files in commits:
            index_file.commits.add(sha, message, files)
        index_file.set_meta("history", current)


def read_messages(root: Path) -> dict[str, bytes]:
    """Return the messages of the newest commits, converted to lower case. The keys are the commits' hashes."""
    options = ("--no-merges", f"--max-count={SEARCHED_COMMITS}", f"--format={_MARK}%H{_FIELD}%B")
    output = query_git(root, "log", *options, timeout_s=SEARCH_S)
    records = (output or b"").lower().split(_MARK.encode())[1:]
    parts = (record.partition(_FIELD.encode()) for record in records)
    return {sha.decode("ascii"): message[:MAX_MESSAGE] for sha, _, message in parts}


def read_commits(
    root: Path, shas: Sequence[str], timeout_s: float = GIT_S
) -> list[tuple[str, str, list[str]]]:
    """Return (hash, message words, changed files) for each commit.

    If a commit changed very many files, its words and files are empty.
    """
    options = (
        "--no-walk=unsorted",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--name-only",
        "--relative",
        "-z",
    )
    output = query_git(
        root, "log", *options, f"--format={_MARK}%H{_FIELD}%B{_FIELD}", *shas, timeout_s=timeout_s
    )
    commits = []
    for record in (output or b"").decode("utf-8", "surrogateescape").split(_MARK)[1:]:
        sha, _, rest = record.partition(_FIELD)
        message, _, names = rest.partition(_FIELD)
        files = [name for name in names.strip("\0\n").split("\0") if name.strip()]
        if 0 < len(files) <= MAX_TOUCHED:
            words = " ".join(split_text(message[:MAX_MESSAGE]))
            commits.append((sha, words, [name.encode("utf-8", "replace").decode() for name in files]))
        else:
            commits.append((sha, "", []))
    return commits
