"""Loose readings of a text: every command that the text might run, for guards and for `ask` and `deny` rules.

Invariant: the result can contain too many commands, but not too few.
"""

import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, chain, groupby
from typing import Final, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.bash.tree_check import command_spans

MAX_CHARS: Final = 40_000
MAX_PARSED_CHARS: Final = 10_000
MAX_PIPES: Final = 400
MAX_OPEN: Final = 200
MAX_DEPTH: Final = 50
MAX_WORDS: Final = 5_000
"""Maximum number of words in all commands that a text might run."""

Words: TypeAlias = tuple[str | None, ...]

_PREFIX = re.compile(
    r"if|then|elif|else|while|until|do|time|-p|coproc|!|\{|for|select|in|function|esac|[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=.*",
    re.DOTALL,
)
"""Matches words that may come before the name of a command, such as `if`, `!` and `name=value`."""
_JOINED_LINES = re.compile(r"\\\r?\n")
_ANSI_C = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ANSI_C_ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c?(.))", re.DOTALL
)
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "", "b": "", "e": "", "E": ""}
_SEPARATOR_VARIABLE = re.compile(r"\$(?:IFS(?![A-Za-z0-9_])|\{IFS[^}]{0,20}\})")
_EMPTY = re.compile(r"\$[@*0-9]|\$\{[@*0-9]\}|\$\(\s*\)|``")
_BRACE_LIST = re.compile(r"\{([^{}\s]*)\}")
_OPENING = re.compile(r"[$<>](?=\()")
_WITHOUT_QUOTES: Final = str.maketrans({"'": "", '"': "", "\\": "", "{": ";", "}": ";"})
_QUOTED = r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*\""""
_REDIRECT = re.compile(
    rf"(?:(?<![^\s;&|()])[0-9]+|\{{\w+\}})?(?:&>>?|[<>][<>&|]*)[ \t]*(?:[^\s;&|()<>`'\"\\]|{_QUOTED})*",
    re.DOTALL,
)
_TOKEN = re.compile(rf"(?:[^\s;&|()`'\"\\]|{_QUOTED})+|[\n;&|()`]", re.DOTALL)
_PART = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|(.)""", re.DOTALL)
_QUOTED_TEXT = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_SPECIAL: Final = frozenset("'\"\\$`*?{[")
_ESCAPED_IN_QUOTES = re.compile(r'\\([$`"\\\n])')


@dataclass(frozen=True, slots=True)
class PossibleCommands:
    """All commands and scripts that a text might run.

    - `commands`: the words of each possible command. A word that bash expands is None.
    - `texts`: quoted texts with several words, without the quotes. A program might run such a text as a script.
    - `unreadable`: True if commands can be missing, because the text is too long or takes too long to parse.
    """

    commands: tuple[Words, ...]
    texts: tuple[str, ...] = ()
    unreadable: bool = False


@lru_cache(maxsize=64)
def loose_commands(text: str) -> PossibleCommands:
    """Return every command that a text might run. Never raises."""
    if len(text) > MAX_CHARS:
        return PossibleCommands((), unreadable=True)
    variants = _variants(text)
    commands: dict[Words, None] = {}
    spans = command_spans(text) if _is_light(text) else None
    complete = spans is not None
    seen = (tuple(_literal(text[start:end]) for start, end in words) for words in spans or ())
    # An inner script has quotes and braces of its own, so the text is also read without any.
    unquoted = [_OPENING.sub("", variant).translate(_WITHOUT_QUOTES) for variant in variants]
    cut = map(_cut_commands, (*variants, *unquoted))
    size = 0
    for words in chain.from_iterable(map(_suffixes, chain(seen, *cut))):
        size += 0 if words in commands else len(words)
        commands[words] = None
        if size > MAX_WORDS:
            complete = False
            break
    quoted = (match[1] or match[2] or "" for variant in variants for match in _QUOTED_TEXT.finditer(variant))
    texts = dict.fromkeys(
        _ESCAPED_IN_QUOTES.sub(r"\1", text) for text in quoted if re.search(r"\S\s+\S|[;&|]", text)
    )
    return PossibleCommands(tuple(commands), tuple(texts), unreadable=not complete)


def _suffixes(words: Words) -> Iterator[Words]:
    """Yield a command's words, then the words after each prefix such as `if` or `name=value`."""
    for place, word in enumerate(words):
        yield words[place:]
        if word is not None and _PREFIX.fullmatch(word) is None:
            return


def _is_light(text: str) -> bool:
    # Tree-sitter becomes slow in long or deeply nested texts.
    within = len(text) <= MAX_PARSED_CHARS and text.count("|") <= MAX_PIPES and text.count("<<") <= MAX_OPEN
    changes = (1 if bracket == "(" else -1 for bracket in text if bracket in "()")
    return (
        within
        and max(accumulate(changes, lambda depth, change: max(0, depth + change), initial=0)) <= MAX_DEPTH
    )


def _variants(text: str) -> list[str]:
    """Return variants of a text with simplified bash syntax."""
    variants: dict[str, None] = {}
    for lines in (text, _JOINED_LINES.sub("", text)):
        # `$'\x72m'` is `rm`, `rm${IFS}x` is `rm x`, and `r$@m` is `rm`.
        plain = _ANSI_C.sub(_decode_ansi_c, lines).replace('$"', '"')
        plain = _SEPARATOR_VARIABLE.sub(" ", plain)
        variants[plain] = None
        bare = _EMPTY.sub("", _REDIRECT.sub(" ", plain))
        variants[_BRACE_LIST.sub(lambda braces: f" {braces[1].replace(',', ' ')} ", bare)] = None
    return list(variants)


def _decode_ansi_c(quoted: re.Match[str]) -> str:
    def decode(escape: re.Match[str]) -> str:
        hexadecimal, octal, sign = escape[1] or escape[2] or escape[3], escape[4], escape[5]
        if sign is not None:
            return _CONTROLS.get(sign, sign)
        return chr(min(int(hexadecimal or octal, 16 if hexadecimal else 8), sys.maxunicode))

    return "'" + _ANSI_C_ESCAPE.sub(decode, quoted[1]).replace("'", "") + "'"


def _cut_commands(text: str) -> Iterator[Words]:
    for is_separator, tokens in groupby(_TOKEN.findall(text), "\n;&|()`".__contains__):
        if not is_separator:
            yield tuple(map(_literal, tokens))


def _literal(word: str) -> str | None:
    """Return a word without its quotes and backslashes; None if bash expands a part of the word."""
    if _SPECIAL.isdisjoint(word):
        return word
    out: list[str] = []
    for single, double, escaped, plain in _PART.findall(word):
        if "$" in double or "`" in double or (plain and plain in "$`*?{[" and word not in ("[", "[[")):
            return None
        out.append(single or (double and _ESCAPED_IN_QUOTES.sub(r"\1", double)) or escaped or plain)
    return "".join(out)
