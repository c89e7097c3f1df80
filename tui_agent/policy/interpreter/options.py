"""L3: the options and operands of a call, told apart by its program's positive list exactly as getopt_long would.

Invariant: what is not listed, abbreviated, given a word that it does not take or not certain raises a doubt; parsing goes
on behind it, so that deny rules see as much as possible.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import assert_never

from tui_agent.policy.catalog.entries import Entry
from tui_agent.policy.catalog.model import Option
from tui_agent.policy.interpreter.operands import runs_command
from tui_agent.policy.interpreter.patterns import prefix_of, without_prefix
from tui_agent.policy.interpreter.report import Doubt, Value

_NUMERIC = re.compile(r"-\d+")
_LONG = re.compile(r"(--?[^=]+)(=?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ParsedOption:
    """An option as it is spelled, with its words; `option` is None where it is not listed, and `word` then a guess."""

    spelling: str
    option: Option | None
    word: Value | None = None
    second: Value | None = None


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """`first_operand` is the index of the first operand in the words, their number where there is none, and `guarded` the
    number of operands in front of `--` or, without it, of all. `ends`: an
    option makes the program only say something about itself, and nothing speaks against it."""

    options: tuple[ParsedOption, ...]
    operands: tuple[Value, ...]
    doubts: tuple[Doubt, ...]
    first_operand: int
    guarded: int
    ends: bool = False


def parse_call(entry: Entry, words: Sequence[Value], *, stops: bool = False) -> ParsedCall:
    """Parse the words behind a program's name. `stops`: the first operand ends the options, whatever the entry says."""
    parser = _Parser(entry, words, stops or entry.program.option_style == "first")
    parser.parse()
    first = len(words) if parser.first is None else parser.first
    ends = parser.ended and not parser.operands and not parser.doubts
    return ParsedCall(
        tuple(parser.options), tuple(parser.operands), tuple(parser.doubts), first, parser.guarded(), ends
    )


@dataclass
class _Parser:
    entry: Entry
    words: Sequence[Value]
    stops: bool
    next: int = 0
    first: int | None = None
    dashes: int | None = None
    ended: bool = False
    options: list[ParsedOption] = field(default_factory=list)
    operands: list[Value] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    def parse(self) -> None:
        style = self.entry.program.option_style
        only_operands = style == "none"
        if style == "tar" and self.words:
            self._parse_bundle(self.words[0])
        while self.next < len(self.words):
            value = self.words[self.next]
            self.next += 1
            if only_operands or not self._is_option(value):
                # A program of style `single` may obey an option behind `--` (git blame -- a --output=b).
                behind = only_operands and not (style == "single" and not self.stops)
                if not behind and (value.known or "-").startswith("-") and self._may_be_option(value):
                    self._doubt_option_like(value, by_name=True)
                self._add_operand(value)
                only_operands = only_operands or self.stops
            elif value.known == "--" and "--" not in self.entry.options and style != "words":
                only_operands = True
                self.dashes = len(self.operands)
            else:
                self._parse_option(value)

    def guarded(self) -> int:
        """The number of operands in front of `--`."""
        return len(self.operands) if self.dashes is None else self.dashes

    def _is_option(self, value: Value) -> bool:
        prefix = prefix_of(value)
        if prefix[:1] == "-":
            return prefix != "-" or value.known is None
        return prefix in self.entry.options and value.known is not None

    def _may_be_option(self, value: Value) -> bool:
        return len(value.text) > 1 if value.known is not None else value.may_be_option

    def _add_operand(self, value: Value) -> None:
        if self.first is None:
            self.first = self.next - 1
        self.operands.append(value)

    def _parse_option(self, value: Value) -> None:
        prefix = prefix_of(value)
        if value.many:
            self._doubt_option_like(value, by_name=True)
        known = value.known or ""
        if known in self.entry.options:
            self._take(known, None)
        elif self.entry.program.numeric_option and _NUMERIC.fullmatch(known):
            return
        elif prefix.startswith("--") or self.entry.program.option_style == "words":
            name, equals = self._split_long(prefix)
            if value.known is None and not equals:
                self._doubt_option_like(value)
            else:
                self._take(name, without_prefix(value, f"{name}=") if equals else None)
        else:
            self._parse_cluster(value, prefix)

    def _split_long(self, prefix: str) -> tuple[str, bool]:
        found = _LONG.match(prefix)
        return (found[1], bool(found[2])) if found else (prefix, False)

    def _parse_cluster(self, value: Value, prefix: str) -> None:
        single = self.entry.program.option_style == "single"
        first = self.entry.options.get(prefix[:2])
        if single and (first is None or first.word == "none"):
            self._take(prefix, None)
            return
        for place in range(1, len(prefix)):
            spelling = f"-{prefix[place]}"
            option = self.entry.options.get(spelling)
            whole = place + 1 == len(prefix) and value.known is not None
            if option is not None and option.word == "none":
                self._take(spelling, None)
                continue
            self._take(spelling, None if whole else without_prefix(value, prefix[: place + 1]))
            return
        if value.known is None:
            self._doubt_option_like(value)

    def _parse_bundle(self, value: Value) -> None:
        """A first word such as `tf`: its letters are options, and their words follow in order."""
        letters = value.known
        if letters is None:
            self._doubt_option_like(value)
            return
        if letters[:1] in ("", "-"):
            return
        self.next = 1
        bare = any(len(spelling) == 1 for spelling in self.entry.options)
        for letter in letters:
            self._take(letter if bare else f"-{letter}", None)

    def _take(self, spelling: str, attached: Value | None) -> None:
        """Note one option; a required word that is not attached is the next one."""
        option = self.entry.options.get(spelling)
        if option is None:
            self._doubt(self._why_unlisted(spelling))
            self.options.append(ParsedOption(spelling, None, attached))
            return
        word, second = attached, None
        match option.word:
            case "none":
                if attached is not None:
                    self._doubt(f"{spelling} of {self.entry.name} takes no word")
            case "required":
                word = self._next_word(spelling) if attached is None else attached
                second = self._next_word(spelling) if option.second is not None else None
                self._check_repeated(spelling, option)
            case "attached":
                self._check_repeated(spelling, option)
            case _:
                assert_never(option.word)
        if word is not None and not _is_allowed(option, word):
            shown = word.source if word is attached else f"{spelling} {word.source}"
            self._doubt(f"{shown} of {self.entry.name} is not known to be harmless")
        self.options.append(ParsedOption(spelling, option, word, second))
        self.ended = self.ended or option.ends

    def _next_word(self, spelling: str) -> Value | None:
        if self.next >= len(self.words):
            self._doubt(f"{spelling} of {self.entry.name} lacks its word")
            return None
        value = self.words[self.next]
        self.next += 1
        if value.many:
            reason = f"{value.source} may become several words of {self.entry.name}, or none"
            self.doubts.append(Doubt("option", reason, self._hides()))
        return value

    def _check_repeated(self, spelling: str, option: Option) -> None:
        if id(option) in self.seen and not option.repeats:
            self._doubt(f"{spelling} of {self.entry.name} is given twice")
        self.seen.add(id(option))

    def _why_unlisted(self, spelling: str) -> str:
        name = self.entry.name
        whole = next(self._longer_spellings(spelling), "")
        if whole:
            return f"{spelling} of {name} may be short for {whole}"
        return f"{spelling} of {name} is not known to be harmless"

    def _longer_spellings(self, spelling: str) -> Iterator[str]:
        if len(spelling) > 3 and spelling.startswith("--"):
            yield from (known for known in self.entry.options if known.startswith(spelling))

    def _doubt(self, reason: str) -> None:
        self.doubts.append(Doubt("option", reason))

    def _doubt_option_like(self, value: Value, *, by_name: bool = False) -> None:
        """Doubt a word that may be an option; `by_name`: if the options are harmless, it is enough that no name is one."""
        settled = by_name and self.entry.program.options_are_harmless
        reason = f"{value.source} may become an option of {self.entry.name}"
        self.doubts.append(Doubt("option-like", reason, self._hides(), value if settled else None))

    def _hides(self) -> bool:
        return runs_command(self.entry.program.operands)


def _is_allowed(option: Option, word: Value) -> bool:
    """Return True if the option may have this word."""
    known = word.known
    if option.refuses and (known is None or any(text in known for text in option.refuses)):
        return False
    if not option.values:
        return option.means != "setting"
    return known is not None and any(
        known == allowed or ("*" in allowed and fnmatchcase(known, allowed)) for allowed in option.values
    )
