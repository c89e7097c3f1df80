"""L3: what one `Runs` effect does: the parts of its script or argument vector, read once and kept.

Invariant: pure; the same script or words give the same report.
"""

import posixpath
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, islice

from tui_agent.policy.programs.commands import CommandReader
from tui_agent.policy.programs.given import STDIN
from tui_agent.policy.programs.graver import relayed
from tui_agent.policy.programs.named import bare, scripts, takes_away, worse
from tui_agent.policy.programs.part import Part, moved
from tui_agent.policy.programs.scripts_written import ScriptsWritten
from tui_agent.policy.programs.stricter import tighten
from tui_agent.policy.programs.table import Table, table
from tui_agent.policy.shell.line import analyse
from tui_agent.policy.shell.script import ARBITRARY, DESTRUCTIVE, PRIVILEGE, Command, Script, Word, ranked
from tui_agent.protocol.effects import Effect, Reads, Runs, Writes

_SHELLS = frozenset(
    {"bash", "sh", "zsh", "dash", "ksh", "ash", "mksh", "rbash", "yash", "fish", "csh", "tcsh"}
)
_SOURCING = frozenset({"source", "."})
_READERS = frozenset({"eval", "trap", *_SOURCING})
_OTHERS = _SHELLS - {"bash", "sh", "dash"} | _READERS
"""Shells that read a script otherwise than bash does, and what makes it part of the script around it."""
_OPTIONS = frozenset("eufxlcs")
"""Letters of a shell's options that change nothing of what its script does."""
_WITH_WORD = frozenset({"--rcfile", "--init-file"})
"""Options of a shell that a word follows, besides those whose letters end in `o`."""
_DESCRIPTORS = ("/dev/fd/", "/proc/")
"""What stands for something that was opened elsewhere."""
_DEPTH = 3
_MOST_LINES = 8
_MOST_PATHS = 250
_MOST = 500
"""Parts that are judged one by one; behind them only rules that deny are asked."""


@dataclass(frozen=True)
class RunReport:
    """`line` is the command line as a person reads it. Paths of the parts are relative to the effect's `cwd`."""

    line: str
    parts: tuple[Part, ...]
    problems: tuple[str, ...] = ()
    ruin: str = ""
    unread: bool = False
    """Commands may stand in it that no part shows."""
    top: bool = False
    """See `Script.top`."""

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """All classes of all parts, the most harmless first."""
        found = {name for part in self.parts for name in part.classes}
        unknown = {ARBITRARY} if self.problems or not found else set()
        return ranked(frozenset(found | unknown | ({DESTRUCTIVE} if self.ruin else set())))

    @cached_property
    def paths(self) -> int:
        """How many files its parts name."""
        return sum(
            len(part.reads) + len(part.looks) + len(part.writes) + len(part.removes) for part in self.parts
        )

    @property
    def once(self) -> "RunReport":
        """With each part once: of commands that are the same there is one part for all."""
        unique = {id(part): part for part in self.parts}
        return self if len(unique) == len(self.parts) else replace(self, parts=tuple(unique.values()))

    @cached_property
    def downloads(self) -> bool:
        """It fetches code from outside and may run it."""
        return any(part.downloads for part in self.parts)


def read_runs(effect: Runs, programs: Table | None = None) -> RunReport:
    """What the effect does, by a table of programs; by the one that comes with the product where none is given."""
    known = programs or table()
    if bool(effect.argv) == bool(effect.script.strip()):
        why = (
            "it names two commands, one as words and one as a script"
            if effect.argv
            else "it holds no command"
        )
        return RunReport(effect.script, (), (why,))
    if effect.script:
        return _script(effect.script, 0, known)
    return _words(effect.argv, known)


def command_line(effect: Runs) -> str:
    """What would be typed to run the same in the workspace; `allow exact` compares it."""
    line = effect.script.strip() if effect.script else shlex.join(effect.argv)
    folder = literal(posixpath.normpath(effect.cwd)) if effect.cwd else "."
    return line if folder == "." else f"cd {shlex.quote(folder)} && {line}"


def mentioned_paths(effects: Iterable[Effect], programs: Table | None = None) -> tuple[str, ...]:
    """Every path that a decision about these effects may depend on, as keys for `PolicyFacts.resolved`; `~`, the
    home, where a command writes or takes something away."""
    paths: dict[str, None] = {}
    for effect in effects:
        if isinstance(effect, Reads | Writes):
            paths[effect.path] = None
        elif isinstance(effect, Runs):
            if effect.cwd:
                paths[literal(effect.cwd)] = None
            for part in read_runs(effect, programs).parts:
                if part.writes or part.removes:
                    paths["~"] = None
                for path in (*part.reads, *part.looks, *part.writes, *part.removes, *part.guesses):
                    paths[from_cwd(effect, path)] = None
    return tuple(paths)


def from_cwd(effect: Runs, path: str) -> str:
    """A part's path as seen from the workspace. `cwd` is a name as file tools take it: a `~` in it is no home."""
    if not effect.cwd or path.startswith(("/", "~")):
        return path or "."
    return literal(posixpath.normpath(posixpath.join(effect.cwd, path)))


def literal(path: str) -> str:
    """A path with no home in front of it."""
    return f"./{path}" if path.startswith("~") else path


def _script(text: str, depth: int, programs: Table) -> RunReport:
    """Kept for the next time; of long scripts only the last few, as their reports are large."""
    return (_short if len(text) < _LONG else _long)(text, depth, programs)


def _read(text: str, depth: int, programs: Table) -> RunReport:
    return _report(text, analyse(text), depth, programs)


_LONG = 1_000
_short = lru_cache(maxsize=256)(_read)
_long = lru_cache(maxsize=4)(_read)


@lru_cache(maxsize=256)
def _words(argv: tuple[str, ...], programs: Table) -> RunReport:
    line = shlex.join(argv)
    words = tuple(Word(shlex.quote(word), (word,)) for word in argv)
    problems = ("it holds invisible characters",) if any("\0" in word for word in argv) else ()
    return _report(line, Script(line, (Command(line, words),), problems), 0, programs)


def _report(line: str, script: Script, depth: int, programs: Table) -> RunReport:
    reader = CommandReader(programs, script.functions)
    judged: dict[tuple[Command, int], RunReport] = {}
    written = ScriptsWritten()
    parts: list[Part] = []
    problems = list(script.problems)
    ruin, unread, top = script.ruin, script.unread, script.top
    paths = done = 0
    for command in script.commands[:_MOST]:
        if paths > _MOST_PATHS:
            break
        done += 1
        key = (command, written.version)
        one = judged.get(key)
        if one is None:
            one = judged[key] = _judged(reader, command, depth, programs, written)
            problems += one.problems
            ruin, unread, top = ruin or one.ruin, unread or one.unread, top or one.top
        written.note(command)
        parts += one.parts
        paths += one.paths
    if len(script.commands) > done:
        problems.append(f"it has more than {_MOST} parts" if done == _MOST else "it names too many files")
        parts += [_named(command) for command in script.commands[done:]]
    ruin = ruin or next((part.ruin for part in parts if part.ruin), "")
    return RunReport(line, tuple(parts), tuple(dict.fromkeys(problems)), ruin, unread, top)


def _judged(
    reader: CommandReader, command: Command, depth: int, programs: Table, written: ScriptsWritten
) -> RunReport:
    """One simple command, with what it is told to run."""
    parts: list[Part] = []
    problems: list[str] = []
    ruin, unread, top = "", False, False
    for part in reader.parts(command):
        tighten(part, programs.extras)
        parts.append(part)
        _relayed(part, depth, programs)
        found = _inner(part, depth, programs)
        if found is None:
            parts += _told_to_run(part, depth, programs)
            found = _written(part, depth, programs, written)
        if found is None:
            continue
        inner = found.report
        if inner is None:
            part.opaque = part.blind = True
            part.why.append(f"it is not certain what {part.program} is given to run")
            continue
        if not part.sets and found.plain:
            part.classes.discard(ARBITRARY)
            part.why.clear()
            part.starts = True
        places = (None,) if found.later else part.places
        parts += inner.parts if places == ("",) else [moved(one, places) for one in inner.parts]
        problems += inner.problems
        ruin, unread, top = ruin or inner.ruin, unread or inner.unread, top or inner.top
    return RunReport(command.text, tuple(parts), tuple(problems), ruin, unread, top)


def _named(command: Command) -> Part:
    """A part that only rules which deny look at."""
    words = tuple(word.value for word in command.words)
    return Part(command.text, words[0] or "" if words else "", classes={ARBITRARY}, words=words, unsure=True)


def _told_to_run(part: Part, depth: int, programs: Table) -> list[Part]:
    """What a program that may do anything is told to run by a text, where that makes it worse."""
    if part.classes.isdisjoint((ARBITRARY, PRIVILEGE)) or depth >= _DEPTH:
        return []
    texts = (*part.words, part.told)
    found = [
        one
        for line in scripts(texts, programs.programs)
        for one in _script(line, depth + 1, programs).parts
        if worse(one, programs.programs)
    ]
    if not found and takes_away(texts):
        part.turn(DESTRUCTIVE, f"what {part.program} is told takes something away")
    return found if part.places == ("",) else [moved(one, part.places) for one in found]


def _relayed(part: Part, depth: int, programs: Table) -> None:
    """What it hands on to another machine makes it worse; files that it names there are none of this one."""
    if not part.relays or depth >= _DEPTH:
        return
    lines = chain(relayed(part, programs), scripts((*part.words, part.told), programs.programs))
    for one in (
        one for line in islice(lines, _MOST_LINES) for one in _script(line, depth + 1, programs).parts
    ):
        if worse(one, programs.programs):
            for name in (DESTRUCTIVE, PRIVILEGE):
                if name in one.classes:
                    part.turn(name, f"{part.program} hands on {one.text}")


def _written(part: Part, depth: int, programs: Table, written: ScriptsWritten) -> "_Inner | None":
    """The script that the same line wrote into the file which a shell is given, or which is started itself. Of one in another
    language only what it takes away counts."""
    if ARBITRARY not in part.classes or depth >= _DEPTH:
        return None
    name = (part.words[0] if part.words else None) or ""
    for at, text in written.run_by(part):
        first = text.lstrip().partition("\n")[0]
        direct = at == 0 and (not first.startswith("#!") or first.endswith("sh"))
        if not written.read(text):
            return _Inner(None)
        if direct or name.rpartition("/")[2] in _SHELLS | _SOURCING:
            return _Inner(_script(text, depth + 1, programs), plain=False) if text.strip() else None
        known = programs.programs.get(bare(name))
        if takes_away((text,)) or (known and any(one in text.casefold() for one in known.destroys)):
            part.turn(DESTRUCTIVE, f"what {part.program} is told takes something away")
    return None


@dataclass(frozen=True)
class _Inner:
    """The script that a shell is given; `plain`: nothing of its options changes what that does. None: nobody can read it."""

    report: RunReport | None
    plain: bool = True
    later: bool = False
    """It runs in whatever folder the script is in by then."""


def _inner(part: Part, depth: int, programs: Table) -> _Inner | None:
    """The script of `bash -c SCRIPT …`, or that a shell reads; the words behind it are its own. That of `eval`, too."""
    words = part.words
    if not words or words[0] is None or ARBITRARY not in part.classes:
        return None
    name = words[0].rpartition("/")[2]
    if name not in _SHELLS and name not in _READERS:
        return None
    if name == "trap":
        return _trapped(words, depth, programs)
    given = _evaluated(words) if name == "eval" else _told(name, words, part.told)
    if given is None:
        return None
    if given.text is None or depth >= _DEPTH:
        return _Inner(None)
    report = _script(given.text, depth + 1, programs) if given.text.strip() else None
    return None if report is None else _Inner(report, given.plain and name not in _OTHERS)


def _trapped(words: Sequence[str | None], depth: int, programs: Table) -> _Inner | None:
    """What `trap 'echo bye' EXIT` runs in the end; None where it only lists, or sets back."""
    told = words[2:] if words[1:2] == ["--"] else words[1:]
    if len(told) < 2 or None in told[1:] or (told[0] or "").startswith("-"):
        return None
    if told[0] is None or depth >= _DEPTH:
        return _Inner(None)
    return _Inner(_script(told[0] or ":", depth + 1, programs), later=True)


@dataclass(frozen=True)
class _Given:
    """The text of a script; None: nobody can read it from the line."""

    text: str | None
    plain: bool = True


def _evaluated(words: Sequence[str | None]) -> _Given | None:
    return _Given(None if None in words else " ".join(filter(None, words[1:])))


def _told(name: str, words: Sequence[str | None], told: str | None) -> _Given | None:
    """The script of a shell; None where it is in a file, or its words are not certain."""
    plain = True
    at = 1
    while at < len(words):
        word = words[at]
        if word is None:
            return None
        if word in STDIN:
            return _Given(told, plain)
        if word[:1] not in ("-", "+") or (words[at - 1] == "--" and at > 1):
            return _Given(None) if word.startswith(_DESCRIPTORS) else None
        if word == "--":
            at += 1
            continue
        short = not word.startswith("--")
        plain = plain and short and word[0] == "-" and set(word[1:]) <= _OPTIONS
        if short and word[0] == "-" and "c" in word:
            behind = words[at + 1 :]
            rest = [one for one in behind if one is None or one[:1] not in ("-", "+")]
            return _Given(rest[0], plain and rest[0] == behind[0]) if rest else _Given(None)
        if short and "s" in word and word[0] == "-":
            break
        at += 2 if word in _WITH_WORD or word[-1] in "oO" else 1
    return None if name in _SOURCING else _Given(told, plain)
