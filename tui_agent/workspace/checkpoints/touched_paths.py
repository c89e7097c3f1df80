"""Which paths the commits between two checkpoints touched, and who did."""

from dataclasses import dataclass, field

from tui_agent.workspace.checkpoints.git import names_of
from tui_agent.workspace.checkpoints.modes import mode_paths
from tui_agent.workspace.checkpoints.state import Shadow
from tui_agent.workspace.checkpoints.unheld_files import left_in, named_in

HUMAN = "human"


@dataclass(frozen=True, slots=True)
class Touched:
    """Paths that some commits touched: those of agent and commands, those of people, and those at which something had
    been that no checkpoint held before: unknown (`strangers`), or held by a person's commit (`first_kept`). What a restore
    left alone, and what a person may have changed after a run broke off, is the session's and a person's too."""

    session: set[str] = field(default_factory=set)
    humans: set[str] = field(default_factory=set)
    strangers: set[str] = field(default_factory=set)
    first_kept: dict[str, str] = field(default_factory=dict)


async def touched(shadow: Shadow, base: str, tip: str) -> Touched:
    """What the commits after `base` up to `tip` touched."""
    out = await shadow.git("log", "-z", "--format=%H%n%an%n%B", f"{base}..{tip}", "--")
    authors: dict[str, str] = {}
    first: dict[str, set[str]] = {}
    found = Touched()
    for item in names_of(out):
        commit, author, message = item.lstrip("\n").split("\n", 2)
        authors[commit], first[commit] = author, named_in(message)
        bits, left = mode_paths(message), left_in(message)
        found.session.update(left)
        found.humans.update(left)
        if author == HUMAN:
            found.humans.update(bits - first[commit])
            found.first_kept.update({path: origin for path, origin in left.items() if origin})
            found.first_kept.update(dict.fromkeys(first[commit], commit))  # the oldest comes last
        else:
            found.session.update(bits)
            found.strangers.update(first[commit])
    stdin = "".join(f"{commit}\n" for commit in authors).encode()
    out = await shadow.git(
        "diff-tree", "--stdin", "-r", "-z", "--root", "--name-only", "--no-renames", stdin=stdin
    )
    commit = ""
    for word in names_of(out):
        if word in authors:
            commit = word
        elif authors.get(commit, HUMAN) != HUMAN:
            found.session.add(word)
        elif word not in first.get(commit, ()):
            found.humans.add(word)
    return found
