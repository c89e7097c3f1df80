"""L3: reads calls of fd: where it looks and the commands that it runs, to which it appends a path by itself.

Invariant: options are read word by word by a positive list, for `-x` takes all that stands behind it; a placeholder other
than `{}` stands for any text.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tui_agent.policy.interpreter.languages.found_names import (
    HERE,
    Names,
    bound_output,
    fill_word,
    may_end_command,
    names_below,
    names_of_pattern,
)
from tui_agent.policy.interpreter.languages.protocol import ArgumentReading, Call
from tui_agent.policy.interpreter.patterns import prefix_of
from tui_agent.policy.interpreter.report import Certainty, FileUse, Value

_FLAGS = frozenset(
    """-H --hidden --no-hidden -I --no-ignore --ignore --no-ignore-vcs --ignore-vcs --no-ignore-parent -u --unrestricted
    -s --case-sensitive -i --ignore-case -g --glob --regex -F --fixed-strings -a --absolute-path --relative-path -l
    --list-details -L --follow --no-follow -p --full-path -0 --print0 --prune -1 -q --quiet --has-results --show-errors
    --one-file-system -h --help -V
    --version""".split()  # noqa: SIM905 - one a word reads best
)
_WITH_WORD = frozenset(
    """--and -d --max-depth --maxdepth --min-depth --exact-depth -E --exclude -t --type -e --extension -S --size
    --changed-within --change-newer-than --newer --changed-after --changed-before --change-older-than --older -o --owner
    -c --color -j --threads --max-results --batch-size --search-path""".split()  # noqa: SIM905 - one a word reads best
)
_COMMANDS = frozenset({"-x", "--exec", "-X", "--exec-batch"})
_SHOWING = frozenset({"-l", "--list-details", "-c", "--color", "-a", "--absolute-path"})
_PLACEHOLDER = re.compile(r"\{(?:/|//|\.|/\.)\}|\{\{")


def read_arguments(call: Call) -> ArgumentReading:
    """Read a call from its arguments alone."""
    reader = _Reader(call.arguments)
    reader.read()
    return reader.result()


class _Reader:
    def __init__(self, words: Sequence[Value]) -> None:
        self._words = words
        self._place = 0
        self._operands: list[Value] = []
        self._paths: list[Value] = []
        self._given: set[str] = set()
        self._extensions: list[Value] = []
        self._commands: list[tuple[Value, ...]] = []
        self._doubt = ""

    def read(self) -> None:
        """Parse all words; what is not understood is doubted and skipped."""
        only_operands = False
        while self._place < len(self._words):
            word = self._words[self._place]
            self._place += 1
            if not prefix_of(word).startswith("-") or only_operands:
                if word.known is None and (word.may_be_option or word.many) and not only_operands:
                    self._note_doubt(f"{word.source} may become an option of fd")
                self._operands.append(word)
            elif word.known == "--":
                only_operands = True
            else:
                self._read_option(word)
        self._paths += self._operands[1:]

    def result(self) -> ArgumentReading:
        """Return what was read."""
        hidden = bool(self._given & {"-H", "--hidden", "-u", "--unrestricted"})
        skips = frozenset() if hidden else frozenset({"hidden"})
        if not any(
            option.startswith(("-I", "--no-ignore", "-u", "--unrestricted")) for option in self._given
        ):
            skips |= {"ignored"}
        follows = bool(self._given & {"-L", "--follow"})
        starts = self._starts()
        names = self._names()
        files = tuple(
            FileUse(start.text, "list", start.certainty, True, skips, names or (), follows_links=follows)
            for start in starts
        )
        prints = None
        if not self._commands and not self._given & _SHOWING:
            prints = bound_output(starts, names, itself=False, hidden=hidden)
            prints = prints if self._paths or prints is None else replace(prints, may_be_option=True)
        commands = tuple(self._filled_commands(starts, names, hidden=hidden))
        return ArgumentReading(files, commands=commands, prints=prints, doubt=self._doubt)

    def _read_option(self, word: Value) -> None:
        """Read one word of options: `--long`, `--long=word`, or letters of which the last may have a word."""
        known = word.known or ""
        if known.startswith("--"):
            option, equals, rest = known.partition("=")
            self._take(option, Value(word.source, Certainty.KNOWN, rest) if equals else None)
            return
        for place in range(1, max(len(known), 2)):
            option = f"-{known[place : place + 1]}"
            if option in _FLAGS:
                self._given.add(option)
                continue
            rest = known[place + 1 :].removeprefix("=")
            self._take(option, Value(word.source, Certainty.KNOWN, rest) if rest else None)
            return

    def _take(self, option: str, attached: Value | None) -> None:
        self._given.add(option)
        if option in _COMMANDS:
            self._read_command(option, attached)
        elif option in _WITH_WORD:
            word = self._next_word(option) if attached is None else attached
            if word is not None and option == "--search-path":
                self._paths.append(word)
            elif word is not None and option in ("-e", "--extension"):
                self._extensions.append(word)
        elif option not in _FLAGS or attached is not None:
            self._note_doubt(f"{option} of fd is not known to be harmless")

    def _next_word(self, option: str) -> Value | None:
        if self._place >= len(self._words):
            self._note_doubt(f"{option} of fd lacks its word")
            return None
        word = self._words[self._place]
        self._place += 1
        if word.many or word.text.startswith("-") or (word.known is None and word.may_be_option):
            self._note_doubt(f"{word.source} may be an option of fd, not the word of {option}")
        return word

    def _read_command(self, option: str, attached: Value | None) -> None:
        words: list[Value] = [] if attached is None else [attached]
        while self._place < len(self._words):
            word = self._words[self._place]
            self._place += 1
            if word.known == ";":
                break
            words.append(word)
        if attached is not None:
            self._note_doubt(f"it is not certain which words belong to {option} of fd")
        if any(may_end_command(word) for word in words):
            self._note_doubt(f"a word behind {option} of fd may end its command")
        if words:
            self._commands.append(tuple(words))
        else:
            self._note_doubt(f"{option} of fd lacks its command")

    def _starts(self) -> list[Value]:
        for path in self._paths:
            if path.certainty is Certainty.UNKNOWN or prefix_of(path).startswith("-"):
                self._note_doubt(f"it is not certain where fd looks: {path.source}")
        known = [path for path in self._paths if path.certainty is not Certainty.UNKNOWN]
        return known if any(not path.many for path in known) else [*known, HERE]

    def _names(self) -> Names:
        """Return patterns for the extensions that are chosen; fd takes them in either case."""
        found: list[str] = []
        for extension in self._extensions:
            names = names_of_pattern(f"*.{extension.known or '*'}", either_case=True)
            if names is None or set(extension.text) & set("*?"):
                return None
            found += names
        return tuple(found) or None

    def _filled_commands(
        self, starts: Sequence[Value], names: Names, *, hidden: bool
    ) -> Iterator[tuple[Value, ...]]:
        batch = bool(self._given & {"-X", "--exec-batch"})
        for command in self._commands:
            if not any("{}" in word.text or _PLACEHOLDER.search(word.text) for word in command if word.known):
                command = (*command, Value("{}", Certainty.KNOWN, "{}"))
            for start in starts:
                for name in names_below(start, names, hidden=hidden):
                    unprefixed = start is HERE or name.may_be_option
                    name = replace(name, many=batch, may_be_option=unprefixed)
                    yield tuple(_fill(word, name) for word in command)

    def _note_doubt(self, reason: str) -> None:
        self._doubt = self._doubt or reason


def _fill(word: Value, name: Value) -> Value:
    if word.known is not None and _PLACEHOLDER.search(word.known):
        return Value(word.source, Certainty.UNKNOWN, many=name.many, may_be_option=True)
    return fill_word(word, "{}", name)
