"""L3: what one simple command does, by the table of programs: its class, and the files and hosts it touches.

Invariant: a command is `read-only` only where its program, every option and every operand are known to be.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from tui_agent.policy.programs.everyone import means_everyone
from tui_agent.policy.programs.feeding import NOTHING, Fed, fed, found
from tui_agent.policy.programs.front import aliased, options_in_front, undashed
from tui_agent.policy.programs.git_words import add_named
from tui_agent.policy.programs.given import STDIN, given_text, substituted
from tui_agent.policy.programs.graver import note_graver
from tui_agent.policy.programs.named import (
    MOST_STARTS,
    end_of,
    forbidden,
    labelled,
    local_files,
    may_be_option,
    own_name,
    scripts,
    starts,
    steers,
    veiled,
    worse,
)
from tui_agent.policy.programs.named import bare as bare_name
from tui_agent.policy.programs.options import SCRIPTS, Call, hint, judge_script, made_by_copying, read_options
from tui_agent.policy.programs.outside import addresses, fetched
from tui_agent.policy.programs.part import GIT, STREAMS, Part, started
from tui_agent.policy.programs.splitting import doubt_first, filled, too_many, with_paths
from tui_agent.policy.programs.table import Program, Table
from tui_agent.policy.programs.wholes import note_told, note_wholes
from tui_agent.policy.rules.hosts import host_of
from tui_agent.policy.shell.script import (
    ARBITRARY,
    DESTRUCTIVE,
    NETWORK,
    PRIVILEGE,
    READ_ONLY,
    WORKSPACE,
    Command,
    Word,
)

_SAME = {"python3": "python", "pip3": "pip"}
_SILENT = ((":",), ("true",), ("cat", "/dev/null"), ("echo", "-n"), ("echo", "-n", ""), ("printf", ""))
"""Commands that print nothing: a file that one of them writes is empty."""
_DEPTH = 5
MOST_EXECUTED = 8
"""Commands behind `-exec` that are judged; one with more may do anything."""


class CommandReader:
    """Judges simple commands. `functions` are names that the script has given its own meaning."""

    def __init__(self, table: Table, functions: frozenset[str] = frozenset()) -> None:
        self._table = table
        self._functions = functions
        self._fed: Fed = NOTHING
        """The names that come through the pipe into the command that is read."""
        self._told: str | None = None
        """The text that it is given to read."""
        self._trying = False
        """What is read may be no command."""

    def parts(self, command: Command) -> list[Part]:
        """The command and, where it runs another, that one too."""
        parts: list[Part] = []
        part = Part(command.text, command.words[0].text if command.words else command.text)
        part.places = command.places
        self._fed = fed(command.fed_by, self._harmless) if command.fed_by else NOTHING
        self._environment(part, command)
        self._redirects(part, command)
        if command.words:
            part.words = tuple(word.value for word in command.words)
            self._told = substituted(command.words) or given_text(command)
            self._judge(part, command.words, parts, 0)
        elif not part.classes:
            part.classes.add(READ_ONLY)
        for one in (part, *parts):
            one.settings = tuple(f"{name}={word.value or ''}" for name, word in command.assignments)
            program = self._known(bare_name(one.program).rpartition("/")[2])
            note_told(one, program)
            note_graver(one, program)
        return [part, *parts]

    def _harmless(self, command: Command) -> bool:
        reader = CommandReader(self._table, self._functions)
        return all(part.harmless for part in reader.parts(command))

    def _environment(self, part: Part, command: Command) -> None:
        for name, word in command.assignments:
            own = not command.words and self._own(name)
            own = own or (name == "IFS" and bool(command.words) and command.words[0].value == "read")
            if not own and not {name, f"{name}={word.value}"} & self._table.safe_environment:
                part.turn(ARBITRARY, f"it sets {name}")
                part.sets = True
                part.unsure = part.unsure or steers(name, word.value, self._table.programs)

    def _own(self, name: str) -> bool:
        """Whether a variable is the script's own: no program reads it."""
        return own_name(name) or name in self._table.own_variables

    def _redirects(self, part: Part, command: Command) -> None:
        for redirect in command.redirects:
            word = redirect.target
            if redirect.text:
                continue
            if redirect.reads and word.values is None:
                program = self._table.programs.get(part.program)
                part.add(part.reads, [self._named(word, program) if program is not None else word])
                continue
            if word.values is None:
                part.turn(WORKSPACE, f"it is not certain where {word.text} leads")
                part.add(part.writes, [word])
                continue
            for value in word.values:
                if value.startswith(("/dev/tcp/", "/dev/udp/")):
                    part.turn(NETWORK, "it opens a connection")
                    part.hosts.append(value.split("/")[3] if value.count("/") > 3 else value)
                elif value in STREAMS and value != "-":
                    continue
                elif redirect.reads:
                    part.add(part.reads, [word])
                else:
                    part.turn(WORKSPACE, f"it writes {value}")
                    part.add(part.writes, [word])
                    if redirect.empties and tuple(one.value for one in command.words) in _SILENT:
                        part.turn(DESTRUCTIVE, f"it empties {value}")

    def _judge(self, part: Part, words: Sequence[Word], more: list[Part], depth: int) -> None:
        part.told = self._told
        words = undashed(words)
        name = words[0].value
        if name is None or depth > _DEPTH:
            part.turn(ARBITRARY, "the program's name is not certain")
            part.unsure = True
            part.blind = not self._trying
            return
        bare = bare_name(name)
        program = None if bare in self._functions else self._known(bare)
        if program is None:
            part.turn(ARBITRARY, f"it runs {name}" if "/" in bare else f"nothing is known of {name}")
            part.keeps = 1
            part.unknown = self._known(bare.rpartition("/")[2]) is None
            part.stand()
            self._mention(part, words[1:])
            note_wholes(part, bare.rpartition("/")[2], words[1:])
            self._told_to_run(part, words, more, depth)
            return
        if len(words) == 2 and words[1].value in program.alone and name != "eval":
            part.classes.add(READ_ONLY)
            part.name, part.keeps = bare, program.keeps
            return
        call = Call(program, bare, fed=self._fed)
        whole = words
        meant = aliased(program, words) if bare == GIT else []
        if meant:
            run = Part(part.text, part.program, places=part.places)
            run.words = tuple(word.value for word in meant)
            self._judge(run, meant, more, depth + 1)
            more.insert(0, run)
        words = self._executed(part, call, words, more, depth)
        rest = self._subcommand(part, call, words[1:])
        part.name = call.name
        call.words = [self._named(word, call.program) for word in rest]
        read_options(part, call, call.words)
        note_wholes(part, call.name, whole[1:])
        if call.program.wraps is None or part.classes - {READ_ONLY} or not call.operands:
            self._finish(part, call)
        if call.program.wraps is not None:
            self._wrapped(part, call, more, depth)
        elif part.classes & {ARBITRARY, PRIVILEGE}:
            self._told_to_run(part, whole, more, depth)

    def _told_to_run(self, part: Part, words: Sequence[Word], more: list[Part], depth: int) -> None:
        """What may do anything may run what its words name: the worst of that counts."""
        found = [] if self._trying else starts(words, self._known)
        if len(found) > MOST_STARTS:
            part.opaque = True
        self._trying = self._trying or bool(found)
        for at in found[:MOST_STARTS]:
            inner = words[at:]
            if not at:  # whatever folder it lies in
                called = (inner[0].value or "").rpartition("/")[2]
                inner = [Word(inner[0].text, (called,)), *inner[1:]]
            run = Part(" ".join(word.text for word in inner), inner[0].text, places=part.places)
            run.words = tuple(word.value for word in inner)
            behind: list[Part] = []
            self._judge(run, inner, behind, depth + 1)
            known = [one for one in (run, *behind) if worse(one, self._table.programs)]
            more += known
            if known:
                break
        if found:
            self._trying = False

    def _named(self, word: Word, program: Program) -> Word:
        """A word that is the output of a lister stands for the names that it lists."""
        if not word.made_by or word.values is not None or word.counted:
            return word
        names = fed(word.made_by, self._harmless)
        named = names.word(word.text, program, whole=not word.split, around=word.around)
        return replace(named, many=word.many, split=word.split, around=word.around)

    def _executed(
        self, part: Part, call: Call, words: Sequence[Word], more: list[Part], depth: int
    ) -> Sequence[Word]:
        """Judge what `find -exec` runs on what it finds; the words without it, or as they are where that is not plain."""
        kept = list(words)
        for _ in range(MOST_EXECUTED):
            at = next((i for i, word in enumerate(kept) if word.value in call.program.executes), None)
            end = None if at is None else end_of(kept, at, open_ended=call.program.style != "words")
            if at is None or end is None:
                break
            names = NOTHING
            if call.program.style == "words":
                names = found(kept[:at], part.places if kept[at].value in ("-exec", "-ok") else ("",))
            all_at_once = end < len(kept) and kept[end].value == "+"
            inner = filled(kept[at + 1 : end], "{}", names, self._table, many=all_at_once)
            if call.program.style != "words":
                inner = with_paths(inner)
            run = Part(" ".join(word.text for word in inner), inner[0].text, places=part.places)
            run.words = tuple(word.value for word in inner)
            if started(run) == GIT and "dir" in (kept[at].value or ""):  # whatever folder lies below
                run.places = (None,)
            self._judge(run, inner, more, depth + 1)
            more.insert(0, run)
            part.starts = True
            del kept[at : end + 1]
        return kept

    def _known(self, name: str) -> Program | None:
        return self._table.programs.get(name) or self._family(name)

    def _family(self, name: str) -> Program | None:
        """`mkfs.ext4` is a `mkfs`, `python3.11` a `python`."""
        stem, dot, tail = name.partition(".")
        if not dot:
            return None
        if stem == "mkfs" or (stem in ("python3", "python2", "pip3") and tail.isdigit()):
            return self._table.programs.get(_SAME.get(stem, stem))
        return None

    def _subcommand(self, part: Part, call: Call, words: Sequence[Word]) -> Sequence[Word]:
        """Go into `git log`; the options in front of the subcommand are the program's."""
        outer = call.program
        head, known = options_in_front(outer, words) if outer.sub is True else (0, True)
        unknown = outer.sub is True and head < len(words) and words[head].values is None
        if unknown and not any(name.startswith("-") for name in outer.subs):
            part.doubt(f"it is not certain what {call.name} is told to do")
            part.blind = True
        for count in (3, 2, 1) if outer.sub else ():
            values = [word.value or "\0" for word in words[head : head + count]]
            found = outer.subs.get(" ".join(values)) if len(values) == count else None
            if found is not None:
                read_options(part, call, words[:head])
                if not known:
                    part.turn(outer.does, f"what stands in front of {' '.join(values)} is not known")
                    self._mention(part, words[:head])
                call.options.clear()
                call.operands.clear()
                call.name = f"{call.name} {' '.join(values)}"
                call.program = found
                return words[head + count :]
        return words

    def _finish(self, part: Part, call: Call) -> None:
        program = call.program
        part.keeps = program.keeps
        part.downloads = program.downloads
        why = "" if program.does == READ_ONLY else f"{call.name} {_DOES.get(program.does, 'may do anything')}"
        if program.downloads and program.does != READ_ONLY:
            why = f"{call.name} fetches code from outside"
        part.turn(program.does, why)
        part.opaque = part.opaque or program.elsewhere
        if program.needs and not program.needs & set(call.options):
            part.turn(program.otherwise, f"{call.name} {_DOES.get(program.otherwise, 'may do anything')}")
        self._limits(part, call)
        self._operands(part, call)
        part.add(part.reads, list(local_files(call.words)) if program.hosts else ())
        if program.hosts:
            part.hosts += filter(None, (host_of(word.value or "") for word in call.operands))
        if program.settings:
            self._settings(part, call)
        if ARBITRARY in part.classes and (
            program.exposes == "always" or (program.exposes and not call.operands)
        ):
            part.doubt(f"{call.name} shows variables, which may be secrets")
        if program.ruin == "always":
            part.ruin = f"{call.name} destroys more than this workspace"
        if program.everyone and (told := means_everyone(call)):
            part.ruin = f"{call.name} {told} ends every program"

    def _settings(self, part: Part, call: Call) -> None:
        """Assignments among its operands: of what it starts programs by, or of a command."""
        for word in call.operands:
            name, equals, _ = (word.value or "").partition("=")
            if equals and (
                name in call.program.settings or any(scripts((word.value,), self._table.programs))
            ):
                part.turn(ARBITRARY, f"{call.name} is told what {name} is")
                part.unsure = part.unsure or name in call.program.settings

    def _limits(self, part: Part, call: Call) -> None:
        program, operands = call.program, call.operands
        if program.most is not None and too_many(operands, program.most):
            part.turn(program.otherwise, f"{call.name} writes its last operand")
            part.add(part.writes, [word for word in operands if word.varies])
        if program.operands == "none" and operands:
            part.turn(program.otherwise, f"{call.name} changes something")
        if program.operands == "names" and not all(self._own(word.value or "") for word in operands):
            part.turn(program.otherwise, f"{call.name} sets more than a variable of this line")
        if program.only and not all((word.value or "").startswith(program.only) for word in operands):
            part.turn(program.otherwise, f"{call.name} changes something")
        if program.trap and not call.guarded and any(may_be_option(word) for word in operands):
            part.turn(program.otherwise, "a file's name could be read as an option")
        if program.code or program.destroys:
            text = " ".join((*(word.text for word in call.words), part.told or "")).casefold()
            if program.code:
                self._coded(part, call, text)
            if any(piece in text for piece in program.destroys):
                part.turn(DESTRUCTIVE, f"what {call.name} is told takes something away")
        texts = [text for word in call.words for text in (word.text, *(word.values or ()))]
        held = [piece for text in texts for piece in program.anywhere if piece in text]
        if held:
            part.turn(program.otherwise, f"{call.name} with {held[0]} may run something")

    def _coded(self, part: Part, call: Call, text: str) -> None:
        """An interpreter that is given code as text, which may hide what it does, or that nobody knows."""
        reads = all(word.value in STDIN for word in call.operands) and not call.program.code & set(
            call.options
        )
        unseen = reads and part.told is None
        given = any(
            one.value in call.program.code and two.values is None for one, two in pairwise(call.words)
        )
        part.blind = part.blind or unseen or given
        if veiled(text) or unseen:
            part.opaque = True
            part.why.append(f"it is not certain what {call.name} is given to run")

    def _operands(self, part: Part, call: Call) -> None:
        program = call.program
        operands = list(call.operands) or [Word(word, (word,)) for word in program.default]
        if program.first and operands and not program.first_by & set(call.options):
            first = operands.pop(0)
            doubt_first(part, program, call.name, first)
            if program.first in SCRIPTS:
                judge_script(part, call, first)
            elif program.forbid and (first.values is None or forbidden(program, first.text)):
                part.turn(program.otherwise, f"its {call.name} script may do more than read")
        if program.operands != "text" or part.classes - {READ_ONLY, "privilege"}:
            part.stand()
        part.into = program.operands in ("copy", "move")
        inside = bool(program.within & set(call.options))
        into = part.reads if inside else part.writes
        into += call.archives
        if inside and WORKSPACE in part.classes and part.places != ("",):
            part.add(part.writes, [Word(".", (".",))])
        if program.does == READ_ONLY and program.operands in ("read", "look", "tree"):
            addresses(part, call.name, operands)
        match "text" if inside else program.operands:
            case "text":
                self._text(part, program, operands)
            case "none":
                self._mention(part, operands)
            case "labels":
                self._mention(part, [labelled(word) for word in operands])
            case "names":
                pass
            case "look":
                part.add(part.looks, operands)
            case "enter":
                part.add(part.looks, operands)
                part.looks = [path for path in part.looks if not path.startswith(("/", "~", ".."))]
            case "read":
                part.add(part.reads, operands)
            case "mixed":
                add_named(part, operands, call.words, lists=call.name == "git ls-files")
            case "tree":
                part.deep = True
                part.add(part.reads, operands)
            case "write":
                part.add(part.writes, operands)
                if part.writes and program.does == READ_ONLY:
                    part.turn(WORKSPACE, f"it writes {part.writes[0]}")
            case "remove":
                part.add(part.removes, operands)
            case "edit":
                part.add(part.reads, operands)
                part.add(part.writes, operands)
            case kind:
                self._carried(part, call, kind, operands)
        if any(option.startswith(one) for option in call.options for one in program.rewrites):
            part.add(part.writes, operands)
        if not program.lists & set(call.options):
            part.add(part.reads, call.chosen)
        if DESTRUCTIVE in part.classes and program.operands == "look":
            part.removes += part.looks
        part.deep = part.deep or bool(program.deep_by & set(call.options))
        part.deep = part.deep and not program.narrows & set(call.options)

    def _carried(self, part: Part, call: Call, kind: str, operands: Sequence[Word]) -> None:
        """What comes to lie elsewhere: in an archive, beside itself, or only there."""
        if kind == "pack":
            part.deep = not call.program.deep_by
            part.add(part.writes, operands[:1])
            part.add(part.reads, operands[1:])
            return
        if kind == "split":
            part.add(part.reads, operands[:1])
            part.add(part.writes, operands[1:2])
            return
        part.deep = part.deep or kind == "move"
        part.add(part.removes if kind == "move" else part.reads, operands[:-1])
        part.add(part.writes, made_by_copying(call, part.writes))

    def _text(self, part: Part, program: Program, operands: Sequence[Word]) -> None:
        part.add(part.looks, [word for word in operands if word.glob])
        for word in operands if program.device else ():
            value = word.value or ""
            if word.values is None:
                part.unsure = True
            for begin, into in ((program.device, part.writes), (program.source, part.reads)):
                if begin and value.startswith(begin):
                    target = value.removeprefix(begin)
                    part.add(into, [Word(target, (target,))])
        if part.classes - {READ_ONLY}:
            self._mention(part, operands)

    def _mention(self, part: Part, words: Sequence[Word]) -> None:
        """Words whose meaning is not known, with what may be a path in them."""
        part.mention(words)
        for value in (word.value or "" for word in words):
            if value[:1] == "-" and value[1:2] != "-":
                hint(part, value[2:])
            elif value[:1] == "." and " " in value:  # a command of its own, with names: `.import a.csv t`
                part.mention([Word(one, (one.strip("'\""),)) for one in value.split()[1:]])
            elif "@" in value or "=" in value or ":" in value:
                hint(part, value)

    def _wrapped(self, part: Part, call: Call, more: list[Part], depth: int) -> None:
        program = call.program
        inner = call.operands[program.wraps or 0 :]
        if program.assigns:
            while inner and "=" in (inner[0].value or "") and not (inner[0].value or "").startswith("="):
                name = (inner[0].value or "").partition("=")[0]
                if not {name, inner[0].value} & self._table.safe_environment:
                    part.turn(ARBITRARY, f"it sets {name}")
                inner = inner[1:]
        if not inner:
            part.turn(program.otherwise, f"{call.name} runs nothing")
            return
        if program.at_hand:
            fetched(part, call, inner[0].value)
        elif program.at_least:
            part.turn(program.at_least, f"{call.name} {_DOES.get(program.at_least, 'may do anything')}")
        part.classes.add(READ_ONLY)
        part.keeps = 0
        run = Part(" ".join(word.text for word in inner), inner[0].text, places=part.places)
        words = self._appended(call, inner) if program.appends else inner
        run.words = tuple(word.value for word in words)
        if program.at_least == WORKSPACE and part.words[-len(words) :] == run.words:
            run.whole = part.words
        self._judge(run, words, more, depth + 1)
        more.insert(0, run)
        part.starts = True

    def _appended(self, call: Call, inner: Sequence[Word]) -> Sequence[Word]:
        """What `xargs` runs: the names it is fed stand behind the words, or where its placeholder does."""
        given = [word.value or "" for word in call.words]
        whole = bool({"-0", "--null"} & set(call.options)) or "\\n" in given or "-d\\n" in given
        if "-I" in call.options:
            placeholder = given[given.index("-I") + 1] if "-I" in given[:-1] else "{}"
            return filled(inner, placeholder, self._fed, self._table)
        if {"-r", "-i", "--replace"} & set(call.options) - {"-r"}:
            return [*inner, Word("…", None, many=True)]
        program = self._table.programs.get(inner[0].value or "")
        program = self._inner_program(program, inner)
        return [*inner, replace(self._fed.word("…", program, whole=whole), many=True)]

    def _inner_program(self, program: Program | None, words: Sequence[Word]) -> Program | None:
        """The entry that judges the operands: that of the subcommand, where there is one."""
        if program is None or not program.sub or len(words) < 2:
            return program
        return program.subs.get(words[1].value or "")


_DOES = {
    WORKSPACE: "changes files or runs code of this workspace",
    NETWORK: "uses the network",
    "destructive": "takes something away for good",
    "privilege": "acts with other rights",
    ARBITRARY: "may do anything",
}
