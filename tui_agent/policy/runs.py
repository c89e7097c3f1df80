"""L3: what one `Runs` effect does: the parts of its script or argument vector, read once and kept.

Invariant: pure; the same script or words give the same report.
"""

import posixpath
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tui_agent.policy.commands import CommandReader
from tui_agent.policy.part import Part, moved
from tui_agent.policy.programs import Table, table
from tui_agent.policy.script import ARBITRARY, DESTRUCTIVE, Command, Script, Word, ranked
from tui_agent.policy.shell import analyse
from tui_agent.policy.stricter import tighten
from tui_agent.protocol.effects import Effect, Reads, Runs, Writes

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_OTHERS = frozenset({"zsh", "ksh", "eval"})
"""Shells that read a script otherwise than bash does, and what makes it part of the script around it."""
_OPTIONS = frozenset("eufxlc")
"""Letters of a shell's options that change nothing of what its script does."""
_DEPTH = 3
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
                for path in (*part.reads, *part.looks, *part.writes, *part.removes):
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
    parts: list[Part] = []
    problems = list(script.problems)
    ruin, unread, top = script.ruin, script.unread, script.top
    paths = done = 0
    for command in script.commands[:_MOST]:
        if paths > _MOST_PATHS:
            break
        done += 1
        for part in reader.parts(command):
            paths += len(part.reads) + len(part.looks) + len(part.writes) + len(part.removes)
            tighten(part, programs.extras)
            parts.append(part)
            inner = _inner(part.words, depth, programs)
            if inner is None:
                continue
            if not part.sets and part.words[0] not in _OTHERS:
                part.classes.discard(ARBITRARY)
                part.why.clear()
                part.starts = True
            parts += inner.parts if part.places == ("",) else [moved(one, part.places) for one in inner.parts]
            problems += inner.problems
            ruin, unread, top = ruin or inner.ruin, unread or inner.unread, top or inner.top
    if len(script.commands) > done:
        problems.append(f"it has more than {_MOST} parts" if done == _MOST else "it names too many files")
        parts += [_named(command) for command in script.commands[done:]]
    ruin = ruin or next((part.ruin for part in parts if part.ruin), "")
    return RunReport(line, tuple(parts), tuple(dict.fromkeys(problems)), ruin, unread, top)


def _named(command: Command) -> Part:
    """A part that only rules which deny look at."""
    words = tuple(word.value for word in command.words)
    return Part(command.text, words[0] or "" if words else "", classes={ARBITRARY}, words=words, unsure=True)


def _inner(words: Sequence[str | None], depth: int, programs: Table) -> RunReport | None:
    """The script of `bash -c SCRIPT …`, where its options change nothing else; the words behind it are its own. That of
    `eval`, too."""
    if not words or words[0] is None or depth >= _DEPTH:
        return None
    if words[0] == "eval":
        text = " ".join(word for word in words[1:] if word is not None)
        return _script(text, depth + 1, programs) if text.strip() and None not in words else None
    if words[0].rpartition("/")[2] not in _SHELLS:
        return None
    for at, word in enumerate(words[1:], 1):
        if word is None or not set(word[1:]) <= _OPTIONS or word[:1] != "-" or len(word) < 2:
            return None
        if word.endswith("c"):
            script = words[at + 1] if at + 1 < len(words) else None
            return _script(script, depth + 1, programs) if script else None
    return None
