"""The lexer for words of the bash subset: quotes, variables, substitutions, patterns and braces.

Invariant: each accepted character has exactly one meaning here, and every other character is refused.
"""

import re
from collections.abc import Callable
from enum import Enum, auto
from itertools import islice
from typing import Final

from tui_agent.policy.bash import syntax
from tui_agent.policy.bash.cursor import DELIMITER, Cursor

MAX_BRACE_WORDS: Final = 500
"""Maximum number of words from all brace expansions in a script."""

_PLAIN = re.compile(rf"[A-Za-z0-9_./:%@^+=~#\],-]+|(?<![^ \t\n;&|<>(])(?:!=?|\[){DELIMITER}")
"""Matches literal characters of a word. `!`, `!=` and `[` match only as whole words."""
_ESCAPED: Final = frozenset(" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_ESCAPED_IN_QUOTES = re.compile(r'\\([$"\\`])')
_QUOTED_RUN = re.compile(r'(?:[^"$`\\]|\\[^"$`\\\n])+')
"""Matches literal text in double quotes."""
_NAME: Final = r"(?!_\b)[A-Za-z_][A-Za-z0-9_]*+"
_OPERATION: Final = r"(:-)([A-Za-z0-9_./,:@+-]*)|(##?|%%?)([A-Za-z0-9_./,:@+*?-]+)"
_VARIABLE = re.compile(
    rf"\$(?:\{{({_NAME})(?:{_OPERATION})?\}}|({_NAME}|[0-9](?![0-9])|[?#$!@*])(?![^\x00-\x7f]))"
)
"""Matches a variable such as `$name`."""
# `$_` does not match, because every command changes its value. `$12` and `$nameé` do not match, because it is not
# certain where the name ends.
_EXPANSIONS: Final = {
    "(": "it uses arithmetic",
    "[": "it uses arithmetic",
    "{": "it uses an unsupported variable expansion",
}
_EXPANDED_IN_BODY = re.compile(r"\$(?:[A-Za-z_(]|\{[A-Za-z_])")
_LITERAL_DOLLAR_IN_QUOTES: Final = frozenset('" |)/.,:;%=\\')
_LITERAL_DOLLAR: Final = frozenset(("", " ", "\t", "\n"))
_WILDCARD = re.compile(r"[*?]+|\[[!^]?[A-Za-z0-9_.,-]+\]")
_LITERAL_BRACES = re.compile(r"\{(?![^}]*\.\.)[A-Za-z0-9_./:^-]*\}")
_ALTERNATIVES = re.compile(r"\{([A-Za-z0-9_./:%@^+=~#*?-]*(?:,[A-Za-z0-9_./:%@^+=~#*?-]*)+)\}")
_ANY_TEXT = re.compile(r"([*?]+)")
_NUMBERS = re.compile(r"\{(0|-?[1-9][0-9]{0,5})\.\.(?!\1\})(0|-?[1-9][0-9]{0,5})\}")
"""Matches a range of two different numbers in braces, such as `{1..3}`."""
_ODD_TILDE = re.compile(r"[:=]~|\A~(?!/|\Z)")
_SIGN_IN_COMMAND = re.compile(r"[\\*?%!]|(?!\A\[\Z)\[|(?<!\$)\{")
_BYTES_OF_BLANKS: Final = frozenset(b"\x85\xa0")
"""Bytes that some systems treat as blanks, even if they are part of an encoded letter."""


class Role(Enum):
    """The role of a word in a command (argument, assigned value …), which decides how bash expands the word."""

    COMMAND = auto()
    ARGUMENT = auto()
    VALUE = auto()  # after `name=`: no patterns, no braces
    TARGET = auto()  # after a redirection operator
    TEST = auto()  # inside `[[ … ]]`: no braces


class WordReader:
    """Reads the words of a bash script, one after the other.

    `read_substitution`: parses a command substitution after `$(`, including the closing `)`.
    """

    def __init__(self, cursor: Cursor, read_substitution: Callable[[], syntax.Script]) -> None:
        self._cursor = cursor
        self._read_substitution = read_substitution
        self._brace_words = 0

    def read(self, role: Role) -> tuple[syntax.Word, ...]:
        """Read one word of the script. Return several words if bash expands braces in the word."""
        cursor, start = self._cursor, self._cursor.position
        variants = self._read_parts(role)
        source = cursor.text[start : cursor.position]
        if not source and role is not Role.VALUE:
            raise cursor.unexpected_text_error()
        if role is Role.COMMAND and (sign := _SIGN_IN_COMMAND.search(source)):
            raise cursor.refusal(f"`{sign[0]}` is not allowed in a command's name", start)
        if cursor.character in ("<", ">") and (source[-1:] == "}" or source.isdigit()):
            raise cursor.refusal("bash may read the word before a redirection as a file descriptor")
        nonempty_variants = variants if len(variants) == 1 else filter(None, variants)
        return tuple(
            syntax.Word(source, start, self._check_tildes(pieces, start)) for pieces in nonempty_variants
        )

    def at_process_output(self) -> bool:
        """Return True if a process substitution `<(…)` comes next, after any blanks."""
        cursor = self._cursor
        return cursor.has("<(") and cursor.text[: cursor.position][-1:] in (" ", "\t")

    def read_process_output(self) -> syntax.Word:
        """Read a process substitution `<(…)`, which must be a whole word."""
        cursor, start = self._cursor, self._cursor.position
        if cursor.has("<(("):
            raise cursor.refusal("`((` is not supported in `<(…)`")
        cursor.position += 2
        script = self._read_substitution()
        if not cursor.at_word_end() or cursor.character in ("<", ">", "("):
            raise cursor.refusal("text is attached to `<(…)`", start)
        return syntax.Word(cursor.text[start : cursor.position], start, (syntax.ProcessOutput(script),))

    def read_body(self, start: int, end: int) -> syntax.Word:
        """Read the body of a here-document with an unquoted delimiter, from offset `start` to `end`.

        Only variables and substitutions are expanded in this body; quotes are literal.
        """
        cursor, behind = self._cursor, self._cursor.position
        pieces: list[syntax.Piece] = []
        cursor.position = start
        while cursor.position < end:
            text = cursor.text[cursor.position : end].partition("$")[0]
            if text:
                pieces.append(syntax.Text(text, quoted=True))
                cursor.position += len(text)
            elif cursor.match(_EXPANDED_IN_BODY) is None:
                raise cursor.refusal("a `$` in a here-document is not supported")
            else:
                pieces.append(self._read_dollar(quoted=True))
        if cursor.position != end:
            raise cursor.refusal("a substitution in a here-document has no end", start)
        cursor.position = behind
        return syntax.Word(cursor.text[start:end], start, tuple(pieces))

    def _check_tildes(self, pieces: list[syntax.Piece], start: int) -> tuple[syntax.Piece, ...]:
        unquoted = (isinstance(piece, syntax.Text) and not piece.quoted and piece.text for piece in pieces)
        if _ODD_TILDE.search("".join(text or "\0" for text in unquoted)):
            raise self._cursor.refusal("`~` follows `:` or `=`, or is not followed by `/`", start)
        return tuple(pieces)

    def _read_parts(self, role: Role) -> list[list[syntax.Piece]]:
        start = self._cursor.position
        variants: list[list[syntax.Piece]] = [[]]
        while not self._cursor.at_word_end():
            choices = self._read_braces(role) if self._cursor.has("{") else [self._read_part(role)]
            self._brace_words += len(variants) * (len(choices) - 1)
            if self._brace_words > MAX_BRACE_WORDS:
                raise self._cursor.refusal("brace expansion makes too many words")
            variants = [[*pieces, *choice] for pieces in variants for choice in choices]
        if len(variants) > 1 and not all(map(_keeps_its_meaning, variants[0])):
            raise self._cursor.refusal(
                "a word with braces has an expansion or a second pair of braces", start
            )
        return variants

    def _read_part(self, role: Role) -> list[syntax.Piece]:
        cursor = self._cursor
        if plain := cursor.match(_PLAIN):
            cursor.position = plain.end()
            return [syntax.Text(plain[0])]
        match cursor.character:
            case "'":
                return [self._read_single_quotes()]
            case '"':
                return self._read_double_quotes()
            case "$":
                return [self._read_dollar(quoted=False)]
            case "*" | "?" | "[":
                return [self._read_pattern(role)]
            case "\\":
                return [self._read_escape()]
            case "`":
                raise cursor.refusal("it uses backquotes")
            case "}":
                raise cursor.refusal("a word has a `}` without `{`")
            case "!":
                raise cursor.refusal("a word has an unquoted `!`")
            case character:
                return [self._read_foreign(character)]

    def _read_foreign(self, character: str) -> syntax.Text:
        if not character.isalnum() or not _BYTES_OF_BLANKS.isdisjoint(character.encode()):
            raise self._cursor.refusal(f"`{character}` is not quoted")
        self._cursor.position += 1
        return syntax.Text(character)

    def _read_single_quotes(self) -> syntax.Text:
        cursor = self._cursor
        end = cursor.text.find("'", cursor.position + 1)
        if end < 0:
            raise cursor.refusal("a single quote has no end")
        text = cursor.text[cursor.position + 1 : end]
        cursor.position = end + 1
        return syntax.Text(text, quoted=True)

    def _read_double_quotes(self) -> list[syntax.Piece]:
        cursor, opening = self._cursor, self._cursor.position
        pieces: list[syntax.Piece] = []
        cursor.position += 1
        while True:
            if run := cursor.match(_QUOTED_RUN):
                pieces.append(syntax.Text(run[0], quoted=True))
                cursor.position = run.end()
            match cursor.character:
                case '"':
                    cursor.position += 1
                    return pieces or [syntax.Text("", quoted=True)]
                case "$":
                    pieces.append(self._read_dollar(quoted=True))
                case "\\" if escaped := cursor.match(_ESCAPED_IN_QUOTES):
                    pieces.append(syntax.Text(escaped[1], quoted=True))
                    cursor.position = escaped.end()
                case "\\":
                    raise cursor.refusal("there is a backslash at the end of a line")
                case "`":
                    raise cursor.refusal("it uses backquotes")
                case _:
                    raise cursor.refusal("a double quote has no end", opening)

    def _read_escape(self) -> syntax.Text:
        cursor = self._cursor
        following = cursor.text[cursor.position + 1 : cursor.position + 2]
        if following not in _ESCAPED:
            place = "at the end of a line" if following in ("", "\n") else f"before `{following}`"
            raise cursor.refusal(f"there is a backslash {place}")
        cursor.position += 2
        return syntax.Text(following, quoted=True)

    def _read_pattern(self, role: Role) -> syntax.Piece:
        cursor = self._cursor
        wildcard = cursor.match(_WILDCARD)
        if role is Role.TARGET:
            raise cursor.refusal("a redirection's file is a pattern")
        if wildcard is None:
            raise cursor.refusal("`[` does not begin a simple character class")
        cursor.position = wildcard.end()
        return syntax.Text(wildcard[0]) if role is Role.VALUE else syntax.Pattern(wildcard[0])

    def _read_dollar(self, *, quoted: bool) -> syntax.Piece:
        cursor = self._cursor
        if variable := cursor.match(_VARIABLE):
            cursor.position = variable.end()
            name, *operation = filter(None, variable.groups())
            return syntax.Variable(name, quoted, *operation)
        cursor.position += 1
        following = cursor.character
        if cursor.has("(") and not cursor.has("(("):
            cursor.position += 1
            return syntax.Substitution(self._read_substitution(), quoted)
        if following in (_LITERAL_DOLLAR_IN_QUOTES if quoted else _LITERAL_DOLLAR):
            return syntax.Text("$", quoted=quoted)
        raise cursor.refusal(
            _EXPANSIONS.get(following, f"`${following}` is not supported"), cursor.position - 1
        )

    def _read_braces(self, role: Role) -> list[list[syntax.Piece]]:
        """Read braces such as `{a,b}` or `{1..3}`; return the pieces of each alternative."""
        cursor = self._cursor
        literal = cursor.match(_LITERAL_BRACES)
        if literal is not None:
            cursor.position = literal.end()
            return [[syntax.Text(literal[0])]]
        if role is not Role.ARGUMENT:
            raise cursor.refusal("braces are used where they are not expanded")
        braces = cursor.match(_ALTERNATIVES) or cursor.match(_NUMBERS)
        if braces is None:
            raise cursor.refusal("braces contain something other than plain text and patterns")
        cursor.position = braces.end()
        texts = (
            braces[1].split(",") if braces.re is _ALTERNATIVES else _expand_span(*map(int, braces.groups()))
        )
        parts = ([part for part in _ANY_TEXT.split(text) if part] for text in texts)
        return [
            [syntax.Pattern(part) if part[0] in "*?" else syntax.Text(part) for part in text]
            for text in parts
        ]


def _expand_span(first: int, last: int) -> list[str]:
    """Return the numbers from `first` to `last`, counting up or down.

    Stop after `MAX_BRACE_WORDS` + 2 numbers: enough for the caller to refuse the word.
    """
    direction = 1 if first < last else -1
    return [str(number) for number in islice(range(first, last + direction, direction), MAX_BRACE_WORDS + 2)]


def _keeps_its_meaning(piece: syntax.Piece) -> bool:
    """Return True if a piece of a word keeps its meaning in a brace expansion.

    The result is False for `$x` in `$x{a,b}`, because bash expands this to `$xa $xb`.
    """
    if isinstance(piece, syntax.Text | syntax.Variable) and piece.quoted:
        return True
    return isinstance(piece, syntax.Pattern) or (isinstance(piece, syntax.Text) and "}" not in piece.text)
