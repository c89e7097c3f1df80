"""L3: reads the words of the bash subset: quotes, variables, substitutions, patterns and braces, character by character.

Invariant: each character of a word is named here with exactly one meaning; every other character, or combination that
bash treats specially, is refused.
"""

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from tui_agent.policy.bash.cursor import WORD_ENDS, Cursor
from tui_agent.policy.bash.syntax import (
    Pattern,
    Piece,
    ProcessOutput,
    Script,
    Substitution,
    Text,
    Variable,
    Word,
)

MAX_BRACE_WORDS: Final = 100
MAX_SCRIPT_BRACE_WORDS: Final = 1_000

_PLAIN = re.compile(r"[A-Za-z0-9_./:%@^+=~#\],-]+")
_ESCAPED: Final = frozenset(" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_ESCAPED_IN_QUOTES = re.compile(r'\\([$"\\`])')
_QUOTED_RUN = re.compile(r'(?:[^"$`\\]|\\[^"$`\\\n])+')
"""In double quotes a backslash is taken away only in front of four characters."""
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*|[0-9?#$!@*]))")
_EXPANSIONS: Final = {
    "(": "it uses arithmetic",
    "[": "it uses arithmetic",
    "{": "it changes a variable where it is used",
}
_EXPANDED_IN_BODY = re.compile(r"\$(?:[A-Za-z_(]|\{[A-Za-z_])")
_LITERAL_DOLLAR_IN_QUOTES: Final = frozenset('" |)/.,:;%=\\')
_LITERAL_DOLLAR: Final = frozenset(("", " ", "\t", "\n"))
_WILDCARD = re.compile(r"[*?]+|\[[!^]?[A-Za-z0-9_.,-]+\]")
_LITERAL_BRACES = re.compile(r"\{(?![^}]*\.\.)[A-Za-z0-9_./:^-]*\}")
_ALTERNATIVES = re.compile(r"\{([A-Za-z0-9_./:%@^+=~#*?-]*(?:,[A-Za-z0-9_./:%@^+=~#*?-]*)+)\}")
_ANY_TEXT = re.compile(r"([*?]+)")
_NUMBERS = re.compile(r"\{(0|-?[1-9][0-9]{0,5})\.\.(0|-?[1-9][0-9]{0,5})\}")
_LETTERS = re.compile(r"\{(?:([a-z])\.\.([a-z])|([A-Z])\.\.([A-Z]))\}")
_TILDE_BEHIND = re.compile(r"[:=]~")
_SIGN_IN_COMMAND = re.compile(r"[\\*?%\[]|(?<!\$)\{")
_BYTES_OF_BLANKS: Final = frozenset(b"\x85\xa0")
"""Some systems take these bytes of a letter for blanks."""


class Role(Enum):
    """The place of a word, which decides what bash expands in it."""

    COMMAND = auto()
    ARGUMENT = auto()
    VALUE = auto()  # behind `name=`: no patterns, no braces
    TARGET = auto()  # behind a redirection
    TEST = auto()  # inside `[[ … ]]`: no braces


class WordReader:
    """Reads one word after the other. `read_substitution` reads from behind `$(` to behind its `)`."""

    def __init__(self, cursor: Cursor, read_substitution: Callable[[], Script]) -> None:
        self._cursor = cursor
        self._read_substitution = read_substitution
        self._role = Role.ARGUMENT
        self._brace_words = 0

    def read(self, role: Role) -> tuple[Word, ...]:
        """Read one word; braces make several of it. In the role `VALUE` it may be empty."""
        cursor, start = self._cursor, self._cursor.position
        outer_role, self._role = self._role, role
        variants = self._read_whole() or self._read_parts()
        self._role = outer_role
        source = cursor.text[start : cursor.position]
        if not source and role is not Role.VALUE:
            raise cursor.refusal("a word is missing")
        if role is Role.COMMAND and source != "[" and (sign := _SIGN_IN_COMMAND.search(source)):
            raise cursor.refusal(f"`{sign[0]}` stands in a command's name", start)
        if cursor.character in ("<", ">") and (source[-1:] == "}" or source.isdigit()):
            raise cursor.refusal("a redirection follows on a word that could belong to it")
        if role is Role.VALUE or len(variants) == 1:
            return (Word(source, start, self._merge(variants[0], start)),)
        self._brace_words += len(variants)
        if self._brace_words > MAX_SCRIPT_BRACE_WORDS:
            raise cursor.refusal("its braces make too many words", start)
        if not any(variants):
            raise cursor.refusal("its braces make no word", start)
        return tuple(Word(source, start, self._merge(pieces, start)) for pieces in variants if pieces)

    def at_process_output(self) -> bool:
        """Return True if a word `<(…)` begins here, behind a blank."""
        cursor = self._cursor
        return cursor.has("<(") and cursor.text[: cursor.position][-1:] in (" ", "\t")

    def read_process_output(self) -> Word:
        """Read a word `<(…)`, which nothing may be glued to."""
        cursor, start = self._cursor, self._cursor.position
        if cursor.has("<(("):
            raise cursor.refusal("`((` stands in `<(…)`")
        cursor.position += 2
        script = self._read_substitution()
        if not cursor.at_word_end() or cursor.character in ("<", ">", "("):
            raise cursor.refusal("text is glued to `<(…)`", start)
        return Word(cursor.text[start : cursor.position], start, (ProcessOutput(script),))

    def read_body(self, start: int, end: int) -> Word:
        """Read the text of a here-document that bash expands, from offset to offset: variables and substitutions. Nothing
        is quoted in it, so that every other sign stands for itself."""
        cursor, behind = self._cursor, self._cursor.position
        pieces: list[Piece] = []
        cursor.position = start
        while cursor.position < end:
            text = cursor.text[cursor.position : end].partition("$")[0]
            if text:
                pieces.append(Text(text, quoted=True))
                cursor.position += len(text)
            elif cursor.match(_EXPANDED_IN_BODY) is None:
                raise cursor.refusal("a `$` in a here-document is not read")
            else:
                pieces.append(self._read_dollar(quoted=True))
        if cursor.position != end:
            raise cursor.refusal("a substitution goes on beyond the end of its here-document", start)
        cursor.position = behind
        return Word(cursor.text[start:end], start, tuple(pieces))

    def _merge(self, pieces: list[Piece], start: int) -> tuple[Piece, ...]:
        """Join texts that stand side by side; refuse a `~` of which the meaning depends on what surrounds it."""
        merged: list[Piece] = []
        for piece in pieces:
            last = merged[-1] if merged else None
            if isinstance(piece, Text) and isinstance(last, Text) and piece.quoted == last.quoted:
                merged[-1] = Text(last.text + piece.text, piece.quoted)
            else:
                merged.append(piece)
        for index, piece in enumerate(merged):
            if not isinstance(piece, Text) or piece.quoted or "~" not in piece.text:
                continue
            if _TILDE_BEHIND.search(piece.text):
                raise self._cursor.refusal("`~` stands behind `:` or `=`", start)
            alone = piece.text == "~" and len(merged) == 1
            if not index and piece.text[0] == "~" and not (alone or piece.text.startswith("~/")):
                raise self._cursor.refusal("`~` is followed by something else than `/`", start)
        return tuple(merged)

    def _read_whole(self) -> list[list[Piece]]:
        """Read the words `!` and `!=`, and the command `[`: these characters mean something else inside of a word."""
        cursor = self._cursor
        for token in ("[",) if self._role is Role.COMMAND else ("!=", "!"):
            end = cursor.position + len(token)
            if cursor.has(token) and cursor.text[end : end + 1] in WORD_ENDS | {""}:
                cursor.position = end
                return [[Text(token)]]
        return []

    def _read_parts(self) -> list[list[Piece]]:
        """Read up to the end of the word. Return the pieces of each word that its braces make."""
        start = self._cursor.position
        variants: list[list[Piece]] = [[]]
        while not self._cursor.at_word_end():
            choices = self._read_braces() if self._cursor.has("{") else [self._read_part()]
            variants = [[*pieces, *choice] for pieces in variants for choice in choices]
            if len(variants) > MAX_BRACE_WORDS:
                raise self._cursor.refusal("its braces make too many words")
        if len(variants) > 1 and not all(map(_stands_with_braces, variants[0])):
            raise self._cursor.refusal(
                "an expansion or a second pair of braces stands in a word with braces", start
            )
        return variants

    def _read_part(self) -> list[Piece]:
        cursor = self._cursor
        if plain := cursor.match(_PLAIN):
            cursor.position = plain.end()
            return [Text(plain[0])]
        match cursor.character:
            case "'":
                return [self._read_single_quotes()]
            case '"':
                return self._read_double_quotes()
            case "$":
                return [self._read_dollar(quoted=False)]
            case "*" | "?" | "[":
                return [self._read_pattern()]
            case "\\":
                return [self._read_escape()]
            case "`":
                raise cursor.refusal("it uses backquotes")
            case "}":
                raise cursor.refusal("a `}` stands in a word without its `{`")
            case "!":
                raise cursor.refusal("`!` stands in a word outside of quotes")
            case character:
                return [self._read_foreign(character)]

    def _read_foreign(self, character: str) -> Text:
        if not character.isalnum() or not _BYTES_OF_BLANKS.isdisjoint(character.encode()):
            raise self._cursor.refusal(f"`{character}` stands outside of quotes")
        self._cursor.position += 1
        return Text(character)

    def _read_single_quotes(self) -> Text:
        cursor = self._cursor
        end = cursor.text.find("'", cursor.position + 1)
        if end < 0:
            raise cursor.refusal("a single quote has no end")
        text = cursor.text[cursor.position + 1 : end]
        cursor.pass_quotes(end + 1)
        return Text(text, quoted=True)

    def _read_double_quotes(self) -> list[Piece]:
        cursor, opening = self._cursor, self._cursor.position
        pieces: list[Piece] = []
        cursor.position += 1
        while True:
            if run := cursor.match(_QUOTED_RUN):
                pieces.append(Text(run[0], quoted=True))
                cursor.pass_quotes(run.end())
            match cursor.character:
                case '"':
                    cursor.position += 1
                    return pieces or [Text("", quoted=True)]
                case "$":
                    pieces.append(self._read_dollar(quoted=True))
                case "\\" if escaped := cursor.match(_ESCAPED_IN_QUOTES):
                    pieces.append(Text(escaped[1], quoted=True))
                    cursor.position = escaped.end()
                case "\\":
                    raise cursor.refusal("a backslash stands at the end of a line")
                case "`":
                    raise cursor.refusal("it uses backquotes")
                case _:
                    raise cursor.refusal("a double quote has no end", opening)

    def _read_escape(self) -> Text:
        cursor = self._cursor
        following = cursor.text[cursor.position + 1 : cursor.position + 2]
        if following not in _ESCAPED:
            place = "at the end of a line" if following in ("", "\n") else f"in front of `{following}`"
            raise cursor.refusal(f"a backslash stands {place}")
        cursor.position += 2
        return Text(following, quoted=True)

    def _read_pattern(self) -> Piece:
        cursor = self._cursor
        wildcard = cursor.match(_WILDCARD)
        if self._role is Role.TARGET:
            raise cursor.refusal("a pattern stands for the file of a redirection")
        if wildcard is None:
            raise cursor.refusal("`[` begins no simple set of characters")
        cursor.position = wildcard.end()
        return Text(wildcard[0]) if self._role is Role.VALUE else Pattern(wildcard[0])

    def _read_dollar(self, *, quoted: bool) -> Piece:
        cursor = self._cursor
        if variable := cursor.match(_VARIABLE):
            cursor.position = variable.end()
            return self._check_variable(variable, quoted=quoted)
        cursor.position += 1
        following = cursor.character
        if cursor.has("(") and not cursor.has("(("):
            cursor.position += 1
            return Substitution(self._read_substitution(), quoted)
        if following in (_LITERAL_DOLLAR_IN_QUOTES if quoted else _LITERAL_DOLLAR):
            return Text("$", quoted=quoted)
        raise cursor.refusal(_EXPANSIONS.get(following, f"`${following}` is not read"), cursor.position - 1)

    def _check_variable(self, variable: re.Match[str], *, quoted: bool) -> Variable:
        following = self._cursor.character
        braced, name = variable.groups()
        if name and (following > "\x7f" or (name.isdigit() and following.isdigit())):
            raise self._cursor.refusal("it is not certain where the name of a variable ends")
        if "_" in (braced, name):
            raise self._cursor.refusal("it uses `$_`")
        return Variable(braced or name, quoted)

    def _read_braces(self) -> list[list[Piece]]:
        """Read braces with plain texts and patterns, or with a span. Return the pieces of each word that they make."""
        cursor = self._cursor
        literal = cursor.match(_LITERAL_BRACES)
        if literal is not None:
            cursor.position = literal.end()
            return [[Text(literal[0])]]
        if self._role is not Role.ARGUMENT:
            raise cursor.refusal("braces stand in a place where they are not expanded")
        found = cursor.match(_ALTERNATIVES) or cursor.match(_NUMBERS) or cursor.match(_LETTERS)
        if found is None:
            raise cursor.refusal("braces hold something else than plain texts and patterns")
        cursor.position = found.end()
        texts = found[1].split(",") if found.re is _ALTERNATIVES else self._expand_span(found)
        parts = ([part for part in _ANY_TEXT.split(text) if part] for text in texts)
        return [[Pattern(part) if part[0] in "*?" else Text(part) for part in text] for text in parts]

    def _expand_span(self, span: re.Match[str]) -> list[str]:
        first, last = (bound for bound in span.groups() if bound is not None)
        numeric = span.re is _NUMBERS
        low, high = (int(first), int(last)) if numeric else (ord(first), ord(last))
        if low == high or abs(high - low) >= MAX_BRACE_WORDS:
            raise self._cursor.refusal("its braces make too many words, or only one")
        values = range(low, high + 1) if low < high else range(low, high - 1, -1)
        return [str(value) if numeric else chr(value) for value in values]


def _stands_with_braces(piece: Piece) -> bool:
    """Return True for a part that bash reads as we do next to braces, which it expands first: `$x{a,b}` is `$xa $xb`."""
    if isinstance(piece, Text | Variable) and piece.quoted:
        return True
    return isinstance(piece, Pattern) or (isinstance(piece, Text) and "}" not in piece.text)
