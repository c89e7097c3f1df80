"""L3: words of a shell script: what they are once bash has expanded them, as far as that is certain.

Invariant: a word whose expansion depends on anything outside the script has no values.
"""

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

from tui_agent.policy.ansi_c import ansi_c
from tui_agent.policy.braces import braced
from tui_agent.policy.path_words import part_of_path
from tui_agent.policy.script import Command, Word
from tui_agent.policy.shell_sums import only_numbers, prints_numbers

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
_HOME = "~"
_USUAL = {"XDG_CONFIG_HOME": "~/.config", "XDG_DATA_HOME": "~/.local/share"}
"""What variables are where nobody set them."""
_TOP = ["git", "rev-parse", "--show-toplevel"]
_GLOB = frozenset("*?[")
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
_SPECIAL = _GLOB | frozenset("\\{}")


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


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of a word: its possible texts, and whether quotes protect them."""

    values: tuple[str, ...] | None
    quoted: bool
    glob: bool = False
    folder: bool = False
    """It stands for a folder, and says so only as the whole first part of a path."""
    made_by: tuple[Command, ...] = ()
    """The pipeline whose output it is."""
    maybe: str = "*"
    """What it is where that is not certain."""
    number: bool = False
    """It is a number, or several of them below each other."""


class WordReader:
    """Reads words of the script `raw`; commands inside them go to `substitution`, what may run code to `problem`."""

    def __init__(
        self,
        raw: bytes,
        substitution: "Callable[[Node, Scope], tuple[Command, ...]]",
        problem: Callable[[str], None],
        certain: frozenset[str],
        counts: frozenset[str],
    ) -> None:
        self._raw = raw
        self._certain = certain
        self._counts = counts
        """Variables that hold nothing but numbers."""
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
        """The words that bash makes of this node: several where braces say so."""
        if node.type == "word" and not node.named_child_count:
            plain = self._text(node)
            if _SPECIAL.isdisjoint(plain):
                return [Word(plain, (plain,))]
        text = self._text(node)
        kinds = {child.type for child in node.named_children}
        if (
            "{" in text
            and node.type in ("word", "concatenation", "brace_expression")
            and kinds <= _PLAIN_KINDS
        ):
            found = braced(text)
            if found is not None:
                return [Word(one, (one,), glob) for one, glob in found]
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
        if any(piece.values is None for piece in pieces) or _braces(text, loose) or _misplaced(pieces):
            return replace(_output(text, pieces), counted=_counted(pieces))
        count = 1
        for piece in pieces:
            count *= len(piece.values or ("",))
        if count > MAX_VALUES:
            return Word(text, None)
        made_by = pieces[0].made_by if len(pieces) == 1 and node.type == "process_substitution" else ()
        options = [piece.values or ("",) for piece in pieces]
        values = tuple("".join(choice) for choice in product(*options))
        return Word(text, values, any(piece.glob for piece in pieces), made_by)

    def _made(self, commands: tuple[Command, ...], *, quoted: bool) -> _Piece:
        """The output of commands: `$(pwd)` is the folder that it runs in, `$(dirname a/b)` what can be told from its words."""
        one = commands[0] if len(commands) == 1 else None
        if one is None or one.redirects or one.assignments:
            return _Piece(None, quoted, made_by=commands)
        words = [word.value for word in one.words]
        if one.places == ("",) and words in (["pwd"], _TOP):
            self.top = self.top or words == _TOP
            return _Piece((".",), quoted, folder=True)
        return _Piece(part_of_path(one.words, quoted=quoted), quoted, made_by=commands)

    def _pieces(self, node: "Node", scope: Scope) -> list[_Piece]:
        kind = node.type
        if kind == "concatenation":
            return [piece for child in node.children for piece in self._pieces(child, scope)]
        if kind in ("word", "number", "extglob_pattern"):
            if node.named_child_count:
                self.inside(node, scope)
                return [_Piece(None, False)]
            return [_bare(self._text(node))]
        if kind == "raw_string":
            return [_Piece((self._text(node)[1:-1],), True)]
        if kind == "ansi_c_string":
            body = ansi_c(self._text(node)[2:-1])
            return [_Piece(None if body is None else (body,), True)]
        if kind == "string":
            return self._quoted(node, scope)
        if kind in ("simple_expansion", "expansion"):
            return [self._expansion(node, scope, quoted=False)]
        if kind == "process_substitution":
            return [_Piece(("/dev/fd/0",), True, made_by=self._substitution(node, scope))]
        if kind == "command_substitution":
            return [self._made(self._substitution(node, scope), quoted=False)]
        self.inside(node, scope)
        return [_Piece(None, False)]

    def _array(self, name: str, scope: Scope) -> tuple[Word, ...] | None:
        """All elements of an array that is made in one place only; any of them may be meant."""
        if name not in self._certain or not all(
            word.values is not None for word in self._elements.get(name, ())
        ):
            return None
        return tuple(self._elements.get(name, ())) or None

    def _quoted(self, node: "Node", scope: Scope) -> list[_Piece]:
        pieces = [_Piece(("",), True)]
        end = node.start_byte + 1
        whole = self._raw[node.start_byte : node.end_byte]
        for child in node.children:
            if child.type == '"':
                continue
            gap = whole[end - node.start_byte : child.start_byte - node.start_byte]
            pieces.append(_Piece((gap.decode("utf-8", "replace"),), True))
            end = child.end_byte
            if child.type == "string_content":
                pieces.append(_Piece((_unescaped(self._text(child), '$`"\\'),), True))
            elif child.type in ("simple_expansion", "expansion"):
                pieces.append(self._expansion(child, scope, quoted=True))
            else:
                if child.type == "command_substitution":
                    made = self._made(self._substitution(child, scope), quoted=True)
                    pieces.append(replace(made, number=prints_numbers(child)))
                    continue
                self.inside(child, scope)
                pieces.append(_Piece(None, True, number=child.type == "arithmetic_expansion"))
        return pieces

    def _expansion(self, node: "Node", scope: Scope, *, quoted: bool) -> _Piece:
        self.inside(node, scope)
        named = [child for child in node.children if child.is_named]
        plain = all(
            child.type in ("$", "${", "}", "variable_name", "special_variable_name", "subscript")
            for child in node.children
        )
        if not plain or len(named) != 1:
            return _Piece(None, quoted)
        name = self._text(named[0])
        if named[0].type == "subscript":
            name = self._text(named[0].named_children[0]) + "[]"
        if name == "HOME":
            return _Piece((_HOME,), quoted, folder=True)
        if name == "PWD":
            return _Piece((".",) if scope.places == ("",) else None, quoted, folder=True)
        tail = name[1:] if node.type == "simple_expansion" and name[:1].isdigit() else ""  # `$2p` is `${2}p`
        words = scope.variables.get(name[0] if tail else name)
        number = name in self._counts
        if name.endswith("[]"):
            words = self._array(name.removesuffix("[]"), scope)
        if words is None:
            return _Piece(None, quoted, maybe=_USUAL.get(name, "*"), number=number)
        if words[0].whole:
            made_by = () if tail else words[0].made_by
            return _Piece(None, quoted and not words[0].split, made_by=made_by, number=number)
        values = tuple(dict.fromkeys(value + tail for word in words for value in word.values or ()))
        loose = any(char in value for value in values for char in " \t\n*?[") or "" in values
        if not quoted and loose and not any(word.glob for word in words):
            return _Piece(None, quoted)
        return _Piece(values, quoted, any(word.glob for word in words))


def _bare(text: str) -> _Piece:
    out: list[str] = []
    glob = False
    chars = iter(text)
    for char in chars:
        if char == "\\":
            following = next(chars, "")
            out.append("" if following == "\n" else following)
            continue
        glob = glob or char in _GLOB
        out.append(char)
    return _Piece(("".join(out),), False, glob)


def _output(text: str, pieces: list[_Piece]) -> Word:
    """A word that is not certain: the output of one pipeline between texts that are, or nothing known at all."""
    made = [index for index, piece in enumerate(pieces) if piece.values is None]
    fixed = all(
        piece.values is None or (len(piece.values) == 1 and not piece.glob and not piece.folder)
        for piece in pieces
    )
    if len(made) != 1 or not fixed or not pieces[made[0]].made_by:
        return Word(text, None, maybe=_guess(pieces))
    before, behind = (
        "".join(piece.values[0] for piece in some if piece.values)
        for some in (pieces[: made[0]], pieces[made[0] + 1 :])
    )
    one = pieces[made[0]]
    return Word(
        text, None, made_by=one.made_by, split=not one.quoted, around=(before, behind), maybe=_guess(pieces)
    )


def _counted(pieces: list[_Piece]) -> str:
    if not all(piece.number if piece.values is None else len(piece.values) == 1 for piece in pieces):
        return ""
    return "".join(piece.values[0] if piece.values else "1" for piece in pieces)


def _guess(pieces: list[_Piece]) -> tuple[str, ...]:
    """A pattern with a star for each piece that is not certain; none where no name would be left."""
    found = "".join(piece.values[0] if piece.values else piece.maybe for piece in pieces)
    return (found,) if found.strip("*/.") else ()


def _misplaced(pieces: list[_Piece]) -> bool:
    """Whether `$HOME` or `$PWD` stands anywhere but in front of a path."""
    filled = [piece for piece in pieces if piece.values != ("",)]
    for index, piece in enumerate(filled):
        if not piece.folder:
            continue
        before = filled[index - 1].values if index else ("=",)
        behind = filled[index + 1].values if index + 1 < len(filled) else ("/",)
        if not all(value.endswith(("=", "file://")) for value in before or ("",)):
            return True
        if not all(value.startswith("/") for value in behind or ("",)):
            return True
    return False


def _braces(text: str, loose: str) -> bool:
    """Whether unquoted braces may expand into several words."""
    if "{" not in text:
        return False
    return "{" in loose and ("," in loose or ".." in loose)


def _unescaped(text: str, escapable: str) -> str:
    out: list[str] = []
    chars = iter(text)
    for char in chars:
        if char != "\\":
            out.append(char)
            continue
        following = next(chars, "")
        if following == "\n":
            continue
        out.append(following if following and following in escapable else "\\" + following)
    return "".join(out)
