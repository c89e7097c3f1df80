"""L3: what one simple command does, by the table of programs: its class, and the files and hosts it touches.

Invariant: a command is `read-only` only where its program, every option and every operand are known to be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tui_agent.policy.programs import Program, Table
from tui_agent.policy.script import (
    ARBITRARY,
    NETWORK,
    READ_ONLY,
    WORKSPACE,
    Command,
    Word,
)
from tui_agent.policy.sed import only_edits_text
from tui_agent.policy.shell_words import join

_BIN = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/")
_SAME = {"python3": "python", "pip3": "pip"}
_DEPTH = 5


@dataclass(slots=True)
class Part:
    """One thing that a script does. Paths are relative to the script's start or absolute, `~` is a home."""

    text: str
    program: str
    classes: set[str] = field(default_factory=set)
    reads: list[str] = field(default_factory=list)
    looks: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    patterns: set[str] = field(default_factory=set)
    """Those of the paths that are patterns."""
    words: tuple[str | None, ...] = ()
    """The command's words as a rule sees them; None where one is not certain."""
    why: list[str] = field(default_factory=list)
    """What keeps it from being judged harmless, as clauses."""
    unsure: bool = False
    """Something of it is not certain: no rule may allow it."""
    downloads: bool = False
    ruin: str = ""
    deep: bool = False
    keeps: int = 0

    def turn(self, name: str, why: str) -> None:
        """It is of this class too."""
        self.classes.add(name)
        if name != READ_ONLY and why:
            self.why.append(why)


@dataclass(slots=True)
class _Call:
    """A program with its operands parted from its options."""

    program: Program
    name: str
    options: list[str] = field(default_factory=list)
    operands: list[Word] = field(default_factory=list)
    guarded: bool = False
    """`--` stood in front of the operands."""


class CommandReader:
    """Judges simple commands. `functions` are names that the script has given its own meaning."""

    def __init__(self, table: Table, functions: frozenset[str] = frozenset()) -> None:
        self._table = table
        self._functions = functions

    def parts(self, command: Command) -> list[Part]:
        """The command and, where it runs another, that one too."""
        parts: list[Part] = []
        part = Part(command.text, command.words[0].text if command.words else "")
        self._environment(part, command)
        self._redirects(part, command)
        if command.words:
            part.words = tuple(word.value for word in command.words)
            self._judge(part, command.words, command.places, parts, 0)
        elif not part.classes:
            part.classes.add(READ_ONLY)
        return [part, *parts]

    def _environment(self, part: Part, command: Command) -> None:
        for name, _ in command.assignments:
            own = not command.words and name.isidentifier() and name.islower() and not name.endswith("_proxy")
            if not own and name not in self._table.safe_environment:
                part.turn(ARBITRARY, f"it sets {name}")
                part.unsure = True

    def _redirects(self, part: Part, command: Command) -> None:
        for redirect in command.redirects:
            word = redirect.target
            if word.values is None:
                part.turn(WORKSPACE, f"it is not certain where {word.text} leads")
                part.unsure = True
                continue
            for value in word.values:
                if value.startswith(("/dev/tcp/", "/dev/udp/")):
                    part.turn(NETWORK, "it opens a connection")
                    part.hosts.append(value.split("/")[3] if value.count("/") > 3 else value)
                elif value == "/dev/null":
                    continue
                elif redirect.reads:
                    self._path(part, part.reads, word, command.places)
                else:
                    part.turn(WORKSPACE, f"it writes {value}")
                    self._path(part, part.writes, word, command.places)

    def _judge(
        self,
        part: Part,
        words: Sequence[Word],
        places: tuple[str | None, ...],
        more: list[Part],
        depth: int,
    ) -> None:
        name = words[0].value
        if name is None or depth > _DEPTH:
            part.turn(ARBITRARY, "the program's name is not certain")
            part.unsure = True
            return
        bare = _bare(name)
        program = self._table.programs.get(bare)
        if bare in self._functions or "/" in bare:
            part.turn(ARBITRARY, f"it runs {name}")
            part.keeps = 1
            self._mentions(part, words[1:], places)
            return
        if program is None:
            program = self._family(bare)
        if program is None:
            part.turn(ARBITRARY, f"nothing is known of {name}")
            part.keeps = 1
            self._mentions(part, words[1:], places)
            return
        call = _Call(program, bare)
        rest = self._subcommand(call, words[1:])
        self._parse(part, call, rest, places)
        if call.program.wraps is not None and not part.classes - {READ_ONLY}:
            self._wrapped(part, call, places, more, depth)
            return
        self._finish(part, call, places)
        if call.program.wraps is not None and call.operands:
            self._wrapped(part, call, places, more, depth)

    def _family(self, name: str) -> Program | None:
        """`mkfs.ext4` is a `mkfs`, `python3.11` a `python`."""
        stem, dot, tail = name.partition(".")
        if not dot:
            return None
        if stem == "mkfs" or (stem in ("python3", "python2", "pip3") and tail.isdigit()):
            return self._table.programs.get(_SAME.get(stem, stem))
        return None

    def _subcommand(self, call: _Call, words: Sequence[Word]) -> Sequence[Word]:
        """Step into `git log`; options in front of the subcommand stay with the program."""
        if not call.program.sub:
            return words
        head = 0
        while head < len(words) and call.program.sub is True:
            value = words[head].value
            takes = call.program.options.get(value or "")
            if takes is None:
                break
            head += 2 if takes not in ("nothing", "maybe") else 1
        for count in (2, 1):
            values = [word.value for word in words[head : head + count]]
            key = " ".join(value or "\0" for value in values)
            found = call.program.subs.get(key) if len(values) == count else None
            if found is not None:
                call.name = f"{call.name} {key}"
                outer = call.program
                call.program = found
                kept = list(words[:head])
                return [*self._outer(call, outer, kept), *words[head + count :]]
        return words

    def _outer(self, call: _Call, outer: Program, words: list[Word]) -> list[Word]:
        """Options of the program itself: `git -C dir`. What they name is looked at as an operand would be."""
        kept: list[Word] = []
        for index, word in enumerate(words):
            takes = outer.options.get(word.value or "")
            if takes in ("read", "write") and index + 1 < len(words):
                kept.append(words[index + 1])
        return kept

    def _parse(self, part: Part, call: _Call, words: Sequence[Word], places: tuple[str | None, ...]) -> None:
        program = call.program
        index = 0
        ended = program.style == "text"
        while index < len(words):
            word = words[index]
            index += 1
            turned = program.turns.get(word.value or "\0")
            if turned is not None:
                part.turn(turned, f"{call.name} {word.value}")
                call.options.append(word.value or "")
                if turned == READ_ONLY:
                    call.program = Program(does=READ_ONLY, operands="text", style="text", keeps=program.keeps)
                    call.operands = list(words[index:])
                    return
                continue
            value = word.value
            if ended or word.values is None or not _optional(word, program):
                call.operands.append(word)
                if program.wraps is not None and len(call.operands) > program.wraps:
                    call.operands += words[index:]
                    return
                continue
            if value == "--":
                ended = call.guarded = True
                continue
            if value is None:
                part.turn(program.other, f"an option of {call.name} is not certain")
                part.unsure = True
                continue
            index += self._option(part, call, value, words[index:], places)

    def _option(
        self, part: Part, call: _Call, value: str, rest: Sequence[Word], places: tuple[str | None, ...]
    ) -> int:
        """Take one option; how many of the following words belong to it."""
        program = call.program
        if program.numeric and value[1:].isdigit():
            return 0
        if value in program.plain:
            return 0
        if program.style == "words" or value.startswith("--") or value[:1] == "+":
            name, equals, given = value.partition("=")
            found = program.options.get(name) if not equals or value.startswith("--") else None
            call.options.append(name)
            turned = program.turns.get(name)
            if turned is not None:
                part.turn(turned, f"{call.name} {name}")
                return 0
            if found is None or (equals and found == "nothing"):
                part.turn(program.other, f"{name} of {call.name} is not known to be harmless")
                return 0
            return self._takes(part, call, found, given if equals else None, rest, places)
        return self._cluster(part, call, value, rest, places)

    def _cluster(
        self, part: Part, call: _Call, value: str, rest: Sequence[Word], places: tuple[str | None, ...]
    ) -> int:
        program = call.program
        if value in program.options:
            call.options.append(value)
            return self._takes(part, call, program.options[value], None, rest, places)
        for at in range(1, len(value)):
            option = "-" + value[at]
            call.options.append(option)
            turned = program.turns.get(option)
            if turned is not None:
                part.turn(turned, f"{call.name} {option}")
                continue
            takes = program.options.get(option)
            if takes is None:
                part.turn(program.other, f"{option} of {call.name} is not known to be harmless")
                return 0
            if takes != "nothing":
                given = value[at + 1 :]
                return self._takes(part, call, takes, given or None, rest, places)
        return 0

    def _takes(
        self,
        part: Part,
        call: _Call,
        takes: str,
        given: str | None,
        rest: Sequence[Word],
        places: tuple[str | None, ...],
    ) -> int:
        if takes in ("nothing", "maybe"):
            return 0
        if takes == "words":
            return 2
        word = Word(given, (given,)) if given is not None else (rest[0] if rest else None)
        if word is None:
            part.turn(call.program.other, f"an option of {call.name} lacks its word")
            return 0
        if call.program.first == "sed" and call.options[-1] in call.program.first_by:
            self._script(part, call, word)
        if takes == "read":
            self._path(part, part.reads, word, places)
        elif takes == "write":
            part.turn(WORKSPACE, f"it writes {word.text}")
            self._path(part, part.writes, word, places)
        return 0 if given is not None else 1

    def _finish(self, part: Part, call: _Call, places: tuple[str | None, ...]) -> None:
        program = call.program
        part.keeps = program.keeps
        part.downloads = program.downloads
        why = "" if program.does == READ_ONLY else f"{call.name} {_DOES.get(program.does, 'may do anything')}"
        if program.downloads and program.does != READ_ONLY:
            why = f"{call.name} fetches code from outside"
        part.turn(program.does, why)
        if program.needs and not program.needs & set(call.options):
            part.turn(program.other, f"{call.name} changes something")
        self._limits(part, call)
        self._operands(part, call, places)
        if program.hosts:
            part.hosts += [_host(word.value) for word in call.operands if word.value and "://" in word.value]
        if program.ruin == "always":
            part.ruin = f"{call.name} destroys more than this workspace"
        if program.everyone and any(word.value == program.everyone for word in call.operands):
            part.ruin = f"{call.name} {program.everyone} ends every program"
        if program.everyone and program.everyone in call.options:
            part.ruin = f"{call.name} {program.everyone} ends every program"

    def _limits(self, part: Part, call: _Call) -> None:
        program, operands = call.program, call.operands
        if program.most is not None and len(operands) > program.most:
            part.turn(program.other, f"{call.name} writes its last operand")
        if program.operands == "none" and operands:
            part.turn(program.other, f"{call.name} changes something")
        if program.only and not all((word.value or "").startswith(program.only) for word in operands):
            part.turn(program.other, f"{call.name} changes something")
        if program.trap and not call.guarded and any(_may_be_option(word) for word in operands):
            part.turn(program.other, "a file's name could be read as an option")
        held = [piece for word in operands for piece in program.anywhere if piece in word.text]
        if held:
            part.turn(program.other, f"{call.name} with {held[0]} may run something")

    def _operands(self, part: Part, call: _Call, places: tuple[str | None, ...]) -> None:
        program = call.program
        operands = list(call.operands)
        if program.first and operands and not program.first_by & set(call.options):
            first = operands.pop(0)
            if program.first == "sed":
                self._script(part, call, first)
            elif program.forbid and (first.values is None or any(p in first.text for p in program.forbid)):
                part.turn(program.other, f"its {call.name} script may do more than read")
        if program.operands != "text" and program.does != "privilege":
            self._here(part, places)
        match program.operands:
            case "text":
                self._text(part, program, operands, places)
            case "none":
                pass
            case "look":
                self._all(part, part.looks, operands, places)
            case "read":
                self._all(part, part.reads, operands, places)
            case "mixed":
                self._all(part, part.reads, [_revision(word) for word in operands], places)
            case "tree":
                part.deep = True
                self._all(part, part.reads, operands, places)
            case "write":
                self._all(part, part.writes, operands, places)
            case "remove":
                self._all(part, part.removes, operands, places)
            case "copy":
                self._all(part, part.reads, operands[:-1], places)
                self._all(part, part.writes, operands[-1:], places)
            case "move":
                self._all(part, part.removes, operands[:-1], places)
                self._all(part, part.writes, operands[-1:], places)
        if part.classes & {"destructive"} and program.operands == "look":
            part.removes += part.looks
        part.deep = part.deep or bool({"-r", "-R", "--recursive", "-rf", "-delete"} & set(call.options))

    def _text(
        self, part: Part, program: Program, operands: Sequence[Word], places: tuple[str | None, ...]
    ) -> None:
        if program.device:
            for word in operands:
                value = word.value or ""
                if word.values is None:
                    part.unsure = True
                if value.startswith(program.device):
                    target = value.removeprefix(program.device)
                    self._path(part, part.writes, Word(target, (target,)), places)
        if program.does != READ_ONLY:
            self._mentions(part, operands, places)

    def _wrapped(
        self, part: Part, call: _Call, places: tuple[str | None, ...], more: list[Part], depth: int
    ) -> None:
        program = call.program
        inner = call.operands[program.wraps or 0 :]
        if program.assigns:
            while inner and "=" in (inner[0].value or "") and not (inner[0].value or "").startswith("="):
                name = (inner[0].value or "").partition("=")[0]
                if name not in self._table.safe_environment:
                    part.turn(ARBITRARY, f"it sets {name}")
                inner = inner[1:]
        if not inner:
            if not part.classes:
                part.turn(ARBITRARY, f"{call.name} alone may show secrets")
            return
        if program.at_least:
            part.turn(program.at_least, f"{call.name} {_DOES.get(program.at_least, 'may do anything')}")
        part.classes.add(READ_ONLY)
        part.keeps = 0
        run = Part(" ".join(word.text for word in inner), inner[0].text)
        words = [*inner, Word("…", None)] if program.appends else inner
        run.words = tuple(word.value for word in words)
        self._judge(run, words, places, more, depth + 1)
        more.insert(0, run)

    def _script(self, part: Part, call: _Call, word: Word) -> None:
        if word.value is None and not (word.values and len(word.values) == 1):
            part.turn(call.program.other, f"its {call.name} script is not certain")
        elif not all(only_edits_text(value) for value in word.values or ("",)):
            part.turn(call.program.other, f"its {call.name} script may do more than read")

    def _here(self, part: Part, places: tuple[str | None, ...]) -> None:
        """It runs in a folder: one outside the workspace is looked at, too."""
        for place in places:
            if place is None:
                part.why.append("it is not certain in which folder it runs")
                part.unsure = True
            elif place:
                part.looks.append(place)

    def _all(
        self, part: Part, into: list[str], words: Sequence[Word], places: tuple[str | None, ...]
    ) -> None:
        for word in words:
            self._path(part, into, word, places)

    def _path(self, part: Part, into: list[str], word: Word, places: tuple[str | None, ...]) -> None:
        if word.values is None:
            part.why.append(f"it is not certain what {word.text} names")
            part.unsure = True
            return
        for value in word.values:
            if value in ("-", "/dev/null", "/dev/fd/0", "/dev/stdin", "/dev/stdout", "/dev/stderr"):
                continue
            for place in places:
                path = join(place, value)
                if path is None:
                    part.why.append(f"it is not certain what {word.text} names")
                    part.unsure = True
                    continue
                into.append(path)
                if word.glob:
                    part.patterns.add(path)

    def _mentions(self, part: Part, words: Sequence[Word], places: tuple[str | None, ...]) -> None:
        """Words of a program whose operands are not known: what looks like a path may be read and written."""
        for word in words:
            for value in word.values or ():
                _, equals, given = value.partition("=")
                path = given if equals and value.startswith("-") else value
                if path and not path.startswith("-"):
                    part.looks += [found for place in places if (found := join(place, path)) is not None]
            if word.values is None:
                part.unsure = True


_DOES = {
    WORKSPACE: "changes files or runs code of this workspace",
    NETWORK: "uses the network",
    "destructive": "takes something away for good",
    "privilege": "acts with other rights",
    ARBITRARY: "may do anything",
}


def _bare(name: str) -> str:
    for folder in _BIN:
        if name.startswith(folder) and "/" not in name[len(folder) :]:
            return name[len(folder) :]
    return name


def _optional(word: Word, program: Program) -> bool:
    """Whether a word may be read as an option."""
    return any(
        (len(value) > 1 and value[0] == "-") or (value[:1] == "+" and value in program.options)
        for value in word.values or ()
    )


def _may_be_option(word: Word) -> bool:
    return word.glob and any(value[:1] in ("*", "?", "[", "-") for value in word.values or ())


def _revision(word: Word) -> Word:
    """`HEAD:path` names a path behind the colon."""
    if word.values is None:
        return word
    values = tuple(value.rpartition(":")[2] if ":" in value[1:] else value for value in word.values)
    return Word(word.text, values, word.glob)


def _host(address: str) -> str:
    """The host of an address, as it is written. Something odd in it stays in it, so that no rule fits."""
    rest = address.partition("://")[2]
    return rest.split("/", 1)[0].split("?", 1)[0]
