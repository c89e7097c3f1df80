"""Rules sorted by what they are about, and which of them mean a file, a host or a tool.

Invariant: a rule that allows is compared with what is certain; one that asks or denies fits already when it may be
meant: by the given name and by the real file, whatever the letter case, links in its own path followed too.
"""

import posixpath
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from tui_agent.errors import ConfigError
from tui_agent.policy.decision.finding import Finding
from tui_agent.policy.places.paths import Place, lexical_place
from tui_agent.policy.places.pattern_overlap import paths_overlap, split_pattern
from tui_agent.policy.rules import grammar
from tui_agent.policy.rules.grammar import Rule, What
from tui_agent.ports.policy import PolicyFacts

_SOURCE_FILE: Final = re.compile(
    r"[^/]\.(?:py|js|jsx|ts|tsx|go|rs|c|h|cc|cpp|java|rb|md|txt|toml|json|ya?ml|sh|html|css)$"
)
"""Names that hardly any folder has: no rule about files anywhere means something below one."""


class RuleIndex:
    """Rules in an order that does not matter."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(sorted(rules, key=lambda rule: rule.text))
        self._by_what: dict[str, list[Rule]] = {}
        for rule in self.rules:
            self._by_what.setdefault(rule.what, []).append(rule)
        self.against_commands = self.against("run")
        """Rules that ask or deny about commands."""
        fixed = (grammar.fixed_part(rule.rest) for rule in self.against("read", "edit", "remove"))
        self.fixed_paths = tuple(dict.fromkeys(filter(None, fixed)))
        """Beginnings of paths in rules that ask or deny about files: keys for `PolicyFacts.resolved`."""
        self.program_names = tuple(
            dict.fromkeys(grammar.first_word(rule.rest) for rule in self.against_commands)
        )
        """The first words of rules against commands; "" for one that begins with a pattern."""

    def about(self, what: What) -> Sequence[Rule]:
        """Return the rules about one kind of thing."""
        return self._by_what.get(what, ())

    def against(self, *whats: What) -> list[Rule]:
        """Return the rules that ask or deny about one of these."""
        return [rule for what in whats for rule in self.about(what) if rule.verdict != "allow"]

    def about_file(self, at: Place, what: What, facts: PolicyFacts) -> list[Rule]:
        """Return the rules about a file."""
        rules = self.about(what)
        if not rules:
            return []
        names = tuple(dict.fromkeys((at, lexical_place(at.given, facts.workspace))))
        return [rule for rule in rules if _means_file(rule, names, facts)]

    def about_below(self, at: Place, whats: Sequence[What], facts: PolicyFacts) -> list[Rule]:
        """Return the rules that ask or deny about something that may lie below a folder."""
        file = _SOURCE_FILE.search(at.absolute) is not None
        if f"{facts.workspace}/".startswith(f"{at.absolute.rstrip('/')}/"):
            at = Place(at.given, at.absolute, "")
        return [
            rule
            for rule in self.against(*whats)
            if not (file and not has_fixed_place(rule))
            and any(grammar.may_be_below(path, at.relative, at.absolute) for path in _rule_paths(rule, facts))
        ]

    def about_pattern(
        self, at: Place, whats: Sequence[What], facts: PolicyFacts, *, below: bool = False
    ) -> list[Rule]:
        """Return the rules that ask or deny about a name that a shell pattern may stand for; with `below`, about one
        that lies below such a name."""
        against = self.against(*whats)
        places = dict.fromkeys((at, lexical_place(at.given, facts.workspace))) if against else ()
        return [
            rule
            for rule in against
            if any(
                paths_overlap(*_comparable(path, name, facts.workspace), below=below)
                for path in _rule_paths(rule, facts)
                for name in places
            )
        ]

    def about_host(self, host: str) -> list[Rule]:
        """Return the rules about a host that a tool connects to."""
        return [
            rule
            for rule in self.about("connect")
            if grammar.fits_host(rule.rest, host, certain=rule.verdict == "allow")
        ]

    def about_tool(self, name: str) -> list[Rule]:
        """Return the rules about a tool."""
        return [rule for rule in self.about("tool") if grammar.fits_tool(rule.rest, name)]


def rule_finding(rule: Rule) -> Finding:
    """Return a rule's verdict, with the place where the rule stands."""
    where = f" of {rule.source}" if rule.source else ""
    return Finding(rule.verdict, f"rule: {rule.text}", f"the rule `{rule.text}`{where} says so")


def first_finding(rules: Sequence[Rule], verdict: str) -> Finding | None:
    """Return the first rule of a verdict."""
    return next((rule_finding(rule) for rule in rules if rule.verdict == verdict), None)


def stopping_finding(rules: Sequence[Rule]) -> Finding | None:
    """Return the rule that denies, else the one that asks."""
    return first_finding(rules, "deny") or first_finding(rules, "ask")


def has_fixed_place(rule: Rule) -> bool:
    """Return True if a rule about files says where they lie (`private/**`, not `**/*.lock`)."""
    return not rule.rest.startswith(("*", "?", "["))


@lru_cache(maxsize=64)
def session_rules(texts: tuple[str, ...]) -> tuple[Rule, ...]:
    """Parse the session's rules. A text that is not a rule allows nothing."""
    rules: list[Rule] = []
    for text in texts:
        try:
            rules.append(grammar.parse_rule(text, "this session"))
        except ConfigError:
            continue
    return tuple(rules)


def _means_file(rule: Rule, names: Sequence[Place], facts: PolicyFacts) -> bool:
    """Compare one rule with a file by its real place, and one against it by the given name too."""
    if rule.verdict == "allow":
        return grammar.fits_path(rule.rest, names[0].relative, names[0].absolute)
    return any(
        grammar.fits_path(path, name.relative, name.absolute, certain=False)
        for path in _rule_paths(rule, facts)
        for name in names
    )


def _rule_paths(rule: Rule, facts: PolicyFacts) -> tuple[str, ...]:
    """A rule's path as it is written, and where its beginning is a link, as it really is."""
    begin = grammar.fixed_part(rule.rest)
    real = facts.resolved.get(begin) if begin else None
    if real is None or real == lexical_place(begin, facts.workspace).absolute:
        return (rule.rest,)
    return (rule.rest, real + rule.rest[len(begin) :])


def _comparable(path: str, at: Place, workspace: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A shell pattern and a rule's path as names, both seen from the same folder."""
    top = split_pattern(workspace, literal=True)
    if path.startswith("/"):
        names = split_pattern(at.absolute) if at.relative is None else (*top, *split_pattern(at.relative))
        return names, split_pattern(path)
    path = posixpath.normpath(path)
    if at.relative is not None:
        return split_pattern(at.relative), split_pattern(path)
    return split_pattern(at.absolute), (*top, *split_pattern(path))
