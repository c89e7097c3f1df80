"""L3: files that code names which a command is given: no report says what the code does with them.

Invariant: nothing here allows.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tui_agent.policy.decision.file_judge import FileJudge
from tui_agent.policy.decision.finding import Finding
from tui_agent.policy.decision.line_uses import paths_from
from tui_agent.policy.interpreter.report import CommandReport
from tui_agent.policy.places.paths import Place, place
from tui_agent.ports.policy import PolicyFacts

_MAX_PATH: Final = 300
_MAX_TOKENS: Final = 300
_IN_QUOTES: Final = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"|`([^`\n]*)`")
_TOKEN: Final = re.compile(r"(?:^|(?<=[\s'\"`]))[^\s'\"`()<>;,|\[\]{}$]+")
_EDITING: Final = frozenset({"sed", "gsed", "awk", "gawk", "mawk", "nawk"})
"""Programs of which the scripts are short: a file that one of them names is used."""
_WRITING: Final = re.compile(r"(?:w[ \t]+|>[ \t]*[\"']?)$", re.IGNORECASE)


def judge_code(command: CommandReport, cwd: str, files: FileJudge, facts: PolicyFacts) -> Iterator[Finding]:
    """Yield what guards and rules say of files that the code of a command names; `cwd` is the folder of the call."""
    if command.runs_next and not command.doubts:
        return
    for text in _code_texts(command):
        for match in list(_TOKEN.finditer(text))[:_MAX_TOKENS]:
            name = match[0]
            quoted = match.start() > 0 and text[match.start() - 1] in "'\"`"
            if len(name) > _MAX_PATH or not (quoted or "/" in name or name.startswith(".")):
                continue
            writes = bool(_WRITING.search(text[: match.start()][-_MAX_PATH:]))
            for path in paths_from(command, name, cwd):
                at = place(path, facts)
                if command.name in _EDITING:
                    yield from _judge_script_file(at, files, writes=writes)
                yield from _judge_named(at, files)


def _judge_script_file(at: Place, files: FileJudge, *, writes: bool) -> Iterator[Finding]:
    refused = files.refuse_write(at) if writes else None
    if refused is not None:
        yield refused
    yield from files.refuse_secret(at)
    yield from files.rules_against(at, ("read",))
    if writes:
        yield from files.rules_against(at, ("edit",))


def _judge_named(at: Place, files: FileJudge) -> Iterator[Finding]:
    guarded = files.judge_code(at)
    if guarded is not None:
        yield guarded
    for finding in files.rules_against(at, ("read", "edit", "remove")):
        why = f"code that it runs names {at.given}, and a rule is against using it"
        yield replace(finding, verdict="ask", reason=why)


def _code_texts(command: CommandReport) -> Iterator[str]:
    yield from command.code
    if not command.entry or command.doubts:
        for match in _IN_QUOTES.finditer(command.source):
            yield next(text for text in match.groups() if text is not None)
    if "<<" in command.source:
        yield command.source
