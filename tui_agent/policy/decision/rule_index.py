"""The index of rules by kind, and the search for the rules that apply to a file, host or tool.

Invariant: an `allow` rule applies only if it certainly matches, but an `ask` or `deny` rule applies if it might match.
"""

import posixpath
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from tui_agent.errors import ConfigError
from tui_agent.policy.decision.judgement import Judgement
from tui_agent.policy.places.path_places import Place, lexical_place
from tui_agent.policy.places.pattern_overlap import paths_overlap, split_pattern
from tui_agent.policy.rules import grammar
from tui_agent.policy.rules.grammar import Rule, RuleKind
from tui_agent.ports.policy import PolicyFacts

_SESSION: Final = "this session"
"""The source shown for rules that were granted for the session."""
_SOURCE_FILE: Final = re.compile(
    r"[^/]\.(?:py|js|jsx|ts|tsx|go|rs|c|h|cc|cpp|java|rb|md|txt|toml|json|ya?ml|sh|html|css)$"
)
"""Matches names of source files, which are hardly ever folders."""
# Rules such as `**/*.lock` therefore do not apply below these names.


class RuleIndex:
    """The rules of a session, grouped by kind (`read`, `run` …)."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        # Sorted, so that the order in which rules were saved does not change which rule a reason names.
        self.rules = tuple(sorted(rules, key=lambda rule: rule.text))
        self._by_kind: dict[str, list[Rule]] = {}
        for rule in self.rules:
            self._by_kind.setdefault(rule.kind, []).append(rule)
        self.against_commands = self.rules_against("run")
        """`ask` and `deny` rules for commands."""
        fixed = (grammar.fixed_part(rule.rest) for rule in self.rules_against("read", "edit", "remove"))
        self.fixed_paths = tuple(dict.fromkeys(filter(None, fixed)))
        """Fixed beginnings of paths in `ask` and `deny` rules for files, such as `src` in `src/**`.

        `PolicyFacts.resolved` has the real path of each of them.
        """
        self.program_names = tuple(
            dict.fromkeys(grammar.first_word(rule.rest) for rule in self.against_commands)
        )
        """Program names in `ask` and `deny` rules for commands. The name is empty if the rule begins with a pattern."""

    def rules_for(self, kind: RuleKind) -> Sequence[Rule]:
        """Return the rules of one kind, such as `run`."""
        return self._by_kind.get(kind, ())

    def rules_against(self, *kinds: RuleKind) -> list[Rule]:
        """Return the `ask` and `deny` rules of these kinds."""
        return [rule for kind in kinds for rule in self.rules_for(kind) if rule.verdict != "allow"]

    def rules_for_file(self, location: Place, kind: RuleKind, facts: PolicyFacts) -> list[Rule]:
        """Return the rules of one kind that apply to a file."""
        rules = self.rules_for(kind)
        if not rules:
            return []
        names = tuple(dict.fromkeys((location, lexical_place(location.given, facts.workspace))))
        return [rule for rule in rules if _applies_to_file(rule, names, facts)]

    def rules_below(self, location: Place, kinds: Sequence[RuleKind], facts: PolicyFacts) -> list[Rule]:
        """Return the `ask` and `deny` rules of these kinds for files that can lie below a folder."""
        # `a.py` is hardly a folder, so a rule such as `**/*.lock` would only cause a needless question.
        file = _SOURCE_FILE.search(location.absolute) is not None
        if f"{facts.workspace}/".startswith(f"{location.absolute.rstrip('/')}/"):
            # A folder above the workspace contains the whole workspace.
            location = Place(location.given, location.absolute, "")
        return [
            rule
            for rule in self.rules_against(*kinds)
            if not (file and not has_fixed_place(rule))
            and any(
                grammar.may_be_below(path, location.relative, location.absolute)
                for path in _rule_paths(rule, facts)
            )
        ]

    def rules_for_pattern(
        self, location: Place, kinds: Sequence[RuleKind], facts: PolicyFacts, *, below: bool = False
    ) -> list[Rule]:
        """Return the `ask` and `deny` rules of these kinds for files that a shell pattern can match.

        `below`: include rules for files below a match of the pattern.
        """
        against = self.rules_against(*kinds)
        places = dict.fromkeys((location, lexical_place(location.given, facts.workspace))) if against else ()
        return [
            rule
            for rule in against
            if any(
                paths_overlap(*_split_both_paths(path, name, facts.workspace), below=below)
                for path in _rule_paths(rule, facts)
                for name in places
            )
        ]

    def rules_for_host(self, host: str) -> list[Rule]:
        """Return the rules that apply to a host that a tool connects to."""
        return [
            rule
            for rule in self.rules_for("connect")
            if grammar.fits_host(rule.rest, host, certain=rule.verdict == "allow")
        ]

    def rules_for_tool(self, name: str) -> list[Rule]:
        """Return the rules that apply to a tool of this name."""
        return [rule for rule in self.rules_for("tool") if grammar.fits_tool(rule.rest, name)]


def rule_judgement(rule: Rule) -> Judgement:
    """Return a judgement with a rule's verdict. The reason names the rule and its source."""
    scope = "" if rule.source == _SESSION else f" ({rule.scope})"
    where = f" of {rule.source}{scope}" if rule.source else ""
    return Judgement(rule.verdict, f"rule: {rule.text}", f"the rule `{rule.text}`{where} says so")


def first_judgement(rules: Sequence[Rule], verdict: str) -> Judgement | None:
    """Return the judgement of the first rule with this verdict; None if there is no such rule."""
    return next((rule_judgement(rule) for rule in rules if rule.verdict == verdict), None)


def stopping_judgement(rules: Sequence[Rule]) -> Judgement | None:
    """Return the judgement of the first `deny` rule, otherwise of the first `ask` rule. None if there is neither."""
    return first_judgement(rules, "deny") or first_judgement(rules, "ask")


def has_fixed_place(rule: Rule) -> bool:
    """Return True if a rule for files names their folder (`private/**`, but not `**/*.lock`)."""
    return not rule.rest.startswith(("*", "?", "["))


@lru_cache(maxsize=64)
def session_rules(texts: tuple[str, ...]) -> tuple[Rule, ...]:
    """Parse the rules that the user granted for the session, and skip invalid rules."""
    rules: list[Rule] = []
    for text in texts:
        try:
            rules.append(grammar.parse_rule(text, _SESSION))
        except ConfigError:
            continue
    return tuple(rules)


def _applies_to_file(rule: Rule, names: Sequence[Place], facts: PolicyFacts) -> bool:
    """Return True if a rule applies to a file. `names` contains the file's real path, then the path as given."""
    if rule.verdict == "allow":
        return grammar.fits_path(rule.rest, names[0].relative, names[0].absolute)
    return any(
        grammar.fits_path(path, name.relative, name.absolute, certain=False)
        for path in _rule_paths(rule, facts)
        for name in names
    )


def _rule_paths(rule: Rule, facts: PolicyFacts) -> tuple[str, ...]:
    """Return a rule's path as written. If the path begins with a link, also return the path with the link resolved."""
    begin = grammar.fixed_part(rule.rest)
    real = facts.resolved.get(begin) if begin else None
    if real is None or real == lexical_place(begin, facts.workspace).absolute:
        return (rule.rest,)
    return (rule.rest, real + rule.rest[len(begin) :])


def _split_both_paths(path: str, location: Place, workspace: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split the shell pattern of a place, and the path of a rule, into names. Both are relative to the same folder."""
    top = split_pattern(workspace, literal=True)
    if path.startswith("/"):
        names = (
            split_pattern(location.absolute)
            if location.relative is None
            else (*top, *split_pattern(location.relative))
        )
        return names, split_pattern(path)
    path = posixpath.normpath(path)
    if location.relative is not None:
        return split_pattern(location.relative), split_pattern(path)
    return split_pattern(location.absolute), (*top, *split_pattern(path))
