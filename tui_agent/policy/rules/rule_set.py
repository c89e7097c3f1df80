"""L3: rules, sorted by what they are about, and which of them mean a file, a host, a tool or a command.

Invariant: a rule that allows is held against what is certain; one that asks or denies fits already when it may be
meant: by the name that was given and by the real file, whatever the letter case, links in its own path followed too.
"""

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

from tui_agent.errors import ConfigError
from tui_agent.policy.places.paths import Place, as_read
from tui_agent.policy.places.shapes import folded, intersects, names_of
from tui_agent.policy.programs.part import GIT, Part
from tui_agent.policy.rules.findings import Finding
from tui_agent.policy.rules.grammar import (
    Rule,
    What,
    begin_of,
    fits_host,
    fits_path,
    fits_tool,
    fits_words,
    fixed_part,
    head,
    may_be_below,
    parse_rule,
)
from tui_agent.policy.rules.hosts import DEVICES, candidates, parse_pattern, spoken_of
from tui_agent.policy.shell.script import ARBITRARY, NETWORK
from tui_agent.ports.policy import PolicyFacts

_FILES: tuple[What, ...] = ("read", "edit", "remove")


class RuleSet:
    """Rules in no order that matters."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(sorted(rules, key=lambda rule: rule.text))
        self._by_what: dict[str, list[Rule]] = {}
        for rule in self.rules:
            self._by_what.setdefault(rule.what, []).append(rule)
        self._shaped = _Shaped(None)
        self._by_program: dict[str, list[Rule]] = {}
        for rule in self._by_what.get("run", ()):
            self._by_program.setdefault(head(rule.rest), []).append(rule)
        self.against_runs = tuple(rule for rule in self.of("run") if rule.verdict != "allow")
        """Rules that ask or deny about commands."""
        self.heads = tuple(dict.fromkeys(head(rule.rest) for rule in self.against_runs))
        """The first words of those."""
        self._stopped = frozenset(rule.what for rule in self.rules if rule.verdict != "allow")
        against = [rule for what in _FILES for rule in self._by_what.get(what, []) if rule.verdict != "allow"]
        self.against_files = tuple(against)
        """Rules that ask or deny about files."""
        self.named = tuple(dict.fromkeys(part for rule in against if (part := fixed_part(rule.rest))))
        """Beginnings of paths in rules that ask or deny: keys for `PolicyFacts.resolved`."""

    def of(self, what: What) -> Sequence[Rule]:
        """Those about one kind of thing."""
        return self._by_what.get(what, ())

    def about_command(self, part: Part) -> Sequence[Rule]:
        """Those about commands that can mean this one, by the name of its program."""
        first = part.words[0] if part.words else None
        if first is None or not self._by_program:
            return self.of("run")
        bare = first.rpartition("/")[2].lower()
        family = GIT if bare.startswith(f"{GIT}-") else ""
        names = (first.lower(), bare, family, part.name.partition(" ")[0].lower(), "")
        found = [rules for name in dict.fromkeys(names) if (rules := self._by_program.get(name))]
        if len(found) < 2:
            return found[0] if found else ()
        return sorted(chain.from_iterable(found), key=lambda rule: rule.text)

    def stops(self, *whats: What) -> bool:
        """Whether any rule denies, or asks, about one of these."""
        return not self._stopped.isdisjoint(whats)

    def about_file(self, at: Place, what: What, facts: PolicyFacts) -> list[Rule]:
        """Rules about a file."""
        rules = self.of(what)
        if not rules:
            return []
        names = tuple(dict.fromkeys((at, as_read(at.given, facts.workspace))))
        firsts = {folded(one.relative).partition("/")[0] for one in names if one.relative is not None}
        return [
            rule
            for rule, shapes, begin in self._with_shapes(what, facts)
            if (not begin or begin in firsts) and _means_file(rule, names, shapes)
        ]

    def about_below(self, at: Place, what: What, facts: PolicyFacts) -> list[Rule]:
        """Rules that ask or deny about something that may lie below a folder."""
        if f"{facts.workspace}/".startswith(f"{at.absolute.rstrip('/')}/"):
            at = Place(at.given, at.absolute, "")
        return [
            rule
            for rule in self.of(what)
            if rule.verdict != "allow"
            and any(may_be_below(shape, at.relative, at.absolute) for shape in self._shapes(rule, facts))
        ]

    def about_pattern(
        self, at: Place, what: What, facts: PolicyFacts, *, below: bool = False, dotted: bool = False
    ) -> list[Rule]:
        """Rules that ask or deny about a name that a shell's pattern may stand for; with `below`, about one that lies
        below such a name."""
        against = [rule for rule in self.of(what) if rule.verdict != "allow"]
        places = dict.fromkeys((at, as_read(at.given, facts.workspace))) if against else ()
        return [
            rule
            for rule in against
            if any(
                intersects(*pair, below=below, dotted=dotted)
                for shape in self._shapes(rule, facts)
                for one in places
                for pair in (_compared(shape, one, facts.workspace),)
            )
        ]

    def about_host(self, host: str) -> list[Rule]:
        """Rules about a host that a tool connects to."""
        return [
            rule for rule in self.of("connect") if fits_host(rule.rest, host, certain=rule.verdict == "allow")
        ]

    def about_tool(self, name: str) -> list[Rule]:
        """Rules about a tool."""
        return [rule for rule in self.of("tool") if fits_tool(rule.rest, name)]

    def _shapes(self, rule: Rule, facts: PolicyFacts) -> tuple[str, ...]:
        """As `_shapes`, told once for each decision."""
        found = self._for(facts).shapes
        shapes = found.get(id(rule))
        if shapes is None:
            shapes = found[id(rule)] = _shapes(rule, facts)
        return shapes

    def _with_shapes(self, what: What, facts: PolicyFacts) -> Sequence[tuple[Rule, tuple[str, ...], str]]:
        """Rules about one kind of thing with their paths, and the first name of all that they mean, where there is one."""
        found = self._for(facts).of
        rules = found.get(what)
        if rules is None:
            shaped = [(rule, self._shapes(rule, facts)) for rule in self.of(what)]
            rules = found[what] = [
                (rule, shapes, begin_of(shapes[0]) if len(shapes) == 1 else "") for rule, shapes in shaped
            ]
        return rules

    def _for(self, facts: PolicyFacts) -> "_Shaped":
        if self._shaped.facts is not facts:
            self._shaped = _Shaped(facts)
        return self._shaped


@dataclass(frozen=True, slots=True, eq=False)
class _Shaped:
    """Paths of rules as they are meant in one decision."""

    facts: PolicyFacts | None
    shapes: dict[int, tuple[str, ...]] = field(default_factory=dict)
    of: dict[What, list[tuple[Rule, tuple[str, ...], str]]] = field(default_factory=dict)


def _means_file(rule: Rule, names: Sequence[Place], shapes: Sequence[str]) -> bool:
    """`names` are the real file and what was given, as it reads; `shapes` the rule's path."""
    if rule.verdict == "allow":
        return fits_path(rule.rest, names[0].relative, names[0].absolute)
    return any(
        fits_path(shape, name.relative, name.absolute, certain=False) for shape in shapes for name in names
    )


def _compared(shape: str, at: Place, workspace: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A shell's pattern and a rule's path, both as seen from one folder."""
    top = names_of(workspace, literal=True)
    if shape.startswith("/"):
        inside = at.relative is not None
        found = (*top, *names_of(at.relative or "")) if inside else names_of(at.absolute)
        return found, names_of(shape)
    shape = posixpath.normpath(shape)
    if at.relative is not None:
        return names_of(at.relative), names_of(shape)
    return names_of(at.absolute), (*top, *names_of(shape))


def _shapes(rule: Rule, facts: PolicyFacts) -> tuple[str, ...]:
    """A rule's path as it is written, and where its beginning is a link, as it really is."""
    begin = fixed_part(rule.rest)
    real = facts.resolved.get(begin) if begin else None
    if real is None:
        return (rule.rest,)
    return (
        (rule.rest,)
        if real == as_read(begin, facts.workspace).absolute
        else (rule.rest, real + rule.rest[len(begin) :])
    )


_DOING = {
    "git send-pack": (GIT, "push"),
    "git http-push": (GIT, "push"),
    "git fetch-pack": (GIT, "fetch"),
    "git http-fetch": (GIT, "fetch"),
}
"""What a command does is also another's."""


def means(rule: Rule, part: Part) -> bool:
    """Whether a rule against a command may mean this one: as it is typed, by a program's bare name, and by the
    subcommand whatever options stand in front of it."""
    if fits_words(rule.rest, part.words, certain=False):
        return True
    first = part.words[0] if part.words else None
    if first is None:
        return False
    bare = first.rpartition("/")[2]
    dashed = bare.startswith(f"{GIT}-")
    whole = (*bare.split("-", 1), *part.words[1:]) if dashed else (bare, *part.words[1:])
    if whole != part.words and fits_words(rule.rest, whole, certain=False):
        return True
    also = _DOING.get(part.name)
    if also and fits_words(rule.rest, (*also, *part.words[2 - dashed :]), certain=False):
        return True
    name = part.name.split()
    if len(name) > 1 and folded(name[0]) == folded(bare):
        behind = next((at for at, word in enumerate(part.words) if at and word == name[-1]), None)
        return behind is not None and fits_words(rule.rest, (*name, *part.words[behind + 1 :]), certain=False)
    second = part.words[1] if len(part.words) > 1 else None
    if second is None or not second.startswith("-"):
        return False
    return any(  # which of the words behind the options is the subcommand is not known
        fits_words(rule.rest, (bare, *part.words[at:]), certain=False)
        for at in range(2, min(len(part.words), 32))
    )


def about_hosts(rules: RuleSet, part: Part) -> list[Finding]:
    """What rules against hosts say of a command; one whose host cannot be told is asked about."""
    against = [rule for rule in rules.of("connect") if rule.verdict != "allow"]
    network = NETWORK in part.classes
    if not against or not (network or ARBITRARY in part.classes):
        return []
    words = [
        word
        for word in (*part.words[1:], part.told, *part.hosts)
        if word and (network or "." in word or ":" in word or word.startswith(DEVICES))
    ]
    found = [host for word in words for host in candidates(word)]
    spoken = [host for text in (*words, *part.settings) for host in spoken_of(text)]
    said = [
        by_rule(rule)
        for rule in against
        for pattern in (parse_pattern(rule.rest),)
        if (network and pattern.everything)
        or any(
            pattern.fits(host, certain=False) for host in (*found, *(() if pattern.everything else spoken))
        )
    ]
    evident = None not in part.words and any(
        "." in name or ":" in name for host in found for name in host.names
    )
    if network and not said and not evident:
        said.append(
            Finding("ask", "rules.host", "it is not certain which host it talks to, and rules name hosts")
        )
    return said


def by_rule(rule: Rule) -> Finding:
    """A rule's word, with the place where it stands."""
    where = f" of {rule.source}" if rule.source else ""
    return Finding(rule.verdict, f"rule: {rule.text}", f"the rule `{rule.text}`{where} says so")


def first(rules: Sequence[Rule], verdict: str) -> Finding | None:
    """The first rule of a verdict."""
    return next((by_rule(rule) for rule in rules if rule.verdict == verdict), None)


def stop(rules: Sequence[Rule]) -> Finding | None:
    """The rule that denies, else the one that asks."""
    return first(rules, "deny") or first(rules, "ask")


@lru_cache(maxsize=64)
def granted_rules(granted: tuple[str, ...]) -> tuple[Rule, ...]:
    """The session's rules. One that cannot be read allows nothing."""
    rules: list[Rule] = []
    for text in granted:
        try:
            rules.append(parse_rule(text, "this session"))
        except ConfigError:
            continue
    return tuple(rules)
