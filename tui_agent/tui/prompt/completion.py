"""Completions of the word at the cursor: slash commands, their arguments, files, folders, symbols.

Invariant: candidates are sorted best first, and each holds exactly the text that it inserts.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from textual.timer import Timer
from textual.widget import Widget

from tui_agent.tui.keys_and_commands import TYPED, Action
from tui_agent.tui.panes.policy import DESCRIPTIONS
from tui_agent.tui.prompt.completion_files import PathIndex, name_of
from tui_agent.tui.prompt.completion_symbols import PAUSE_S, Symbol
from tui_agent.tui.untrusted_text import clean_line

MAX_FILES_BEFORE_SYMBOLS = 5
"""Maximum number of files listed before the symbols."""
MAX_FOUND: Final = 50
"""Maximum number of files, folders and symbols in the menu."""
_SCATTERED_SCORE = 100
"""Best score for a match in which the typed letters are in order but not adjacent. A lower score is better."""
_ENDS_EARLY = re.compile(r"[\s@`<>|']|[.,;:!?)\]}]$")
"""Matches characters that would end a resource's mention too early. The mention must then be quoted."""
TokenKind: TypeAlias = Literal["command", "argument", "file"]
NOT_SENT: Final = "not sent with your message"
AT_SIGN = "@"
"""The name under which `Session.complete` completes resources."""
MENTION = re.compile(r"(?:^|(?<=[\s(\[\"']))@(\"[^\"\n]*|[^\s@]*)$")


class Token(NamedTuple):
    """A word at the cursor that can be completed.

    - `query`: the text from `start` to the cursor
    - `command`: the slash command, if the word is its argument
    """

    kind: TokenKind
    query: str
    start: int
    command: str = ""


class Candidate(NamedTuple):
    """A row of the completion menu.

    - `insert`: the text that replaces the word at the cursor
    - `hits`: the matched positions in `label`
    - `path`: the file or folder that the row mentions; empty for other rows
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
    """True if Enter does nothing until the user has typed the whole word."""
    path: str = ""


def token_at(line: str, column: int, *, first_line: bool) -> Token | None:
    """Return the word before the cursor if it can be completed; otherwise None.

    `column`: the cursor's place in `line`. `first_line`: True if `line` can begin with a slash command.
    """
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

    Return a score (lower is better) and the matched positions; None without a match. Adjacent letters, short texts and
    matches at the beginning of a word score better.
    """
    folded_query, folded = query.casefold(), text.casefold()
    # Folding can change the length (`ß` becomes `ss`); the positions would then be wrong.
    if len(folded) != len(text):
        folded = text
    start = folded.find(folded_query)
    if start >= 0:
        border = 0 if start == 0 or not folded[start - 1].isalnum() else 20
        return border + start + len(folded) // 8, tuple(range(start, start + len(folded_query)))
    hits: list[int] = []
    start = 0
    for char in folded_query:
        start = folded.find(char, start)
        if start < 0:
            return None
        hits.append(start)
        start += 1
    gaps = hits[-1] - hits[0] - len(hits) + 1
    return _SCATTERED_SCORE + 4 * gaps + len(folded) // 8, tuple(hits)


def _is_looser_policy(command: str, policy: str) -> bool:
    """Return True if a command such as `/policy bypass` sets a looser policy than the current `policy`."""
    name, _, value = command.partition(" ")
    order = list(DESCRIPTIONS)  # the strictest policy first
    return (
        name == "/policy"
        and value in DESCRIPTIONS
        and (policy not in DESCRIPTIONS or order.index(value) > order.index(policy))
    )


def command_candidates(
    query: str, actions: Sequence[Action], *, running: bool, policy: str = "ask"
) -> list[Candidate]:
    """Return the slash commands and aliases that begin with the query, best match first.

    If there are none, return the commands that contain the query's letters in order.
    """
    scored: list[tuple[int, str, Action]] = []
    for action in actions:
        # Scores below 50 are words that begin with the query; scattered matches are shown only if there are none.
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
        needs_whole_word=word != query and _is_looser_policy(action.meaning_of(word), policy),
    )


def argument_candidates(
    token: Token, choices: Mapping[str, Sequence[tuple[str, str]]], policy: str = "ask"
) -> list[Candidate]:
    """Return the matching values for the argument of a slash command.

    `choices`: for each slash command, the `(value, help)` pairs.
    """
    scored: list[tuple[int, Candidate]] = []
    action, _ = TYPED.get(token.command, (None, ""))
    command = token.command if action is None else action.meaning_of(token.command)
    for value, about in choices.get(command, ()):
        result = match(token.query, value)
        if result is not None:
            partly = value != token.query and _is_looser_policy(f"{command} {value}", policy)
            row = Candidate(value, value, help=about, hits=result[1], runs=True, needs_whole_word=partly)
            scored.append((result[0], row))
    if token.query:
        scored.sort(key=lambda item: item[0])
    return [candidate for _, candidate in scored]


def file_candidates(
    query: str,
    paths: PathIndex | Iterable[str],
    symbols: Sequence[Symbol] = (),
    refused: Collection[str] = (),
) -> list[Candidate]:
    """Return at most `MAX_FOUND` files, folders and symbols that match the query, best match first.

    `refused`: paths that are not sent with a message, such as secret files. A refused path comes last, unless the user
    typed it in full.
    """
    index = paths if isinstance(paths, PathIndex) else PathIndex(paths)
    marked = [
        row._replace(help=NOT_SENT, dimmed=True) if row.path in refused else row
        for row in _find_candidates(query, index, symbols)
    ]
    return sorted(marked, key=lambda row: row.dimmed and row.path != query)


def _find_candidates(query: str, index: PathIndex, symbols: Sequence[Symbol]) -> list[Candidate]:
    if not query:
        return [_path_candidate(path) for path in index.shallow[:MAX_FOUND]]
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
    files = [_path_candidate(path, hits) for _, _, path, hits in scored[:MAX_FOUND]]
    # Symbols come after the best file names, but before files in which the letters are scattered.
    best = sum(score < _SCATTERED_SCORE for score, *_ in scored[:MAX_FILES_BEFORE_SYMBOLS])
    defined = [_symbol_candidate(query, symbol) for symbol in symbols]
    return [*files[:best], *defined, *files[best:]][:MAX_FOUND]


def resource_candidates(query: str, mentions: Sequence[tuple[str, str]]) -> list[Candidate]:
    """Return the resources of MCP servers that match the query.

    `mentions`: (text, help) pairs; the text has the form `SERVER:URI`. A URI can be a template, such as `file://{path}`.
    """
    candidates: list[Candidate] = []
    for text, _ in mentions:
        # Of a template, only the part before the first variable is inserted; the user types the rest.
        result, (start, variable, _) = match(query, text), text.partition("{")
        if result is not None and not (variable and len(query) > len(start)):
            written = f'"{text}"' if _ENDS_EARLY.search(text) else text
            candidates.append(Candidate(text, f"@{start}" if variable else f"@{written} ", hits=result[1]))
    return candidates


def _path_candidate(path: str, hits: tuple[int, ...] = ()) -> Candidate:
    """Return the completion for a path; no space follows a folder."""
    return Candidate(
        path,
        f"@{quote_path(path)}" + ("" if path.endswith("/") and " " not in path else " "),
        hits=hits,
        path=path,
    )


def _symbol_candidate(query: str, symbol: Symbol) -> Candidate:
    _, hits = match(query, symbol.name) or (0, ())
    return Candidate(symbol.name, f"@{symbol.name} ", help=f"{symbol.path}:{symbol.line}", hits=hits)


def quote_path(path: str) -> str:
    """Return a path as it is written in a mention: in quotes if it contains spaces."""
    return f'"{path}"' if any(char.isspace() for char in path) else path


async def _complete_nothing(command: str, arguments: str) -> Sequence[str]:
    return ()


class ArgumentCompletion:
    """Gets completions from the session: for the arguments of slash commands, and for resources after `@`.

    - `commands`: the commands that the session can complete
    - `completions`: maps each command to its latest completions, as `(text, help)` pairs
    """

    def __init__(self) -> None:
        self.commands: Collection[str] = ()
        self.ask_session: Callable[[str, str], Awaitable[Sequence[str]]] = _complete_nothing
        """Function that returns completions for a command's name and the text after it."""
        self.completions: dict[str, list[tuple[str, str]]] = {}
        self._asked = ("", "")
        """The command and the text of the newest answered request."""
        self._timer: Timer | None = None

    def needs_request(self, token: Token) -> bool:
        """Return True if the session must be asked for completions of this argument."""
        return token.command in self.commands and (token.command, token.query) != self._asked

    def request_later(self, widget: Widget, token: Token, show: Callable[[], None]) -> None:
        """Ask the session for completions once typing pauses, then call `show`."""
        if self._timer is not None:
            self._timer.stop()

        def start() -> None:
            work = self._request(token, show)
            widget.app.run_worker(work, exclusive=True, group="arguments", exit_on_error=False)

        self._timer = widget.set_timer(PAUSE_S, start)

    async def _request(self, token: Token, show: Callable[[], None]) -> None:
        texts = await self.ask_session(token.command.removeprefix("/"), token.query)
        self._asked = (token.command, token.query)
        self.completions[token.command] = [(clean_line(text), "") for text in texts]
        show()
