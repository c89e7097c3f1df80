"""The rules that an approval offers to save, for this session or always, and the check of a rule that the user edited.

Invariant: a rule that is offered or accepted allows the call that the user is asked about.
"""

import posixpath
import shlex
from collections.abc import Callable, Sequence
from typing import Literal

from tui_agent.errors import ConfigError
from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.decision.command_judge import command_line, is_ordinary, starters
from tui_agent.policy.decision.command_rules import Words, words_of
from tui_agent.policy.decision.effect_wording import words_for
from tui_agent.policy.decision.file_judge import READS_OUTSIDE
from tui_agent.policy.decision.judgement import Judgement
from tui_agent.policy.decision.line_uses import Lines, literal_path
from tui_agent.policy.interpreter.command_report import CommandReport, LineReport
from tui_agent.policy.places.path_places import place
from tui_agent.policy.rules.grammar import bound_name, parse_rule, server_pattern
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Effect as CallEffect
from tui_agent.protocol.effects import McpCallEffect, NetworkEffect, ReadEffect, RunEffect, WriteEffect
from tui_agent.protocol.events.policy import PermissionChoice

UNSEEN = "not available: misleading characters"
SECRET = "not available: this call would read files with secrets"
OUTSIDE = "not available outside the workspace"
UNCONFINED = "not available outside the sandbox"
RULED = "not available: a rule asks about this each time"
HOOKED = "not available: a hook asks about this"
ALLOWED = "not needed: such calls are already allowed"
_ONCE = PermissionChoice(reach="once", rule="")
_PATTERN_CHARACTERS = frozenset("*?[]")
_CODE_OPTIONS = frozenset({"-c", "-e", "-p", "--eval", "--print", "-"})


def only_once(why: str) -> tuple[PermissionChoice, ...]:
    """Return choices that allow a call only once.

    `why`: the reason why no rule is offered.
    """
    return (_ONCE, *_refuse(why))


def offer_choices(
    tool: str,
    asked: Sequence[CallEffect],
    lines: Lines,
    facts: PolicyFacts,
    asking: Judgement,
    judge_with: Callable[[str], Judgement],
) -> tuple[PermissionChoice, ...]:
    """Return the choices of an approval: allow the call once, or save a rule for this session or always.

    - `asked`: the effects that need approval.
    - `lines`: the reports on the call's command lines.
    - `asking`: the judgement that requires the approval.
    - `judge_with`: function that gets the text of a rule, and returns the call's judgement with this rule.

    The `explanation` of a choice with a rule describes the calls that the rule allows. The `explanation` of a choice
    without a rule says why no rule is offered.
    """
    choices = _make_choices(tool, asked, lines, facts, asking, judge_with)
    return tuple(_withdraw_if_useless(choice, judge_with) for choice in choices)


def _withdraw_if_useless(
    choice: PermissionChoice, judge_with: Callable[[str], Judgement]
) -> PermissionChoice:
    """Return `choice`. If the choice's rule would not allow the call, return a choice without a rule instead."""
    why = _why_useless(choice.rule, judge_with) if choice.rule else ""
    if not why:
        return choice
    return PermissionChoice(reach=choice.reach, rule="", offered=False, explanation=why)


def _why_useless(rule: str, judge_with: Callable[[str], Judgement]) -> str:
    """Return the reason why this rule would not allow the call. Empty if the rule would allow the call."""
    judgement = judge_with(rule)
    return "" if judgement.verdict == "allow" else _why_asked(judgement)


def _why_asked(judgement: Judgement) -> str:
    reads_outside = judgement.rule_id.endswith(f".{READS_OUTSIDE}")
    return OUTSIDE if reads_outside else f"not available: {judgement.reason}"


def _make_choices(
    tool: str,
    asked: Sequence[CallEffect],
    lines: Lines,
    facts: PolicyFacts,
    asking: Judgement,
    judge_with: Callable[[str], Judgement],
) -> tuple[PermissionChoice, ...]:
    kinds = {effect.kind for effect in asked}
    if not asked:
        return only_once("not available: the effects of this call are not known")
    if len(kinds) > 1 or (len(asked) > 1 and kinds != {"writes"}):
        return only_once("not available for a call with several effects")
    match asked[0]:
        case WriteEffect():
            return (
                _ONCE,
                *_offer_writes([effect for effect in asked if isinstance(effect, WriteEffect)], facts),
            )
        case ReadEffect() as effect:
            return (_ONCE, *_offer_read(effect, facts))
        case NetworkEffect(host=host):
            return (_ONCE, *_offer(f"allow connect {host}", f"connections to {host}"))
        case McpCallEffect() as effect:
            words = f"this tool of {effect.server}, until the server changes it"
            # The rule contains a digest of the tool's description and schema. If the server changes them, the user is
            # asked again.
            session, always = _offer(f"allow tool {bound_name(tool, effect)}", words)
            wider = f"allow tool {server_pattern(tool)}"
            return (_ONCE, session, always.model_copy(update={"wider_rule": wider}))
        case RunEffect() as effect:
            if bool(effect.argv) == bool(effect.script.strip()):
                return only_once("only available for a single command")
            return (_ONCE, *_offer_command(effect, lines[effect], facts, asking, judge_with))
        case _:
            return only_once("not available for this effect")


def _offer(rule: str, words: str, why_not_always: str = "") -> tuple[PermissionChoice, PermissionChoice]:
    """Return two choices: one saves a rule for this session, the other saves it permanently.

    - `words`: description of what the rule allows.
    - `why_not_always`: the reason if the rule is offered only for this session.
    """
    session = PermissionChoice(reach="session", rule=rule, explanation=words)
    if why_not_always:
        return session, PermissionChoice(reach="always", rule="", offered=False, explanation=why_not_always)
    return session, PermissionChoice(reach="always", rule=rule, explanation=words)


def _refuse(why: str) -> tuple[PermissionChoice, PermissionChoice]:
    refused = PermissionChoice(reach="session", rule="", offered=False, explanation=why)
    return refused, refused.model_copy(update={"reach": "always"})


def _offer_writes(
    effects: Sequence[WriteEffect], facts: PolicyFacts
) -> tuple[PermissionChoice, PermissionChoice]:
    places = [place(effect.path, facts) for effect in effects]
    if any(not _PATTERN_CHARACTERS.isdisjoint(location.absolute) for location in places):
        return _refuse("not available for names with wildcards")
    if any(effect.removes for effect in effects):
        if len(effects) > 1:
            return _refuse("not available for several files")
        name = places[0].relative or places[0].absolute
        return _offer(f"allow remove {name}", f"removing {name}", "not available for removing files")
    if not all(location.inside for location in places):
        if len(places) > 1:
            return _refuse("not available for several files outside the workspace")
        rule = f"allow edit {places[0].absolute}"
        return _offer(rule, "edits of this file only", OUTSIDE)
    folder = posixpath.commonpath([posixpath.dirname(location.relative or "") for location in places])
    if folder:
        return _offer(f"allow edit {folder}/**", f"edits in {folder}/")
    if len(places) == 1:
        return _offer(f"allow edit {places[0].relative}", f"edits of {places[0].relative}")
    return _refuse("not available for files without a common folder")


def _offer_read(effect: ReadEffect, facts: PolicyFacts) -> tuple[PermissionChoice, PermissionChoice]:
    location = place(effect.path, facts)
    if not _PATTERN_CHARACTERS.isdisjoint(location.absolute):
        # In a rule, these characters would match other names too.
        return _refuse("not available for names with wildcards")
    # The path of a rule cannot begin with `~`.
    if location.absolute.startswith("~"):
        return _refuse("not available for a home folder")
    why_not_always = "" if location.inside else OUTSIDE
    if effect.recursive:
        return _offer(
            f"allow read {location.absolute}/**", f"reading below {location.absolute}", why_not_always
        )
    return _offer(f"allow read {location.absolute}", "reading this file", why_not_always)


def _offer_command(
    effect: RunEffect,
    line: LineReport,
    facts: PolicyFacts,
    asking: Judgement,
    judge_with: Callable[[str], Judgement],
) -> tuple[PermissionChoice, PermissionChoice]:
    exact = f"allow exact {command_line(effect)}"
    commands = _commands_to_allow(line)
    why = _why_no_rule(effect, line, [command for command, _ in commands], facts, asking)
    rules = {} if why else dict.fromkeys(_command_rule(command, prefix) for command, prefix in commands)
    if len(rules) > 1:
        why = "not available for several commands"
    if "" in rules:
        why = "not available for commands with wildcards"
    if not why:
        why = _why_useless(f"allow run {next(iter(rules))}", judge_with)
    if why:
        return _offer(exact, "this exact command only", why)
    [words] = rules
    if not words.endswith(" *"):
        session, _ = _offer(exact, "this exact command only", "")
        return session, PermissionChoice(
            reach="always", rule=f"allow run {words}", explanation="this exact command only"
        )
    return _offer(f"allow run {words}", f"any {words.removesuffix(' *')}")


def _commands_to_allow(line: LineReport) -> list[tuple[CommandReport, Words]]:
    """Return a line's commands that need a rule, each with its launcher words (`uv run` in `uv run pytest`)."""
    commands: list[tuple[CommandReport, Words]] = []
    for index, command in enumerate(line.commands):
        # A launcher such as `uv run` needs no rule of its own: the rule for the started command begins with its
        # words.
        if command.runs_next and is_ordinary(command) and Effect.RUNS in command.effects:
            continue
        outer = starters(line, index) if is_ordinary(command) else []
        prefix = next((words for starter, words in reversed(outer) if Effect.RUNS in starter.effects), ())
        if prefix or not command.only_reads:
            commands.append((command, prefix))
    return commands


def _why_no_rule(
    effect: RunEffect,
    line: LineReport,
    commands: Sequence[CommandReport],
    facts: PolicyFacts,
    asking: Judgement,
) -> str:
    if any(command.program.downloads for command in line.commands):
        return "not available: it downloads code"
    effects = {effect for command in line.commands for effect in command.effects}
    refused = next((words.offer for words in words_for(effects) if words.offer), "")
    if refused:
        return f"not available for commands that {refused}"
    if line.refusal or any(command.doubts for command in line.commands):
        return "not available for commands that are not fully understood"
    if not commands:
        return _why_asked(asking)
    if effect.cwd and not place(literal_path(effect.cwd), facts).inside:
        return OUTSIDE
    for command in line.commands:
        changed = next((use.path for use in command.files if use.action in ("write", "move", "delete")), None)
        if changed is not None:
            return f"not available: a rule for {command.name} would apply to every file, not only {changed}"
    return next((_why_unnameable(command) for command in commands if not command.program.remember), "")


def _why_unnameable(command: CommandReport) -> str:
    if command.code or _CODE_OPTIONS.intersection(words_of(command)[1:]):
        return "not available for code on the command line"
    if Effect.RUNS not in command.effects:
        return f"not available for {command.name}"
    if Effect.WRITES not in command.effects and any(use.action == "read" for use in command.files):
        return "not available for a script, because its contents can change"
    return f"not available: {command.name} can run other programs"


def _command_rule(command: CommandReport, prefix: Words) -> str:
    """Return the words of a rule for a command, such as `git log *`, or an empty string if no rule is possible.

    `prefix`: the launcher words before the command (`uv run`).
    """
    words = [word or "" for word in words_of(command)]
    front = [word or "" for word in prefix]
    head = words[: command.program.remember]
    names = command.name.split()
    # With an option before the subcommand, as in `git -C x log`, a rule such as `git -C *` would allow every
    # subcommand.
    plain = head[: len(names)] == names or not any(word.startswith(("-", "+")) for word in head[1:])
    if plain and len(words) >= command.program.remember:
        return f"{shlex.join([*front, *head])} *"
    every = [*front, *words]
    return "" if any(char in word for word in every for char in _PATTERN_CHARACTERS) else shlex.join(every)


def find_edited_rule_fault(text: str, judge: Callable[[str], Literal["allow", "ask", "deny"]]) -> str:
    """Return the fault of an edited rule, or an empty string if the rule can be saved.

    `judge`: function that returns the verdict on the call with the given rule.
    """
    try:
        rule = parse_rule(text)
    except ConfigError as error:
        return str(error)
    if rule.verdict != "allow":
        return "Only `allow` rules can be saved here."
    if judge(rule.text) != "allow":
        return "This rule does not match this request."
    return ""
