"""L3: walks a script: what each command does in every state that the shell may be in when it runs.

Invariant: no command of the script is left out, and none is read with a variable or folder that it cannot have; where
there is too much to walk, `limited` is set.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from tui_agent.policy.bash.syntax import (
    Command,
    Conditional,
    Connector,
    ForLoop,
    Group,
    Pipeline,
    Redirect,
    Script,
    ScriptItem,
    SimpleCommand,
    Variable,
    WhileLoop,
    Word,
)
from tui_agent.policy.bash.tree_check import simple_commands
from tui_agent.policy.catalog.catalog import Catalog
from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.interpreter.builtins import Ends, apply_builtin
from tui_agent.policy.interpreter.commands import UNKNOWN_INPUT, CommandReader, Context
from tui_agent.policy.interpreter.draft import Draft
from tui_agent.policy.interpreter.expansion import Expander, known_value
from tui_agent.policy.interpreter.redirections import Redirections
from tui_agent.policy.interpreter.report import CommandReport, Doubt, Value
from tui_agent.policy.interpreter.state import START_FOLDERS, UNSET, State, merge_states

MAX_WALKED: Final = 2000
"""Commands that are walked, those of loops once for each pass."""
_MAX_PASSES: Final = 3
_NOTHING: Final = known_value("")
_LEAVING: Final = frozenset({"break", "exit", "return"})
_SLEEPING: Final = frozenset({"sleep"})
"""In a loop they wait for something that may never come."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The states behind a part of a script, and what bounds its output."""

    success: State | None
    failure: State | None
    output: Value

    @property
    def any(self) -> State | None:
        """The state where nobody knows how it ended."""
        return merge_states([self.success, self.failure])


@dataclass
class ScriptWalker:
    """Walks scripts and collects the reports of their commands in `reports`."""

    catalog: Catalog
    reader: CommandReader
    reports: list[CommandReport] = field(default_factory=list)
    walked: int = 0
    limited: bool = False

    def walk(self, script: Script, state: State, stdin: Value) -> Outcome:
        """Walk a list of pipelines."""
        success: State | None = state
        failure: State | None = state
        output = _NOTHING
        connector: Connector = ";"
        first = len(self.reports)
        for place, item in enumerate(script.items):
            if connector not in ("&&", "||"):
                first = len(self.reports)
            start = _start(connector, success, failure)
            # Behind `exit` nothing runs; it is read all the same, for rules that deny.
            outcome = self._walk_pipeline(item.pipeline, start or state, stdin)
            if start is None:
                outcome = Outcome(None, None, outcome.output)
            output = _join_outputs(output, outcome.output)
            success, failure = _combine(connector, success, failure, outcome)
            if item.connector == "&":
                success = failure = start
                self._leave_running(first, script.items[place + 1 :])
            connector = item.connector
        return Outcome(success, failure, output)

    def _leave_running(self, first: int, behind: Sequence[ScriptItem]) -> None:
        if any(_is_wait(item) for item in behind):
            return
        self.reports[first:] = [
            replace(report, effects=report.effects | {Effect.LEAVES_PROCESS})
            for report in self.reports[first:]
        ]

    def _walk_pipeline(self, pipeline: Pipeline, state: State, stdin: Value) -> Outcome:
        if len(pipeline.commands) == 1:
            return self._walk_command(pipeline.commands[0], state, stdin)
        for command in pipeline.commands:
            stdin = self._walk_command(command, state, stdin).output
        return Outcome(state, state, stdin)

    def _walk_command(self, command: Command, state: State, stdin: Value) -> Outcome:
        self.walked += 1
        if self.walked > MAX_WALKED:
            self.limited = True
            return Outcome(state, state, UNKNOWN_INPUT)
        if isinstance(command, SimpleCommand):
            return self._walk_cases(command, state, stdin)
        stdin = self._redirect(command.redirects, state, stdin)
        match command:
            case ForLoop():
                return self._walk_for(command, state, stdin)
            case WhileLoop():
                return self._walk_while(command, state, stdin)
            case Conditional():
                return self._walk_conditional(command, state, stdin)
            case Group():
                outcome = self.walk(command.script, state, stdin)
                return Outcome(state, state, outcome.output) if command.subshell else outcome
            case _:
                assert_never(command)

    def _redirect(self, redirects: Sequence[Redirect], state: State, stdin: Value) -> Value:
        """Report the redirections of a loop, condition or group; return the standard input inside."""
        if not redirects:
            return stdin
        source = " ".join(redirect.source for redirect in redirects)
        redirections = self._read_redirects(redirects, source, state)
        self.reports.append(redirections.add_to(CommandReport(source, (), folders=state.folders)))
        return stdin if redirections.stdin is None else redirections.stdin

    def _walk_conditional(self, command: Conditional, state: State, stdin: Value) -> Outcome:
        ends: list[Outcome] = []
        start: State | None = state
        for condition, body in command.branches:
            tested = self.walk(condition, start or state, stdin)
            end = self.walk(body, tested.success or start or state, stdin)
            ends.append(end if tested.success is not None else Outcome(None, None, end.output))
            start = tested.failure
        if command.otherwise is not None:
            ends.append(self.walk(command.otherwise, start or state, stdin))
        else:
            ends.append(Outcome(start, None, _NOTHING))
        return _merge_outcomes(ends)

    def _walk_for(self, command: ForLoop, state: State, stdin: Value) -> Outcome:
        values: list[Value] = []
        for case in state.cases(_names(command.items)):
            expander = self._expander(case)
            values += [value for item in command.items for value in expander.expand(item)]
        source = f"for {command.variable}"
        self.reports += self._report_settings(source, [(command.variable, _NOTHING)], state, always=False)
        # Each turn has one of the words: one that may become several is one of those.
        words = [replace(value, source=f"${command.variable}", many=False) for value in values] or [UNSET]

        def turn(start: State) -> Outcome:
            return self.walk(command.body, start.with_variable(command.variable, words), stdin)

        state = self._repeat(turn, state)
        return Outcome(state, state, UNKNOWN_INPUT)

    def _walk_while(self, command: WhileLoop, state: State, stdin: Value) -> Outcome:
        tested: list[Outcome] = []

        def turn(start: State) -> Outcome:
            tested.append(self.walk(command.condition, start, stdin))
            return self.walk(command.body, tested[-1].any or start, stdin)

        state = self._repeat(turn, state)
        constant = tested[-1].success is None or tested[-1].failure is None
        polls = any(_names_program(part, _SLEEPING) for part in (command.condition, command.body))
        # Nothing in the subset counts, so that only a line that `read` takes, or leaving the loop, brings it to an end.
        takes = not constant and _names_program(command.condition, frozenset({"read"}))
        if polls or not (takes or _names_program(command.body, _LEAVING)):
            self.reports.append(CommandReport("while", (), effects=frozenset({Effect.NEVER_ENDS})))
        state = merge_states([state, tested[-1].any]) or state
        return Outcome(state, state, UNKNOWN_INPUT)

    def _repeat(self, turn: Callable[[State], Outcome], state: State) -> State:
        """Run the turn of a loop in every state that it may start in; the reports are those of all turns together."""
        for _ in range(_MAX_PASSES):
            first = len(self.reports)
            after = merge_states([state, turn(state).any]) or state
            if after == state:
                return state
            del self.reports[first:]
            changed, state = state, after
        state = state.widened(changed)
        turn(state)
        return state

    def _walk_cases(self, command: SimpleCommand, state: State, stdin: Value) -> Outcome:
        """Walk a simple command once for each combination of the values of its variables."""
        words = [*command.words, *(assignment.value for assignment in command.assignments)]
        words += [word for redirect in command.redirects for word in (redirect.target, redirect.body) if word]
        return _merge_outcomes(
            [self._walk_simple(command, case, stdin) for case in state.cases(_names(words))]
        )

    def _walk_simple(self, command: SimpleCommand, state: State, stdin: Value) -> Outcome:
        expander = self._expander(state)
        words = tuple(value for word in command.words for value in expander.expand(word))
        assigned = tuple(
            (assignment.name, expander.expand_whole(assignment.value)) for assignment in command.assignments
        )
        redirections = self._read_redirects(command.redirects, command.source, state)
        if not words:
            report = self._report_settings(command.source, assigned, state, always=True)[0]
            self.reports.append(redirections.add_to(report))
            for name, value in assigned:
                state = state.with_variable(name, [value])
            # `$(<file)` is the text of the file.
            return Outcome(state, state, UNKNOWN_INPUT if command.redirects else _NOTHING)
        stdin = stdin if redirections.stdin is None else redirections.stdin
        reading = self.reader.read(words, Context(command.source, state.folders, stdin, assigned))
        self.reports += [redirections.add_to(reading.reports[0]), *reading.reports[1:]]
        ends = Ends(state, state)
        if reading.builtin is not None:
            split = any(name == "IFS" and value.known != "" for name, value in assigned)
            ends = apply_builtin(*reading.builtin, state, UNKNOWN_INPUT if split else stdin)
        output = reading.output
        if redirections.hides_output:
            output = _NOTHING
        elif redirections.mixes_errors:
            output = UNKNOWN_INPUT
        return Outcome(ends.success, ends.failure, output)

    def _report_settings(
        self, source: str, assigned: Sequence[tuple[str, Value]], state: State, *, always: bool
    ) -> list[CommandReport]:
        """Report variables that the shell sets for itself; without `always` only where there is a doubt."""
        doubts = tuple(
            Doubt("variable", f"{name} is set, which may change what runs")
            for name, value in assigned
            if self.catalog.variables.may_change_programs(name, value.known, exported=False)
        )
        report = CommandReport(source, (), folders=state.folders, settings=tuple(assigned), doubts=doubts)
        return [report] if always or doubts else []

    def _read_redirects(self, redirects: Sequence[Redirect], source: str, state: State) -> Redirections:
        redirections = Redirections(Draft(self.catalog, source, (), state.folders))
        expander = self._expander(state)
        for redirect in redirects:
            redirections.add(redirect, expander)
        return redirections

    def _expander(self, state: State) -> Expander:
        return Expander(state, self.catalog.variables, self._run_substitution)

    def _run_substitution(self, script: Script, state: State) -> Value:
        outcome = self.walk(script, state, UNKNOWN_INPUT)
        ends = [state.folders, *(() if outcome.any is None else (outcome.any.folders,))]
        moved = any(folders != START_FOLDERS for folders in ends)
        return replace(outcome.output, names_files=False) if moved else outcome.output


def _start(connector: Connector, success: State | None, failure: State | None) -> State | None:
    match connector:
        case "&&":
            return success
        case "||":
            return failure
        case ";" | "&" | "":
            return merge_states([success, failure])
        case _:
            assert_never(connector)


def _combine(
    connector: Connector, success: State | None, failure: State | None, outcome: Outcome
) -> tuple[State | None, State | None]:
    """The states behind a list that goes on with one more pipeline."""
    if connector == "&&":
        return outcome.success, merge_states([failure, outcome.failure])
    if connector == "||":
        return merge_states([success, outcome.success]), outcome.failure
    return outcome.success, outcome.failure


def _merge_outcomes(outcomes: Sequence[Outcome]) -> Outcome:
    if len(outcomes) == 1:
        return outcomes[0]
    bounds = {replace(outcome.output, source="") for outcome in outcomes}
    return Outcome(
        merge_states([outcome.success for outcome in outcomes]),
        merge_states([outcome.failure for outcome in outcomes]),
        outcomes[0].output if len(bounds) == 1 else UNKNOWN_INPUT,
    )


def _join_outputs(first: Value, second: Value) -> Value:
    """The output of two commands behind each other."""
    if first.known == "":
        return second
    return first if second.known == "" else UNKNOWN_INPUT


def _names(words: Iterable[Word]) -> Iterator[str]:
    for word in words:
        for piece in word.pieces:
            if isinstance(piece, Variable):
                yield piece.name


def _is_wait(item: ScriptItem) -> bool:
    command = item.pipeline.commands[0]
    return isinstance(command, SimpleCommand) and bool(command.words) and command.words[0].literal == "wait"


def _names_program(script: Script, programs: frozenset[str]) -> bool:
    """Return True if a command of the script is one of these programs."""
    return any(command.words and command.words[0].literal in programs for command in simple_commands(script))
