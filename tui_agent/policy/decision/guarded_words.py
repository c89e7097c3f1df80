"""L3: guarded files in the words of a command of which not all is known: no rule about the program covers them.

Invariant: nothing here allows; a command that is proven to only read its files is never looked at.
"""

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.decision.command_rules import words_of
from tui_agent.policy.decision.confinement import is_open
from tui_agent.policy.decision.finding import Finding
from tui_agent.policy.interpreter.report import CommandReport
from tui_agent.policy.places.paths import Guards, place
from tui_agent.ports.policy import PolicyFacts

_CUTS: Final = re.compile(r"[=@<,;:\s]+")
_ATTACHED: Final = re.compile(r"-\w+?(?=[./~])")
_MAX_WORDS: Final = 500
_CARRYING: Final = frozenset({Effect.RUNS, Effect.CONNECTS})


def find_guarded_words(
    command: CommandReport, folder: str, guards: Guards, facts: PolicyFacts
) -> Iterator[Finding]:
    """Yield a question for a guarded file that a word of the command may name, or for secrets below a folder which it may
    send or pack. `folder` is where the line starts, as seen from the workspace."""
    if command.only_reads or not (_CARRYING & command.effects or is_open(command)):
        return
    for path in _paths(command, folder):
        at = place(path, facts)
        if guards.is_secret(at) and at.absolute not in facts.public_files:
            why = f"{path} may hold secrets, and it is not known what {command.name or 'it'} does with it"
            yield Finding("ask", f"{facts.policy}.secrets", why, default_no=True, needs_person=True)
        elif is_open(command) and guards.find_write_guard(at, facts) == "protected":
            why = f"{path} decides what runs or what is asked, and {command.name or 'it'} may write it"
            yield Finding("ask", f"{facts.policy}.guarded", why, default_no=True, needs_person=True)
        elif not facts.sandboxed and at.relative is not None and _may_carry(command):
            front = f"{at.relative}/" if at.relative else ""
            names = [secret.name for secret in facts.secrets if secret.name.startswith(front)]
            if names and not _leaves_out(command, names):
                risk = "It may hold secrets."
                why = f"it may also read {names[0]}, which may hold secrets"
                yield Finding("ask", "guard.below", why, risk, default_no=True, needs_person=True)


def _may_carry(command: CommandReport) -> bool:
    """Return True if it sends what it reads, or is a reading program in a use that is not listed (`tar c`)."""
    reads = bool(command.entry) and Effect.RUNS not in command.effects
    return Effect.CONNECTS in command.effects or (reads and is_open(command))


def _leaves_out(command: CommandReport, names: list[str]) -> bool:
    """Return True if a word of the command leaves each of the files out by its name."""
    words = " ".join(word or "" for word in words_of(command))
    return all(re.search(rf"--exclude[= ]{re.escape(name)}(?= |$)", words) for name in names)


def _paths(command: CommandReport, folder: str) -> Iterator[str]:
    for word in words_of(command)[1:_MAX_WORDS]:
        text = word or ""
        parts = dict.fromkeys((text, *_CUTS.split(text), _ATTACHED.sub("", text, count=1)))
        for part in parts:
            if part and not part.startswith("-") and not text.startswith("--exclude"):
                yield from _from_folders(command, part, folder)


def _from_folders(command: CommandReport, path: str, folder: str) -> Iterator[str]:
    if path.startswith(("/", "~")):
        yield path
        return
    for start in command.folders:
        if start is not None:
            yield posixpath.normpath(posixpath.join(folder, start, path))
