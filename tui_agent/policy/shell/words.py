"""L3: words of a shell script: what they are once bash has expanded them, as far as that is certain.

Invariant: a word whose expansion depends on anything outside the script has no values.
"""

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

from tui_agent.policy.shell.ansi_c import ansi_c
from tui_agent.policy.shell.braces import braced, endless
from tui_agent.policy.shell.path_words import part_of_path
from tui_agent.policy.shell.pieces import (
    GLOB_SIGNS,
    Piece,
    bare,
    counted,
    counts,
    folder_inside,
    listed,
    uncertain,
    unescaped,
    unquoted_braces,
)
from tui_agent.policy.shell.script import Command, Word
from tui_agent.policy.shell.sums import many_numbers, only_numbers, prints_numbers

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_VALUES = 16
MAX_NESTING = 8
MAX_ELEMENTS = 500

_WORDS = frozenset(
    {
        "word",
        "number",
        "string",
        "raw_string",
        "ansi_c_string",
        "translated_string",
        "concatenation",
        "simple_expansion",
        "expansion",
        "command_substitution",
        "process_substitution",
        "arithmetic_expansion",
        "brace_expression",
        "extglob_pattern",
        "array",
    }
)
PATTERNS = frozenset({"extglob_pattern", "regex", "test_operator", "variable_name"})
_HOME = "~"
_NUMBERS = frozenset({"#", "?", "$", "!", "UID", "EUID", "PPID"})
_USUAL = {"XDG_CONFIG_HOME": "~/.config", "XDG_DATA_HOME": "~/.local/share"}
"""What variables are where nobody set them."""
_TOP = ["git", "rev-parse", "--show-toplevel"]
_HARMLESS_SIGNS = frozenset(
    {"${", "}", ":-", "-", ":+", "+", "#", "##", "%", "%%", "/", "//", "/#", "/%", ",", ",,", "^", "^^"}
)
_PLAIN_KINDS = frozenset({"word", "number", "raw_string", "string", "brace_expression"})
_SECRETS = (
    "SECRET",
    "TOKEN",
    "PASSW",
    "PASSPHRASE",
    "APIKEY",
    "_KEY_",
    "CREDENTIAL",
    "_PASS_",
    "_PAT_",
    "DATABASE_URL",
    "_DSN_",
    "AUTH_",
    "COOKIE",
)
"""What the name of a variable with a secret holds."""
_SPECIAL = GLOB_SIGNS | frozenset("\\{}")


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a command stands: the folders it may run in, and the variables whose values are certain.

    `seen` are all folders that the statements so far may have entered, whether they succeeded or not.
    """

    places: tuple[str | None, ...] = ("",)
    variables: dict[str, tuple[Word, ...]] = field(default_factory=dict)
    seen: tuple[str | None, ...] = ("",)
    nesting: int = 0

    def deeper(self) -> "Scope | None":
        """Inside a substitution; None past the limit."""
        return None if self.nesting >= MAX_NESTING else replace(self, nesting=self.nesting + 1)

    def joined(self, other: "Scope") -> "Scope":
        """Here, or wherever `other` has been; what it knows of variables may not hold."""
        if other.places == self.places and other.seen == self.seen:
            return self
        places = tuple(dict.fromkeys((*self.places, *other.places, *other.seen)))
        if len(places) > MAX_VALUES:
            places = (None,)
        return replace(self, places=places, seen=_few((*self.seen, *places)))

    def with_variable(self, name: str, words: list[Word]) -> "Scope":
        """A variable has one of these values from here on."""
        known = {key: value for key, value in self.variables.items() if key != name}
        if words and all(word.values is not None or (word.whole and len(words) == 1) for word in words):
            known[name] = tuple(words)
        return replace(self, variables=known)

    def after(self, command: Command) -> "Scope":
        """Behind a command that succeeded: `cd` moves, everything else stays."""
        name = command.words[0].value if command.words else None
        if name == "popd" or (name == "pushd" and len(command.words) == 1):
            return self._at(self.seen)
        if name not in ("cd", "pushd"):
            return self
        flags = ("--", "-P", "-L") if name == "cd" else ("--",)
        operands = [word for word in command.words[1:] if word.value not in flags]
        targets = operands[0].values if len(operands) == 1 else None
        if targets == ("-",) and name == "cd" and not {"", None}.intersection(self.places):
            return self._at(self.seen)  # it has moved, to where it is now: what is behind it is one of these
        if not targets or any(target[:1] in ("", "-", "+") for target in targets):
            return self._at((None,))
        places = tuple(dict.fromkeys(join(place, target) for place in self.places for target in targets))
        return self._at(places if len(places) <= MAX_VALUES else (None,))

    def _at(self, places: tuple[str | None, ...]) -> "Scope":
        return replace(self, places=places, seen=_few((*self.seen, *places)))


def _few(places: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """Each once; too many are anywhere."""
    unique = tuple(dict.fromkeys(places))
    return unique if len(unique) <= MAX_VALUES else (None,)


def join(place: str | None, path: str) -> str | None:
    """A path as seen from the script's start; None: from anywhere."""
    if path.startswith("/"):
        return posixpath.normpath(path)
    if path.startswith("~"):
        return _from_home(path)
    if place is None:
        return None
    if place.startswith("~"):
        return _from_home(posixpath.join(place, path))
    joined = posixpath.normpath(posixpath.join(place, path))
    return "" if joined == "." else joined


def _from_home(path: str) -> str | None:
    """A path below a home, `..` that lead out of it kept; None for `~+`, `~-` and `~1`, which are folders of the shell."""
    home, _, below = path.partition("/")
    if home[1:2] in ("+", "-") or home[1:].isdigit():
        return None
    below = posixpath.normpath(below) if below else "."
    return home if below == "." else f"{home}/{below.lstrip('/')}"


class WordReader:
    """Reads words of the script `raw`; commands inside them go to `substitution`, what may run code to `problem`."""

    def __init__(
        self,
        raw: bytes,
        substitution: "Callable[[Node, Scope], tuple[Command, ...]]",
        problem: Callable[[str], None],
        certain: frozenset[str],
        counts: frozenset[str],
        several: frozenset[str],
    ) -> None:
        self._raw = raw
        self._certain = certain
        self._counts = counts
        """Variables that hold nothing but numbers."""
        self._several = several
        """Those that may hold more than one."""
        self.seen: set[int] = set()
        self._tested = False
        self.top = False
        """A word was read as in a workspace that is the top of its repository."""
        self._elements: dict[str, list[Word]] = {}
        """What arrays were last made of."""
        self._substitution = substitution
        self._problem = problem

    def _text(self, node: "Node") -> str:
        return self._raw[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def is_word(self, node: "Node") -> bool:
        """Whether the node can be an argument."""
        return node.type in _WORDS

    def is_pattern(self, node: "Node", child: "Node") -> bool:
        """Whether a child of a case is its word, or one of its patterns."""
        word = node.type == "case_statement" and node.child_by_field_name("value") == child
        return word or child.type in PATTERNS or self.is_word(child)

    def assignment(self, node: "Node", scope: Scope) -> tuple[str, Word]:
        """`NAME=value`; of `NAME+=value` and `NAME[1]=value` the value is not certain."""
        self.seen.add(node.id)
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        plain = (
            name is not None and name.type == "variable_name" and any(c.type == "=" for c in node.children)
        )
        if name is not None and name.type != "variable_name":
            self.inside(name, scope)
        word = self.read(value, scope) if value is not None else Word("", ("",))
        label = self._text(name) if name is not None else ""
        if value is not None and value.type == "array" and value.named_child_count <= MAX_ELEMENTS:
            self._elements[label] = [
                word for child in value.named_children for word in self.words(child, scope)
            ]
        return label, word if plain else Word(word.text, None)

    def inside(self, node: "Node", scope: Scope) -> None:
        """Find the commands inside a text whose value does not matter."""
        stack = [node]
        while stack:
            child = stack.pop()
            self._watch(child)
            if child is not node and child.type in ("command_substitution", "process_substitution"):
                self._substitution(child, scope)
            else:
                stack += reversed(child.children)

    def _watch(self, node: "Node") -> None:
        """Bash takes a name or an index in these for code: a variable's own text would be run."""
        self.seen.add(node.id)
        if node.type == "arithmetic_expansion":
            if not only_numbers(node, self._counts):
                self._problem("it computes with something unknown")
        elif node.type == "array":
            for child in node.named_children:
                index, close, _ = self._text(child).partition("]")
                if index.startswith("[") and close and not index[1:].isdecimal():
                    self._problem("an index in it may run something")
        elif node.type == "expansion":
            signs = {child.type for child in node.children if not child.is_named}
            cut = ":" in signs and all(self._plain_number(child) for child in node.named_children[1:])
            if not signs - ({":"} if cut else set()) <= _HARMLESS_SIGNS:
                self._problem("an expansion in it may run something")
            self._secret(node, shown=not signs & {":+", "+", "#"})
        elif node.type == "subscript":
            if not all(self._plain_number(child, every=True) for child in node.named_children[1:]):
                self._problem("an expansion in it may run something")
        elif node.type == "simple_expansion":
            self._secret(node, shown=True)

    def _plain_number(self, node: "Node", *, every: bool = False) -> bool:
        text = self._text(node)
        return (
            only_numbers(node, self._counts, itself=True)
            or text.isdecimal()
            or (every and text in ("@", "*"))
        )

    def _secret(self, node: "Node", *, shown: bool) -> None:
        """A variable of the environment whose name says that it is a secret."""
        name = next((self._text(child) for child in node.named_children if child.type == "variable_name"), "")
        if (
            shown
            and not self._tested
            and name.isupper()
            and not name.endswith("PWD")
            and any(part in f"_{name}_" for part in _SECRETS)
        ):
            self._problem(f"it shows {name}, which may be a secret")

    def tested(self, node: "Node", scope: Scope) -> Word:
        """The word at this node, which a test looks at and nothing shows."""
        self._tested = True
        word = self.read(node, scope)
        self._tested = False
        return word

    def words(self, node: "Node", scope: Scope) -> list[Word]:
        """The words that bash makes of this node: several where braces say so, or where they are those of a call."""
        if node.type == "word" and not node.named_child_count:
            plain = self._text(node)
            if _SPECIAL.isdisjoint(plain):
                return [Word(plain, (plain,))]
        text = self._text(node)
        if text in ("$@", '"$@"') and "@" in scope.variables:
            self.inside(node, scope)
            return list(scope.variables["@"])
        kinds = {child.type for child in node.named_children}
        if (
            "{" in text
            and node.type in ("word", "concatenation", "brace_expression")
            and kinds <= _PLAIN_KINDS
        ):
            found = braced(text)
            if found is not None:
                return [Word(one, (one,), glob) for one, glob in found]
        if "{" in text and node.type in ("word", "concatenation", "brace_expression") and endless(text):
            self._problem("braces in it make too many words")
        return [self.read(node, scope)]

    def read(self, node: "Node", scope: Scope) -> Word:
        """The word at this node."""
        if node.type == "word" and not node.named_child_count:
            plain = self._text(node)
            if _SPECIAL.isdisjoint(plain):
                return Word(plain, (plain,))
        pieces = self._pieces(node, scope)
        text = self._text(node)
        loose = "".join(
            "q" if piece.quoted else (piece.values[0] if piece.values else "") for piece in pieces
        )
        many = any(piece.many for piece in pieces)
        if (
            any(piece.values is None for piece in pieces)
            or unquoted_braces(text, loose)
            or folder_inside(pieces)
        ):
            return replace(uncertain(text, pieces), counted=counted(pieces), many=many)
        count = 1
        for piece in pieces:
            count *= len(piece.values or ("",))
        if count > MAX_VALUES:
            return Word(text, None, many=many)
        made_by = pieces[0].made_by if len(pieces) == 1 and node.type == "process_substitution" else ()
        options = [piece.values or ("",) for piece in pieces]
        values = tuple("".join(choice) for choice in product(*options))
        return Word(text, values, any(piece.glob for piece in pieces), made_by, many=many)

    def _made(self, commands: tuple[Command, ...], *, quoted: bool) -> Piece:
        """The output of commands: `$(pwd)` is the folder that it runs in, `$(dirname a/b)` what can be told from its words."""
        one = commands[0] if len(commands) == 1 else None
        if one is None or one.redirects or one.assignments:
            return Piece(None, quoted, made_by=commands)
        words = [word.value for word in one.words]
        if one.places == ("",) and words in (["pwd"], _TOP):
            self.top = self.top or words == _TOP
            return Piece((".",), quoted, folder=True)
        return Piece(part_of_path(one.words, quoted=quoted), quoted, made_by=commands)

    def _pieces(self, node: "Node", scope: Scope) -> list[Piece]:
        kind = node.type
        if kind == "concatenation":
            return [piece for child in node.children for piece in self._pieces(child, scope)]
        if kind in ("word", "number", "extglob_pattern"):
            if node.named_child_count:
                self.inside(node, scope)
                return [Piece(None, False, many=True)]
            return [bare(self._text(node))]
        if kind == "raw_string":
            return [Piece((self._text(node)[1:-1],), True)]
        if kind == "ansi_c_string":
            body = ansi_c(self._text(node)[2:-1])
            return [Piece(None if body is None else (body,), True)]
        if kind == "string":
            return self._quoted(node, scope)
        if kind in ("simple_expansion", "expansion"):
            return [self._expansion(node, scope, quoted=False)]
        if kind == "process_substitution":
            return [Piece(("/dev/fd/0",), True, made_by=self._substitution(node, scope))]
        if kind == "command_substitution":
            made = self._made(self._substitution(node, scope), quoted=False)
            number = prints_numbers(node)
            many = made.values is None and not (number and not many_numbers(node))
            return [replace(made, number=number, many=many)]
        self.inside(node, scope)
        number = kind == "arithmetic_expansion"
        return [Piece(None, False, number=number, many=not number)]

    def _array(self, name: str, scope: Scope) -> tuple[Word, ...] | None:
        """All elements of an array that is made in one place only; any of them may be meant."""
        if name not in self._certain or not all(
            word.values is not None for word in self._elements.get(name, ())
        ):
            return None
        return tuple(self._elements.get(name, ())) or None

    def _quoted(self, node: "Node", scope: Scope) -> list[Piece]:
        pieces = [Piece(("",), True)]
        end = node.start_byte + 1
        whole = self._raw[node.start_byte : node.end_byte]
        for child in node.children:
            if child.type == '"':
                continue
            gap = whole[end - node.start_byte : child.start_byte - node.start_byte]
            pieces.append(Piece((gap.decode("utf-8", "replace"),), True))
            end = child.end_byte
            if child.type == "string_content":
                pieces.append(Piece((unescaped(self._text(child), '$`"\\'),), True))
            elif child.type in ("simple_expansion", "expansion"):
                pieces.append(self._expansion(child, scope, quoted=True))
            else:
                if child.type == "command_substitution":
                    made = self._made(self._substitution(child, scope), quoted=True)
                    pieces.append(replace(made, number=prints_numbers(child)))
                    continue
                self.inside(child, scope)
                pieces.append(Piece(None, True, number=child.type == "arithmetic_expansion"))
        return pieces

    def _expansion(self, node: "Node", scope: Scope, *, quoted: bool) -> Piece:
        found = self._expanded(node, scope, quoted=quoted)
        found = replace(found, number=True) if counts(self._text(node)) else found
        certain = found.number and not self._many(node) if found.values is None else not found.glob
        loose = not quoted and not certain
        return replace(found, many=loose or listed(self._text(node)))

    def _many(self, node: "Node") -> bool:
        return any(self._text(child) in self._several for child in node.named_children)

    def _expanded(self, node: "Node", scope: Scope, *, quoted: bool) -> Piece:
        self.inside(node, scope)
        named = [child for child in node.children if child.is_named]
        plain = all(
            child.type in ("$", "${", "}", "variable_name", "special_variable_name", "subscript")
            for child in node.children
        )
        if not plain or len(named) != 1:
            return Piece(None, quoted)
        name = self._text(named[0])
        if named[0].type == "subscript":
            name = self._text(named[0].named_children[0]) + "[]"
        if name == "HOME":
            return Piece((_HOME,), quoted, folder=True)
        if name == "PWD":
            return Piece((".",) if scope.places == ("",) else None, quoted, folder=True)
        tail = name[1:] if node.type == "simple_expansion" and name[:1].isdigit() else ""  # `$2p` is `${2}p`
        words = scope.variables.get(name[0] if tail else name)
        number = name in self._counts or name in _NUMBERS
        if name.endswith("[]"):
            words = self._array(name.removesuffix("[]"), scope)
        if words is None:
            return Piece(None, quoted, maybe=_USUAL.get(name, "*"), number=number)
        if words[0].whole:
            made_by = () if tail else words[0].made_by
            return Piece(None, quoted and not words[0].split, made_by=made_by, number=number)
        values = tuple(dict.fromkeys(value + tail for word in words for value in word.values or ()))
        loose = any(char in value for value in values for char in " \t\n*?[") or "" in values
        if not quoted and loose and not any(word.glob for word in words):
            return Piece(None, quoted)
        return Piece(values, quoted, any(word.glob for word in words))
