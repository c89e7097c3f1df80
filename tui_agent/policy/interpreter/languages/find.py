"""L3: reads calls of find: where it looks, what it does with what it finds, and the commands that it runs.

Invariant: an expression is read word by word as find parses it; a word that is no listed test or action is a doubt.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.interpreter.languages.found_names import (
    HERE,
    Names,
    bound_output,
    fill_word,
    may_end_command,
    names_below,
    names_of_path,
    names_of_pattern,
    union_names,
)
from tui_agent.policy.interpreter.languages.protocol import ArgumentReading, Call
from tui_agent.policy.interpreter.patterns import prefix_of
from tui_agent.policy.interpreter.report import Certainty, FileAction, FileUse, Value

_MAX_DEPTH = 50
_MAX_COMMANDS = 24
_FLAGS = frozenset(
    """-true -false -empty -readable -writable -executable -nouser -nogroup -daystart -depth -xdev -mount -noleaf -prune
    -quit -warn -nowarn""".split()  # noqa: SIM905 - one a word reads best
)
_WITH_WORD = frozenset(
    """-regex -iregex -regextype -type -xtype -maxdepth -size -mtime -mmin -atime -amin -ctime -cmin -used -perm -user
    -group -uid -gid -links -inum -fstype -lname -ilname""".split()  # noqa: SIM905 - one a word reads best
)
_NAME_TESTS = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"})
_FILE_TESTS = frozenset({"-newer", "-anewer", "-cnewer", "-samefile"})
_NEWER = re.compile(r"-newer[aBcm][aBcmt]")
_WRITERS = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})
_COMMANDS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_PATH_FORMATS = frozenset({"%p\\n", "%p\\0"})
_PLAIN_FLAG = re.compile(r"-[A-Za-z]|--[a-z]+(?:-[a-z]+)*|\{\}")
_OR = frozenset({"-o", "-or", ","})


def read_arguments(call: Call) -> ArgumentReading:
    """Read a call from its arguments alone."""
    expression = _Expression(call.arguments)
    expression.read()
    return expression.result()


@dataclass(frozen=True, slots=True)
class _Run:
    """A command that is run on what is found; `batch`: on many at once. `in_folder`: in the folder of each."""

    words: tuple[Value, ...]
    names: Names
    batch: bool
    in_folder: bool


class _Expression:
    def __init__(self, words: Sequence[Value]) -> None:
        self._words = words
        self._place = 0
        self._depth = 0
        self._starts: list[Value] = []
        self._follows_links = False
        self._finds_starts = True
        self._files: list[FileUse] = []
        self._effects: set[Effect] = set()
        self._runs: list[_Run] = []
        self._listed: list[Names] = []
        self._deleted: list[Names] = []
        self._printed: list[Names] = []
        self._prints_more = False
        self._reason = ""

    def read(self) -> None:
        """Parse options, starting points and the expression; what is not understood is doubted and skipped."""
        while (option := self._peek()) in ("-H", "-L", "-P", "-E", "-s", "-x"):
            self._follows_links = self._follows_links or option == "-L"
            self._place += 1
        self._read_starts()
        names = self._read_alternatives(None)
        while self._place < len(self._words):
            self._doubt("a bracket of find's expression is not opened")
            self._place += 1
            self._read_alternatives(None)
        if not self._listed:
            self._listed.append(names)
            self._printed.append(names)

    def result(self) -> ArgumentReading:
        """Return what was read."""
        only = union_names(self._listed)
        files = [self._use(start, "list", only) for start in self._starts]
        if self._deleted:
            files += [self._use(start, "delete", union_names(self._deleted)) for start in self._starts]
        prints = None
        if self._printed and not self._prints_more:
            names = union_names(self._printed)
            itself = any(self._finds_start(start, names) for start in self._starts)
            prints = bound_output(self._starts, names, itself=itself)
        return ArgumentReading(
            (*files, *self._files),
            frozenset(self._effects),
            tuple(self._filled_commands()),
            prints,
            self._reason,
        )

    def _read_starts(self) -> None:
        while self._place < len(self._words):
            start = self._words[self._place]
            if prefix_of(start).startswith("-") or start.known in ("(", ")", "!", ","):
                break
            self._place += 1
            if start.certainty is Certainty.UNKNOWN or (start.known is None and start.may_be_option):
                self._doubt(f"it is not certain where find looks: {start.source}")
            else:
                self._starts.append(start)
        if all(start.many for start in self._starts):
            self._starts.append(HERE)

    def _read_alternatives(self, outer: Names) -> Names:
        """Read what `-o` and `,` join, up to a closing bracket; return the names for which it can be true."""
        found: list[Names] = []
        while True:
            found.append(self._read_conjunction(outer))
            joiner = self._peek()
            if joiner not in _OR:
                return union_names(found)
            if joiner == ",":
                found.clear()
            self._place += 1

    def _read_conjunction(self, names: Names) -> Names:
        while self._place < len(self._words) and self._peek() not in (")", *_OR):
            narrowed = self._read_term(names)
            names = names if narrowed is None else narrowed
        return names

    def _read_term(self, names: Names) -> Names:
        negated = False
        while self._peek() in ("!", "-not", "-a", "-and"):
            negated = negated or self._peek() in ("!", "-not")
            self._place += 1
        if self._peek() != "(":
            narrowed = self._read_primary(names)
            return None if negated else narrowed
        self._place += 1
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self._doubt("find's expression has too many brackets")
            self._place = len(self._words)
        narrowed = self._read_alternatives(names)
        self._depth -= 1
        if self._peek() != ")":
            self._doubt("a bracket of find's expression is not closed")
        self._place += 1
        return None if negated else narrowed

    def _read_primary(self, names: Names) -> Names:
        value = self._next_word()
        word = value.known if value is not None else ""
        if word is None or not word:
            self._doubt("it is not certain what find is told to do")
        elif word in _NAME_TESTS:
            return self._read_name_test(word)
        elif word in _WITH_WORD or (word.endswith("t") and _NEWER.fullmatch(word)):
            self._next_word()
        elif word in _FILE_TESTS or _NEWER.fullmatch(word):
            self._note_file(self._next_word(), "list")
        elif word in _FLAGS:
            pass
        elif word == "-mindepth":
            depth = self._next_word()
            self._finds_starts = depth is None or depth.known is None or not depth.known.strip("0")
        elif word == "-follow":
            self._follows_links = True
        else:
            self._read_action(word, names)
        return None

    def _read_name_test(self, word: str) -> Names:
        value = self._next_word()
        if value is None or value.known is None:
            return None
        either_case = word.startswith("-i")
        if word.endswith(("path", "wholename")):
            return names_of_path(value.known, either_case=either_case)
        return names_of_pattern(value.known, either_case=either_case)

    def _read_action(self, word: str, names: Names) -> None:
        self._listed.append(names)
        if word in ("-print", "-print0"):
            self._printed.append(names)
        elif word == "-printf":
            text = self._next_word()
            if text is not None and text.known in _PATH_FORMATS:
                self._printed.append(names)
            else:
                self._prints_more = True
        elif word == "-ls":
            self._prints_more = True
        elif word == "-delete":
            self._effects.add(Effect.DELETES)
            self._deleted.append(names)
        elif word in _WRITERS:
            self._effects.add(Effect.WRITES)
            self._note_file(self._next_word(), "write")
            if word == "-fprintf":
                self._next_word()
        elif word in _COMMANDS:
            self._read_command(word, names)
        else:
            self._doubt(f"it is not known what {word} of find does")

    def _read_command(self, action: str, names: Names) -> None:
        """Read a command up to `;`, or to `+` behind `{}`. A word that might be either is doubted."""
        self._prints_more = True
        if action.startswith("-ok"):
            self._effects.add(Effect.NEEDS_TERMINAL)
        words: list[Value] = []
        end = ""
        while not end and self._place < len(self._words):
            word = self._words[self._place]
            self._place += 1
            closes = word.known == ";" or (word.known == "+" and words and words[-1].known == "{}")
            end = word.text if closes else ""
            words += [] if closes else [word]
        if not end:
            self._doubt(f"{action} of find has no end")
        if any(may_end_command(word) for word in words):
            self._doubt(f"a word behind {action} of find may end its command")
        in_folder = action.endswith("dir")
        if in_folder and not self._is_harmless_everywhere(words):
            self._doubt(f"{action} runs its command in another folder for each file")
        if words:
            self._runs.append(_Run(tuple(words), names, end == "+", in_folder))

    def _is_harmless_everywhere(self, words: Sequence[Value]) -> bool:
        """Return True if a command names no file but what is found, so that its folder below here does not matter."""
        inside = not any(
            prefix_of(start).startswith(("/", "~")) or ".." in start.text for start in self._starts
        )
        return inside and all(_PLAIN_FLAG.fullmatch(word.known or "") for word in words[1:])

    def _filled_commands(self) -> Iterator[tuple[Value, ...]]:
        if len(self._starts) * len(self._runs) > _MAX_COMMANDS:
            self._doubt("find runs too much to be judged")
        for run in self._runs[:_MAX_COMMANDS]:
            for start in self._starts[:_MAX_COMMANDS]:
                for name in self._fillings(start, run):
                    yield tuple(fill_word(word, "{}", name) for word in run.words)

    def _fillings(self, start: Value, run: _Run) -> list[Value]:
        """Return what stands for `{}`: names below a starting point, and the starting point itself."""
        found = names_below(start, run.names)
        if self._finds_start(start, run.names):
            found.append(replace(start, source="{}"))
        return [
            replace(value, many=run.batch, may_be_option=value.may_be_option and not run.in_folder)
            for value in found
        ]

    def _finds_start(self, start: Value, names: Names) -> bool:
        """Return True if the starting point itself may be found, and is not certainly a folder."""
        last = posixpath.basename(start.text)
        if not self._finds_starts or (start.known is not None and last in ("", ".", "..")):
            return False
        return start.known is None or names is None or any(fnmatchcase(last, name) for name in names)

    def _use(self, start: Value, action: FileAction, names: Names) -> FileUse:
        links = self._follows_links
        return FileUse(start.text, action, start.certainty, True, only=names or (), follows_links=links)

    def _note_file(self, value: Value | None, action: FileAction) -> None:
        if value is not None:
            self._files.append(FileUse(value.text, action, value.certainty))

    def _peek(self) -> str | None:
        return self._words[self._place].known if self._place < len(self._words) else None

    def _next_word(self) -> Value | None:
        if self._place >= len(self._words):
            self._doubt("find's expression lacks a word")
            return None
        value = self._words[self._place]
        self._place += 1
        if value.many:
            self._doubt(f"{value.source} may be several words of find's expression")
        return value

    def _doubt(self, reason: str) -> None:
        self._reason = self._reason or reason
