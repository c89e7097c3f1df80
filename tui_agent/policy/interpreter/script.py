"""The walk through a script: interprets each command in every possible state of the shell.

Invariant: no command is skipped, and no possible value of a variable or folder is left out.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final, assert_never

from tui_agent.policy.bash import syntax
from tui_agent.policy.catalog.catalog import Catalog
from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.interpreter.builtins import apply_builtin
from tui_agent.policy.interpreter.commands import UNKNOWN_INPUT, CommandReader
from tui_agent.policy.interpreter.draft import Draft
from tui_agent.policy.interpreter.expansion import Expander, known_value
from tui_agent.policy.interpreter.redirections import may_fail, read_redirects
from tui_agent.policy.interpreter.report import CommandReport, Doubt, Value
from tui_agent.policy.interpreter.state import UNSET, Outcome, State, merge_states, unknown_value

MAX_WALKED: Final = 2000
"""Maximum number of interpreted commands, including repetitions in a loop."""
MAX_WORDS: Final = 32
"""A `for` loop over at most this many words is interpreted once for each word."""
_WAIT: Final = re.compile(r'wait( "?\$.*)?', re.DOTALL)
_READ: Final = re.compile(r"(IFS=\S* )?read( -[rs]+| -[rs]*d \S+| \w+)*")
_CHANGES_SHELL: Final = re.compile(
    r"\.|declare|eval|getopts|let|local|mapfile|readarray|readonly|shift|source|typeset"
)
"""Matches a builtin that may set any variable or change the folder."""
_MAX_PASSES: Final = 4
_NOTHING: Final = known_value("")


@dataclass
class ScriptWalker:
    """Interprets the commands of scripts in order, and collects their reports in `reports`."""

    catalog: Catalog
    reader: CommandReader
    reports: list[CommandReport] = field(default_factory=list)
    walked: int = 0
    _left: list[State] = field(default_factory=list)
    """States of the shell at each `break` and `continue`."""

    def walk(self, script: syntax.Script, state: State, stdin: Value) -> Outcome:
        """Interpret the pipelines of a script, starting in this state of the shell."""
        outcome, before = Outcome(state, state, _NOTHING), state
        connector: syntax.Connector = ";"
        first = len(self.reports)
        for place, item in enumerate(script.items):
            if connector not in ("&&", "||"):
                first, before = len(self.reports), outcome.any
            outcome = self._walk_next(outcome, connector, item.pipeline, stdin)
            stdin = UNKNOWN_INPUT  # the first pipeline may have consumed some of it
            if item.connector == "&":
                # Everything joined by `&&` and `||` runs in a subshell.
                outcome = replace(outcome, success=before, failure=before)
                left = set() if _waits(script.items[place:]) else {Effect.LEAVES_PROCESS}
                started = self.reports[first:]
                self.reports[first:] = [replace(report, effects=report.effects | left) for report in started]
            connector = item.connector
        # After `&&` and `||`, or if the shell may stop, it is not certain which of several outputs are printed.
        return outcome if len(script.items) == 1 else replace(outcome, output=UNKNOWN_INPUT)

    def _walk_next(
        self, before: Outcome, connector: syntax.Connector, pipeline: syntax.Pipeline, stdin: Value
    ) -> Outcome:
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
            doubt = Doubt("limit", "it has too many commands to check them all", hides_command=True)
            self.reports.append(CommandReport("", (), doubts=(doubt,)))
            return Outcome(state, state, UNKNOWN_INPUT)
        if not state.folders:
            # It is interpreted anyway, for `deny` rules.
            state = State(folders=(None,))
        outcome = self._walk_certain(command, state, stdin)
        if not may_fail(command.redirects):
            return outcome
        output = outcome.output if outcome.output.known in (None, "") else UNKNOWN_INPUT
        return Outcome(outcome.success, outcome.failure.merge(state), output)

    def _walk_certain(self, command: syntax.Command, state: State, stdin: Value) -> Outcome:
        """Interpret a command, assuming that its redirections succeed."""
        if isinstance(command, syntax.SimpleCommand):
            return self._walk_simple(command, state, stdin)
        stdin = self._redirect(command.redirects, state, stdin)
        match command:
            case syntax.ForLoop():
                state = self._walk_for(command, state)
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
        """Report the redirections of a loop, condition or group; return the standard input of the commands inside."""
        draft = Draft(self.catalog, " ".join(redirect.source for redirect in redirects), (), state.folders)
        stdin, _ = read_redirects(draft, redirects, self._expander(state), stdin)
        self.reports += [draft.report()] if redirects else []
        return stdin

    def _walk_conditional(self, command: syntax.Conditional, state: State, stdin: Value) -> State:
        ends: list[State] = []
        for condition, body in command.branches:
            tested = self.walk(condition, state, stdin)
            stdin = UNKNOWN_INPUT
            ends.append(self.walk(body, tested.success, stdin).any)
            state = tested.failure
        if command.otherwise is not None:
            state = self.walk(command.otherwise, state, stdin).any
        return merge_states([*ends, state])

    def _walk_for(self, command: syntax.ForLoop, state: State) -> State:
        expander = self._expander(state)
        values = [value for item in command.items for value in expander.expand(item)]
        draft = Draft(self.catalog, f"for {command.variable}", (), state.folders)
        draft.set_variable(command.variable, UNSET, exported=False)
        self.reports += [draft.report()] if draft.doubts else []
        # Each pass has one word, even if the value may become several words.
        words = [replace(value, source=f"${command.variable}", many=False) for value in values]

        def turn(start: State) -> State:
            starts = [start.with_variable(command.variable, word) for word in words]
            return merge_states(self.walk(command.body, start, UNKNOWN_INPUT).any for start in starts)

        if not words or len(words) > MAX_WORDS:
            words = [unknown_value(*words)]
        return self._repeat(turn, state)

    def _walk_while(self, command: syntax.WhileLoop, state: State, stdin: Value) -> State:
        def turn(start: State) -> State:
            tested = self.walk(command.condition, start, stdin).any
            return tested.merge(self.walk(command.body, tested, UNKNOWN_INPUT).any)

        state = self._repeat(turn, state)
        # The subset has no arithmetic, so only a `read` at the end of its input certainly ends a loop.
        if command.until or not _takes_line(command.condition):
            endless = frozenset({Effect.NEVER_ENDS})
            self.reports.append(CommandReport("while", (), name="a loop", effects=endless))
        return state

    def _repeat(self, turn: Callable[[State], State], state: State) -> State:
        """Interpret a loop body (`turn`) again and again, until no new state of the shell appears."""
        left = len(self._left)
        for _ in range(_MAX_PASSES):
            first = len(self.reports)
            after = merge_states([state, turn(state), *self._left[left:]])
            if after == state:
                return state
            del self.reports[first:]
            state = after
        state = state.to_unknown()
        return state.merge(turn(state))

    def _walk_simple(self, command: syntax.SimpleCommand, state: State, stdin: Value) -> Outcome:
        words = tuple(value for word in command.words for value in self._expander(state).expand(word))
        assigned: list[tuple[str, Value]] = []
        changing = state
        for assignment in command.assignments:
            value = self._expander(changing).expand_whole(assignment.value)
            assigned.append((assignment.name, value))
            changing = changing.with_variable(assignment.name, unknown_value(value))
        draft = Draft(self.catalog, command.source, words, state.folders)
        stdin, hidden = read_redirects(draft, command.redirects, self._expander(state), stdin)
        after = state
        for name, value in assigned:
            after = after.with_variable(name, value)
            if name != "IFS" or not words or words[0].known != "read":
                draft.set_variable(name, value, exported=bool(words))
        if not words:
            self.reports.append(draft.report())
            # `$(<file)` is the content of the file.
            return Outcome(after, after, UNKNOWN_INPUT if command.redirects else _NOTHING)
        reading = self.reader.read(draft, stdin)
        self.reports += reading.reports
        output = hidden or reading.output
        names = {report.name for report in reading.reports}
        # Bash does not split an assignment after `export`, unless another word precedes `export`.
        split = len(words) != len(command.words) or any(word.many for word in words)
        if any(map(_CHANGES_SHELL.fullmatch, names)) or (split and "export" in names):
            return Outcome(state.to_unknown(), state.to_unknown(), output)
        if reading.builtin is None:
            return Outcome(state, state, output)
        if reading.builtin.entry.name in ("break", "continue"):
            self._left.append(state)
        cut = any(name == "IFS" and value.known != "" for name, value in assigned)
        # `x=1 export x` keeps the value; what other builtins do with it does not matter.
        return Outcome(*apply_builtin(reading.builtin, changing, UNKNOWN_INPUT if cut else stdin), output)

    def _expander(self, state: State) -> Expander:
        def run(script: syntax.Script, inner: State) -> Value:
            return self.walk(script, inner, UNKNOWN_INPUT).output

        return Expander(state, self.catalog.variables, run)


def _waits(items: Sequence[syntax.ScriptItem]) -> bool:
    """Return True if a `wait` in the list certainly waits for the first item, a background job."""
    return any(
        before.connector in (";", "&") and _WAIT.fullmatch(_simple_source(item.pipeline))
        for before, item in pairwise(items)
    )


def _takes_line(condition: syntax.Script) -> bool:
    """Return True if a loop condition is just a `read`. It takes one line of the loop's input."""
    first, *others = condition.items
    return not others and _READ.fullmatch(_simple_source(first.pipeline)) is not None


def _simple_source(pipeline: syntax.Pipeline) -> str:
    command = pipeline.commands[0]
    if len(pipeline.commands) > 1 or pipeline.negated or not isinstance(command, syntax.SimpleCommand):
        return ""
    return command.source
