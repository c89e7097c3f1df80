"""The shell builtins that change the shell's folder or variables, or that end the shell.

Invariant: the two states from `apply_builtin` cover everything that a builtin can do.
"""

from tui_agent.policy.interpreter.expansion import known_value
from tui_agent.policy.interpreter.options import ParsedCall
from tui_agent.policy.interpreter.patterns import cut_at_newlines, split_assignment
from tui_agent.policy.interpreter.report import Certainty, Value
from tui_agent.policy.interpreter.state import UNREACHED, UNSET, State, enter_folder


def apply_builtin(call: ParsedCall, state: State, stdin: Value) -> tuple[State, State]:
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
    whole = plain and len(call.operands) == 1 and stdin.certainty is Certainty.BOUNDED
    line = cut_at_newlines(stdin) if whole else UNSET
    for name in call.operands or (known_value("REPLY"),):
        state = state.with_variable(name.known or "", line)
    return state
