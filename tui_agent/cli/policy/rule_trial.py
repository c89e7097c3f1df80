"""The subcommand `policy try`: shows which decisions of past sessions would differ with other rules.

Invariant: logs are only read.
"""

import argparse
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from tui_agent.cli.console.output import dim, escape_control, say, say_json, shorten, terminal_width, warn
from tui_agent.cli.console.shared_options import POLICIES, Verbs, add_flag, add_option, load_context
from tui_agent.errors import SessionVersionError, UsageError
from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.catalog.catalog import Catalog
from tui_agent.policy.decision.rule_file import load_rules
from tui_agent.ports.policy import Decision, Policy, PolicyFacts
from tui_agent.protocol.effects import (
    Effect,
    InternalEffect,
    McpCallEffect,
    NetworkEffect,
    ReadEffect,
    RunEffect,
    WriteEffect,
)
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.settings import PolicyName
from tui_agent.protocol.unicode_text import format_count
from tui_agent.store.event_search import DecisionRecord, find_decisions
from tui_agent.wiring import policy as policy_wiring
from tui_agent.wiring.plugins import load_external_plugins
from tui_agent.wiring.startup_context import StartupContext

Change: TypeAlias = Literal["saved", "passes", "opened", "stopped", "asked", "same"]
CHANGES: tuple[Change, ...] = get_args(Change)
"""Names of the possible changes to the decision about a call.

| change | recorded decision | new decision |
|---|---|---|
| `saved` | asked, and the user allowed the call or nobody could answer | allow |
| `passes` | asked, and the user denied the call | allow |
| `opened` | denied by a rule or the profile | allow or ask |
| `stopped` | allowed | deny |
| `asked` | allowed without asking | ask |
| `same` | any | no change |
"""


HOOK: Final = "hook"
"""Rule id of a hook's decision."""
SANDBOX: Final = frozenset({"sandbox.leave", "sandbox.open"})
"""Ids of the rules that ask the user for access: to leave the sandbox, and to open secret files in it."""


@dataclass(frozen=True, slots=True)
class JudgedDecision:
    """A recorded decision about a call, and the decision `now` about the same call under other rules."""

    session: str
    record: DecisionRecord
    change: Change
    now: Decision

    @property
    def description(self) -> str:
        """A short description of the call's effects, such as "edit src/app.py"."""
        return "; ".join(map(_describe_effect, self.record.event.effects)) or "unknown effects"


@dataclass(slots=True)
class Tally:
    """Counts over many judged decisions.

    `changed`: the decisions that would differ.
    `by_rule`: maps a rule's id to its changed decisions, counted by kind of change.
    """

    decisions: int = 0
    questions: int = 0
    sessions: set[str] = field(default_factory=set)
    changed: list[JudgedDecision] = field(default_factory=list)
    changes: Counter[Change] = field(default_factory=Counter)
    by_rule: dict[str, Counter[Change]] = field(default_factory=dict)

    def add(self, judged: JudgedDecision) -> None:
        self.decisions += 1
        self.questions += was_asked(judged.record.event)
        self.sessions.add(judged.session)
        self.changes[judged.change] += 1
        if judged.change != "same":
            self.changed.append(judged)
            self.by_rule.setdefault(judged.now.rule_id, Counter())[judged.change] += 1


class DecisionJudge:
    """Judges recorded calls by `policy`.

    `profile`: the policy profile to use instead of the recorded one, if given.
    """

    def __init__(self, policy: Policy, profile: PolicyName | None = None) -> None:
        self._policy = policy
        self._profile = profile
        self._decisions: dict[object, Decision] = {}

    def judge(self, session: str, record: DecisionRecord) -> JudgedDecision:
        """Return a recorded decision together with the decision of `policy` about the same call."""
        recorded, profile = record.event, self._profile or record.event.policy
        key = (record.tool, recorded.effects, record.workspace, profile, record.sandboxed, record.granted)
        now = self._decisions.get(key)
        if now is None:
            # Only what the log recorded: the files of the workspace may have changed since.
            facts = PolicyFacts(
                workspace=record.workspace or "/",
                policy=profile,
                session_rules=record.granted,
                sandboxed=record.sandboxed,
            )
            now = self._decisions[key] = self._policy.decide(record.tool, recorded.effects, facts)
        change = _classify_change(recorded, _apply_unruled_decisions(recorded, now))
        return JudgedDecision(session, record, change, now)


def was_asked(recorded: PermissionDecided) -> bool:
    """Return True if the policy asked the user, even if no user could answer."""
    return recorded.request_id is not None or was_unanswered(recorded)


def was_unanswered(recorded: PermissionDecided) -> bool:
    """Return True if the call was denied because the policy asked the user but no user could answer."""
    return recorded.decided_by == "engine"


def _apply_unruled_decisions(recorded: PermissionDecided, now: Decision) -> Decision:
    """Return the decision to expect if a hook or the sandbox took part in the recorded decision; otherwise `now`.

    `now`: the decision under the new rules. A hook or the sandbox can overrule this decision.
    """
    # A hook is expected to decide as it did before. The sandbox asks the user about every call that the rules allow.
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
        case InternalEffect(subject=subject):
            return subject
        case McpCallEffect(server=server, tool=tool):
            return f"call {tool} of {server}"


EXAMPLES = """\
examples:
  tui-agent policy try new-rules.toml
  tui-agent policy try new-rules.toml --all --instead
  tui-agent policy try new-rules.toml --session latest --json
"""
OPTION_GROUPS = ("folders", "extensions", "project")
MAX_EXAMPLES = 5
HEADINGS: dict[Change, str] = {
    "saved": "would no longer be asked",
    "passes": "denied by you; would now run",
    "opened": "denied without asking; would now run or ask you",
    "stopped": "ran; would now be denied",
    "asked": "ran without asking; would now ask you",
    "same": "unchanged",
}
UNANSWERED_HEADING = "denied because nobody could answer; would now run"
"""Heading for calls that were denied because nobody could answer. The tried rules would allow these calls."""


def add_verbs(verbs: Verbs) -> None:
    """Add the subcommand `try` to `verbs`."""
    parser = verbs.add(
        "try",
        try_rules,
        "show which past decisions would differ with other rules",
        examples=EXAMPLES,
        groups=OPTION_GROUPS,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="rules in the format of policy.toml")
    add_flag(parser, "--instead", "use FILE instead of your rules (default: in addition to your rules)")
    add_option(parser, "--policy", "use this policy profile instead of the recorded one", choices=POLICIES)
    scope = parser.add_mutually_exclusive_group()
    add_option(scope, "--session ID", "only this session")
    add_option(scope, "--workspace DIR", "sessions of DIR (default: the current folder)", type=Path)
    add_flag(scope, "--all", "sessions of every workspace")


def try_rules(arguments: argparse.Namespace) -> None:
    """Judge recorded calls with other rules and print which decisions would change."""
    base = load_context(arguments)
    if not arguments.file.is_file():
        raise UsageError(
            f"File not found: {arguments.file}.", hint="FILE must have the format of policy.toml."
        )
    new = load_rules(arguments.file)
    present = () if arguments.instead else policy_wiring.load_rules(base)
    judge = DecisionJudge(
        policy_wiring.make_policy((*present, *new), base, load_program_tables(base)), arguments.policy
    )
    tally = Tally()
    for folder in _session_folders(arguments, base):
        try:
            for record in find_decisions(folder):
                tally.add(judge.judge(folder.name, record))
        except SessionVersionError as error:
            if arguments.session:
                raise
            warn(str(error))
        except OSError as error:
            warn(f"The session {folder.name} cannot be read: {error.strerror}.")
    if arguments.json:
        say_json(as_json(tally, instead=arguments.instead))
    else:
        _print_tally(tally, len(new), instead=arguments.instead)


def load_program_tables(base: StartupContext) -> Catalog:
    """Load all program tables, and print a warning for each invalid table of a plugin."""
    catalog, refused = policy_wiring.load_catalog(base, load_external_plugins(base).policy_tables)
    for fault in refused:
        warn(f"The program table of plugin {fault.plugin} is not used: {fault.message}")
    return catalog


def _session_folders(arguments: argparse.Namespace, base: StartupContext) -> Sequence[Path]:
    if arguments.session:
        return [base.store.find(arguments.session)]
    if arguments.all:
        return sorted(base.store.folders())
    workspace = arguments.workspace or base.options.cwd
    return [summary.path for summary in base.store.list(str(workspace.resolve()))]


def as_json(tally: Tally, *, instead: bool) -> dict[str, object]:
    """Return the counts as a JSON object. `cases` lists the decisions that would change."""
    return {
        "decisions": tally.decisions,
        "sessions": len(tally.sessions),
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
                "seq": case.record.seq,
                "change": case.change,
                "what": case.description,
                "was": case.record.event.decision,
                "by": case.record.event.decided_by,
                "now": case.now.verdict,
                "rule": case.now.rule_id,
                "reason": case.now.reason,
            }
            for case in tally.changed
        ],
    }


def _sort_rules(tally: Tally) -> "list[tuple[str, dict[Change, int]]]":
    return sorted(tally.by_rule.items(), key=lambda item: (-sum(item[1].values()), item[0]))


def _print_tally(tally: Tally, new_rules: int, *, instead: bool) -> None:
    rules = format_count(new_rules, "new rule")
    judged_by = f"only {rules}" if instead else f"your rules and {rules}"
    decisions = format_count(tally.decisions, "decision")
    say(f"{decisions} from {format_count(len(tally.sessions), 'session')}, judged again by {judged_by}\n")
    for change in CHANGES:
        total = f" of {format_count(tally.questions, 'question')}" if change == "saved" else " "
        say(f"{tally.changes[change]:>7}{total} {HEADINGS[change]}")
    if tally.by_rule:
        say("\nunasked  would run   denied  asked  rule")
        for rule, counts in _sort_rules(tally):
            passes = counts["passes"] + counts["opened"]
            numbers = f"{counts['saved']:>7}  {passes:>9}  {counts['stopped']:>7}  {counts['asked']:>5}"
            say(f"{numbers}  {escape_control(rule.removeprefix('rule: '))}")
    saved = [case for case in tally.changed if case.change == "saved"]
    _print_examples(UNANSWERED_HEADING, [case for case in saved if was_unanswered(case.record.event)])
    for change in ("passes", "opened", "stopped", "asked"):
        _print_examples(HEADINGS[change], [case for case in tally.changed if case.change == change])


def _print_examples(head: str, cases: Sequence[JudgedDecision]) -> None:
    if not cases:
        return
    say(f"\n{head[0].upper()}{head[1:]}:")
    for case in cases[:MAX_EXAMPLES]:
        prefix = f"  {case.session} {case.record.seq:>6}  "
        room = max(20, terminal_width() - len(prefix))
        say(f"{dim(prefix)}{shorten(escape_control(case.description), room)}")
    if len(cases) > MAX_EXAMPLES:
        say(f"  {len(cases) - MAX_EXAMPLES} more; to list all, add --json")
