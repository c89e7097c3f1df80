"""The search for `ask` and `deny` rules that match a possible interpretation of a command, or its hosts.

Invariant: no judgement of this module allows a call.
"""

import re
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from functools import cache, lru_cache

from tui_agent.policy.bash.loose_reading import loose_commands
from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.decision.judgement import Judgement
from tui_agent.policy.decision.rule_index import RuleIndex, rule_judgement
from tui_agent.policy.decision.word_lists import word_list
from tui_agent.policy.interpreter.command_report import CommandReport, LineReport
from tui_agent.policy.places.pattern_overlap import fold_case
from tui_agent.policy.rules.grammar import Rule, fits_words
from tui_agent.policy.rules.hosts import DEVICES, Host, mentioned_hosts, parse_pattern, possible_hosts

Words = tuple[str | None, ...]
_GIT = "git"
_MAX_SUFFIX_COUNT = 40
_BLANK = re.compile(r"\s")


def judgements_against(rules: RuleIndex, line: LineReport) -> Iterator[Judgement]:
    """Yield the judgements of matching `ask` and `deny` rules about a line's commands and hosts."""
    if rules.against_commands:
        for command in line.commands:
            yield from _against_command(rules, command, refused=bool(line.refusal))
        if any(doubt.hides_command for command in line.commands for doubt in command.doubts):
            yield from _against_text(rules, line.line)
    if rules.rules_against("connect"):
        for command in line.commands:
            yield from _against_hosts(rules, command)
    if line.unreadable:
        why = "tui-agent cannot parse the whole line; your rules may restrict a command in it"
        verdicts = {rule.verdict for rule in rules.rules if rule.kind != "tool"} - {"allow"}
        yield from (Judgement(verdict, "rules.unread", why) for verdict in verdicts)


def _rules_against(rules: RuleIndex, readings: Collection[Words]) -> Iterator[Judgement]:
    for rule in rules.against_commands:
        if any(fits_words(rule.rest, words, certain=False) for words in readings if words):
            yield rule_judgement(rule)


def _against_text(rules: RuleIndex, text: str) -> Iterator[Judgement]:
    """Yield the judgements of `ask` and `deny` rules that match somewhere in a command line."""
    readings = loose_commands(text).commands
    ends = {words[start:] for words in readings for start in range(min(len(words), _MAX_SUFFIX_COUNT))}
    yield from _rules_against(rules, [words for words in ends if words[0] is not None])


def words_of(command: CommandReport) -> Words:
    """Return a command's words. An unknown word becomes None."""
    return tuple(word.known for word in command.words)


def _against_command(rules: RuleIndex, command: CommandReport, *, refused: bool) -> Iterator[Judgement]:
    words = words_of(command)
    spellings = list(_spellings(words, command.name))
    if refused or not command.only_reads:  # not proven, so its later words may be a command
        starts = range(1, min(len(words), _MAX_SUFFIX_COUNT))
        spellings += [words[start:] for start in starts if words[start] is not None]
    yield from _rules_against(rules, spellings)
    if not command.only_reads:
        yield from _judge_hidden_commands(rules, command)


def _spellings(words: Words, name: str) -> Iterator[Words]:
    """Yield a command's words in each spelling that a rule can use, for example `git` for `/usr/bin/git`."""
    yield words
    first = words[0] if words else None
    if first is None:
        return
    bare = first.rpartition("/")[2]
    rest = words[1:]
    if bare.startswith(f"{_GIT}-"):
        bare, rest = _GIT, (bare.removeprefix(f"{_GIT}-"), *rest)
    yield (bare, *rest)
    parts = name.split()
    if len(parts) > 1 and fold_case(parts[0]) == fold_case(bare) and parts[-1] in words:
        yield (*parts, *words[words.index(parts[-1]) + 1 :])
    elif rest and (rest[0] or "-").startswith("-"):
        # It is not known which word after the options is the subcommand.
        for start in range(1, min(len(rest), _MAX_SUFFIX_COUNT)):
            yield (bare, *rest[start:])
    for names, meant in _same_commands().get(bare, ()):
        for start in range(min(len(rest), _MAX_SUFFIX_COUNT)):
            if rest[start : start + len(names)] == names:
                yield (*meant, *rest[start + len(names) :])


@cache
def _same_commands() -> dict[str, list[tuple[Words, Words]]]:
    """Return other names of commands: program → list of (words after it, equivalent command).

    Example: `{"git": [(("send-pack",), ("git", "push"))]}`.
    """
    commands: dict[str, list[tuple[Words, Words]]] = {}
    for text in word_list("same_as"):
        (program, *names), _, meant = map(str.split, text.partition(" = "))
        commands.setdefault(program, []).append((tuple(names), tuple(meant)))
    return commands


def _judge_hidden_commands(rules: RuleIndex, command: CommandReport) -> Iterator[Judgement]:
    """Yield judgements about other commands that this command can run."""
    texts = list(_command_texts(command))
    for text in texts:
        yield from _rules_against(rules, loose_commands(text).commands)
    pattern = _names_pattern(rules.program_names)
    named = pattern is not None and any(pattern.search(text) for text in texts)
    uncertain = any(doubt.hides_command for doubt in command.doubts)
    # An unknown subcommand of git may be an alias.
    alias = _GIT in rules.program_names and command.name == _GIT
    apart = not command.entry and any(_has_in_order(rule.rest, command) for rule in rules.against_commands)
    if uncertain or named or alias or apart:
        runner = f"`{command.name}`" if command.name else "it"
        why = f"tui-agent cannot tell which commands {runner} runs; your rules may restrict one of them"
        yield Judgement("ask", "rules.hidden", why)


def _command_texts(command: CommandReport) -> Iterator[str]:
    """Yield the texts that a command might run: code, values of variables, and words with blanks."""
    yield from command.code
    # `printf 'a\nb' | sh` runs two commands.
    yield from (text.replace("\\n", "\n") for text in command.code if "\\n" in text)
    yield from _setting_texts(command)
    if not may_use_texts(command):
        return
    for text in (word.known or "" for word in command.words[bool(command.entry) :]):
        if _BLANK.search(text):
            yield text
            if text.startswith("-"):
                yield text[2:]  # the value of a single-letter option


def may_use_texts(command: CommandReport) -> bool:
    """Return True if a command can run or send the texts in its arguments."""
    known = bool(command.entry) and not command.doubts
    runs = Effect.RUNS in command.effects and not command.program.remember
    return not known or runs or Effect.CONNECTS in command.effects


def _has_in_order(rule: str, command: CommandReport) -> bool:
    """Return True if a command contains all words of a rule in order (`parallel git ::: push` contains `git push`)."""
    words = iter((word.known or "").lower() for word in command.words)
    shapes = [shape.lower() for shape in rule.split() if shape != "*"]
    return len(shapes) > 1 and all(any(fnmatchcase(word, shape) for word in words) for shape in shapes)


@lru_cache(maxsize=16)
def _names_pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    alternatives = "|".join(re.escape(name.rpartition("/")[2]) for name in names if name)
    return (
        re.compile(rf"(?<![\w.+@-])(?:{alternatives})(?![\w.+@:-])", re.IGNORECASE) if alternatives else None
    )


def _against_hosts(rules: RuleIndex, command: CommandReport) -> Iterator[Judgement]:
    connects = Effect.CONNECTS in command.effects
    if command.only_reads:
        return
    words = [word.known for word in command.words[1:]]
    texts: list[str] = [
        text
        for text in (*words, *command.code, *command.hosts)
        if text
        and (may_use_texts(command) or not _BLANK.search(text))
        and (connects or "." in text or ":" in text or text.startswith(DEVICES))
    ]
    hosts = [host for text in texts for host in possible_hosts(text)]
    hosts += [host for text in (*texts, *_setting_texts(command)) for host in mentioned_hosts(text)]
    host_rules = [
        rule for rule in rules.rules_against("connect") if _means_host(rule, hosts, connects=connects)
    ]
    yield from map(rule_judgement, host_rules)
    evident = None not in words and any("." in name or ":" in name for host in hosts for name in host.names)
    if connects and not host_rules and not evident:
        yield Judgement(
            "ask",
            "rules.host",
            "tui-agent cannot tell which host it connects to; your rules may restrict this host",
        )


def _means_host(rule: Rule, hosts: Collection[Host], *, connects: bool) -> bool:
    pattern = parse_pattern(rule.rest)
    return connects if pattern.everything else any(pattern.fits(host, certain=False) for host in hosts)


def _setting_texts(command: CommandReport) -> list[str]:
    return [value.known for _, value in command.settings if value.known]


def allows(rule: Rule, command: CommandReport) -> bool:
    """Return True if an `allow` rule matches this command and every word of the command is certain."""
    return fits_words(rule.rest, words_of(command), certain=True)
