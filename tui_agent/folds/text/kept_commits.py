"""Builds the sentence that names the git commits kept by an undo."""

from collections.abc import Sequence

MAX_NAMED = 3
"""Maximum number of commits that the sentence names."""


def describe_kept_commits(commits: Sequence[str]) -> str:
    """Return a sentence about the commits of undone turns, with the git command to undo them.

    `commits`: ids with subjects, oldest first.
    """
    if not commits:
        return ""
    named = [f"{commit[:7]} “{commit[8:]}”" for commit in commits[:MAX_NAMED]]
    more = f" and {len(commits) - MAX_NAMED} more" if len(commits) > MAX_NAMED else ""
    if len(commits) == 1:
        subject, pronoun = f"Commit {named[0]} stays", "it"
    else:
        subject, pronoun = f"These commits stay: {', '.join(named)}{more}", "them"
    return f"{subject}. To undo {pronoun} in git and keep all files: git reset {commits[0][:7]}~1"
