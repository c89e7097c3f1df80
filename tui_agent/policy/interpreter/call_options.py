"""Parses a call's options and operands in the way of getopt_long. The options come from the program's catalog entry.

Invariant: an option that is unlisted, abbreviated, uncertain or given an unexpected value raises a doubt.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from fnmatch import fnmatchcase

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.catalog.catalog_entry import Entry
from tui_agent.policy.catalog.catalog_schema import Option
from tui_agent.policy.interpreter.command_report import Doubt, Value
from tui_agent.policy.interpreter.operands import runs_command
from tui_agent.policy.interpreter.patterns import prefix_of, without_prefix

UNLISTED = Option(word="attached")
"""Stands for every option that the catalog does not list."""
_NUMERIC = re.compile(r"-\d+")


@dataclass(frozen=True, slots=True)
class ParsedOption:
    """An option of a call, with its values.

    `spelling`: the option as written in the call.
    `option`: the catalog's option, or `UNLISTED`. `word`, `second`: the option's values (None: no such value). The
    `word` of an unlisted option is only a guess.
    """

    spelling: str
    option: Option
    word: Value | None = None
    second: Value | None = None


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """The words after a program's name, parsed by the catalog's `entry` for the program.

    `guarded`: number of operands before `--`, or of all operands if there is no `--`.
    """

    entry: Entry
    words: tuple[Value, ...]
    options: tuple[ParsedOption, ...]
    operands: tuple[Value, ...]
    doubts: tuple[Doubt, ...]
    guarded: int

    @property
    def ends(self) -> bool:
        """True if the program only prints information about itself (`--help`)."""
        return not (self.operands or self.doubts) and any(parsed.option.ends for parsed in self.options)


def parse_call(entry: Entry, words: Sequence[Value], *, stops: bool = False) -> ParsedCall:
    """Parse the words after a program's name.

    `stops`: the first operand ends the options, whatever the entry says.
    """
    parser = _Parser(entry, iter(words), stops or entry.program.option_style == "first")
    guarded = parser.parse()
    options, operands, doubts = tuple(parser.options), tuple(parser.operands), tuple(parser.doubts)
    return ParsedCall(entry, tuple(words), options, operands, doubts, guarded)


@dataclass
class _Parser:
    entry: Entry
    rest: Iterator[Value]
    stops: bool
    options: list[ParsedOption] = field(default_factory=list)
    operands: list[Value] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)

    def parse(self) -> int:
        """Parse all words of the call; return the number of operands before `--`."""
        style, guarded = self.entry.program.option_style, None
        only_operands = style == "none"
        for place, value in enumerate(self.rest):
            if style == "tar" and not place and prefix_of(value)[:1] != "-":
                self._parse_bundle(value)
            elif only_operands or not self._is_option(value):
                # A program of style `single` may accept an option after `--` (git blame -- a --output=b).
                is_guarded = only_operands and (style != "single" or self.stops)
                if not is_guarded and _may_be_option(value):
                    self._doubt_option_like(value, by_name=True)
                self.operands.append(value)
                only_operands = only_operands or self.stops
            elif value.known == "--" and "--" not in self.entry.options and style != "words":
                only_operands, guarded = True, len(self.operands)
            else:
                self._parse_option(value)
        return len(self.operands) if guarded is None else guarded

    def _is_option(self, value: Value) -> bool:
        prefix = prefix_of(value)
        if prefix[:1] == "-":
            return prefix != "-" or value.known is None
        return prefix in self.entry.options and value.known is not None

    def _parse_option(self, value: Value) -> None:
        prefix, known = prefix_of(value), value.known or ""
        if value.many:
            self._doubt_option_like(value, by_name=True)
        if known in self.entry.options:
            self._take(known, None)
        elif self.entry.program.numeric_option and _NUMERIC.fullmatch(known):
            return
        elif prefix.startswith("--") or self.entry.program.option_style == "words":
            name, equals, _ = prefix.partition("=")
            if value.known is None and not equals:
                self._doubt_option_like(value)
            else:
                self._take(name, without_prefix(value, f"{name}=") if equals else None)
        else:
            self._parse_cluster(value, prefix)

    def _parse_cluster(self, value: Value, prefix: str) -> None:
        """Parse letters after one dash (`-xvf`). The first option that takes a value gets the remaining letters."""
        first = self.entry.options.get(prefix[:2])
        if self.entry.program.option_style == "single" and (first is None or first.word == "none"):
            name, equals, _ = prefix.partition("=")
            if equals and name in self.entry.options:
                self._take(name, without_prefix(value, f"{name}="))
            else:
                self._take(prefix, None)
            return
        for place in range(1, len(prefix)):
            spelling = f"-{prefix[place]}"
            option = self.entry.options.get(spelling)
            if option is None or option.word != "none":
                is_last = place + 1 == len(prefix) and value.known is not None
                self._take(spelling, None if is_last else without_prefix(value, prefix[: place + 1]))
                return
            self._take(spelling, None)
        if value.known is None:
            self._doubt_option_like(value)

    def _parse_bundle(self, value: Value) -> None:
        if value.known is None:
            self._doubt_option_like(value)
            self.operands.append(value)
        # The catalog lists the letters of `ps aux` without a dash, but those of `tar xf` as `-x` and `-f`.
        dash = "" if any(len(spelling) == 1 for spelling in self.entry.options) else "-"
        for letter in value.known or "":
            self._take(f"{dash}{letter}", None)

    def _take(self, spelling: str, attached: Value | None) -> None:
        """Add an option with its attached value, or with the next word as its value."""
        option, name = self.entry.options.get(spelling), self.entry.name
        if option is None:
            long_name = next((known for known in self.entry.options if known.startswith(spelling)), "")
            is_short = long_name and spelling.startswith("--") and len(spelling) > 3
            reason = f"may be short for {long_name}" if is_short else "is not known to be harmless"
            self._doubt(f"{spelling} of {name} {reason}")
            self.options.append(ParsedOption(spelling, UNLISTED, attached))
            return
        word, second = attached, None
        if option.word == "none" and attached is not None:
            self._doubt(f"{spelling} of {name} takes no value")
        elif option.word == "required":
            word = self._next_word(spelling) if attached is None else attached
            second = self._next_word(spelling) if option.second is not None else None
        is_repeated = any(parsed.option is option for parsed in self.options)
        if option.word != "none" and is_repeated and not option.repeats:
            self._doubt(f"{spelling} of {name} is given twice")
        if option.word == "required" and attached and attached.may_be_empty and len(spelling) == 2:
            self._doubt(f"{attached.source} of {name} may be empty; {spelling} would then take the next word")
        if word is not None and not _is_allowed(option, word):
            shown = word.source if word is attached else f"{spelling} {word.source}"
            self._doubt(f"{shown} of {name} is not known to be harmless")
        self.options.append(ParsedOption(spelling, option, word, second))

    def _next_word(self, spelling: str) -> Value | None:
        value = next(self.rest, None)
        if value is None:
            self._doubt(f"{spelling} of {self.entry.name} lacks its value")
        elif value.many:
            reason = f"{value.source} may expand to several arguments of {self.entry.name}, or to none"
            self.doubts.append(Doubt("option", reason, runs_command(self.entry.program.operands)))
        return value

    def _doubt(self, reason: str) -> None:
        self.doubts.append(Doubt("option", reason))

    def _doubt_option_like(self, value: Value, *, by_name: bool = False) -> None:
        """Add a doubt about a word that can be an option.

        `by_name`: True if the doubt can be dropped when no file name in the workspace looks like an option.
        """
        settled = value if by_name and self.entry.program.options_are_harmless else None
        reason = f"{value.source} may expand to an option of {self.entry.name}"
        self.doubts.append(Doubt("option-like", reason, runs_command(self.entry.program.operands), settled))


def _may_be_option(value: Value) -> bool:
    if value.known is None:
        return value.may_be_option
    return value.known.startswith("-") and value.known != "-"


def _is_allowed(option: Option, word: Value) -> bool:
    known = word.known
    if option.refuses and (known is None or any(text in known for text in option.refuses)):
        return False
    if not option.values:
        return option.means != "setting"
    # `*` is the only wildcard in them.
    patterns = [allowed.replace("[", "[[]").replace("?", "[?]") for allowed in option.values]
    return known is not None and any(fnmatchcase(known, pattern) for pattern in patterns)
