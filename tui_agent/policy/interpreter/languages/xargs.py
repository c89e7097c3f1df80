"""The reader of xargs calls: the command that xargs runs, and the names that it gets from standard input.

Invariant: without `-0`, a name can be split into several words.
"""

from dataclasses import replace

from tui_agent.policy.interpreter.command_report import Certainty, Value
from tui_agent.policy.interpreter.languages.found_names import effects_of_repeating, fill_word
from tui_agent.policy.interpreter.languages.protocol import ArgumentReport, Call

_REPLACING = frozenset({"-I", "-i", "--replace"})
_COUNTING = frozenset({"-n", "--max-args", "-L", "-l", "--max-lines"})


def read_arguments(call: Call) -> ArgumentReport:
    """Interpret a call of xargs, whose operands are the command to run."""
    spellings = {spelling for spelling, _ in call.options}
    names = _fed_names(call, spellings)
    command = tuple(call.operands) or (Value("echo", Certainty.KNOWN, "echo"),)
    replacing = [(spelling, word) for spelling, word in call.options if spelling in _REPLACING]
    # Without -r, GNU xargs runs the command once even for empty input. This is left out for xargs that runs xargs.
    nested = command[0].known == "xargs"
    waits = effects_of_repeating([command])
    once = nested or spellings & {"-r", "--no-run-if-empty"}
    appended = ((*command, names),) if once else ((*command, names), command)
    if not replacing:
        return ArgumentReport(effects=waits, commands=appended, doubt="xargs runs xargs" if nested else "")
    mark = "{}" if replacing[-1][1] is None else replacing[-1][1].known
    name = replace(names, many=False)
    filled = tuple(fill_word(word, mark or "{}", name) for word in command)
    doubt = "" if mark and len(replacing) == 1 else "it is not certain which word xargs replaces"
    # If options exclude each other, GNU xargs uses the last one, or appends the names as well.
    commands = (filled, *appended) if spellings & _COUNTING else (filled,)
    return ArgumentReport(effects=waits, commands=commands, doubt=doubt)


def _fed_names(call: Call, spellings: set[str]) -> Value:
    """Return a value for the words that xargs reads from standard input."""
    # Without `-0`, xargs splits its input at blanks. A piece of a number is a number, but a piece of a file name can be
    # any text.
    delimiters = [word for spelling, word in call.options if spelling in ("-d", "--delimiter")]
    separator = delimiters[-1].known if delimiters and delimiters[-1] is not None else ""
    plain = not spellings & {"-a", "--arg-file"} and separator in ("", "\n", "\\n", "\\0")
    if call.piped is None or not plain:
        return Value("the input of xargs", Certainty.UNKNOWN, many=True, may_be_option=True)
    is_unsplit = separator == "\\0" or (not delimiters and spellings & {"-0", "--null"})
    if is_unsplit or call.piped.content in ("number", "hash"):
        return replace(call.piped, many=True)
    return replace(call.piped, many=True, splits=True, may_be_option=True)
