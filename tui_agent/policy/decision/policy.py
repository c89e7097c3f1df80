"""The policy: combines guards, rules, escalations and the profile into one decision about a tool call.

Invariant: `decide` is pure and never raises.
"""

import posixpath
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from tui_agent.policy.catalog.catalog import Catalog, built_in_catalog
from tui_agent.policy.decision.assumptions import local_program_paths, settle_doubts, settle_downloads
from tui_agent.policy.decision.call_classes import call_classes
from tui_agent.policy.decision.call_judge import CallJudge
from tui_agent.policy.decision.escalations import GIT, program_name, runs_git, secrets_read
from tui_agent.policy.decision.explanation import effect_rows, explain
from tui_agent.policy.decision.file_judge import is_known_file, is_single_deletion
from tui_agent.policy.decision.judgement import Judgement, strongest_judgement
from tui_agent.policy.decision.line_uses import Lines, file_uses, from_workspace, literal_path
from tui_agent.policy.decision.profiles import PROFILES
from tui_agent.policy.decision.rule_choices import (
    RULED,
    SECRET,
    UNCONFINED,
    UNSEEN,
    offer_choices,
    only_once,
)
from tui_agent.policy.decision.rule_index import RuleIndex, session_rules
from tui_agent.policy.decision.unconfined_commands import (
    OUTSIDE_RISK,
    find_repository_conflict,
    must_leave_sandbox,
)
from tui_agent.policy.interpreter.command_report import Certainty, CommandReport, FileUse, LineReport
from tui_agent.policy.interpreter.line import read_line
from tui_agent.policy.places.path_places import Guards
from tui_agent.policy.rules.grammar import Rule, parse_rule
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Effect, NetworkEffect, ReadEffect, RunEffect, WriteEffect
from tui_agent.protocol.events.policy import CommandEffects
from tui_agent.protocol.unicode_text import describe_invisible, describe_lookalike

_EXACTLY = "rule: allow exact "
NOBODY = "no one is there to answer"
_MAX_INDEXES = 8
MAX_CHECKED_CHARS = 100_000
"""Maximum length of the checked text, in characters. The user is always asked about a longer command line."""
NEVER_ASKS = "a read-only delegate cannot ask for approval"


class RulePolicy:
    """A `ports.policy.Policy` based on rules.

    - `user_rules`: the saved rules. A rule can be limited to one workspace.
    - `own`: absolute paths of the product's configuration and data folders, which no agent can write to.
    - `notes`: the folder of the project's notes. Agents can write to this folder, even inside the folders in `own`.
    - `catalog`: the known programs; by default, the built-in catalog.
    """

    def __init__(
        self,
        user_rules: Iterable[Rule | str] = (),
        *,
        own: Iterable[str] = (),
        notes: str = "",
        catalog: Catalog | None = None,
    ) -> None:
        self.rules = tuple(rule if isinstance(rule, Rule) else parse_rule(rule) for rule in user_rules)
        self._guards = Guards(own, notes)
        self._catalog = catalog or built_in_catalog()
        self._indexes: dict[tuple[tuple[str, ...], str | None], RuleIndex] = {}

    def decide(self, tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        """Allow, ask about or deny a tool call; see `ports.policy.Policy`."""
        decision = self._decide(tool, effects, facts)
        return (
            replace(decision, private_temp_paths=tuple(sorted(facts.private_temp_paths)))
            if facts.private_temp_paths
            else decision
        )

    def explain(self, tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> tuple[str, ...]:
        """Explain the decision that `decide` makes, one reason per line."""
        lines = self._settle(effects, facts)
        return explain(lines, self._judge(tool, effects, lines, facts)[0])

    def decision_paths(self, effects: Sequence[Effect], granted: Sequence[str]) -> tuple[str, ...]:
        paths = [effect.path for effect in effects if isinstance(effect, ReadEffect | WriteEffect)]
        paths += [
            literal_path(effect.cwd) for effect in effects if isinstance(effect, RunEffect) and effect.cwd
        ]
        uses = list(_uses(self._read(effects)))
        paths += [*(path for _, path in uses), *self.local_programs(effects)]
        # The guard against ruin compares changed folders with the real home folder.
        paths += ["~" for use, _ in uses if use.action in ("write", "move", "delete")]
        fixed = self._rules(tuple(granted), None).fixed_paths if effects else ()
        return tuple(dict.fromkeys((*paths, *fixed)))

    def describe_effects(
        self, effects: Sequence[Effect], new: Collection[str], facts: PolicyFacts
    ) -> tuple[CommandEffects, ...]:
        return effect_rows(effects, self._settle(effects, facts), new, facts)

    def started_programs(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        names = (
            GIT if runs_git(command) else program_name(command)
            for _, command in _commands(self._read(effects))
            if not command.program.builtin
        )
        return tuple(dict.fromkeys(name for name in names if name and "/" not in name))

    def local_programs(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        commands = _commands(self._read(effects))
        paths = (path for effect, command in commands for path in local_program_paths(effect, command))
        return tuple(dict.fromkeys(paths))

    def git_folders(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        folders = (
            "**" if folder is None else from_workspace(effect, folder or ".")
            for effect, command in _commands(self._read(effects))
            if runs_git(command)
            for folder in command.folders
        )
        return tuple(dict.fromkeys(folders))

    def written_paths(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        return self._files(effects, ("write",), Certainty.KNOWN)

    def changed_files(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        paths: dict[str, None] = {}
        for effect, command in _commands(self._read(effects)):
            uses = [(use.action, path) for use, path in file_uses(effect, command) if is_known_file(use)]
            moved = [path for action, path in uses if action == "move"]
            written = [path for action, path in uses if action == "write"]
            sources = [*moved, *(path for action, path in uses if action == "read")]
            copies = [
                posixpath.join(path, posixpath.basename(source)) for path in written for source in sources
            ]
            paths.update(dict.fromkeys((*moved, *written, *copies)))
        return tuple(paths)

    def changed_patterns(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        patterns = self._files(effects, ("write", "move"), Certainty.BOUNDED)
        return tuple(pattern for pattern in patterns if "**" not in pattern)

    def deleted_files(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        uses = list(_uses(self._read(effects)))
        if any(use.action == "move" for use, _ in uses):
            return ()
        paths = (path for use, path in uses if is_single_deletion(use))
        return tuple(dict.fromkeys(paths))

    def needed_paths(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        written = self._files(effects, ("write",), Certainty.KNOWN)
        needed = self._files(effects, ("read", "list", "start"), Certainty.KNOWN)
        return tuple(
            path for path in needed if not any(f"{path}/".startswith(f"{other}/") for other in written)
        )

    def touched_paths(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        return self._files(effects, ("read", "write"), Certainty.KNOWN, Certainty.BOUNDED)

    def _files(
        self, effects: Sequence[Effect], actions: Sequence[str], *certainties: Certainty
    ) -> tuple[str, ...]:
        uses = _uses(self._read(effects))
        paths = (path for use, path in uses if use.action in actions and use.certainty in certainties)
        return tuple(dict.fromkeys(paths))

    def _line(self, effect: RunEffect) -> LineReport:
        return read_line(effect, self._catalog)

    def _read(self, effects: Sequence[Effect]) -> Lines:
        return {effect: self._line(effect) for effect in effects if isinstance(effect, RunEffect)}

    def _settle(self, effects: Sequence[Effect], facts: PolicyFacts) -> Lines:
        return {
            effect: settle_downloads(effect, settle_doubts(effect, line, facts), facts)
            for effect, line in self._read(effects).items()
        }

    def _rules(self, granted: tuple[str, ...], workspace: str | None) -> RuleIndex:
        """Return the index of the session's rules (`granted`) and the saved rules for `workspace`.

        `workspace`: None for the saved rules of all workspaces.
        """
        index = self._indexes.get((granted, workspace))
        if index is None:
            saved = (rule for rule in self.rules if workspace is None or rule.workspace in ("", workspace))
            index = RuleIndex((*saved, *session_rules(granted)))
            # The session's rules change seldom, so the few newest indexes are enough.
            if len(self._indexes) >= _MAX_INDEXES:
                self._indexes.clear()
            self._indexes[granted, workspace] = index
        return index

    def _judge(
        self, tool: str, effects: Sequence[Effect], lines: Lines, facts: PolicyFacts
    ) -> tuple[list[Judgement], list[Effect]]:
        rules = self._rules(facts.session_rules, facts.workspace)
        judge = CallJudge(rules, self._guards, facts, tool, self._line, lines)
        judgements = judge.judge_tool(known=bool(effects))
        asked: list[Effect] = []
        for effect in effects:
            effect_judgements = judge.judge(effect)
            judgements += effect_judgements
            if strongest_judgement(effect_judgements).verdict == "ask":
                asked.append(effect)
        return [*judgements, *_find_concealed(effects)], asked

    def _decide(self, tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        lines = self._settle(effects, facts)
        judgements, asked = self._judge(tool, effects, lines, facts)
        decided = strongest_judgement(judgements)
        classes = call_classes(effects, lines, facts)
        is_bounded = any(judgement.bounded for judgement in judgements)
        if decided.verdict != "ask":
            return Decision(
                decided.verdict,
                decided.rule_id,
                decided.reason,
                classes,
                allowed_by_exact_rule=decided.rule_id.startswith(_EXACTLY),
                unnamed_secrets=secrets_read(list(_uses(lines)), facts.secrets, facts),
                repository_read_only=is_bounded,
                repository_conflict=next(filter(None, map(find_repository_conflict, lines.values())), "")
                if is_bounded
                else "",
            )
        asking = [judgement for judgement in judgements or (decided,) if judgement.verdict == "ask"]
        may_try = facts.sandboxed and all(each.not_understood for each in asking)
        silent = NOBODY if not facts.interactive else "" if PROFILES[facts.policy].asks else NEVER_ASKS
        if silent:
            reason = f"{decided.reason}, and {silent}"
            refused = Decision("deny", decided.rule_id, reason, classes, risk=decided.risk)
            return replace(refused, nobody_to_ask=silent == NOBODY, can_try_in_sandbox=may_try)
        # The user must not overlook misleading characters behind another reason.
        shown = next((judgement for judgement in asking if judgement.is_concealed), decided)
        # Outside the sandbox, nothing would hide the secrets that the line can read without naming them.
        unnamed_secrets = secrets_read(list(_uses(lines)), facts.secrets, facts)
        leaves_sandbox = not (shown.is_concealed or unnamed_secrets) and must_leave_sandbox(lines, facts)
        if leaves_sandbox:
            choices = only_once(UNCONFINED)
        elif shown.is_concealed:
            choices = only_once(UNSEEN)
        elif any(judgement.is_rule for judgement in asking):
            choices = only_once(RULED)
        elif decided.rule_id == "guard.below":
            choices = only_once(SECRET)
        else:
            # A rule is offered only if it really allows this call, so the call is judged again with the rule.
            def judge_with(rule: str) -> Judgement:
                allowed = replace(facts, session_rules=(*facts.session_rules, rule))
                return strongest_judgement(self._judge(tool, effects, lines, allowed)[0])

            choices = offer_choices(tool, asked, lines, facts, decided, judge_with)
        return Decision(
            "ask",
            shown.rule_id,
            shown.reason,
            classes,
            choices,
            f"{shown.risk} {OUTSIDE_RISK}".strip() if leaves_sandbox else shown.risk,
            shown.default_no or leaves_sandbox,
            by_profile=all(_is_of_profile(judgement, facts) for judgement in asking),
            leaves_sandbox=leaves_sandbox,
            can_try_in_sandbox=may_try,
        )


def _commands(lines: Lines) -> Iterator[tuple[RunEffect, CommandReport]]:
    return ((effect, command) for effect, line in lines.items() for command in line.commands)


def _uses(lines: Lines) -> Iterator[tuple[FileUse, str]]:
    return (use for effect, command in _commands(lines) for use in file_uses(effect, command))


def _is_of_profile(judgement: Judgement, facts: PolicyFacts) -> bool:
    """Return True if the judgement comes only from the profile. A hook can then answer for the user."""
    of_profile = judgement.rule_id.startswith(f"{facts.policy}.")
    return of_profile and not judgement.default_no and not judgement.needs_person


def _find_concealed(effects: Sequence[Effect]) -> list[Judgement]:
    """Return judgements about invisible and lookalike characters in the effects of a call.

    Effects that only read are not checked.
    """
    texts = [text[:MAX_CHECKED_CHARS] for effect in effects for text in _texts(effect)]
    judgements: list[Judgement] = []
    hidden = next(filter(None, map(describe_invisible, texts)), "")
    if hidden:
        risk = f"It contains {hidden}: it may do more than you see."
        judgements.append(Judgement("ask", "unseen", f"it contains {hidden}", risk, default_no=True))
    other = next(filter(None, map(describe_lookalike, texts)), "")
    if other:
        risk = f"One word contains look-alike characters: {other}."
        judgements.append(
            Judgement("ask", "unseen.alike", "one word contains look-alike characters", risk, default_no=True)
        )
    return judgements


def _texts(effect: Effect) -> Iterator[str]:
    match effect:
        case RunEffect():
            yield effect.script
            yield from effect.argv
            yield effect.cwd
        case WriteEffect():
            yield effect.path
        case NetworkEffect():
            yield effect.host
        case _:
            return
