"""Finds commands that the policy does not fully understand and that the sandbox does not confine, such as deletions.

Invariant: no function of this module allows a command.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from tui_agent.policy.bash.loose_reading import loose_commands
from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.decision.call_classes import runs_anything
from tui_agent.policy.decision.command_rules import words_of
from tui_agent.policy.decision.effect_wording import effect_words
from tui_agent.policy.decision.escalations import runs_git
from tui_agent.policy.decision.line_uses import Lines, file_uses
from tui_agent.policy.decision.profiles import BEYOND_SANDBOX
from tui_agent.policy.decision.word_lists import name_patterns, word_list, word_search
from tui_agent.policy.interpreter.command_report import Certainty, CommandReport, FileUse, LineReport
from tui_agent.policy.places.path_places import place
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect

InnerCommand: TypeAlias = tuple[CommandReport, bool]
"""(command that another command might run, True if its text might be prose)."""
MAX_READINGS: Final = 40
"""Maximum number of a command's words tried as a program name."""
MAX_WRITTEN: Final = 200
"""Maximum number of commands read from the scripts that a command line might write."""
_SHELL_ONLY: Final = frozenset({"export", "set"})
"""Shell builtins that no other program can start: in `npm set`, the word is a subcommand of npm."""
_OPEN: Final = frozenset({"program", "option", "operand", "language", "limit"})
"""Kinds of doubts that leave the meaning of a command's words unknown."""
_PROSE_EFFECTS: Final = frozenset({Effect.DELETES, Effect.ENDS_PROCESSES, Effect.ACTS_AS_OTHER})
"""Effects that are reported even for a quoted text that may be just prose."""
_CUTS = re.compile(r"[=:]+")
OUTSIDE_RISK: Final = "The command runs outside the sandbox."
_BLANK = re.compile(r"\s")
_CODE_SIGN = re.compile(r"[\s(]")
_LOOP = re.compile(r"\b(?:while|until)\b|\bfor\s*\(\(|\{\d+\.\.\d{6,}")
_MESSAGE = re.compile(r"-\w*[mFC]|--(?:mess|fi|no-e|fix|sq|reuse)")
_HERE: Final = "<<"
_FILE_ONLY_COMMANDS: Final = frozenset(
    {"git apply", "git archive", "git clone", "git format-patch", "git init"}
)
"""Git commands that write files, but do not change the workspace's repository."""


def inner_commands(command: CommandReport, read: Callable[[RunEffect], LineReport]) -> Iterator[InnerCommand]:
    """Yield pairs of a command that `command` can run, and True if the command's text might be only prose.

    In `foo rm -rf src`, the words after `foo` can be a command (False). In `foo 'rm -rf src'`, the quoted text can be a
    script or prose (True). Nothing is yielded for a command that is fully understood.
    """
    if Effect.CONNECTS in command.effects or not is_open(command):
        return
    words = [word if word is not None else "?" for word in words_of(command)][: MAX_READINGS + 1]
    for start, word in enumerate(words[1:], start=1):
        if _BLANK.search(word):
            yield from ((inner, True) for inner in read(RunEffect(script=word)).commands)
        elif word[:1] not in ("", "-") and word not in _SHELL_ONLY:
            yield from ((inner, False) for inner in read(RunEffect(argv=tuple(words[start:]))).commands)


def written_scripts(line: LineReport) -> Iterator[RunEffect]:
    """Yield commands of scripts that a line can write and then run (`echo 'git push' > x.sh; sh x.sh`)."""
    if any(runs_written_file(command, line) for command in line.commands):
        loose = loose_commands(line.line)
        yield from (RunEffect(script=text) for text in loose.texts[:MAX_READINGS])
        for words in loose.commands[:MAX_WRITTEN]:
            yield RunEffect(argv=tuple("?" if word is None else word for word in words))


def find_unbounded(command: CommandReport, inner: Sequence[InnerCommand], line: LineReport) -> str:
    """Return why a sandbox is not enough to allow the command, as a clause ("it may never end"); empty if it is enough.

    `inner`: the commands that `command` can run.
    `line`: the report of the whole command line.
    """
    if command.only_reads:
        return ""
    words = [word for word in words_of(command) if word is not None]
    runs = Effect.RUNS in command.effects or is_open(command)
    if command.name in word_list("may_not_end") and is_open(command):
        return "it may never end"
    if len(words) < len(command.words) and is_open(command):
        return "its arguments cannot be determined"
    if runs and any(value.known is None for _, value in command.settings):
        return "the values of its variables cannot be determined"
    if command.name in word_list("opens_editor") and not any(map(_MESSAGE.match, words)):
        return "it may wait for an editor"
    if line.refusal and _LOOP.search(line.line):
        return "its loop may never end"
    if words and words[0].startswith(("-", "+")):
        return f"{words[0]} is an option, and the words after it may be run as a command"
    for inside in (command, *(inside for inside, prose in inner if not prose)):
        if _program(inside) in word_list("outside") and not inside.only_reads:
            return f"{_program(inside)} may start work outside the sandbox"
        if _program(inside) in word_list("waiting"):
            return f"{_program(inside)} waits for a terminal, or does not end by itself"
    pattern = name_patterns("variables")
    variable = next((name for name, _ in command.settings if pattern.fullmatch(name.lower())), "")
    if variable and command.doubts:
        return f"{variable} is set, which may change what runs"
    for inside, prose in inner:
        effects = inside.effects & (_PROSE_EFFECTS if prose else BEYOND_SANDBOX)
        if effects:
            return f"it may run {inside.name}, which {effect_words()[min(effects)].warning}"
    # A command that is known to delete or end something needs approval for that effect. Others are searched for such words.
    is_known = not command.effects.isdisjoint({Effect.DELETES, Effect.ENDS_PROCESSES})
    word = "" if is_known else _deleting_word(command, words, line)
    if word:
        return f'it contains "{word}", so it may delete something'
    word = _listed_word(words[1:], "endless") if runs else ""
    return f'it contains "{word}", so it may never end' if word else ""


def must_leave_sandbox(lines: Lines, facts: PolicyFacts) -> bool:
    """Return True if fully understood commands must run outside the sandbox, because they always fail inside.

    They only change git's settings, which are always read-only in the sandbox, or they delete or move a file, or create
    a folder or link, outside the workspace. In a protected folder, the sandbox can only make single files writable, and an
    approved file that is missing must exist, empty, before the command starts.
    """
    commands = [command for line in lines.values() for command in line.commands]
    if not facts.sandboxed or any(line.refusal for line in lines.values()):
        return False
    # After a change of its settings, any git command might run a program.
    if commands and all(map(_only_changes_git_settings, commands)):
        return True
    # Code, also that of git's hooks, must not run outside the sandbox just because the same line deletes a file there.
    if any(command.doubts or Effect.RUNS in command.effects for command in commands):
        return False
    changed = (
        place(path, facts)
        for effect, line in lines.items()
        for command in line.commands
        for use, path in file_uses(effect, command)
        if use.certainty is Certainty.KNOWN
        and (use.action in ("delete", "move") or _creates_folder_or_link(command, use))
    )
    return any(
        not file.inside
        and file.absolute not in facts.private_temp_paths
        and not any(f"{file.absolute}/".startswith(f"{folder}/") for folder in facts.writable_folders)
        for file in changed
    )


def _only_changes_git_settings(command: CommandReport) -> bool:
    """Return True if a command only changes git's settings, without showing settings or opening an editor."""
    others = {Effect.NEEDS_TERMINAL, Effect.PRINTS_SECRETS}
    return (
        Effect.CHANGES_GIT_SETTINGS in command.effects
        and others.isdisjoint(command.effects)
        and not command.doubts
    )


def _creates_folder_or_link(command: CommandReport, use: FileUse) -> bool:
    """Return True if the command may create the used file itself, as a folder or link."""
    if use.action != "write" or use.redirected:
        return False
    copies_folder = command.name == "cp" and any(other.below for other in command.files)
    return copies_folder or command.name in word_list("creates_folder_or_link")


def find_repository_conflict(line: LineReport) -> str:
    """Return why a command line that changes the git repository and may run other code would fail, and what to do.

    For any other line, return an empty string.
    """
    # While other code runs, the sandbox locks the repository, so the change fails.
    commands = () if line.refusal else line.commands
    writer = next((command for command in commands if _changes_repository(command)), None)
    runners = [command for command in commands if may_run_other_code(command) and not command.runs_next]
    if writer is None or not runners:
        return ""
    runner = next((command for command in runners if command is not writer), None)
    if runner is not None:
        why = f"in a line that also runs {runner.name}. Run git in a separate call."
    else:
        why = "with options that may run other programs. Leave them out."
    return f"{writer.name} cannot change the repository {why}"


def _changes_repository(command: CommandReport) -> bool:
    return (
        runs_git(command)
        and Effect.WRITES in command.program.effects
        and command.name not in _FILE_ONLY_COMMANDS
    )


def may_run_other_code(command: CommandReport) -> bool:
    """Return True if a command is not fully understood, or if it runs code. Code that git itself starts does not count."""
    of_git = command.name.startswith("git ") and not command.name.startswith("git config")
    runs_code = Effect.RUNS in command.effects and (command.code or not of_git)
    return bool(command.doubts or runs_code)


def is_open(command: CommandReport) -> bool:
    """Return True if it is not known what the words of a command mean, as in `bash -c -e 'rm x'`."""
    return has_open_doubt(command) or any(code.startswith(("-", "+")) for code in command.code)


def has_open_doubt(command: CommandReport) -> bool:
    """Return True if a doubt leaves the meaning of the command's words unknown."""
    return any(doubt.name in _OPEN for doubt in command.doubts)


def _program(command: CommandReport) -> str:
    name = next(iter(words_of(command)), None)
    return (name or "").rpartition("/")[2]


def _deleting_word(command: CommandReport, words: Sequence[str], line: LineReport) -> str:
    """Return a word that can make the command delete something; empty if there is none."""
    unknown = is_open(command) or runs_anything(command)
    of_git = words[:1] == ["git"] and not unknown
    if not (unknown or of_git or Effect.RUNS in command.effects):
        return ""
    texts = [*command.code, *(value.known or "" for _, value in command.settings)]
    texts += [word for word in words[1:] if word[:1] == "!" or (unknown and _CODE_SIGN.search(word))]
    if not of_git and (_HERE in command.source or runs_written_file(command, line)):
        texts.append(line.line)
    code_word = next((match[0] for text in texts if (match := word_search("code").search(text))), "")
    if code_word:
        return code_word
    if of_git:  # its other words are names and messages, except a subcommand's own subcommand
        words = [*command.name.split()[2:], *words[2:3]]
    elif not unknown:
        words = words[1:]
    return _listed_word(words, "words")


def _listed_word(words: Sequence[str], key: str) -> str:
    parts = (part for word in words for part in _word_parts(word))
    return next((part for part in parts if part.lower() in word_list(key)), "")


def runs_written_file(command: CommandReport, line: LineReport) -> bool:
    """Return True if a command might run a file written by the same command line."""
    used = {use.path for use in command.files if use.action in ("read", "start")}
    return any(use.action == "write" and use.path in used for other in line.commands for use in other.files)


def _word_parts(word: str) -> Sequence[str]:
    """Return the parts of a word that can name an action: `--mode=delete x` gives `mode` and `delete`."""
    name, *values = _CUTS.split(word.lstrip("-"), maxsplit=2)
    if values == ["false"]:  # --watch=false
        return ()
    firsts = [value.split(maxsplit=1)[0] for value in values if value.strip()]
    return [name, *(first.rpartition("/")[2] for first in firsts)]
