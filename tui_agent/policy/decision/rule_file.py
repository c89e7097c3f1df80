"""The rule file `policy.toml`: saved rules, each with examples that are checked when the file is loaded.

    [[rule]]
    allow = "run pytest *"
    workspace = "/home/ada/timesheet"    # without it, the rule applies in every workspace
    why = "tests are safe here"
    matches = ["pytest -q"]
    differs = ["pytest-watch", "pip install pytest"]

Invariant: a file with one wrong rule or example is refused as a whole.
"""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tui_agent.config.small_files import read_small, write_private
from tui_agent.errors import ConfigError
from tui_agent.policy.catalog.catalog import built_in_catalog
from tui_agent.policy.decision.command_judge import command_line
from tui_agent.policy.decision.command_rules import allows, judgements_against
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.decision.rule_index import RuleIndex
from tui_agent.policy.interpreter.line import read_line
from tui_agent.policy.places.path_places import place
from tui_agent.policy.rules.grammar import VERDICTS, Rule, fits_host, fits_path, fits_tool, parse_rule
from tui_agent.policy.toml_text import parse_toml
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect

_KNOWN = (*VERDICTS, "why", "matches", "differs", "workspace")
_HEADER = re.compile(r"\s*\[\[\s*rule\s*\]\]")
_BLANK_OR_COMMENT = re.compile(r"\s*(#|$)")


def load_rules(path: Path) -> tuple[Rule, ...]:
    """Load the rules of a file, or no rules if the file is missing.

    Raise `ConfigError` with the number of a wrong rule.
    """
    return read_rules(read_small(path) or "", path)


def read_rules(text: str, path: Path) -> tuple[Rule, ...]:
    """Parse the text of the rule file `path`. Raise `ConfigError` with the number of a wrong rule."""
    try:
        table = parse_toml(text)
    except ValueError as error:
        raise ConfigError(f"{path} cannot be used: {error}.") from error
    entries = table.pop("rule", [])
    if table:
        raise ConfigError(
            f"{path} has unknown keys: {', '.join(sorted(table))}.",
            hint="Write each rule as a [[rule]] table.",
        )
    if not isinstance(entries, list):
        raise ConfigError(f"{path}: write each rule as a [[rule]] table.")
    return tuple(_rule(entry, f"{path}, rule {number}") for number, entry in enumerate(entries, 1))


def all_rules(user: Path, project: Path, trusted: str | None) -> tuple[Rule, ...]:
    """Load the rules of the user and of a project.

    `trusted`: the trusted text of the project's file; None if the project is not trusted.
    """
    of_project = () if trusted is None else read_rules(trusted, project)
    return (*load_rules(user), *map(bound_rule, of_project))


def bound_rule(rule: Rule) -> Rule:
    """Return a copy of a project's rule with `bounded` set, so that the rule covers only the project's own files.

    Raise `ConfigError` for a rule that allows more.
    """
    # A folder can be trusted by mistake. Even then, its rules cannot allow the network, other users' rights, other
    # folders or a tool.
    inside = not rule.rest.startswith("/")
    if rule.verdict != "allow" or rule.kind == "run" or (inside and rule.kind in ("read", "edit")):
        return replace(rule, bounded=True)
    raise ConfigError(
        f"The rule {rule.text!r} of {rule.source} is not allowed in a project: a project may only allow edits in its own folder and "
        "commands that use only this folder.",
        hint="Write it into your own policy.toml.",
    )


def append_rule(path: Path, text: str, workspace: str = "") -> None:
    """Append a rule to a rule file. A missing file is created, and an existing rule is not added again.

    `workspace`: the workspace of the rule; empty for every workspace.

    Raise `ConfigError` if the rule or the existing file is invalid.
    """
    new = parse_rule(text)
    if any(old.text == new.text and old.workspace in ("", workspace) for old in load_rules(path)):
        return
    before = read_small(path) or ""
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    entry = f"[[rule]]\n{new.verdict} = {_quote(f'{new.kind} {new.rest}')}\n"
    if workspace:
        entry += f"workspace = {_quote(workspace)}\n"
    write_private(path, before + gap + entry)


def remove_rule(path: Path, text: str, workspace: str = "") -> None:
    """Remove a rule from a rule file.

    `workspace`: the workspace of the rule; empty for every workspace.

    Raise `ConfigError` if there is no such rule, or if its lines cannot be found in the file.
    """
    rules = [(rule.text, rule.workspace) for rule in load_rules(path)]
    if (text, workspace) not in rules:
        scope = "this project" if workspace else "every project"
        raise ConfigError(f"{path} has no rule `{text}` for {scope}.")
    index = rules.index((text, workspace))
    others = rules[:index] + rules[index + 1 :]
    # The text is cut by lines, so that the user's comments stay, and then read again as a check.
    lines = (read_small(path) or "").splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if _HEADER.match(line)]
    rest = _cut_table(lines, starts, index) if len(starts) == len(rules) else None
    if rest is None or [(rule.text, rule.workspace) for rule in read_rules(rest, path)] != others:
        raise ConfigError(
            f"The rule `{text}` of {path} cannot be removed automatically.", hint="Delete it in an editor."
        )
    write_private(path, rest)


def _cut_table(lines: Sequence[str], starts: Sequence[int], index: int) -> str:
    """Return the lines as one text, without the table number `index`.

    `starts`: for each table, the index of its first line.
    """
    start, end = starts[index], [*starts, len(lines)][index + 1]
    first_kept = end
    # Comments directly before the next table belong to that table.
    while _BLANK_OR_COMMENT.match(lines[first_kept - 1]):  # stops at the header
        first_kept -= 1
    while first_kept < end and not lines[first_kept].strip():
        first_kept += 1
    rest = "".join([*lines[:start], *lines[first_kept:]]).rstrip("\n")
    return f"{rest}\n" if rest else ""


def _quote(text: str) -> str:
    """Return a text as a TOML string. Raise `ConfigError` if the text cannot be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"{text!r} is not UTF-8 text, so the rule cannot be saved.") from error
    # JSON allows the character DEL in a string, but TOML does not.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _rule(entry: object, where: str) -> Rule:
    if not isinstance(entry, dict):
        raise ConfigError(f"{where} is not a table.")
    unknown = set(entry).difference(_KNOWN)
    verdicts = [verdict for verdict in VERDICTS if verdict in entry]
    if unknown:
        raise ConfigError(
            f"{where} has unknown keys: {', '.join(sorted(unknown))}.",
            hint=f"Remove or correct them (known: {', '.join(_KNOWN)}).",
        )
    if len(verdicts) != 1 or not isinstance(entry[verdicts[0]], str):
        raise ConfigError(
            f"{where} needs exactly one of the keys allow, ask and deny, with a string as its value."
        )
    workspace = entry.get("workspace", "/")
    if not isinstance(workspace, str) or not workspace.startswith("/") or "\0" in workspace:
        raise ConfigError(f"{where}: workspace must be the absolute path of a folder.")
    rule = parse_rule(f"{verdicts[0]} {entry[verdicts[0]]}", where)
    if "workspace" in entry:
        rule = replace(rule, workspace=os.path.realpath(workspace))
    for key, should_fit in (("matches", True), ("differs", False)):
        examples = entry.get(key, [])
        if not isinstance(examples, list):
            raise ConfigError(f"{where}: {key} must be a list of strings.")
        for example in examples:
            if _fits(rule, str(example)) is not should_fit:
                relation = "does not match" if should_fit else "matches"
                raise ConfigError(f"{where}: `{rule.text}` {relation} its example {example!r}.")
    return rule


def _fits(rule: Rule, example: str) -> bool:
    certain = rule.verdict == "allow"
    match rule.kind:
        case "read" | "edit" | "remove":
            relative = None if example.startswith("/") else example
            fits = fits_path(rule.rest, relative, example, certain=certain)
            return fits or (not certain and _stops(rule, example))
        case "connect":
            return fits_host(rule.rest, example, certain=certain)
        case "tool":
            return fits_tool(rule.rest, example)
        case "exact":
            return command_line(RunEffect(script=example)) == rule.rest
        case "run":
            line = read_line(RunEffect(script=example), built_in_catalog())
            if not certain:
                return any(judgement.is_rule for judgement in judgements_against(RuleIndex([rule]), line))
            return bool(line.commands) and all(allows(rule, command) for command in line.commands)


def _stops(rule: Rule, example: str) -> bool:
    """Return True if an `ask` or `deny` rule for files applies to `example`.

    An `example` with a space is a command line. An `example` without a space is a shell pattern of file paths.
    """
    facts = PolicyFacts("/workspace", "bypass")
    if " " not in example:
        return bool(RuleIndex([rule]).rules_for_pattern(place(example, facts), [rule.kind], facts))
    return (
        RulePolicy([rule])
        .decide("run_command", (RunEffect(script=example),), facts)
        .rule_id.startswith("rule")
    )
