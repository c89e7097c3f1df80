"""Completions of the word at the cursor: slash commands, their arguments, files, folders, symbols.

Invariant: all functions are pure. Candidates are sorted best first, and each holds exactly the text that it inserts.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from tui_agent.tui.actions import TYPED, Action
from tui_agent.tui.panes.policy import DESCRIPTIONS
from tui_agent.tui.prompt.files import PathIndex, Symbol, name_of

MAX_FILES_BEFORE_SYMBOLS = 5
"""Maximum number of files listed before the symbols.

The names of these files contain the query. If there are no such files, one file with a weaker match is listed.
"""
MAX_FOUND: Final = 50
"""Maximum number of files, folders and symbols in the menu."""
_SCATTERED_SCORE = 100
"""Lowest score of a text that has the letters of the query in order, but not next to each other."""
_ENDS_EARLY = re.compile(r"[\s@`<>|']|[.,;:!?)\]}]$")
"""Pattern of a character that would end a mention of a resource early. A mention with a match needs quotes."""
TokenKind: TypeAlias = Literal["command", "argument", "file"]
AT_SIGN = "@"
"""The name that stands for mentions of resources in `Session.complete`."""
MENTION = re.compile(r"(?:^|(?<=[\s(\[\"']))@(\"[^\"\n]*|[^\s@]*)$")


class Token(NamedTuple):
    """A word at the cursor that can be completed.

    `query` is the text from `start` to the cursor; `command` is set if the word is an argument.
    """

    kind: TokenKind
    query: str
    start: int
    command: str = ""


class Candidate(NamedTuple):
    """A row of the completion menu.

    `hits` are the matched positions in `label`; `insert` is the text that replaces the word at the cursor.
    """

    label: str
    insert: str
    hint: str = ""
    help: str = ""
    hits: tuple[int, ...] = ()
    dimmed: bool = False
    runs: bool = False
    """True if Enter sends the completed text; False if Enter only inserts it."""
    needs_whole_word: bool = False
    """True if Enter does nothing until the row's word is typed completely, as for rows that loosen the policy."""


def token_at(line: str, column: int, *, first_line: bool) -> Token | None:
    """Return the word at the cursor if it can be completed; otherwise None."""
    before = line[:column]
    if first_line and before.startswith("/"):
        if " " not in before:
            return Token("command", before, 0)
        command, _, rest = before.partition(" ")
        return Token("argument", rest.lstrip(), len(before) - len(rest.lstrip()), command)
    mention = MENTION.search(before)
    return (
        None if mention is None else Token("file", mention.group(1).removeprefix('"'), mention.start(1) - 1)
    )


def match(query: str, text: str) -> tuple[int, tuple[int, ...]] | None:
    """Match `query` as a case-insensitive subsequence of `text`.

    Return a score (lower is better) and the matched positions; None if `text` does not match.
    """
    wanted, folded = query.casefold(), text.casefold()
    if len(folded) != len(text):
        folded = text
    start = folded.find(wanted)
    if start >= 0:
        border = 0 if start == 0 or not folded[start - 1].isalnum() else 20
        return border + start + len(folded) // 8, tuple(range(start, start + len(wanted)))
    hits: list[int] = []
    start = 0
    for char in wanted:
        start = folded.find(char, start)
        if start < 0:
            return None
        hits.append(start)
        start += 1
    gaps = hits[-1] - hits[0] - len(hits) + 1
    return _SCATTERED_SCORE + 4 * gaps + len(folded) // 8, tuple(hits)


def _loosens(command: str, policy: str) -> bool:
    """Return True if a command such as `/policy bypass` sets a looser policy than the current `policy`."""
    name, _, value = command.partition(" ")
    order = list(DESCRIPTIONS)
    return (
        name == "/policy"
        and value in DESCRIPTIONS
        and (policy not in DESCRIPTIONS or order.index(value) > order.index(policy))
    )


def command_candidates(
    query: str, actions: Sequence[Action], *, running: bool, policy: str = "ask"
) -> list[Candidate]:
    """Return the slash commands and aliases that begin with the query, commands first.

    If there are none, return the slash commands that contain the letters of the query in order. A bare slash lists no
    aliases. `policy` is the current policy.
    """
    scored: list[tuple[int, str, Action]] = []
    for action in actions:
        for word, _ in action.typed_words:
            is_listed = word == action.slash
            if word.startswith(query) and (is_listed or len(query) > 1):
                scored.append((0 if is_listed else 1, word, action))
            elif is_listed and len(query) > 2 and (result := match(query[1:], word)) is not None:
                scored.append((result[0] + 50, word, action))
    scored.sort(key=lambda item: item[0])
    if scored and scored[0][0] < 50:
        scored = [item for item in scored if item[0] < 50]
    return [_command_candidate(query, word, action, running, policy) for _, word, action in scored]


def _command_candidate(query: str, word: str, action: Action, running: bool, policy: str) -> Candidate:
    is_refused = running and action.ground
    _, hits = match(query, word) or match(query[1:], word) or (0, ())
    args = action.args_of(word)
    about = f"same as {action.meaning_of(word)}" if action.slash not in ("", word) else action.help
    return Candidate(
        label=word,
        insert=word + (" " if args else ""),
        hint=args,
        help="not while a turn runs" if is_refused else about,
        hits=hits,
        dimmed=is_refused,
        runs=True,
        needs_whole_word=word != query and _loosens(action.meaning_of(word), policy),
    )


def argument_candidates(
    token: Token, choices: Mapping[str, Sequence[tuple[str, str]]], policy: str = "ask"
) -> list[Candidate]:
    """Return the matching values for the argument of a slash command.

    `choices` maps each slash command to its `(value, help)` pairs; `policy` is the current policy.
    """
    scored: list[tuple[int, Candidate]] = []
    action, _ = TYPED.get(token.command, (None, ""))
    command = token.command if action is None else action.meaning_of(token.command)
    for value, about in choices.get(command, ()):
        result = match(token.query, value)
        if result is not None:
            partly = value != token.query and _loosens(f"{command} {value}", policy)
            row = Candidate(value, value, help=about, hits=result[1], runs=True, needs_whole_word=partly)
            scored.append((result[0], row))
    if token.query:
        scored.sort(key=lambda item: item[0])
    return [candidate for _, candidate in scored]


def file_candidates(
    query: str, paths: PathIndex | Iterable[str], symbols: Sequence[Symbol] = (), limit: int = MAX_FOUND
) -> list[Candidate]:
    """Return at most `limit` files, folders and symbols that match the query, best match first.

    A match in the name is better than a match in the path. If two matches are equal, the shorter path comes first.
    """
    index = paths if isinstance(paths, PathIndex) else PathIndex(paths)
    if not query:
        return [_path_candidate(path) for path in index.shallow[:limit]]
    scored: list[tuple[int, int, str, tuple[int, ...]]] = []
    for path in index.find(query):
        name = name_of(path)
        name_at = len(path) - len(name)
        in_name = match(query, name)
        if in_name is not None:
            scored.append((in_name[0], len(path), path, tuple(hit + name_at for hit in in_name[1])))
        elif (in_path := match(query, path)) is not None:
            scored.append((in_path[0] + 60, len(path), path, in_path[1]))
    scored.sort()
    files = [_path_candidate(path, hits) for _, _, path, hits in scored[:limit]]
    best = max(1, sum(score < _SCATTERED_SCORE for score, *_ in scored[:MAX_FILES_BEFORE_SYMBOLS]))
    defined = [_symbol_candidate(query, symbol) for symbol in symbols]
    return [*files[:best], *defined, *files[best:]][:limit]


def resource_candidates(query: str, mentions: Sequence[tuple[str, str]]) -> list[Candidate]:
    """Return the resources of MCP servers (`SERVER:URI`) that match the query.

    A URI can contain a variable, e.g. `{path}`. In this case, only the part before the variable is completed. If the
    query is longer than this part, the URI does not match.
    """
    candidates: list[Candidate] = []
    for text, _ in mentions:
        result, (start, variable, _) = match(query, text), text.partition("{")
        if result is not None and not (variable and len(query) > len(start)):
            written = f'"{text}"' if _ENDS_EARLY.search(text) else text
            candidates.append(Candidate(text, f"@{start}" if variable else f"@{written} ", hits=result[1]))
    return candidates


def _path_candidate(path: str, hits: tuple[int, ...] = ()) -> Candidate:
    """Return the completion for a path. No space follows a folder, so that its content can be completed next."""
    return Candidate(
        path, f"@{quote_path(path)}" + ("" if path.endswith("/") and " " not in path else " "), hits=hits
    )


def _symbol_candidate(query: str, symbol: Symbol) -> Candidate:
    _, hits = match(query, symbol.name) or (0, ())
    return Candidate(symbol.name, f"@{symbol.name} ", help=f"{symbol.path}:{symbol.line}", hits=hits)


def quote_path(path: str) -> str:
    """Return a path as it is written in a mention: in quotes if it contains spaces."""
    return f'"{path}"' if any(char.isspace() for char in path) else path
