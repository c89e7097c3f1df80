"""What can complete the word at the cursor: slash commands, their arguments, files, folders, symbols.

Invariant: pure; candidates come best first, and each tells exactly what it puts into the text.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from tui_agent.tui.actions import Action
from tui_agent.tui.prompt.files import PathIndex, name_of
from tui_agent.tui.prompt.symbols import Symbol

BEFORE_SYMBOLS = 5
"""So many files stand before the symbols, where their names hold what is typed; of the others the best one alone."""
_SCATTERED = 100
"""From this score on a text has the letters in their order only."""
TokenKind: TypeAlias = Literal["command", "argument", "file"]
MENTION = re.compile(r"(?:^|(?<=[\s(\[\"']))@(\"[^\"\n]*|[^\s@]*)$")


class Token(NamedTuple):
    """The word to complete: `query` stands from `start` to the cursor in its line. `command` for arguments."""

    kind: TokenKind
    query: str
    start: int
    command: str = ""


class Candidate(NamedTuple):
    """One row of the menu. `hits` are the positions in `label` that matched; `insert` replaces the token."""

    label: str
    insert: str
    hint: str = ""
    help: str = ""
    hits: tuple[int, ...] = ()
    dimmed: bool = False
    runs: bool = False
    """Enter sends it; else it only comes into the text."""


def token_at(line: str, column: int, *, first_line: bool) -> Token | None:
    """What is being typed at the cursor, if it is something that completes."""
    before = line[:column]
    if first_line and before.startswith("/"):
        if " " not in before:
            return Token("command", before, 0)
        command, _, rest = before.partition(" ")
        return Token("argument", rest.lstrip(), len(before) - len(rest.lstrip()), command)
    found = MENTION.search(before)
    return None if found is None else Token("file", found.group(1).removeprefix('"'), found.start(1) - 1)


def match(query: str, text: str) -> tuple[int, tuple[int, ...]] | None:
    """A score (lower is better) and the matched positions of a case-blind subsequence, or None."""
    wanted, held = query.casefold(), text.casefold()
    if len(held) != len(text):
        held = text
    at = held.find(wanted)
    if at >= 0:
        border = 0 if at == 0 or not held[at - 1].isalnum() else 20
        return border + at + len(held) // 8, tuple(range(at, at + len(wanted)))
    hits: list[int] = []
    start = 0
    for char in wanted:
        start = held.find(char, start)
        if start < 0:
            return None
        hits.append(start)
        start += 1
    gaps = hits[-1] - hits[0] - len(hits) + 1
    return _SCATTERED + 4 * gaps + len(held) // 8, tuple(hits)


def command_candidates(query: str, commands: Sequence[Action], *, running: bool) -> list[Candidate]:
    """Slash commands: those that begin with what is typed, else those that hold it."""
    scored: list[tuple[int, Action, tuple[int, ...]]] = []
    for action in commands:
        if action.slash.startswith(query):
            scored.append((0, action, tuple(range(len(query)))))
        elif (found := match(query.removeprefix("/"), action.slash[1:])) is not None and len(query) > 2:
            scored.append((found[0] + 50, action, tuple(at + 1 for at in found[1])))
    scored.sort(key=lambda item: item[0])
    if scored and scored[0][0] == 0:
        scored = [item for item in scored if item[0] == 0]
    return [
        Candidate(
            label=action.slash,
            insert=action.slash + (" " if action.args else ""),
            hint=action.args,
            help="not while a turn runs" if running and action.ground else action.help,
            hits=hits,
            dimmed=running and action.ground,
            runs=True,
        )
        for _, action, hits in scored
    ]


def argument_candidates(token: Token, choices: Mapping[str, Sequence[tuple[str, str]]]) -> list[Candidate]:
    """Values that a command takes, as `(value, help)`."""
    found: list[tuple[int, Candidate]] = []
    for value, about in choices.get(token.command, ()):
        scored = match(token.query, value)
        if scored is not None:
            found.append((scored[0], Candidate(value, value, help=about, hits=scored[1], runs=True)))
    if token.query:
        found.sort(key=lambda item: item[0])
    return [candidate for _, candidate in found]


def file_candidates(
    query: str, paths: PathIndex | Iterable[str], symbols: Sequence[Symbol] = (), most: int = 50
) -> list[Candidate]:
    """Files, folders and symbols by how well the query fits their name, then their path; shorter ones first."""
    index = paths if isinstance(paths, PathIndex) else PathIndex(paths)
    if not query:
        return [_path_candidate(path) for path in index.shallow[:most]]
    scored: list[tuple[int, int, str, tuple[int, ...]]] = []
    for path in index.find(query):
        name = name_of(path)
        name_at = len(path) - len(name)
        in_name = match(query, name)
        if in_name is not None:
            scored.append((in_name[0], len(path), path, tuple(at + name_at for at in in_name[1])))
        elif (in_path := match(query, path)) is not None:
            scored.append((in_path[0] + 60, len(path), path, in_path[1]))
    scored.sort()
    holding = sum(one[0] < _SCATTERED for one in scored[:BEFORE_SYMBOLS])
    found = [_path_candidate(path, hits) for _, _, path, hits in scored[:most]]
    named = [_symbol_candidate(query, one) for one in symbols]
    ahead = max(1, holding)
    return [*found[:ahead], *named, *found[ahead:]][:most]


def _path_candidate(path: str, hits: tuple[int, ...] = ()) -> Candidate:
    """A folder is left open, to go on into it."""
    return Candidate(
        path, f"@{quoted(path)}" + ("" if path.endswith("/") and " " not in path else " "), hits=hits
    )


def _symbol_candidate(query: str, one: Symbol) -> Candidate:
    found = match(query, one.name)
    hits = found[1] if found is not None else ()
    return Candidate(one.name, f"@{one.name} ", help=f"{one.path}:{one.line}", hits=hits)


def quoted(path: str) -> str:
    """A path as it is mentioned: in quotes where it has spaces."""
    return f'"{path}"' if " " in path else path
