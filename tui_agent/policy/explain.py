"""L3: what a call does, in rows that an approval and `policy check` show.

Invariant: shows exactly what the decision judged; every command of a line has its row, in the order of the text. Of
rows that are too many, those of commands that destroy or act with other rights stay, and the others are counted.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from tui_agent.policy.programs.part import GIT, Part, started
from tui_agent.policy.programs.runs import from_cwd, read_runs
from tui_agent.policy.programs.table import Table
from tui_agent.policy.rules.foreign import is_own, is_steered
from tui_agent.policy.shell.script import (
    ARBITRARY,
    DESTRUCTIVE,
    NETWORK,
    PRIVILEGE,
    READ_ONLY,
    WORKSPACE,
    ranked,
)
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Connects, Effect, Internal, Reads, Runs, Writes
from tui_agent.protocol.events.policy import Deed, DeedEffect

_SHOWN = 4
_WHAT = 24
_BLANKS = re.compile(r"[ \t\n]++")
"""What a shell takes for blanks; any other is a part of a word, and has to be seen."""
_RUINOUS = frozenset({DESTRUCTIVE, PRIVILEGE})
_MOST_TEXT = 12_000
"""Characters of all rows: the event that carries them is one line of the log."""


def what_it_does(
    effects: Sequence[Effect],
    new: Collection[str] = (),
    programs: Table | None = None,
    facts: PolicyFacts | None = None,
) -> tuple[Deed, ...]:
    """Everything that the effects say, a row each. `new` are the written files that are not there yet; `facts` what the
    workspace puts in place of programs."""
    found = list(_deeds(effects, new, programs, facts))
    ruinous = {at for at, deed in enumerate(found) if _RUINOUS.intersection(deed.classes)}
    kept: set[int] = set()
    room = _MOST_TEXT
    sizes = {id(deed): len(deed.model_dump_json()) for deed in {id(deed): deed for deed in found}.values()}
    for at in (*sorted(ruinous), *(one for one in range(len(found)) if one not in ruinous)):
        room -= sizes[id(found[at])]
        if room < 0:
            break
        kept.add(at)
    shown = tuple(found[at] for at in sorted(kept))
    left = [deed for at, deed in enumerate(found) if at not in kept]
    return (*shown, _more(left)) if left else shown


def _more(left: Sequence[Deed]) -> Deed:
    """The row that stands for those that have none."""
    classes = ranked(frozenset(name for deed in left for name in deed.classes))
    word = "destroys" if _RUINOUS.intersection(classes) else "may do"
    said = DeedEffect(word=word, about="what the command above says", grave=True)
    return Deed(what=f"{len(left)} more", classes=classes, effects=(said,))


def programs_of(effects: Sequence[Effect], programs: Table | None = None) -> tuple[str, ...]:
    """The bare names by which commands start programs."""
    found = (
        started(part)
        for effect in effects
        if isinstance(effect, Runs)
        for part in read_runs(effect, programs).parts
    )
    return tuple(dict.fromkeys(name for name in found if name and "/" not in name))


def git_folders(effects: Sequence[Effect], programs: Table | None = None) -> tuple[str, ...]:
    """The folders that commands run git in, as seen from the workspace; some are patterns, and `**` is one that is not certain."""
    found = (
        "**" if at is None else from_cwd(effect, at or ".")
        for effect in effects
        if isinstance(effect, Runs)
        for part in read_runs(effect, programs).parts
        if started(part) == GIT
        for at in part.places
    )
    return tuple(dict.fromkeys(found))


def written(effects: Sequence[Effect], programs: Table | None = None) -> tuple[str, ...]:
    """The files that commands write, as seen from the workspace."""
    return _named(effects, programs, lambda part: (one for one in part.writes if one not in part.patterns))


def touched(effects: Sequence[Effect], programs: Table | None = None) -> tuple[str, ...]:
    """The files and folders that commands read or write, as seen from the workspace; some are patterns."""
    return _named(effects, programs, lambda part: (*part.reads, *part.writes))


def _named(
    effects: Sequence[Effect], programs: Table | None, of: Callable[[Part], Iterable[str]]
) -> tuple[str, ...]:
    """What `of` gives of each part of the commands, as seen from the workspace, once each."""
    return tuple(
        dict.fromkeys(
            from_cwd(effect, path)
            for effect in effects
            if isinstance(effect, Runs)
            for part in read_runs(effect, programs).parts
            for path in of(part)
        )
    )


def _deeds(
    effects: Sequence[Effect], new: Collection[str], programs: Table | None, facts: PolicyFacts | None
) -> Iterator[Deed]:
    for effect in effects:
        match effect:
            case Runs():
                report = read_runs(effect, programs)
                told = {id(part): _of_part(effect, part, new, facts) for part in report.once.parts}
                for part in report.parts:
                    yield told[id(part)]
                if report.problems and not report.parts:
                    why = DeedEffect(
                        word="may do", about="anything: " + "; ".join(report.problems), grave=True
                    )
                    yield Deed(what=_short(report.line), classes=report.classes, effects=(why,))
            case Reads():
                yield _deed(effect.path, READ_ONLY, "reads", effect.path)
            case Writes():
                verb = "removes" if effect.removes else "writes"
                yield _deed(effect.path, WORKSPACE, verb, effect.path, grave=True)
            case Connects():
                yield _deed(effect.host, NETWORK, "network", effect.host, grave=True)
            case Internal():
                yield Deed(what=effect.what, classes=(READ_ONLY,))


def _deed(what: str, name: str, word: str, about: str, *, grave: bool = False) -> Deed:
    return Deed(what=what, classes=(name,), effects=(DeedEffect(word=word, about=about, grave=grave),))


def _of_part(effect: Runs, part: Part, new: Collection[str], facts: PolicyFacts | None) -> Deed:
    foreign = tuple(_foreign(part, facts)) if facts is not None else ()
    said = (*foreign, *_files(effect, part, new), *_acts(part))
    if not said and not part.harmless:
        said = (DeedEffect(word="may do", about="anything", grave=True),)
    if not said and part.starts:
        said = (DeedEffect(word="starts", about="what stands below"),)
    classes = frozenset({*part.classes, ARBITRARY} if foreign else part.classes)
    return Deed(what=_short(part.text), classes=ranked(classes), effects=said)


def _foreign(part: Part, facts: PolicyFacts) -> Iterator[DeedEffect]:
    """What runs besides, or in place of, the program that the table knows."""
    if is_steered(part, facts):
        yield DeedEffect(word="runs", about="programs that this repository names", grave=True)
    if is_own(part, facts):
        yield DeedEffect(word="runs", about="a program of this workspace", grave=True)


def _files(effect: Runs, part: Part, new: Collection[str]) -> Iterator[DeedEffect]:
    known = {*part.reads, *part.writes, *part.removes}
    looked = [path for path in part.looks if path not in known]
    if part.reads:
        yield DeedEffect(word="reads", about=_few(effect, part.reads))
    if looked and part.harmless and part.classes:  # without a class it is a shell, and its script no path
        yield DeedEffect(word="looks at", about=_few(effect, looked))
    if part.writes:
        about = _few(effect, part.writes)
        if len(set(part.writes)) == 1 and from_cwd(effect, part.writes[0]) in new:
            about += ", a new file"
        yield DeedEffect(word="writes", about=about, grave=True)
    if part.removes:
        yield DeedEffect(word="removes", about=_few(effect, part.removes), grave=True)


def _acts(part: Part) -> Iterator[DeedEffect]:
    if NETWORK in part.classes:
        about = _some(part.hosts) or ("package index" if part.downloads else "host not known")
        yield DeedEffect(word="network", about=about, grave=True)
    if part.downloads:
        yield DeedEffect(word="runs", about="code from outside", grave=True)
    elif ARBITRARY in part.classes:
        yield DeedEffect(word="may do", about="anything", grave=True)
    elif WORKSPACE in part.classes and not part.writes:
        yield DeedEffect(word="runs", about="code of this workspace, or changes it")
    if DESTRUCTIVE in part.classes and not part.removes:
        yield DeedEffect(word="destroys", grave=True)
    if PRIVILEGE in part.classes:
        yield DeedEffect(word="rights", about="of another user", grave=True)


def _short(text: str) -> str:
    """The beginning of a command, whole words where there is room for one; the whole of it stands above the rows."""
    line = _BLANKS.sub(" ", text.strip(" \t\n"))
    if len(line) <= _WHAT:
        return line
    head, blank, _ = line[: _WHAT - 1].rpartition(" ")
    return f"{head} …" if blank else f"{line[: _WHAT - 1]}…"


def _few(effect: Runs, paths: Sequence[str]) -> str:
    return _some([from_cwd(effect, path) for path in paths])


def _some(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))
    more = f", {len(unique) - _SHOWN} more" if len(unique) > _SHOWN else ""
    return ", ".join(unique[:_SHOWN]) + more
