"""Every command that a text outside the subset might run, for rules that deny and for guards.

Invariant: proves nothing. It over-approximates: tree-sitter reads the text, and it is cut at its separators, outside of quotes
and as if there were no quotes; line breaks, redirections and expansions are read in each way that is possible.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, groupby
from typing import Final, TypeAlias

from tui_agent.policy.bash.tree_check import command_spans

MAX_CHARS: Final = 40_000
MAX_PARSED_CHARS: Final = 10_000
MAX_PIPES: Final = 400
MAX_OPEN: Final = 200
MAX_DEPTH: Final = 50
MAX_WORDS: Final = 5_000
"""Words of all commands together."""

Words: TypeAlias = tuple[str | None, ...]

_PREFIX = re.compile(
    r"if|then|elif|else|while|until|do|time|-p|coproc|!|\{|for|select|in|function|esac|[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=.*",
    re.DOTALL,
)
"""Words that a command's name may follow on."""
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
class LooseReading:
    """`commands` are the words of all commands that some reading shows; a word is None where it is not literal: it may be
    any text, several words, or none. `texts` are quoted texts of more than one word, without their quotes: a program may
    run them as a script. `unreadable`: the text is too long, or would take too long, to be read in every way."""

    commands: tuple[Words, ...]
    texts: tuple[str, ...] = ()
    unreadable: bool = False


@lru_cache(maxsize=64)
def loose_commands(text: str) -> LooseReading:
    """Read a text in every way that is possible. Never raises; takes time linear in the text."""
    if len(text) > MAX_CHARS:
        return LooseReading((), unreadable=True)
    variants = _variants(text)
    found: dict[Words, None] = {}
    spans = command_spans(text) if _is_light(text) else None
    complete = spans is not None
    seen = (tuple(_literal(text[start:end]) for start, end in words) for words in spans or ())
    unquoted = [_OPENING.sub("", variant).translate(_WITHOUT_QUOTES) for variant in variants]
    cut = map(_cut_commands, (*variants, *unquoted))
    size = 0
    for words in chain.from_iterable(map(_suffixes, chain(seen, *cut))):
        size += 0 if words in found else len(words)
        found[words] = None
        if size > MAX_WORDS:
            complete = False
            break
    quoted = (match[1] or match[2] or "" for variant in variants for match in _QUOTED_TEXT.finditer(variant))
    texts = dict.fromkeys(
        _ESCAPED_IN_QUOTES.sub(r"\1", text) for text in quoted if re.search(r"\S\s+\S|[;&|]", text)
    )
    return LooseReading(tuple(found), tuple(texts), unreadable=not complete)


def _suffixes(words: Words) -> Iterator[Words]:
    """Yield a command, and what is left of it without each word in front that need not be its name."""
    for place, word in enumerate(words):
        yield words[place:]
        if word is not None and _PREFIX.fullmatch(word) is None:
            return


def _is_light(text: str) -> bool:
    """Return True if a text is neither so long nor so deep that tree-sitter takes long, or shows each part many times."""
    within = len(text) <= MAX_PARSED_CHARS and text.count("|") <= MAX_PIPES and text.count("<<") <= MAX_OPEN
    changes = (1 if bracket == "(" else -1 for bracket in text if bracket in "()")
    return (
        within
        and max(accumulate(changes, lambda depth, change: max(0, depth + change), initial=0)) <= MAX_DEPTH
    )


def _variants(text: str) -> list[str]:
    """Return the text with and without its line continuations, each as it is and with what bash may take away."""
    variants: dict[str, None] = {}
    for lines in (text, _JOINED_LINES.sub("", text)):
        plain = _ANSI_C.sub(_decode_ansi_c, lines).replace('$"', '"')
        plain = _SEPARATOR_VARIABLE.sub(" ", plain)
        variants[plain] = None
        bare = _EMPTY.sub("", _REDIRECT.sub(" ", plain))
        variants[_BRACE_LIST.sub(lambda braces: f" {braces[1].replace(',', ' ')} ", bare)] = None
    return list(variants)


def _decode_ansi_c(quoted: re.Match[str]) -> str:
    """Return the text of `$'…'` in plain single quotes."""

    def decode(escape: re.Match[str]) -> str:
        hexadecimal, octal, sign = escape[1] or escape[2] or escape[3], escape[4], escape[5]
        if sign is not None:
            return _CONTROLS.get(sign, sign)
        return chr(min(int(hexadecimal or octal, 16 if hexadecimal else 8), sys.maxunicode))

    return "'" + _ANSI_C_ESCAPE.sub(decode, quoted[1]).replace("'", "") + "'"


def _cut_commands(text: str) -> Iterator[Words]:
    """Cut a text at the separators outside of quotes."""
    for is_separator, tokens in groupby(_TOKEN.findall(text), "\n;&|()`".__contains__):
        if not is_separator:
            yield tuple(map(_literal, tokens))


def _literal(word: str) -> str | None:
    """Return a word without its quotes and backslashes, None where bash expands something in it."""
    if _SPECIAL.isdisjoint(word):
        return word
    out: list[str] = []
    for single, double, escaped, plain in _PART.findall(word):
        if "$" in double or "`" in double or (plain and plain in "$`*?{[" and word not in ("[", "[[")):
            return None
        out.append(single or (double and _ESCAPED_IN_QUOTES.sub(r"\1", double)) or escaped or plain)
    return "".join(out)
