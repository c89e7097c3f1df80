"""L3: how builtins change the shell: the folder it is in, its variables, and whether it goes on.

Invariant: what a builtin may do is in one of the states it returns.
"""

from dataclasses import dataclass, replace
from typing import Final

from tui_agent.policy.interpreter.expansion import known_value
from tui_agent.policy.interpreter.options import ParsedCall
from tui_agent.policy.interpreter.patterns import prefix_of, without_prefix
from tui_agent.policy.interpreter.report import Certainty, Value
from tui_agent.policy.interpreter.state import START_FOLDERS, UNSET, State, enter_folder

_LEAVING: Final = frozenset({"exit", "return"})


@dataclass(frozen=True, slots=True)
class Ends:
    """The states behind a command that succeeded and behind one that failed; None: that cannot be."""

    success: State | None
    failure: State | None


def apply_builtin(name: str, call: ParsedCall, state: State, stdin: Value) -> Ends:
    """Return the states behind a call of a builtin."""
    if name in _LEAVING:
        return Ends(None, None)
    match name:
        case "true" | ":":
            return Ends(state, None)
        case "false":
            return Ends(None, state)
        case "test" | "[" | "[[":
            return Ends(state, None if _is_always_true(call) else state)
        case "cd":
            return Ends(_change_folder(state, call.operands), state)
        case "pushd":
            entered = _change_folder(state, call.operands) if call.operands else state.in_folders((None,))
            return Ends(replace(entered, stack=(*state.stack, state.folders)), state)
        case "popd":
            if not state.stack or call.operands:
                return Ends(state.in_folders((None,)), state)
            return Ends(replace(state.in_folders(state.stack[-1]), stack=state.stack[:-1]), state)
        case "export" | "readonly":
            exported = _assign(state, call.operands)
            return Ends(exported, exported)
        case "unset":
            for value in call.operands:
                state = state.with_variable(value.known or "", [UNSET])
            return Ends(state, state)
        case "read":
            return _read_variables(call, state, stdin)
        case _:
            return Ends(state, state)


def _is_always_true(call: ParsedCall) -> bool:
    """`[ 1 ]`: a single text is true unless it is empty."""
    words = [value for value in call.operands if value.known not in ("]", "]]")]
    return len(words) == 1 and bool(words[0].known)


def _change_folder(state: State, operands: tuple[Value, ...]) -> State:
    target = operands[0] if operands else known_value("~")
    path = target.known
    if path == "-":
        return state.in_folders(state.previous)
    if path is None:
        return state.in_folders((None,))
    # `cd` takes `name/..` for nothing; where no folder is there, it follows the links of `name` after all.
    ways = [enter_folder(folder, path, by_shell=shell) for folder in state.folders for shell in (True, False)]
    return state.in_folders(dict.fromkeys(ways))


def _assign(state: State, operands: tuple[Value, ...]) -> State:
    for value in operands:
        name, equals, _ = prefix_of(value).partition("=")
        if equals:
            state = state.with_variable(name, [without_prefix(value, f"{name}=")])
    return state


def _line_of(stdin: Value, state: State) -> Value:
    """A line of an input: pieces of a name that holds a line end may be any text."""
    torn = not stdin.content
    names_files = stdin.names_files and state.folders == START_FOLDERS
    may_be_option = stdin.may_be_option or torn
    return replace(stdin, many=False, splits=torn, may_be_option=may_be_option, names_files=names_files)


def _read_variables(call: ParsedCall, state: State, stdin: Value) -> Ends:
    """`read -r name`: a line of the input; several names get pieces of it, of which nothing is known."""
    options = {option.spelling: option.word for option in call.options}
    raw = set(options) <= {"-r", "-s", "-d"}  # without -r the command itself is doubted
    end = options.get("-d")
    lines = end is None or end.known == ""
    whole = raw and lines and len(call.operands) == 1 and stdin.certainty is Certainty.BOUNDED
    line = _line_of(stdin, state) if whole else UNSET
    after = state
    for value in call.operands or (known_value("REPLY"),):
        after = after.with_variable(value.known or "", [line])
    return Ends(after, after)
