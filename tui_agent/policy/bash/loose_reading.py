"""L3: every command that a text outside the subset might run, for rules that deny and for guards.

Invariant: proves nothing. It over-approximates: quotes, comments and line breaks are read in each way that is possible.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from tui_agent.policy.bash.tree_check import command_spans, parse_tree

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_CHARS: Final = 40_000
MAX_PARSED_CHARS: Final = 10_000
MAX_PIPES: Final = 400
MAX_OPEN: Final = 200
MAX_COMMANDS: Final = 3_000
MAX_PREFIXES: Final = 20

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
_CUT = re.compile(r"[\n;&|(){}`]|[$<>]\(")
_QUOTED = r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*\""""
_REDIRECT = re.compile(
    rf"(?:(?<![^\s;&|()])[0-9]+|\{{\w+\}})?(?:&>>?|[<>][<>&|]*)[ \t]*(?:[^\s;&|()<>`'\"\\]|{_QUOTED})*",
    re.DOTALL,
)
_TOKEN = re.compile(rf"(?:[^\s;&|()`'\"\\]|{_QUOTED})+|[\n;&|()`]", re.DOTALL)
_PART = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|(.)""", re.DOTALL)
_QUOTED_TEXT = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\([$`"\\\n])')


@dataclass(frozen=True, slots=True)
class LooseReading:
    """`commands` are the words of all commands that some reading shows; a word is None where it is not literal: it may be
    any text, several words, or none. `texts` are quoted texts of more than one word, without their quotes: a program may
    run them as a script. `unreadable`: the text is too long, or would take too long, to be read in every way."""

    commands: tuple[Words, ...]
    texts: tuple[str, ...] = ()
    unreadable: bool = False


def loose_commands(text: str) -> LooseReading:
    """Read a text in every way that is possible. Never raises; takes time linear in the text."""
    if len(text) > MAX_CHARS:
        return LooseReading((), unreadable=True)
    variants = _variants(text)
    found: dict[Words, None] = {}
    complete = _is_light(text)
    for words in _every_command(variants, text if complete else ""):
        complete &= _add_with_suffixes(words, found)
        if len(found) > MAX_COMMANDS:
            complete = False
            break
    quoted = (match[1] or match[2] or "" for variant in variants for match in _QUOTED_TEXT.finditer(variant))
    texts = dict.fromkeys(
        _ESCAPED_IN_QUOTES.sub(r"\1", text) for text in quoted if re.search(r"\S\s+\S|[;&|]", text)
    )
    return LooseReading(tuple(found), tuple(texts), unreadable=not complete)


def _every_command(variants: list[str], parsed: str) -> Iterator[Words]:
    if parsed:
        yield from _tree_commands(parsed)
    for variant in variants:
        for segment in _CUT.split(variant):
            yield tuple(_bare_literal(word) for word in re.sub(r"['\"\\]", "", segment).split())
        yield from _commands_by_quotes(variant)


def _add_with_suffixes(words: Words, found: dict[Words, None]) -> bool:
    """Add a command, and what is left of it without each word in front that need not be its name. Return False where
    there are too many of these."""
    for _ in range(MAX_PREFIXES):
        if not words:
            return True
        found[words] = None
        first = words[0]
        if first is not None and _PREFIX.fullmatch(first) is None:
            return True
        words = words[1:]
    return False


def _is_light(text: str) -> bool:
    """Return True if tree-sitter needs no longer than a second for the text."""
    within = len(text) <= MAX_PARSED_CHARS and text.count("|") <= MAX_PIPES
    return within and text.count("<<") <= MAX_OPEN and abs(text.count("(") - text.count(")")) <= MAX_OPEN


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
        hexadecimal = escape[1] or escape[2] or escape[3]
        if hexadecimal or escape[4]:
            code = int(hexadecimal, 16) if hexadecimal else int(escape[4], 8)
            return chr(code) if code < 0x110000 else ""
        return _CONTROLS.get(escape[5], escape[5])

    return "'" + _ANSI_C_ESCAPE.sub(decode, quoted[1]).replace("'", "") + "'"


def _commands_by_quotes(text: str) -> Iterator[Words]:
    """Cut a text at the separators outside of quotes."""
    words: list[str | None] = []
    for token in _TOKEN.findall(text):
        if token in "\n;&|()`":
            yield tuple(words)
            words = []
        else:
            words.append(_literal(token))
    yield tuple(words)


def _tree_commands(text: str) -> Iterator[Words]:
    root: Node = parse_tree(text)
    for spans in command_spans(root):
        yield tuple(_literal(text[start:end]) for start, end in spans)


def _literal(word: str) -> str | None:
    """Return a word without its quotes and backslashes, None where bash expands something in it."""
    out: list[str] = []
    for single, double, escaped, plain in _PART.findall(word):
        if plain in "$`*?{[" and plain and word not in ("[", "[["):
            return None
        if "$" in double or "`" in double:
            return None
        out.append(single or _ESCAPED_IN_QUOTES.sub(r"\1", double) or escaped or plain)
    return "".join(out)


def _bare_literal(word: str) -> str | None:
    return word if word in ("[", "[[") or not re.search(r"[$*?\[]", word) else None
