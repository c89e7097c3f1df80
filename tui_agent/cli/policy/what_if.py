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

from tui_agent.cli.options import POLICIES, Parser, add_verb, session_options
from tui_agent.cli.output import faint, printable, say, say_json, warn, width
from tui_agent.cli.policy.rules import PLACE
from tui_agent.errors import UsageError
from tui_agent.policy.decision.rule_file import load_rules
from tui_agent.policy.rules.grammar import Rule
from tui_agent.ports.policy import Decision, Policy, PolicyFacts
from tui_agent.protocol.effects import Connects, Effect, Internal, Reads, Runs, Writes
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.settings import PolicyName
from tui_agent.store.decision_scan import decided_in
from tui_agent.wiring import policy as judging
from tui_agent.wiring.base import Ground, ground
from tui_agent.wiring.plugins import outside_plugins

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
class Tried:
    """A recorded decision, and the decision that would be made now."""

    change: Change
    said: PermissionDecided
    now: Decision

    @property
    def what(self) -> str:
        """A short description of the judged effects."""
        return "; ".join(_describe_effect(effect) for effect in self.said.effects) or "unknown effects"


@dataclass(slots=True)
class Tally:
    """Counts over many decisions. `by_rule`: counts of changes by the rule that decides now."""

    decisions: int = 0
    questions: int = 0
    changes: Counter[Change] = field(default_factory=Counter)
    by_rule: dict[str, Counter[Change]] = field(default_factory=dict)

    def add(self, tried: Tried) -> None:
        """Count one decision."""
        self.decisions += 1
        self.questions += was_asked(tried.said)
        self.changes[tried.change] += 1
        if tried.change != "same":
            self.by_rule.setdefault(tried.now.rule_id, Counter())[tried.change] += 1


class Trial:
    """Judges recorded decisions by `policy`; `profile` replaces the recorded profile."""

    def __init__(self, policy: Policy, profile: PolicyName | None = None) -> None:
        self._policy = policy
        self._profile = profile
        self._decisions: dict[object, Decision] = {}

    def judge(
        self, said: PermissionDecided, tool: str, workspace: str, sandboxed: bool, granted: Sequence[str]
    ) -> Tried:
        """Return the recorded decision with the one that would be made now."""
        profile = self._profile or said.policy
        key = (tool, said.effects, workspace, profile, sandboxed, tuple(granted))
        now = self._decisions.get(key)
        if now is None:
            facts = PolicyFacts(
                workspace=workspace or "/", policy=profile, granted=tuple(granted), sandboxed=sandboxed
            )
            now = self._decisions[key] = self._policy.decide(tool, said.effects, facts)
        return Tried(_classify_change(said, _apply_unruled_decisions(said, now)), said, now)


def was_asked(said: PermissionDecided) -> bool:
    """Return True if a person was asked, or would have been if one had been there."""
    return said.request_id is not None or unanswered(said)


def unanswered(said: PermissionDecided) -> bool:
    """Return True for a denial because nobody could be asked."""
    return said.by == "engine"


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
            return "opened" if not asked else "saved" if unanswered(recorded) else "passes"
        case "deny", "ask":
            return "same" if asked else "opened"
        case _:
            return "same"


def _describe_effect(effect: Effect) -> str:
    match effect:
        case Reads(path=path):
            return f"read {path}"
        case Writes(path=path, removes=removes):
            return f"{'remove' if removes else 'edit'} {path}"
        case Connects(host=host):
            return f"connect {host}"
        case Runs(script=script, argv=argv):
            return " ".join(script.split()) or shlex.join(argv)
        case Internal(what=what):
            return what


EXAMPLES = """\
examples:
  tui-agent policy try new-rules.toml
  tui-agent policy try new-rules.toml --all --instead
  tui-agent policy try new-rules.toml --session latest --json
"""
SHOWN = 5
HEADS: dict[Change, str] = {
    "saved": "questions saved",
    "passes": "would run, though you said no",
    "opened": "would run or be asked about, but were refused",
    "stopped": "would be stopped, but ran",
    "asked": "would be asked about, but ran without a question",
    "same": "unchanged",
}
ALONE = "would run, though nobody was there to say yes"
"""The heading for saved questions that nobody ever answered."""


def add_verbs(verbs: "argparse._SubParsersAction[Parser]") -> None:
    """Add the verb `try`."""
    parser = add_verb(
        verbs,
        "try",
        try_rules,
        help="judge the decisions of past sessions by other rules",
        examples=EXAMPLES,
        groups=PLACE,
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
    tried: Tried


def try_rules(arguments: argparse.Namespace) -> int:
    """Judge recorded decisions by other rules and print the differences."""
    base = ground(session_options(arguments, client="headless", interactive=False))
    if not arguments.file.is_file():
        raise UsageError(f"File not found: {arguments.file}.", hint="It has the form of policy.toml.")
    new = load_rules(arguments.file)
    present = () if arguments.instead else judging.rules(base)
    catalog, refused = judging.load_catalog(base, outside_plugins(base).policy_tables)
    for fault in refused:
        warn(f"The plugin {fault.plugin} is not used: {fault.message}")
    trial = Trial(judging.make_policy((*present, *new), base, catalog), arguments.policy)
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


def _session_folders(arguments: argparse.Namespace, base: Ground) -> Sequence[Path]:
    if arguments.session:
        return [base.store.find(arguments.session)]
    if arguments.all:
        return sorted(base.store.folders())
    workspace = arguments.workspace or base.options.cwd
    return [summary.path for summary in base.store.list(str(workspace.resolve()))]


def _judge_sessions(folders: Sequence[Path], trial: Trial) -> Iterator[_Case]:
    for folder in folders:
        try:
            for decision in decided_in(folder):
                tried = trial.judge(
                    decision.said, decision.tool, decision.workspace, decision.sandboxed, decision.granted
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
                "what": case.tried.what,
                "was": case.tried.said.decision,
                "by": case.tried.said.by,
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
        say(f"{tally.changes[change]:>7}  {HEADS[change]}{total}")
    if tally.by_rule:
        say("\n  saved  would run  stopped  asked  by")
        for rule, counts in _sort_rules(tally):
            passes = counts["passes"] + counts["opened"]
            numbers = f"{counts['saved']:>7}  {passes:>9}  {counts['stopped']:>7}  {counts['asked']:>5}"
            say(f"{numbers}  {printable(rule.removeprefix('rule: '))}")
    unanswered_cases = [
        case for case in cases if case.tried.change == "saved" and unanswered(case.tried.said)
    ]
    _print_examples(ALONE, unanswered_cases)
    for change in ("passes", "opened", "stopped", "asked"):
        _print_examples(HEADS[change], [case for case in cases if case.tried.change == change])


def _print_examples(head: str, cases: Sequence[_Case]) -> None:
    if not cases:
        return
    say(f"\n{head[0].upper()}{head[1:]}:")
    for case in cases[:SHOWN]:
        prefix = f"  {case.session} {case.seq:>6}  "
        what, room = printable(case.tried.what), max(20, width() - len(prefix))
        say(f"{faint(prefix)}{what if len(what) <= room else what[: room - 1] + '…'}")
    if len(cases) > SHOWN:
        say(f"  {len(cases) - SHOWN} more; to list all, add --json")


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
