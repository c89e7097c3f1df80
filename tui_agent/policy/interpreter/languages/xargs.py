"""L3: reads calls of xargs: the command that it runs, with the names that it is fed.

Invariant: without `-0` a name may fall into pieces, and what nothing bounds may be any text; an option that takes the
place of another is doubted.
"""

from dataclasses import replace

from tui_agent.policy.interpreter.languages.found_names import fill_word
from tui_agent.policy.interpreter.languages.protocol import ArgumentReading, Call
from tui_agent.policy.interpreter.report import Certainty, Value

_REPLACING = frozenset({"-I", "-i", "--replace"})
_COUNTING = frozenset({"-n", "--max-args", "-L", "-l", "--max-lines"})


def read_arguments(call: Call) -> ArgumentReading:
    """Read a call; the first operand is the command, and it is echo where there is none."""
    given = {spelling for spelling, _ in call.options}
    names = _fed_names(call, given)
    command = tuple(call.operands) or (Value("echo", Certainty.KNOWN, "echo"),)
    replacing = [(spelling, word) for spelling, word in call.options if spelling in _REPLACING]
    if not replacing:
        return ArgumentReading(commands=((*command, names),))
    mark = "{}" if replacing[-1][1] is None else replacing[-1][1].known
    name = replace(names, many=False)
    filled = tuple(fill_word(word, mark or "{}", name) for word in command)
    excluded = bool(given & _COUNTING)
    """GNU xargs then takes the last of these options, or appends all the same."""
    doubt = "" if mark and len(replacing) == 1 else "it is not certain which word xargs replaces"
    return ArgumentReading(commands=(filled, (*command, names)) if excluded else (filled,), doubt=doubt)


def _fed_names(call: Call, given: set[str]) -> Value:
    piped = call.piped
    if piped is None or given & {"-a", "--arg-file"}:
        return Value("what xargs is fed", Certainty.UNKNOWN, many=True, may_be_option=True)
    if given & {"-0", "--null"}:
        return replace(piped, many=True)
    return replace(piped, many=True, splits=True, may_be_option=True)
