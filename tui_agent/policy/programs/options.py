"""L3: a program's words parted into options and operands, as the program itself would part them.

Invariant: an option that its entry does not list gives the call the entry's `other` class.
"""

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tui_agent.policy.programs.awk import only_prints
from tui_agent.policy.programs.feeding import NOTHING, Fed
from tui_agent.policy.programs.front import harmless_setting
from tui_agent.policy.programs.given import STDIN
from tui_agent.policy.programs.jq import only_filters
from tui_agent.policy.programs.part import STREAMS, Part
from tui_agent.policy.programs.script_files import named_files
from tui_agent.policy.programs.sed import only_edits_text
from tui_agent.policy.programs.splitting import doubt_argument, doubt_operand
from tui_agent.policy.programs.table import Program
from tui_agent.policy.shell.braces import braced
from tui_agent.policy.shell.script import ARBITRARY, READ_ONLY, WORKSPACE, Word

_GLOB = frozenset("*?[$`")


@dataclass(slots=True)
class Call:
    """A program with its options and operands."""

    program: Program
    name: str
    options: list[str] = field(default_factory=list)
    operands: list[Word] = field(default_factory=list)
    words: Sequence[Word] = ()
    """All words behind its name."""
    archives: list[str] = field(default_factory=list)
    """Paths of archives that an option names."""
    chosen: list[Word] = field(default_factory=list)
    """Patterns of the names that it reads of what is below its operands."""
    guarded: bool = False
    """`--` stood in front of the operands."""
    fed: Fed = NOTHING
    """The names that come through the pipe into it."""


def read_options(part: Part, call: Call, words: Sequence[Word]) -> None:
    """Fill the call's options and operands; note in the part what they do."""
    reader = _Options(part, call)
    index = reader.bundle(words) if call.program.style == "bundle" else 0
    while index < len(words) and not reader.done:
        index += reader.take(words[index], words[index + 1 :])


SCRIPTS: Mapping[str, Callable[[str], bool]] = {
    "sed": only_edits_text,
    "awk": only_prints,
    "jq": only_filters,
}
"""Languages that a program's first operand may be in: whether a script of it only reads."""


def may_run(language: str, script: str) -> bool:
    """Whether a script that does more than read may start a program; of one of sed it is not known."""
    piped = script.replace("||", "")
    return language == "sed" or (
        language == "awk" and any(one in piped for one in ("system", "|", "getline", "@"))
    )


def judge_script(part: Part, call: Call, word: Word) -> None:
    """A script as an operand: harmless only where it is certain, and where its language says so."""
    values = (word.counted,) if word.values is None and word.counted else word.values
    if values is None:
        part.turn(call.program.otherwise, f"its {call.name} script is not certain")
    elif not all(SCRIPTS[call.program.first](value) for value in values):
        part.turn(call.program.otherwise, f"its {call.name} script may do more than read")
        part.opaque = part.opaque or any(may_run(call.program.first, value) for value in values)
        for use, path in (one for value in values for one in named_files(call.program.first, value)):
            part.add(part.reads if use == "read" else part.writes, [Word(path, (path,))])


class _Options:
    """Reads the words of one call from left to right."""

    def __init__(self, part: Part, call: Call) -> None:
        self._part = part
        self._call = call
        self._ended = call.program.style == "text"
        self.done = False

    def take(self, word: Word, rest: Sequence[Word]) -> int:
        """Take one word, and those behind it that belong to it; how many that were."""
        call, program, value = self._call, self._call.program, word.value
        turned = program.turns.get(value or "\0")
        if turned is not None:
            self._turn(turned, value or "", rest)
        elif not self._ended and (glued := _glued(word, program)):
            call.options.append(glued)
            self._argument(program.options[glued], None, [Word(word.text, None)])
        elif self._ended or word.values is None or not _optional(word, program):
            guarded = self._ended and program.style != "text"
            doubt_operand(self._part, program, call.name, word, call.operands, guarded=guarded)
            call.operands.append(word)
            if program.wraps is not None and len(call.operands) > program.wraps:
                call.operands += rest
                self.done = True
        elif value == "--":
            self._ended = call.guarded = True
        elif value is None and _only_glob(word):
            return 1 + self._option((word.values or ("",))[0], rest)
        elif value is None:
            self._part.turn(program.otherwise, f"an option of {call.name} is not certain")
            self._part.unsure = True
        else:
            return 1 + self._option(value, rest)
        return 1

    def bundle(self, words: Sequence[Word]) -> int:
        """The first word of `tar tzf a.tgz`: options without a dash, whose own words follow in their order."""
        value = words[0].value if words else None
        if not value or value.startswith("-"):
            return 0
        taken = 1
        for letter in value:
            takes = self._call.program.options.get(f"-{letter}", "nothing")
            taken += self._cluster(f"-{letter}", words[taken:] if takes != "nothing" else ())
        return taken

    def _turn(self, turned: str, option: str, rest: Sequence[Word]) -> None:
        call = self._call
        if turned != READ_ONLY:
            self._part.turn(turned, f"{call.name} {option}")
            call.options.append(option)
            return
        if call.options or call.operands:
            self._part.turn(call.program.otherwise, f"{option} of {call.name} does not stand in front")
            return
        if any(word.values is None or _optional(word, call.program) for word in rest):
            self._part.turn(call.program.otherwise, f"{option} of {call.name} does not stand alone")
        call.program = Program(does=READ_ONLY, operands="text", style="text", keeps=call.program.keeps)
        call.operands = list(rest)
        self.done = True

    def _option(self, value: str, rest: Sequence[Word]) -> int:
        program = self._call.program
        if (program.numeric and value[1:].isdigit()) or value in program.plain:
            return 0
        if program.style == "words" or value.startswith("--") or value[:1] == "+":
            return self._long(value, rest)
        return self._cluster(value, rest)

    def _long(self, value: str, rest: Sequence[Word]) -> int:
        call, program = self._call, self._call.program
        name, equals, given = value.partition("=")
        found = program.options.get(name) if not equals or value.startswith("--") else None
        call.options.append(name)
        turned = program.turns.get(name)
        if turned is not None:
            self._part.turn(turned, f"{call.name} {name}")
            return 0
        if found is None or (equals and found == "nothing"):
            self._abbreviated(name)
            self._unlisted(name, given)
            return 0
        return self._argument(found, given if equals else None, rest)

    def _abbreviated(self, name: str) -> None:
        """Many programs know an option by its beginning: the call is also of the classes that it may mean."""
        program = self._call.program
        if not name.startswith("--"):
            return
        for option, turned in program.turns.items():
            if option.startswith(name):
                self._part.turn(turned, f"{self._call.name} {option}")
        if any(option.startswith(name) and takes == "write" for option, takes in program.options.items()):
            self._part.turn(WORKSPACE, f"{self._call.name} {name} may write")

    def _cluster(self, value: str, rest: Sequence[Word]) -> int:
        call, program = self._call, self._call.program
        if value in program.options:
            call.options.append(value)
            return self._argument(program.options[value], None, rest)
        for at in range(1, len(value)):
            option = "-" + value[at]
            call.options.append(option)
            turned = program.turns.get(option)
            takes = program.options.get(option)
            if turned is not None:
                self._part.turn(turned, f"{call.name} {option}")
            elif takes is None:
                self._unlisted(option, value[at + 1 :])
                return 0
            elif takes != "nothing":
                return self._argument(takes, value[at + 1 :] or None, rest)
        return 0

    def _argument(self, takes: str, given: str | None, rest: Sequence[Word]) -> int:
        part, call = self._part, self._call
        if takes in ("nothing", "maybe"):
            return 0
        if takes == "words":
            for each in rest[:2]:
                doubt_argument(part, call.program, call.name, each)
            return 2
        if takes == "named" and len(rest) > 1:
            for each in rest[:2]:
                doubt_argument(part, call.program, call.name, each)
            part.add(part.reads, rest[1:2])
            return 2
        word = Word(given, (given,)) if given is not None else (rest[0] if rest else None)
        if word is None:
            part.turn(call.program.otherwise, f"an option of {call.name} lacks its word")
            return 0
        if given is None:
            doubt_argument(part, call.program, call.name, word)
            if call.options[-1] not in call.program.first_by and _looks_like_option(word):
                self._unlisted(f"{call.options[-1]} {word.text}")  # it may be an option of its own
        known = call.program.words.get(call.options[-1])
        if (known is not None and word.value not in known) or (word.values is None and call.program.anywhere):
            self._unlisted(f"{call.options[-1]} {word.text}")
        if call.program.first in SCRIPTS and call.options[-1] in call.program.first_by:
            judge_script(part, call, word)
        if takes == "read":
            part.add(part.reads, [word])
        elif takes == "setting":
            part.unsure = part.unsure or word.values is None
            if not harmless_setting(word, call.program.mild):
                self._unlisted(f"{call.options[-1]} {word.text}")
        elif takes == "names_of":
            self._listing(word)
        elif takes == "script":
            self._script(word)
        elif takes == "unseen" or (takes == "code" and (word.value is None or word.value in STREAMS)):
            part.opaque = part.blind = True
            part.turn(ARBITRARY, f"it is not certain what {call.name} is given to run")
        elif takes == "told":
            part.add(part.reads, _files_in(word))
        elif takes == "archive":
            part.add(call.archives, [word])
        elif takes == "folder":
            part.move(word)
            part.stand()
        elif takes == "names":
            call.chosen += _chosen(word)
        elif takes == "write":
            part.turn(WORKSPACE, f"it writes {word.text}")
            part.add(part.writes, [word])
        return 0 if given is not None else 1

    def _listing(self, word: Word) -> None:
        """A file that lists names, which are read. Those that a lister prints into the pipe are known."""
        part, call = self._part, self._call
        part.add(part.reads, [word])
        named = call.fed.word("what it lists", call.program, whole=True) if word.value in STDIN else None
        if named is not None and named.values is not None:
            part.add(part.reads, [named])
            return
        part.vague = True
        if call.program.does == READ_ONLY:  # what changes something is asked about, or a sandbox bounds it
            part.doubt(f"it is not certain what {word.text} lists")

    def _script(self, word: Word) -> None:
        """A file of commands: it is read as well."""
        self._part.add(self._part.reads, [word])
        if word.values is None or word.value in STREAMS:
            self._part.opaque = self._part.blind = True
            self._part.why.append(f"it is not certain what {self._call.name} is given to run")

    def _unlisted(self, option: str, given: str = "") -> None:
        call = self._call
        if call.program.does != READ_ONLY:
            hint(self._part, given)
        self._part.turn(call.program.otherwise, f"{option} of {call.name} is not known to be harmless")


def hint(part: Part, text: str) -> None:
    """A text that may name a file of the workspace or of a home: as it stands, or behind `=` or `@`."""
    tails = (text, text.rpartition("@")[2], text.partition("=")[2], text.partition(":")[2])
    for tail in dict.fromkeys(tails):
        path = tail.lstrip("@<")
        if path and not path.startswith(("/", "-")):
            part.mention([Word(path, (path,))])


def _files_in(word: Word) -> list[Word]:
    """The file that a text names with `@` or `<` in front, as `curl -d @a` and `-F x=@a;type=b` do; itself where that is not
    certain."""
    if word.values is None:
        return [word] if "@" in word.text else []
    out: list[Word] = []
    for value in word.values:
        tail = value if value[:1] in ("@", "<") else value.partition("=")[2]
        tail = value[value.index("@") :] if tail[:1] not in ("@", "<") and "@" in value else tail
        path = tail[1:].partition(";")[0] if tail[:1] in ("@", "<") else ""
        out += [Word(word.text, (one,), glob=word.glob) for one in path.split(",") if one]
    return out


def _chosen(word: Word) -> list[Word]:
    """The patterns that an option's word is: one for each of its alternatives; none where it leaves names out."""
    out: list[Word] = []
    for value in word.values or ("$",):
        if value.startswith("!"):
            continue
        found = braced(value)
        if found is None:
            return [Word(word.text, None)]
        out += [Word(word.text, (f"./{text.lstrip('/')}",), glob=True) for text, _ in found]
    return out


def _only_glob(word: Word) -> bool:
    """`--include=*.py`: whatever the pattern fits, the option is the same."""
    return word.glob and len(word.values or ()) == 1 and _GLOB.isdisjoint(word.text.partition("=")[0])


def _glued(word: Word, program: Program) -> str:
    """The option of `--author="$(…)"`: whatever is printed, it is that option's word. Empty where it is none that is known."""
    name, equals, _ = word.around[0].partition("=")
    certain = word.values is None and not word.split and not word.many and bool(equals)
    known = (
        name.startswith("--")
        and name not in program.turns
        and program.options.get(name, "nothing") != "nothing"
    )
    return name if certain and known else ""


def _optional(word: Word, program: Program) -> bool:
    """Whether a word may be read as an option."""
    return any(
        (len(value) > 1 and value[0] == "-") or (value[:1] == "+" and value in program.options)
        for value in word.values or ()
    )


def _looks_like_option(word: Word) -> bool:
    """Return True if a word begins as an option does, and is no number."""
    return any(len(value) > 1 and value[0] == "-" and not value[1].isdigit() for value in word.values or ())


def made_by_copying(call: Call, named: Sequence[str]) -> list[Word]:
    """The last operand, and what comes to lie in it or in a folder that an option has `named`, should it be one, where
    the name of that begins with a dot."""
    operands = call.operands
    made = list(operands[-1:])
    folders = [value for word in made for value in word.values or ()]
    if _INTO.intersection(call.options):
        folders += named
    for source in operands if _INTO.intersection(call.options) else operands[:-1]:
        for name in (posixpath.basename(value.rstrip("/")) for value in source.values or ()):
            if name.startswith(".") and name.strip("."):
                made += [Word(source.text, (f"{folder}/{name}",), glob=source.glob) for folder in folders]
    return made


_INTO = frozenset({"-t", "--target-directory"})
