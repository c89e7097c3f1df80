"""The walk through a script: interprets each command in every possible state of the shell.

Invariant: no command is skipped, and no possible value of a variable or folder is left out. If the
target of a redirection is uncertain, the command counts as using an unknown file.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final, assert_never

from tui_agent.policy.bash import syntax
from tui_agent.policy.catalog.catalog import Catalog
from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.interpreter.call_options import ParsedCall
from tui_agent.policy.interpreter.command_report import (
    Certainty,
    CommandReport,
    Doubt,
    FileAction,
    FileUse,
    Value,
)
from tui_agent.policy.interpreter.expansion import Expander, known_value, unknown_value
from tui_agent.policy.interpreter.patterns import cut_at_newlines, split_assignment
from tui_agent.policy.interpreter.report_draft import DEVICES, Draft
from tui_agent.policy.interpreter.shell_state import (
    UNREACHED,
    UNSET,
    Outcome,
    State,
    any_text_of,
    enter_folder,
    merge_states,
)
from tui_agent.policy.interpreter.simple_commands import UNKNOWN_INPUT, CommandReader

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
_MAY_ASSIGN: Final = re.compile(
    r"alias|bind|builtin|caller|command|compgen|complete|compopt|enable|exec|export|fc|hash|printf|read|set|shopt|test"
    r"|trap|unset|wait|\[{1,2}"
)
"""Other builtins that may set a variable if something about their words is uncertain (`printf -v`, `[ -v 'a[x=1]' ]`)."""
_MAX_PASSES: Final = 4
_NOTHING: Final = known_value("")
_SOCKET: Final = re.compile(r"/dev/(?:tcp|udp)/([^/]*)(?:/.*)?")


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
            # Each command of a pipe runs in a subshell, which changes nothing in the shell itself.
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
        if not _may_fail(command.redirects):
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
        stdin, _ = _read_redirects(draft, redirects, self._expander(state), stdin)
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
        # Only the name matters here: `for PATH in …` changes which programs run.
        draft.set_variable(command.variable, UNSET, exported=False)
        self.reports += [draft.report()] if draft.doubts else []
        # Each pass has one word, even if the value may become several words.
        words = [replace(value, source=f"${command.variable}", many=False) for value in values]

        def turn(start: State) -> State:
            starts = [start.with_variable(command.variable, word) for word in words]
            return merge_states(self.walk(command.body, start, UNKNOWN_INPUT).any for start in starts)

        if not words or len(words) > MAX_WORDS:
            words = [any_text_of(*words)]
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
        # Each pass starts in every state that earlier passes can lead to. The reports of the last pass cover those of
        # the earlier ones.
        for _ in range(_MAX_PASSES):
            first = len(self.reports)
            after = merge_states([state, turn(state), *self._left[left:]])
            if after == state:
                return state
            del self.reports[first:]
            state = after
        # The state changes in every pass, as with `x=$x/a`, so all variables become unknown.
        state = state.to_unknown()
        return state.merge(turn(state))

    def _walk_simple(self, command: syntax.SimpleCommand, state: State, stdin: Value) -> Outcome:
        words = tuple(value for word in command.words for value in self._expander(state).expand(word))
        assigned: list[tuple[str, Value]] = []
        changing = state
        for assignment in command.assignments:
            value = self._expander(changing).expand_whole(assignment.value)
            assigned.append((assignment.name, value))
            changing = changing.with_variable(assignment.name, any_text_of(value))
        draft = Draft(self.catalog, command.source, words, state.folders)
        stdin, hidden = _read_redirects(draft, command.redirects, self._expander(state), stdin)
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
        if any(map(_may_assign, reading.reports)):
            state, changing = state.with_hidden_assignments(), changing.with_hidden_assignments()
        if any(map(_CHANGES_SHELL.fullmatch, names)) or (split and "export" in names):
            return Outcome(state.to_unknown(), state.to_unknown(), output)
        if reading.builtin is None:
            return Outcome(state, state, output)
        if reading.builtin.entry.name in ("break", "continue"):
            self._left.append(state)
        cut = any(name == "IFS" and value.known != "" for name, value in assigned)
        # `x=1 export x` keeps the value; what other builtins do with it does not matter.
        return Outcome(*_apply_builtin(reading.builtin, changing, UNKNOWN_INPUT if cut else stdin), output)

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
    """Return True if a loop condition is just a `read`, which takes one line of the loop's input."""
    first, *others = condition.items
    return not others and _READ.fullmatch(_simple_source(first.pipeline)) is not None


def _simple_source(pipeline: syntax.Pipeline) -> str:
    command = pipeline.commands[0]
    if len(pipeline.commands) > 1 or pipeline.negated or not isinstance(command, syntax.SimpleCommand):
        return ""
    return command.source


def _apply_builtin(call: ParsedCall, state: State, stdin: Value) -> tuple[State, State]:
    """Return the shell's state if the builtin succeeded, and its state if the builtin failed."""
    match call.entry.name:
        case "exit":  # not `break` and `continue`: outside loops, and in some subshells, they do nothing
            return UNREACHED, UNREACHED
        case "cd" | "pushd" | "popd":
            return _change_folder(call, state), state
        case "export" | "unset":
            for name, value in map(split_assignment, call.operands):
                state = state.with_variable(name, value)
        case "read":
            state = _read_variables(call, state, stdin)
    return state, state


def _change_folder(call: ParsedCall, state: State) -> State:
    name = call.entry.name
    path = call.operands[0].known if call.operands else "~"
    if path is None or path[:1] in ("-", "+") or name == "popd" or (name == "pushd" and not call.operands):
        return state.in_folders([None])
    # `cd` drops `name/..`; if the result does not exist, it follows the link `name` after all.
    return state.in_folders(
        enter_folder(folder, path, by_shell=shell) for folder in state.folders for shell in (True, False)
    )


def _read_variables(call: ParsedCall, state: State, stdin: Value) -> State:
    """Return the state after `read` has set its variables to a line of the input."""
    options = {option.spelling: option.word for option in call.options}
    end = options.pop("-d", None)
    # Without -r the command itself has a doubt.
    plain = set(options) <= {"-r", "-s"} and (end is None or end.known == "")
    takes_line = plain and len(call.operands) == 1 and stdin.certainty is Certainty.BOUNDED
    line = cut_at_newlines(stdin) if takes_line else UNSET
    for name in call.operands or (known_value("REPLY"),):
        state = state.with_variable(name.known or "", line)
    return state


def _may_assign(report: CommandReport) -> bool:
    """Return True if a command may now or later set shell variables that the command's words do not name."""
    if _CHANGES_SHELL.fullmatch(report.name):
        return True
    return any(doubt.hides_command or _MAY_ASSIGN.fullmatch(report.name) for doubt in report.doubts)


def _may_fail(redirects: Sequence[syntax.Redirect]) -> bool:
    """Return True if a redirection can fail and keep the command from running, for example because a file is missing."""
    return any(
        redirect.operator not in ("<<", "<<<")
        and redirect.target is not None
        and redirect.target.literal
        not in (("0", "1", "2") if redirect.operator[-1] == "&" else ("/dev/null",))
        for redirect in redirects
    )


def _read_redirects(
    draft: Draft, redirects: Sequence[syntax.Redirect], expander: Expander, stdin: Value
) -> tuple[Value, Value | None]:
    """Record the effects of a command's redirections in `draft`.

    Return (the command's standard input, the text for the next command in the pipe). The second value is None if the
    output is not redirected.
    """
    output: Value | None = None
    for redirect in redirects:
        word = redirect.target or redirect.body
        assert word is not None
        match redirect.operator:
            case "<<" | "<<<":
                text = expander.expand_whole(word)
                draft.note_shown(text)
                if redirect.descriptor in (None, 0):
                    stdin = replace(text, source=redirect.source)
            case "<":
                _use(draft, redirect, expander.expand(word), "read")
                if redirect.descriptor in (None, 0):
                    stdin = unknown_value(redirect.source)
            case "<&" | ">&":
                stdin = unknown_value(redirect.source) if redirect.operator == "<&" else stdin
                if redirect.descriptor in (None, 1) or word.literal == "1":
                    output = unknown_value("")
            case _:
                _use(draft, redirect, expander.expand(word), "write")
                if redirect.descriptor in (None, 1):
                    # Errors that an earlier `2>&1` sent to the output still go there.
                    output = output or known_value("")
    return stdin, output


def _use(draft: Draft, redirect: syntax.Redirect, values: Sequence[Value], action: FileAction) -> None:
    value = values[0] if len(values) == 1 else unknown_value(redirect.source)
    socket = _SOCKET.fullmatch(value.known or "")
    if socket is not None:
        draft.effects.add(Effect.CONNECTS)
        draft.hosts.append(socket[1])
    elif value.known not in DEVICES:
        if value.many and value.known is None:
            draft.doubt("value", f"it is not certain which file {value.source} is")
        draft.add_file(value, action, FileUse("", action, redirected=True))
