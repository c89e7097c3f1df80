"""L3: the judgement of command lines: every part of one on its own, then all together.

Invariant: a line is allowed only where every part is; a guard or a rule that denies one part denies the line.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from tui_agent.policy.places.paths import Place, place
from tui_agent.policy.programs.code_files import files_in_code
from tui_agent.policy.programs.links import link_names, makes_links, read_through_links, through_links
from tui_agent.policy.programs.part import GIT, GLOB, Part, started
from tui_agent.policy.programs.runs import RunReport, command_line, from_cwd, literal, read_runs
from tui_agent.policy.programs.sealing import follows
from tui_agent.policy.programs.table import Table
from tui_agent.policy.programs.wholes import file_like
from tui_agent.policy.rules.below import folders_read, left_out, read_below, rewritten, told
from tui_agent.policy.rules.file_rules import FileRules, placed
from tui_agent.policy.rules.findings import Finding
from tui_agent.policy.rules.foreign import STEERED, is_own, is_steered
from tui_agent.policy.rules.grammar import Rule, What, begins, fits_words
from tui_agent.policy.rules.meant import code_names, may_run
from tui_agent.policy.rules.offers import always_fit
from tui_agent.policy.rules.profiles import Profile
from tui_agent.policy.rules.rule_set import RuleSet, about_hosts, by_rule, first, means
from tui_agent.policy.shell.script import ARBITRARY, DESTRUCTIVE, NETWORK, PRIVILEGE, READ_ONLY, WORKSPACE
from tui_agent.policy.shell.words import join
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Runs

DOWNLOADS = "It downloads a package and runs it. Packages can run any code while they install."
UNCERTAIN = "It cannot be read with certainty."
FETCHES = "It uses the network and runs what it is given: that may be code from outside."
_RISKS = {
    PRIVILEGE: "It acts with the rights of another user.",
    DESTRUCTIVE: "It takes something away that an undo may not bring back.",
}
_WANTED = {
    NETWORK: "for network access",
    WORKSPACE: "for writes by commands",
    ARBITRARY: "before programs that may do anything",
    DESTRUCTIVE: "before anything is destroyed",
    PRIVILEGE: "before other rights are used",
}
_UNBOUND = frozenset({NETWORK, DESTRUCTIVE, PRIVILEGE})
"""What a yes is needed for in a sandbox, too."""
_SINGLE = frozenset({"rm", "unlink", "rmdir"})
"""Programs that take away only what is named, where nothing says otherwise."""
_DOTTED = ("dotglob", "GLOBIGNORE")
"""What makes the shell's `*` find names that begin with a dot."""

_OWN = ("/tmp", "/var/tmp")
_OF_OWN = Finding("allow", "reads.own", "it reads what commands of the sandbox made")
_IN_OWN = Finding("allow", "writes.own", "it writes to a folder of the sandbox")


class RunJudge:
    """Judges `Runs` effects by a table of programs."""

    def __init__(
        self, rules: RuleSet, files: FileRules, profile: Profile, facts: PolicyFacts, programs: Table | None
    ) -> None:
        self._rules = rules
        self._files = files
        self._profile = profile
        self._facts = facts
        self._programs = programs
        self._placed: dict[str, Place] = {}
        """Paths as seen from the workspace, and where they lie."""
        self._linked: Sequence[str] = ()
        """Where links lie that the line makes."""

    def findings(self, effect: Runs) -> list[Finding]:
        """Everything that stands about it."""
        report = read_runs(effect, self._programs).once
        self._files.dotted = any(name in report.line for name in _DOTTED) or any(
            part.patterns and started(part) == GIT for part in report.parts
        )
        if report.top and not (self._facts.top_of_repository and not effect.cwd):
            report = _anywhere(report)
        exact = self._exact(effect)
        self._linked = [at.absolute for _, at in self._places(effect, tuple(link_names(report.parts)))]
        files = [list(self._files_of(effect, part)) for part in report.parts]
        stops = [
            *self._against(effect, report, files),
            *(by_rule(rule) for rule in exact if rule.verdict != "allow"),
        ]
        denied = [finding for finding in stops if finding.verdict == "deny"]
        if denied:
            return denied
        allowed = first(exact, "allow") if self._profile.rules_count else None
        if allowed is not None:
            return [allowed, *stops]
        if report.problems:
            return [self._unclear(report), *stops]
        findings = [
            finding
            for part, about in zip(report.parts, files, strict=True)
            for finding in self._part(effect, part, about)
        ]
        if effect.cwd:
            findings.append(self._files.read(place(literal(effect.cwd), self._facts)))
        findings += self._below(effect, report)
        led = self._places(effect, tuple(read_through_links(report.parts)))
        findings += [found for found in (self._files.read(at) for _, at in led) if found.verdict != "allow"]
        return [*stops, *(self._with_risk(finding, report) for finding in self._with_all_wishes(findings))]

    def _below(self, effect: Runs, report: RunReport) -> Iterator[Finding]:
        """Where no sandbox keeps it from files with secrets, it is asked about reading them, whatever allows the command.
        What the repository holds is read from there as well."""
        if self._facts.sandboxed or not self._facts.secrets:
            return
        secrets = tuple(one for one in self._facts.secrets if not one.in_git)
        names = read_below(effect, report, replace(self._facts, secrets=secrets))
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            yield Finding(
                "ask",
                "guard.below",
                f"it reads {names[0]}{more} with all else below, which may hold secrets",
                "What it prints may hold secrets. It is asked about no more where its options leave such files out.",
                default_no=True,
            )

    def _exact(self, effect: Runs) -> list[Rule]:
        line = command_line(effect)
        return [rule for rule in self._rules.of("exact") if rule.rest == line]

    def _against(
        self, effect: Runs, report: RunReport, files: Sequence[Sequence[Finding]]
    ) -> Iterator[Finding]:
        """What no profile and no rule lifts: what a guard or a rule denies, and what a rule asks about."""
        if report.ruin:
            yield Finding("deny", "guard.ruin", report.ruin)
        for part, about in zip(report.parts, files, strict=True):
            for rule in self._rules.about_command(part):
                if rule.verdict != "allow" and means(rule, part):
                    yield by_rule(rule)
            yield from may_run(self._rules, part)
            yield from about_hosts(self._rules, part)
            yield from (one for one in about if one.verdict == "deny" or one.ruled)
            yield from self._named(effect, part)
            yield from self._maybe(effect, part)
            yield from self._ruined(effect, part)
        for _, at in self._places(effect, tuple(through_links(report.parts))):
            found = self._files.write(at)
            if found.verdict == "deny" or found.ruled:
                yield found
        if report.unread:
            yield from _unread(self._rules)

    def _named(self, effect: Runs, part: Part) -> Iterator[Finding]:
        """Rules against reading count for whatever a command names, too, for what it gives another name, and for what lies
        below the folders that it reads."""
        if part.vague:
            yield from self._vague(part)
        yield from self._in_code(effect, part)
        for path, at in self._places(effect, rewritten(part) if self._rules.stops("edit") else ()):
            file = path in part.filled or (path in part.changed_below and file_like(path))
            found = self._files.changed(at, pattern=path in part.patterns, file=file)
            if found is not None:
                yield found
        if not self._rules.stops("read"):
            return
        moved = part.removes if part.into else ()
        for path, at in self._places(effect, (*part.looks, *moved, *told(part))):
            found = self._files.named(at, pattern=path in part.patterns)
            if found is not None:
                yield found
        for path, at in self._places(effect, folders_read(part)):
            rules = self._files.stands_below(at, "read", pattern=path in part.patterns)
            if path in part.shown_below and file_like(path):
                rules = [rule for rule in rules if placed(rule)]
            met = next((rule for rule in rules if not left_out(part, rule.rest)), None)
            if met is not None:
                why = f"a rule stands against files below {at.given}: {met.text}"
                yield Finding("ask", "rules.below", why)

    def _in_code(self, effect: Runs, part: Part) -> Iterator[Finding]:
        """Rules about files may mean those that code names which is given as text."""
        against = self._rules.against_files
        coded = code_names(against, part)
        if coded is not None:
            yield Finding("ask", "rules.code", f"its code names what a rule is against: {coded.text}")
        for _, at in self._from_places(effect, part, files_in_code(part) if against else ()):
            if self._files.named(at) is not None or self._files.changed(at, file=True) is not None:
                yield Finding("ask", "rules.code", f"its code names what a rule is against: {at.given}")

    def _from_places(self, effect: Runs, part: Part, names: Sequence[str]) -> Iterator[tuple[str, Place]]:
        """Names as seen from the folders that a command runs in."""
        paths = (join(place, name) for place in part.places for name in names)
        return self._places(effect, [path for path in paths if path is not None])

    def _maybe(self, effect: Runs, part: Part) -> Iterator[Finding]:
        """Guards count for what it may touch; rules against editing for what an unknown program is told."""
        for paths, writes in ((part.may_read, False), (part.may_write, True)):
            for _, at in self._places(effect, paths):
                found = self._files.maybe(at, writes=writes)
                if found is not None:
                    yield found
        for _, at in self._places(effect, _may_write(part) if self._rules.stops("edit") else ()):
            found = self._files.edited(at)
            if found is not None:
                yield found

    def _vague(self, part: Part) -> Iterator[Finding]:
        """Rules about files may mean those of which it is not certain what they are."""
        whats: tuple[What, ...] = ("read",) if part.classes <= {READ_ONLY} else ("read", "edit", "remove")
        if self._rules.stops(*whats):
            why = f"it is not certain which files {part.program} names, and rules are against some"
            yield Finding("ask", "rules.vague", why)

    def _ruined(self, effect: Runs, part: Part) -> Iterator[Finding]:
        """A root, a home or all of the workspace; the workspace itself may still be changed as a whole, and what only comes
        to lie in a folder changes nothing of it."""
        writes = () if part.into and DESTRUCTIVE not in part.classes else part.writes
        for path in (*part.removes, *writes):
            if not part.deep and path.rpartition("/")[2] != "**":
                continue
            seen = from_cwd(effect, path)
            at = self._place(seen)
            if self._files.ruins(seen, at) and not (at.inside and path in part.writes):
                yield Finding("deny", "guard.ruin", f"{part.program} would take away or change all of {seen}")

    def _files_of(self, effect: Runs, part: Part) -> Iterator[Finding]:
        for path, at in (*self._places(effect, part.reads), *self._from_top(effect, part)):
            found = self._files.read(at, pattern=path in part.patterns)
            yield _OF_OWN if self._its_own(part, path, at) and _of_place(found) else found
        for path, at in self._places(effect, part.writes):
            found = self._files.write(at, deep=part.deep, pattern=path in part.patterns)
            own = self._its_own(part, path, at) and self._profile.confined == "allow"
            yield _IN_OWN if own and _of_place(found) else found
        moved = part.into and all(at.inside for _, at in self._places(effect, part.writes))
        for path, at in self._places(effect, part.removes):
            deep = part.deep or part.program not in _SINGLE
            found = self._files.write(at, removes=True, moved=moved, deep=deep, pattern=path in part.patterns)
            own = self._its_own(part, path, at) and self._profile.confined == "allow"
            yield _IN_OWN if own and _of_place(found) else found

    def _from_top(self, effect: Runs, part: Part) -> Iterator[tuple[str, Place]]:
        """Files that git names as its index does, from the repository's top wherever it runs."""
        for path in part.reads if effect.cwd and started(part) == GIT else ():
            yield path, self._place(path)

    def _its_own(self, part: Part, path: str, at: Place) -> bool:
        """In a sandbox the folders for files of a moment are the session's own, where nothing of anybody else's is at that name."""
        known = self._facts.sandboxed and at.absolute in self._facts.own_files and path not in part.patterns
        led = any(f"{at.absolute}/".startswith(f"{link}/") for link in self._linked)
        return known and (makes_links(part) or not led)

    def _is_own(self, at: Place) -> bool:
        """Whether it is such a folder itself. What is in it may be there for everybody, and is shown where it is named."""
        return self._facts.sandboxed and self._profile.confined == "allow" and at.absolute in _OWN

    def _places(self, effect: Runs, paths: Sequence[str]) -> Iterator[tuple[str, Place]]:
        for path in paths:
            yield path, self._place(from_cwd(effect, path))

    def _place(self, path: str) -> Place:
        found = self._placed.get(path)
        if found is None:
            found = self._placed[path] = place(path, self._facts)
        return found

    def _part(self, effect: Runs, part: Part, about: Sequence[Finding]) -> Iterator[Finding]:
        files = [finding for finding in about if finding.verdict == "ask"]
        rule = self._allowed(part)
        outside = [
            at
            for path, at in self._places(effect, part.looks)
            if not at.inside
            and not self._is_own(at)
            and not self._its_own(part, path, at)
            and at.absolute not in ("/dev/null", "/dev/stdin", "/dev/stdout")
        ]
        steered = is_steered(part, self._facts)
        own = steered or is_own(part, self._facts)
        if part.harmless and not own:
            yield from files
            yield from (self._files.read(at) for at in outside)
            yield Finding("allow", "reads.command", "it only reads this workspace")
            return
        secrets = any(self._files.mentions_secret(at) for _, at in self._places(effect, part.looks))
        guarded = not secrets and not self._facts.sandboxed and self._guarded(effect, part)
        if rule is not None and not secrets and not guarded:
            yield from (finding for finding in files if not _only_reads(finding))
            yield rule
            return
        if _only_takes_away(part) and not own and about and all(map(_lets_remove, about)):
            yield from about
            return
        finding = self._by_profile(effect, part, secrets)
        if finding.verdict == "allow" and guarded:
            why = f"nothing says what {part.program} does with {guarded}, which is kept from agents"
            finding = Finding("ask", f"{self._facts.policy}.guarded", why, UNCERTAIN, default_no=True)
        if own or part.sets or not always_fit(part):
            finding = replace(finding, grave=True)
        if own and finding.verdict == "ask":
            name = part.program
            why = STEERED if steered else f"{name} is a program of this workspace here"
            finding = replace(finding, reason=why)
        away = next((one for one in files if one.default_no), None)
        if finding.verdict == "ask" and away is not None and not finding.default_no:
            finding = replace(finding, reason=away.reason, risk=away.risk, default_no=True)
        yield finding
        if finding.verdict == "allow":  # of a program, not of the files that the line names beside it
            yield from files
            yield from (self._files.read(at) for at in outside)

    def _guarded(self, effect: Runs, part: Part) -> str:
        """The first guarded file that a program is told of which nothing says what it does with it, or that code names."""
        told = self._places(effect, (*_may_write(part), *part.changed_below, *_handed(part)))
        coded = self._from_places(effect, part, files_in_code(part))
        found = (at.given for _, at in told if self._files.protects(at))
        named = (at.given for _, at in coded if self._files.protects(at) or self._files.mentions_secret(at))
        return next(chain(found, named), "")

    def _by_profile(self, effect: Runs, part: Part, secrets: bool) -> Finding:
        policy = self._facts.policy
        said = self._profile.commands
        if said == "ask" and self._confined(effect, part) and not secrets:
            said = self._profile.confined
        if said == "allow" and part.blind:
            why = f"it is not certain what {part.program} runs"
            return Finding("ask", f"{policy}.unclear", why, UNCERTAIN, default_no=True)
        if said == "allow" and (secrets or (part.unsure and DESTRUCTIVE in part.classes)):
            said = self._profile.unclear
        if said == "allow":
            bounded = said != self._profile.commands and not follows(part, self._programs)
            return Finding("allow", f"{policy}.commands", f"policy {policy} allows it", bounded=bounded)
        if said == "deny":
            return Finding("deny", f"{policy}.commands", f"policy {policy} allows only commands that read")
        if secrets:
            return Finding(
                "ask", f"{policy}.secrets", "it names a file that may hold secrets", default_no=True
            )
        wanted = [words for name, words in _WANTED.items() if name in part.classes]
        reason = f"policy {policy} wants a yes {' and '.join(wanted)}" if wanted else "; ".join(part.why)
        return Finding("ask", f"{policy}.commands", reason or "it is not certain what it does")

    def _confined(self, effect: Runs, part: Part) -> bool:
        """It is certain what runs, and the sandbox bounds all that it can do."""
        bounded = part.classes <= {READ_ONLY, WORKSPACE}  # what fetches nothing else finds no network there
        certain = not part.unsure and not part.opaque and (bounded or not part.downloads)
        unbound = _UNBOUND & part.classes
        away = (
            part.program in _SINGLE
            and part.removes
            and all(self._its_own(part, path, at) for path, at in self._places(effect, part.removes))
        )
        return self._facts.sandboxed and certain and not (unbound - {DESTRUCTIVE} if away else unbound)

    def _with_all_wishes(self, findings: Sequence[Finding]) -> list[Finding]:
        """Every command that is asked about because of its classes names the reasons of all of them."""
        head = f"policy {self._facts.policy} wants a yes "
        wishes = tuple(head + words for words in _WANTED.values())
        said = " ".join({one.reason for one in findings if one.reason.startswith(wishes)})
        reason = head + " and ".join(words for words in _WANTED.values() if words in said)
        return [replace(one, reason=reason) if one.reason.startswith(wishes) else one for one in findings]

    def _allowed(self, part: Part) -> Finding | None:
        if part.unsure or part.sets or not self._profile.rules_count:
            return None
        for rule in self._rules.about_command(part):
            may = rule.verdict == "allow" and (not rule.bounded or always_fit(part))
            if may and fits_words(rule.rest, part.words, certain=True):
                return by_rule(rule)
        return _by_its_starter(self._rules, part)

    def _unclear(self, report: RunReport) -> Finding:
        policy = self._facts.policy
        said = self._profile.unclear
        reason = "; ".join(report.problems)
        if said == "deny":
            return Finding(
                "deny", f"{policy}.unclear", f"policy {policy} allows only commands that read: {reason}"
            )
        return Finding("ask", f"{policy}.unclear", reason, UNCERTAIN, default_no=True)

    def _with_risk(self, finding: Finding, report: RunReport) -> Finding:
        if finding.verdict != "ask":
            return finding
        risk = DOWNLOADS if report.downloads else ""
        risk = risk or next((_RISKS[name] for name in reversed(report.classes) if name in _RISKS), "")
        if not risk and {NETWORK, ARBITRARY} <= set(report.classes):
            risk = FETCHES
        if not risk:
            return finding
        reason = finding.reason
        return Finding("ask", finding.rule_id, reason, risk, default_no=True)


def _by_its_starter(rules: RuleSet, part: Part) -> Finding | None:
    """A rule that names the tool which starts it, and this program behind that, allows it too."""
    if not part.whole or not part.keeps or not always_fit(part):
        return None
    for rule in rules.of("run"):
        named = rule.verdict == "allow" and begins(rule.rest, part.kept)
        if named and fits_words(rule.rest, part.whole, certain=True):
            return by_rule(rule)
    return None


def _unread(rules: RuleSet) -> Iterator[Finding]:
    """Rules about commands may mean what no part shows."""
    against = {rule.verdict for rule in rules.rules if rule.what != "tool"}
    if "deny" in against:
        why = "it cannot be read whole, and there are rules against commands"
        yield Finding("deny", "rules.unread", why)
    elif "ask" in against:
        yield Finding("ask", "rules.unread", "it cannot be read whole, and there are rules about commands")


def _anywhere(report: RunReport) -> RunReport:
    """As where the top of the repository may be any folder."""
    why = "it is not certain where the repository begins"
    parts = (replace(part, unsure=True, why=[*part.why, why]) for part in report.parts)
    return replace(report, parts=tuple(parts))


def _of_place(finding: Finding) -> bool:
    """Asked about for where a file lies, not by a rule."""
    return finding.verdict == "ask" and not finding.ruled


def _may_write(part: Part) -> Sequence[str]:
    """The files that a program is told of which nothing says what it does with them."""
    told = [path for path in part.looks if path not in part.places] if part.unknown else []
    return [*told, *part.told_of, *part.filled]


def _handed(part: Part) -> Sequence[str]:
    """What a program that may do anything is told; of git's own options the repository is one."""
    handed = ARBITRARY in part.classes and started(part) != GIT
    return [path for path in part.looks if path not in part.places] if handed else []


def _only_takes_away(part: Part) -> bool:
    """Whether it takes away the files that it names for certain, and does nothing else. A pattern further in front than the
    last name may stand for a link."""
    shaped = any(not GLOB.isdisjoint(path.rpartition("/")[0]) for path in part.patterns)
    plain = part.name in _SINGLE and part.classes <= {READ_ONLY, DESTRUCTIVE} and not part.unsure
    return plain and not (part.sets or shaped or part.writes or part.reads)


def _lets_remove(finding: Finding) -> bool:
    return finding.verdict == "allow" and finding.rule_id.startswith("rule: allow remove ")


def _only_reads(finding: Finding) -> bool:
    return finding.rule_id.endswith("reads-outside")
