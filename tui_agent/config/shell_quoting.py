"""Insertion of words into a template of a shell command; each word is quoted for its position.

Invariant: the shell reads an inserted word as literal text.
"""

import re
import shlex
from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

from tui_agent.errors import ConfigError

PLACE: Final = re.compile(r"\$(ARGUMENTS|[1-9])")
"""Pattern of a placeholder for words: `$1` to `$9`, or `$ARGUMENTS` for all of them."""
_Context: TypeAlias = Literal["plain", "single", "double"]
_SPECIAL_IN_DOUBLE: Final = re.compile(r'[\\"$`]')
_TOKENS: Final[dict[_Context, re.Pattern[str]]] = {
    "plain": re.compile(r"(?s)\\.|\$\{\w+\}|\$\((?!\()|."),
    "double": re.compile(r"(?s)\\.|\$\{\w+\}|\$\((?!\()|."),
    "single": re.compile(r"(?s)."),
}
_UNQUOTABLE: Final[dict[_Context, re.Pattern[str]]] = {
    "plain": re.compile(r"\$\{(?!\w+\})|\$[$']|\$?\(\(|(?<![^\s;&|(])(?:#|case\s)"),
    "double": re.compile(r"\$\{(?!\w+\})|\$\$|\$\(\("),
    "single": re.compile(r"(?!)"),
}
"""Matches the start of shell syntax in which no word can be quoted safely, for each quoting context."""


def fill_template(template: str, words: Sequence[str]) -> str:
    """Replace the placeholders in a shell command's template by `words`.

    Raise `ConfigError` if a word cannot be quoted safely.
    """
    filled: list[str] = []
    contexts: list[_Context] = ["plain"]
    position = 0
    while position < len(template):
        context = contexts[-1]
        if place := PLACE.match(template, position):
            filled.append(_QUOTE[context](words_for(place, words)))
            position = place.end()
        elif _UNQUOTABLE[context].match(template, position):
            _refuse_places(template, position)
            return "".join([*filled, template[position:]])
        else:
            token = _TOKENS[context].match(template, position)
            assert token is not None
            _track(contexts, token[0])
            filled.append(token[0])
            position = token.end()
    return "".join(filled)


def words_for(place: re.Match[str], words: Sequence[str]) -> Sequence[str]:
    """Return all words for `$ARGUMENTS`, or the N-th word for `$N`, if there is one."""
    return words if place[1] == "ARGUMENTS" else words[int(place[1]) - 1 : int(place[1])]


def _quote_in_double(words: Sequence[str]) -> str:
    return _SPECIAL_IN_DOUBLE.sub(r"\\\g<0>", " ".join(words))


def _quote_in_single(words: Sequence[str]) -> str:
    return " ".join(words).replace("'", "'\\''")


_QUOTE: Final[dict[_Context, Callable[[Sequence[str]], str]]] = {
    "plain": shlex.join,
    "double": _quote_in_double,
    "single": _quote_in_single,
}


def _track(contexts: list[_Context], token: str) -> None:
    """Update the stack of quoting contexts for the next token of a template. The innermost context is last."""
    match contexts[-1], token:
        case ("single", "'") | ("double", '"'):
            contexts.pop()
        case ("plain" | "double", "$(") | ("plain", "("):
            contexts.append("plain")
        case "plain", '"':
            contexts.append("double")
        case "plain", "'":
            contexts.append("single")
        case "plain", ")" if len(contexts) > 1:
            contexts.pop()
        case _:
            pass


def _refuse_places(template: str, position: int) -> None:
    place = PLACE.search(template, position)
    if place is not None:
        raise ConfigError(
            f"`{template}` uses {place[0]} where it cannot be quoted.",
            hint=f"Move {place[0]} before {template[position:]}",
        )
