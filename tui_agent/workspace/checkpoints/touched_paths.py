"""Paths that commits between two checkpoints touched, by author."""

from dataclasses import dataclass, field

from tui_agent.workspace.checkpoints.git import names_of
from tui_agent.workspace.checkpoints.modes import mode_paths
from tui_agent.workspace.checkpoints.state import Shadow
from tui_agent.workspace.checkpoints.unheld_files import left_in, named_in

HUMAN = "human"


@dataclass(frozen=True, slots=True)
class Touched:
    """Paths touched by the session (agent and commands) and by people.

    At `strangers` something unknown existed that no checkpoint held; at `first_kept` a person's commit saved
    it. Paths that a restore skipped, or that a person may have changed after an aborted run, count for both
    session and people.
    """

    session: set[str] = field(default_factory=set)
    humans: set[str] = field(default_factory=set)
    strangers: set[str] = field(default_factory=set)
    first_kept: dict[str, str] = field(default_factory=dict)


async def touched(shadow: Shadow, base: str, tip: str) -> Touched:
    """Return the paths touched by the commits after `base` up to `tip`."""
    out = await shadow.git("log", "-z", "--format=%H%n%an%n%B", f"{base}..{tip}", "--")
    authors: dict[str, str] = {}
    new_paths: dict[str, set[str]] = {}
    result = Touched()
    for item in names_of(out):
        commit, author, message = item.lstrip("\n").split("\n", 2)
        authors[commit], new_paths[commit] = author, named_in(message)
        mode_changes, skipped = mode_paths(message), left_in(message)
        result.session.update(skipped)
        result.humans.update(skipped)
        if author == HUMAN:
            result.humans.update(mode_changes - new_paths[commit])
            result.first_kept.update({path: origin for path, origin in skipped.items() if origin})
            result.first_kept.update(dict.fromkeys(new_paths[commit], commit))  # the oldest commit comes last
        else:
            result.session.update(mode_changes)
            result.strangers.update(new_paths[commit])
    stdin = "".join(f"{commit}\n" for commit in authors).encode()
    out = await shadow.git(
        "diff-tree", "--stdin", "-r", "-z", "--root", "--name-only", "--no-renames", stdin=stdin
    )
    commit = ""
    for word in names_of(out):
        if word in authors:
            commit = word
        elif authors.get(commit, HUMAN) != HUMAN:
            result.session.add(word)
        elif word not in new_paths.get(commit, ()):
            result.humans.add(word)
    return result
