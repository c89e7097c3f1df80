"""L3: walks a script: what each command does in every state that the shell may be in when it runs.

Invariant: no command of the script is left out, and none is read with a variable or folder that it cannot have; where
there is too much to walk, a report with a doubt stands for the rest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final, assert_never

from tui_agent.policy.bash import syntax
from tui_agent.policy.catalog.catalog import Catalog
from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.interpreter.builtins import apply_builtin
from tui_agent.policy.interpreter.commands import UNKNOWN_INPUT, CommandReader, Context
from tui_agent.policy.interpreter.draft import Draft
from tui_agent.policy.interpreter.expansion import Expander, known_value
from tui_agent.policy.interpreter.redirections import Redirections, may_fail
from tui_agent.policy.interpreter.report import CommandReport, Doubt, Value
from tui_agent.policy.interpreter.state import UNSET, Outcome, State, merge_states

MAX_WALKED: Final = 2000
"""Commands that are walked, those of loops once for each word and pass."""
MAX_WORDS: Final = 32
"""Words of a loop that are told apart."""
_MAX_PASSES: Final = 4
_NOTHING: Final = known_value("")


@dataclass
class ScriptWalker:
    """Walks scripts and collects the reports of their commands in `reports`."""

    catalog: Catalog
    reader: CommandReader
    reports: list[CommandReport] = field(default_factory=list)
    walked: int = 0
    _left: list[State] = field(default_factory=list)
    """The states in which loops were left or went on early."""

    def walk(self, script: syntax.Script, state: State, stdin: Value) -> Outcome:
        """Walk a list of pipelines."""
        outcome, before = Outcome(state, state, _NOTHING), state
        connector: syntax.Connector = ";"
        first = len(self.reports)
        for place, item in enumerate(script.items):
            if connector not in ("&&", "||"):
                first, before = len(self.reports), outcome.any
            outcome = self._walk_next(outcome, connector, item.pipeline, stdin)
            if item.connector == "&":
                # All that `&&` and `||` join runs in a shell of its own.
                outcome = replace(outcome, success=before, failure=before)
                left = set() if _waits(script.items[place:]) else {Effect.LEAVES_PROCESS}
                started = self.reports[first:]
                self.reports[first:] = [replace(report, effects=report.effects | left) for report in started]
            connector = item.connector
        # Behind `&&` and `||`, and where the shell may stop, it is not certain which of several outputs there are.
        return outcome if len(script.items) == 1 else replace(outcome, output=UNKNOWN_INPUT)

    def _walk_next(
        self, before: Outcome, connector: syntax.Connector, pipeline: syntax.Pipeline, stdin: Value
    ) -> Outcome:
        """Walk a pipeline behind what a list did before."""
        starts = {"&&": before.success, "||": before.failure}
        after = self._walk_pipeline(pipeline, starts.get(connector, before.any), stdin)
        success, failure = after.success, after.failure
        if connector == "||":
            success = before.success.merge(success)
        if connector == "&&":
            failure = before.failure.merge(failure)
        return Outcome(success, failure, after.output)

    def _walk_pipeline(self, pipeline: syntax.Pipeline, state: State, stdin: Value) -> Outcome:
        if len(pipeline.commands) > 1:
            for command in pipeline.commands:
                stdin = self._walk_command(command, state, stdin).output
            return Outcome(state, state, stdin)
        outcome = self._walk_command(pipeline.commands[0], state, stdin)
        if pipeline.negated:
            return Outcome(outcome.failure, outcome.success, outcome.output)
        return outcome

    def _walk_command(self, command: syntax.Command, state: State, stdin: Value) -> Outcome:
        self.walked += 1
        if self.walked > MAX_WALKED:
            doubt = Doubt("limit", "it has too many commands to be judged", hides_command=True)
            self.reports.append(CommandReport("", (), doubts=(doubt,)))
            return Outcome(state, state, UNKNOWN_INPUT)
        if not state.folders:
            # It is read all the same, for rules that deny.
            state = State(folders=(None,))
        outcome = self._walk_certain(command, state, stdin)
        if not may_fail(command.redirects):
            return outcome
        output = outcome.output if outcome.output.known in (None, "") else UNKNOWN_INPUT
        return Outcome(outcome.success, outcome.failure.merge(state), output)

    def _walk_certain(self, command: syntax.Command, state: State, stdin: Value) -> Outcome:
        """Walk a command of which all redirections succeed."""
        if isinstance(command, syntax.SimpleCommand):
            return self._walk_simple(command, state, stdin)
        stdin = self._redirect(command.redirects, state, stdin)
        match command:
            case syntax.ForLoop():
                state = self._walk_for(command, state, stdin)
            case syntax.WhileLoop():
                state = self._walk_while(command, state, stdin)
            case syntax.Conditional():
                state = self._walk_conditional(command, state, stdin)
            case syntax.Group():
                outcome = replace(self.walk(command.script, state, stdin), output=UNKNOWN_INPUT)
                return Outcome(state, state, UNKNOWN_INPUT) if command.subshell else outcome
            case _:
                assert_never(command)
        return Outcome(state, state, UNKNOWN_INPUT)

    def _redirect(self, redirects: Sequence[syntax.Redirect], state: State, stdin: Value) -> Value:
        """Report the redirections of a loop, condition or group; return the standard input inside."""
        if not redirects:
            return stdin
        source = " ".join(redirect.source for redirect in redirects)
        redirections = self._read_redirects(redirects, source, state)
        self.reports.append(redirections.draft.report())
        return stdin if redirections.stdin is None else redirections.stdin

    def _walk_conditional(self, command: syntax.Conditional, state: State, stdin: Value) -> State:
        ends: list[State] = []
        for condition, body in command.branches:
            tested = self.walk(condition, state, stdin)
            ends.append(self.walk(body, tested.success, stdin).any)
            state = tested.failure
        if command.otherwise is not None:
            state = self.walk(command.otherwise, state, stdin).any
        return merge_states([*ends, state])

    def _walk_for(self, command: syntax.ForLoop, state: State, stdin: Value) -> State:
        expander = self._expander(state)
        values = [value for item in command.items for value in expander.expand(item)]
        draft = Draft(self.catalog, f"for {command.variable}", (), state.folders)
        draft.set_variable(command.variable, UNSET, exported=False)
        self.reports += [draft.report()] if draft.doubts else []
        # Each turn has one of the words: one that may become several is one of those.
        words = [
            replace(
                value,
                source=f"${command.variable}",
                many=False,
                may_be_empty=value.may_be_empty and not value.many,
            )
            for value in values
        ]

        def turn(start: State) -> State:
            starts = [start.with_variable(command.variable, word) for word in words]
            return merge_states(self.walk(command.body, start, stdin).any for start in starts)

        if not words or len(words) > MAX_WORDS:
            words = [UNSET]
        return self._repeat(turn, state)

    def _walk_while(self, command: syntax.WhileLoop, state: State, stdin: Value) -> State:
        def turn(start: State) -> State:
            tested = self.walk(command.condition, start, stdin).any
            return tested.merge(self.walk(command.body, tested, stdin).any)

        state = self._repeat(turn, state)
        # Nothing in the subset counts: only a line that `read` takes brings a loop to its end for certain.
        if command.until or not _takes_line(command.condition):
            self.reports.append(CommandReport("while", (), effects=frozenset({Effect.NEVER_ENDS})))
        return state

    def _repeat(self, turn: Callable[[State], State], state: State) -> State:
        """Run the turn of a loop in every state that it may start in; the reports are those of all turns together."""
        left = len(self._left)
        for _ in range(_MAX_PASSES):
            first = len(self.reports)
            after = merge_states([state, turn(state), *self._left[left:]])
            if after == state:
                return state
            del self.reports[first:]
            state = after
        state = State(dict.fromkeys(state.variables, UNSET), (None,))
        return state.merge(turn(state))

    def _walk_simple(self, command: syntax.SimpleCommand, state: State, stdin: Value) -> Outcome:
        words = tuple(value for word in command.words for value in self._expander(state).expand(word))
        assigned: list[tuple[str, Value]] = []
        changing = state
        for assignment in command.assignments:
            assigned.append((assignment.name, self._expander(changing).expand_whole(assignment.value)))
            changing = changing.with_variable(assignment.name, UNSET)
        redirections = self._read_redirects(command.redirects, command.source, state)
        if not words:
            for name, value in assigned:
                redirections.draft.set_variable(name, value, exported=False)
                state = state.with_variable(name, value)
            self.reports.append(redirections.draft.report())
            # `$(<file)` is the text of the file.
            return Outcome(state, state, UNKNOWN_INPUT if command.redirects else _NOTHING)
        stdin = stdin if redirections.stdin is None else redirections.stdin
        reading = self.reader.read(words, Context(command.source, state.folders, stdin, tuple(assigned)))
        self.reports += [redirections.add_to(reading.reports[0]), *reading.reports[1:]]
        output = redirections.output or reading.output
        if reading.builtin is None:
            return Outcome(state, state, output)
        name, call = reading.builtin
        if name in ("break", "continue"):
            self._left.append(state)
        split = any(name == "IFS" and value.known != "" for name, value in assigned)
        # `x=1 export x` keeps the value; what other builtins do with it does not matter.
        state = changing if name == "export" else state
        return Outcome(*apply_builtin(name, call, state, UNKNOWN_INPUT if split else stdin), output)

    def _read_redirects(
        self, redirects: Sequence[syntax.Redirect], source: str, state: State
    ) -> Redirections:
        draft = Draft(self.catalog, source, (), state.folders)
        redirections = Redirections(draft, self._expander(state))
        for redirect in redirects:
            redirections.add(redirect)
        return redirections

    def _expander(self, state: State) -> Expander:
        return Expander(state, self.catalog.variables, self._run_substitution)

    def _run_substitution(self, script: syntax.Script, state: State) -> Value:
        return self.walk(script, state, UNKNOWN_INPUT).output


def _waits(items: Sequence[syntax.ScriptItem]) -> bool:
    """Return True if the shell waits for what the first item starts, whatever happens in between."""
    return any(
        before.connector in (";", "&")
        and len(item.pipeline.commands) == 1
        and isinstance(command := item.pipeline.commands[0], syntax.SimpleCommand)
        and [word.literal for word in command.words[:2]] in (["wait"], ["wait", None])
        for before, item in pairwise(items)
    )


def _takes_line(condition: syntax.Script) -> bool:
    """Return True if a condition is nothing but a `read` that takes a line of the loop's own input."""
    pipeline = condition.items[0].pipeline
    command = pipeline.commands[0]
    if len(condition.items) + len(pipeline.commands) > 2 or pipeline.negated:
        return False
    if not isinstance(command, syntax.SimpleCommand) or command.redirects:
        return False
    words = ["-n" if word.literal is None else word.literal for word in command.words]
    options = "".join(word[1:] for word in words if word.startswith("-"))
    return words[:1] == ["read"] and set(options) <= {"r", "s", "d"}
