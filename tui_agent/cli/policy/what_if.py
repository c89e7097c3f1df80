"""`policy try`: judge past sessions by other rules.

Invariant: the logs are only read. A decision is judged with the facts of its time (workspace, profile, session rules,
sandbox); links are not followed, because their targets are not recorded.
"""

import argparse
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from tui_agent.cli.context import load_context
from tui_agent.cli.options import POLICIES, Verbs
from tui_agent.cli.output import dim, escape_control, say, say_json, shorten, terminal_width, warn
from tui_agent.errors import UsageError
from tui_agent.policy.decision.rule_file import load_rules
from tui_agent.policy.rules.grammar import Rule
from tui_agent.ports.policy import Decision, Policy, PolicyFacts
from tui_agent.protocol.effects import (
    Effect,
    InternalEffect,
    NetworkEffect,
    ReadEffect,
    RunEffect,
    WriteEffect,
)
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.settings import PolicyName
from tui_agent.store.decision_scan import find_decisions
from tui_agent.wiring import policy as judging
from tui_agent.wiring.plugins import load_external_plugins
from tui_agent.wiring.startup_context import StartupContext

Change: TypeAlias = Literal["saved", "passes", "opened", "stopped", "asked", "same"]
CHANGES: tuple[Change, ...] = get_args(Change)
"""How a decision would change.

`saved`: it was asked and allowed, or nobody could be asked, and it would now run without a question. `passes`: the user
denied it, and it would run. `opened`: a rule or the profile denied it, and it would run or be asked about. `stopped`:
it ran, and would be denied. `asked`: it ran without a question, and would be asked about. `same`: no difference.
"""


HOOK: Final = "hook"
"""The rule id recorded for decisions of hooks."""
SANDBOX: Final = frozenset({"sandbox.leave", "sandbox.open"})
"""The rule ids recorded for leaving the sandbox and for opening secret files to it."""


@dataclass(frozen=True, slots=True)
class JudgedDecision:
    """A recorded decision, and the decision that would be made now."""

    change: Change
    recorded: PermissionDecided
    now: Decision

    @property
    def description(self) -> str:
        """A short description of the judged effects."""
        return "; ".join(_describe_effect(effect) for effect in self.recorded.effects) or "unknown effects"


@dataclass(slots=True)
class Tally:
    """Counts over many decisions. `by_rule`: counts of changes by the rule that decides now."""

    decisions: int = 0
    questions: int = 0
    changes: Counter[Change] = field(default_factory=Counter)
    by_rule: dict[str, Counter[Change]] = field(default_factory=dict)

    def add(self, tried: JudgedDecision) -> None:
        """Count one decision."""
        self.decisions += 1
        self.questions += was_asked(tried.recorded)
        self.changes[tried.change] += 1
        if tried.change != "same":
            self.by_rule.setdefault(tried.now.rule_id, Counter())[tried.change] += 1


class DecisionJudge:
    """Judges recorded decisions by `policy`; `profile` replaces the recorded profile."""

    def __init__(self, policy: Policy, profile: PolicyName | None = None) -> None:
        self._policy = policy
        self._profile = profile
        self._decisions: dict[object, Decision] = {}

    def judge(
        self, said: PermissionDecided, tool: str, workspace: str, sandboxed: bool, granted: Sequence[str]
    ) -> JudgedDecision:
        """Return the recorded decision with the one that would be made now."""
        profile = self._profile or said.policy
        key = (tool, said.effects, workspace, profile, sandboxed, tuple(granted))
        now = self._decisions.get(key)
        if now is None:
            facts = PolicyFacts(
                workspace=workspace or "/", policy=profile, session_rules=tuple(granted), sandboxed=sandboxed
            )
            now = self._decisions[key] = self._policy.decide(tool, said.effects, facts)
        return JudgedDecision(_classify_change(said, _apply_unruled_decisions(said, now)), said, now)


def was_asked(said: PermissionDecided) -> bool:
    """Return True if a person was asked, or would have been if one had been there."""
    return said.request_id is not None or was_unanswered(said)


def was_unanswered(said: PermissionDecided) -> bool:
    """Return True for a denial because nobody could be asked."""
    return said.decided_by == "engine"


def _apply_unruled_decisions(recorded: PermissionDecided, now: Decision) -> Decision:
    """Return the decision now, after hooks and sandbox questions that no rule decides.

    A hook that denied or asked does so again; one that allowed answers the profile's questions. Leaving the sandbox,
    and opening secret files to it, is always asked about.
    """
    if recorded.rule_id in SANDBOX or (recorded.rule_id == HOOK and was_asked(recorded)):
        return now if now.verdict == "deny" else replace(now, verdict="ask")
    if recorded.rule_id != HOOK:
        return now
    if recorded.decision == "deny":
        return replace(now, verdict="deny")
    return replace(now, verdict="allow") if now.verdict == "ask" and now.by_profile else now


def _classify_change(recorded: PermissionDecided, now: Decision) -> Change:
    asked = was_asked(recorded)
    match recorded.decision, now.verdict:
        case "allow", "allow":
            return "saved" if asked else "same"
        case "allow", "deny":
            return "stopped"
        case "allow", "ask":
            return "same" if asked else "asked"
        case "deny", "allow":
            return "opened" if not asked else "saved" if was_unanswered(recorded) else "passes"
        case "deny", "ask":
            return "same" if asked else "opened"
        case _:
            return "same"


def _describe_effect(effect: Effect) -> str:
    match effect:
        case ReadEffect(path=path):
            return f"read {path}"
        case WriteEffect(path=path, removes=removes):
            return f"{'remove' if removes else 'edit'} {path}"
        case NetworkEffect(host=host):
            return f"connect {host}"
        case RunEffect(script=script, argv=argv):
            return " ".join(script.split()) or shlex.join(argv)
        case InternalEffect(subject=what):
            return what


EXAMPLES = """\
examples:
  tui-agent policy try new-rules.toml
  tui-agent policy try new-rules.toml --all --instead
  tui-agent policy try new-rules.toml --session latest --json
"""
OPTION_GROUPS = ("place", "extensions", "project")
MAX_EXAMPLES = 5
HEADINGS: dict[Change, str] = {
    "saved": "questions saved",
    "passes": "would run, though you said no",
    "opened": "would run or be asked about, but were refused",
    "stopped": "would be stopped, but ran",
    "asked": "would be asked about, but ran without a question",
    "same": "unchanged",
}
UNANSWERED_HEADING = "would run, though nobody was there to say yes"
"""The heading for saved questions that nobody ever answered."""


def add_verbs(verbs: Verbs) -> None:
    """Add the verb `try`."""
    parser = verbs.add(
        "try",
        try_rules,
        "judge the decisions of past sessions by other rules",
        examples=EXAMPLES,
        groups=OPTION_GROUPS,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="rules as in policy.toml")
    parser.add_argument(
        "--instead", action="store_true", help="use FILE instead of your rules (default: in addition)"
    )
    parser.add_argument(
        "--policy", choices=POLICIES, help="judge with this profile instead of the recorded one"
    )
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--session", metavar="ID", help="only this session")
    scope.add_argument(
        "--workspace", metavar="DIR", type=Path, help="sessions of DIR (default: of this folder)"
    )
    scope.add_argument("--all", action="store_true", help="sessions of every workspace")


@dataclass(frozen=True, slots=True)
class _Case:
    session: str
    seq: int
    tried: JudgedDecision


def try_rules(arguments: argparse.Namespace) -> int:
    """Judge recorded decisions by other rules and print the differences."""
    base = load_context(arguments)
    if not arguments.file.is_file():
        raise UsageError(f"File not found: {arguments.file}.", hint="It has the form of policy.toml.")
    new = load_rules(arguments.file)
    present = () if arguments.instead else judging.load_rules(base)
    catalog, refused = judging.load_catalog(base, load_external_plugins(base).policy_tables)
    for fault in refused:
        warn(f"The plugin {fault.plugin} is not used: {fault.message}")
    trial = DecisionJudge(judging.make_policy((*present, *new), base, catalog), arguments.policy)
    folders = _session_folders(arguments, base)
    tally, cases, sessions = Tally(), list[_Case](), set[str]()
    for case in _judge_sessions(folders, trial):
        tally.add(case.tried)
        sessions.add(case.session)
        if case.tried.change != "same":
            cases.append(case)
    if arguments.json:
        say_json(as_json(tally, cases, len(sessions), instead=arguments.instead))
        return 0
    _print_tally(tally, cases, len(sessions), new, instead=arguments.instead)
    return 0


def _session_folders(arguments: argparse.Namespace, base: StartupContext) -> Sequence[Path]:
    if arguments.session:
        return [base.store.find(arguments.session)]
    if arguments.all:
        return sorted(base.store.folders())
    workspace = arguments.workspace or base.options.cwd
    return [summary.path for summary in base.store.list(str(workspace.resolve()))]


def _judge_sessions(folders: Sequence[Path], trial: DecisionJudge) -> Iterator[_Case]:
    for folder in folders:
        try:
            for decision in find_decisions(folder):
                tried = trial.judge(
                    decision.event, decision.tool, decision.workspace, decision.sandboxed, decision.granted
                )
                yield _Case(folder.name, decision.seq, tried)
        except OSError as error:
            warn(f"The session {folder.name} cannot be read: {error.strerror}.")


def as_json(tally: Tally, cases: Sequence[_Case], sessions: int, *, instead: bool) -> dict[str, object]:
    """Return the result as one object; `cases` are the decisions that would change."""
    return {
        "decisions": tally.decisions,
        "sessions": sessions,
        "questions": tally.questions,
        "instead": instead,
        **{change: tally.changes[change] for change in CHANGES},
        "by_rule": [
            {"rule": rule, **{change: counts[change] for change in CHANGES if change != "same"}}
            for rule, counts in _sort_rules(tally)
        ],
        "cases": [
            {
                "session": case.session,
                "seq": case.seq,
                "change": case.tried.change,
                "what": case.tried.description,
                "was": case.tried.recorded.decision,
                "by": case.tried.recorded.decided_by,
                "now": case.tried.now.verdict,
                "rule": case.tried.now.rule_id,
                "reason": case.tried.now.reason,
            }
            for case in cases
        ],
    }


def _sort_rules(tally: Tally) -> "list[tuple[str, dict[Change, int]]]":
    return sorted(tally.by_rule.items(), key=lambda item: (-sum(item[1].values()), item[0]))


def _print_tally(
    tally: Tally, cases: Sequence[_Case], sessions: int, new: Sequence[Rule], *, instead: bool
) -> None:
    rules = f"{len(new)} rule{'' if len(new) == 1 else 's'}"
    judged_by = f"{rules} alone" if instead else f"your rules and {rules}"
    say(f"{_count(tally.decisions, 'decision')} of {_count(sessions, 'session')}, judged by {judged_by}\n")
    for change in CHANGES:
        total = f" of {_count(tally.questions, 'question')}" if change == "saved" else ""
        say(f"{tally.changes[change]:>7}  {HEADINGS[change]}{total}")
    if tally.by_rule:
        say("\n  saved  would run  stopped  asked  by")
        for rule, counts in _sort_rules(tally):
            passes = counts["passes"] + counts["opened"]
            numbers = f"{counts['saved']:>7}  {passes:>9}  {counts['stopped']:>7}  {counts['asked']:>5}"
            say(f"{numbers}  {escape_control(rule.removeprefix('rule: '))}")
    unanswered_cases = [
        case for case in cases if case.tried.change == "saved" and was_unanswered(case.tried.recorded)
    ]
    _print_examples(UNANSWERED_HEADING, unanswered_cases)
    for change in ("passes", "opened", "stopped", "asked"):
        _print_examples(HEADINGS[change], [case for case in cases if case.tried.change == change])


def _print_examples(head: str, cases: Sequence[_Case]) -> None:
    if not cases:
        return
    say(f"\n{head[0].upper()}{head[1:]}:")
    for case in cases[:MAX_EXAMPLES]:
        prefix = f"  {case.session} {case.seq:>6}  "
        room = max(20, terminal_width() - len(prefix))
        say(f"{dim(prefix)}{shorten(escape_control(case.tried.description), room)}")
    if len(cases) > MAX_EXAMPLES:
        say(f"  {len(cases) - MAX_EXAMPLES} more; to list all, add --json")


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
