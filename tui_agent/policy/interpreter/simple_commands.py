"""Reads a command: looks up its words in the catalog, and reports on the command and the commands inside it.

Invariant: a report is free of doubts only if the program and all options and operands are in the catalog.
"""

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.catalog.catalog import Catalog
from tui_agent.policy.catalog.catalog_entry import Entry
from tui_agent.policy.catalog.catalog_schema import Effect, Meaning
from tui_agent.policy.interpreter.call_options import UNLISTED, ParsedCall, parse_call
from tui_agent.policy.interpreter.command_report import Certainty, CommandReport, Doubt, FileUse, Value
from tui_agent.policy.interpreter.expansion import known_value, unknown_value
from tui_agent.policy.interpreter.languages import fd, find, test, xargs
from tui_agent.policy.interpreter.languages.protocol import ArgumentReader, ArgumentReport, Call
from tui_agent.policy.interpreter.operands import Operands, assign_operands
from tui_agent.policy.interpreter.output_bound import bound_output
from tui_agent.policy.interpreter.reach import measure_reach
from tui_agent.policy.interpreter.report_draft import Draft
from tui_agent.policy.interpreter.shell_state import State, goes_back, join_path

MAX_DEPTH: Final = 5
"""Maximum nesting depth of commands and scripts that start one another."""
_SYSTEM_FOLDERS: Final = frozenset({"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"})
_VENV_PROGRAM: Final = re.compile(r"(?:(?!~|\.\./)[^/]+/)*\.?venv/bin/(?:python[\d.]*|pip[\d.]*|pytest)")
"""Matches the path of a program in a virtual environment of the workspace."""
UNKNOWN_INPUT: Final = unknown_value("")
_ONE_NAME: Final = re.compile(r"[\w./@:+-]+\n?")
_JOB: Final = re.compile(r"%(\d*|[%+-])")
"""Matches the shell's name of a background job, such as `%1`."""
_FILE_NAME: Final = re.compile(r"\w[\w.-]*")
_PLAIN: Final = re.compile(r"[^- ][^ ]*", re.DOTALL)
"""Matches a word that can be the name of a subcommand."""

_READ_NO_INPUT: Final = frozenset(("cd", "date", "du", "echo", "git", "ls", "pwd", "stat", "true"))
"""Names of programs that never read standard input."""
_INPUT: Final = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_ARGUMENT_READERS: Final[Mapping[str, ArgumentReader]] = {
    "fd": fd.read_arguments,
    "find": find.read_arguments,
    "test": test.read_arguments,
    "xargs": xargs.read_arguments,
}
_LN_RELATIVE: Final = frozenset({"-r", "--relative"})
"""Options of `ln`: the target's path is relative to the current folder, as for hard links."""
_TESTS: Final = frozenset({"test", "[", "[["})
_NUMERIC_TESTS: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-t"})
_SHOW_ALL: Final = frozenset({"export", "set"})


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The reports of a command and of all commands that it runs, in order.

    - `output`: a value that covers all possible output of the command.
    - `builtin`: the call of a shell builtin, which can change the shell itself.
    """

    reports: tuple[CommandReport, ...]
    output: Value
    builtin: ParsedCall | None = None


RunText = Callable[[str, State, Value], tuple[tuple[CommandReport, ...], Value, Doubt | None]]
"""Function that interprets a bash script that a command runs.

- Arguments: the script's text, the state of the shell, and the standard input.
- Result: the reports of the script's commands, a value for their output, and a doubt if the script is refused.
"""


@dataclass
class CommandReader:
    """Interprets single commands, using a catalog.

    `stdin`: the standard input of a command. A `KNOWN` value is the whole input. A `BOUNDED` value is a pattern of each
    line.
    """

    _run_text: RunText
    _depth: int = 0

    def read(self, draft: Draft, stdin: Value) -> CommandResult:
        """Interpret the command in `draft`."""
        words = draft.words
        program = None if words[0].many else words[0].known
        if self._depth > MAX_DEPTH:
            return _read_unknown(draft, "commands are nested too deeply", (), hides=True)
        if program is None:
            reason = f"it is not certain which program {words[0].source} is"
            return _read_unknown(draft, reason, words[1:], hides=True)
        entry = _look_up(draft, program)
        if entry is None:
            return _read_unknown(draft, f"it is not known what {program or 'an empty name'} does", words[1:])
        # The options after a subcommand belong to the subcommand.
        call = parse_call(entry, words[1:], stops=bool(entry.program.subcommands))
        if entry.program.subcommands and call.operands and not call.ends:
            return self._read_subcommand(draft, call, stdin)
        return self._read_known(draft, call, stdin)

    def _read_subcommand(self, draft: Draft, front: ParsedCall, stdin: Value) -> CommandResult:
        entry, (first, *behind) = front.entry, front.operands
        plain = takewhile(
            lambda value: not value.many and _PLAIN.fullmatch(value.known or ""), front.operands[:2]
        )
        names = [value.text for value in plain]
        sub = draft.catalog.subcommand(entry, names)
        if sub is not None and sub.takes_no_words and len(front.operands) > sub.name.count(" "):
            # `git config user.name` has an entry; with a value it is a call of `git config`.
            sub = draft.catalog.subcommand(entry, names[:1])
        if sub is None and entry.program.operands:
            return self._read_known(draft, parse_call(entry, front.words), stdin)
        draft.name, draft.entry = entry.name, entry
        draft.doubts += front.doubts
        _use_options(draft, front)
        if sub is None:
            reason = f"it is not known what {entry.name} {first.known or first.source} does"
            return _read_unknown(draft, reason, behind, hides=first.known is None)
        arguments = [first, *behind][sub.name.count(" ") :]
        return self._read_known(draft, parse_call(sub, arguments), stdin)

    def _read_known(self, draft: Draft, call: ParsedCall, stdin: Value) -> CommandResult:
        call = _choose_entry(draft.catalog, call)
        draft.entry, draft.name, program = call.entry, call.entry.name, call.entry.program
        expected = program.operands[any(parsed.option.replaces_operand for parsed in call.options) :]
        operands = Operands() if call.ends else assign_operands(draft.name, expected, call.operands)
        draft.doubts += (*call.doubts, *operands.doubts)
        draft.effects |= {Effect.READS} if call.ends else program.effects
        draft.reach = measure_reach(program, call.options, operands)
        _use_options(draft, call)
        _use_operands(draft, call, operands)
        _use_scripts(draft, call, operands, stdin)
        _note_shown(draft, call)
        inner, output = self._run(draft, call, operands, stdin)
        output = output or bound_output(draft, call, stdin)
        builtin = call if program.builtin else None
        if draft.name in ("command", "builtin") and inner:
            builtin = inner[0].builtin
        reports = (draft.report(), *(report for reading in inner for report in reading.reports))
        return CommandResult(reports, output, builtin)

    def _run(
        self, draft: Draft, call: ParsedCall, operands: Operands, stdin: Value
    ) -> tuple[list[CommandResult], Value | None]:
        """Interpret everything that the draft's command runs: inner commands or a script.

        The second result is a value that matches all output of the command. It is None if the inner commands do not
        determine the output.
        """
        commands: Sequence[Sequence[Value]] = ()
        output: Value | None = None
        if operands.taker == "command":
            default = call.entry.program.default_operand
            commands = [operands.rest] if operands.rest else [[known_value(default)]] if default else []
            draft.local_program = _find_local_program(draft, call, operands)
        elif operands.taker is not None and not call.ends:
            reading = _read_arguments(draft, call, operands, stdin)
            prints = reading.prints or unknown_value(draft.source)
            commands, output = reading.commands, replace(prints, found_in=draft.folders)
            stdin = UNKNOWN_INPUT
        self._depth += 1
        inner = [self.read(draft.begin_inner(words), stdin) for words in commands]
        has_parameters = call.entry.program.operands[:1] == ("script file",)
        state = State(_name_parameters(call.operands) if has_parameters else {}, draft.folders)
        texts = [text.known for text in draft.scripts]
        # `eval` joins its arguments with blanks, and runs the text as one script.
        if draft.name == "eval" and texts and None not in texts:
            draft.scripts = [known_value(" ".join(text or "" for text in texts))]
        inner += [self._read_text(draft, text, state, stdin) for text in draft.scripts]
        self._depth -= 1
        draft.runs_next = bool(inner)
        if operands.taker == "command" or (draft.scripts and len(inner) == 1):
            output = inner[0].output if inner else None
        return inner, output

    def _read_text(self, draft: Draft, text: Value, state: State, stdin: Value) -> CommandResult:
        if text.known is None:
            draft.effects.add(Effect.RUNS)
            draft.doubt("value", f"it is not certain which commands {text.source} contains", hides=True)
            return CommandResult((), unknown_value(draft.source))
        draft.code.append(text.known)
        reports, output, doubt = self._run_text(text.known, state, stdin)
        if text.source == _input_of(draft) and "\n" in text.known.strip("\n"):
            names = {report.name.partition(" ")[0] for report in reports}
            if names - _READ_NO_INPUT:
                doubt = Doubt(
                    "value",
                    "a command in the script may read the script's later lines as its input",
                    hides_command=True,
                )
        if doubt is not None:
            draft.effects.add(Effect.RUNS)
            draft.doubts.append(doubt)
        return CommandResult(reports, output)


def _input_of(draft: Draft) -> str:
    """Return the name of the standard input of the draft's program, for a reason that the user reads."""
    return f"the input of {draft.name}"


def _look_up(draft: Draft, program: str) -> Entry | None:
    draft.name = program
    if " " in program:
        return None  # a name with a blank is a subcommand in the catalog
    folder, slash, name = program.rpartition("/")
    if not slash:
        return draft.catalog.entry(program)
    back = _paths_back_to_venv(draft, program)
    if (back or _VENV_PROGRAM.fullmatch(program)) and (entry := draft.catalog.entry(name)) is not None:
        draft.name = name
        if back:
            draft.files += [FileUse(path, "start") for path in back]
        else:
            draft.add_use(FileUse(program, "start"))
            # The program itself is usually a link, so its folder shows where the environment is.
            draft.add_use(FileUse(folder, "list"))
        draft.effects.add(Effect.RUNS)  # whoever wrote the environment decides what it runs
        return entry
    draft.add_use(FileUse(program, "read"))
    # Enough `..` lead to the root, so `../../bin/x` can be a system program. It can also be a file of the workspace:
    # see below.
    folder = re.sub(r"^(//|(\.\./)+)", "/", posixpath.normpath(folder))
    if folder not in _SYSTEM_FOLDERS:
        return None
    draft.name = name
    if program.startswith("."):
        draft.effects.add(Effect.RUNS)
    entry = draft.catalog.entry(name)
    # Only the system writes /bin and /usr/bin; a builtin may differ from the file of the same name.
    if entry is None or entry.program.builtin or program not in (f"/bin/{name}", f"/usr/bin/{name}"):
        draft.doubt("program", f"{program} is a file that may differ from the usual {name}")
    return entry


def _paths_back_to_venv(draft: Draft, program: str) -> list[str]:
    """Return the normalized path of a program such as `../.venv/bin/python`, and of its part up to the last `..`.

    There are several of each if the current folder is not certain. The list is empty unless `program` has a `..` and
    is certainly in a virtual environment of the workspace.
    """
    joined = [join_path(folder, program) for folder in draft.folders if folder is not None]
    normalized = [posixpath.normpath(path) for path in joined]
    if None in draft.folders or not all(
        goes_back(path) and _VENV_PROGRAM.fullmatch(plain)
        for path, plain in zip(joined, normalized, strict=True)
    ):
        return []
    # The program itself is usually a link, so only the paths up to `..` show whether a link makes `..` lead elsewhere.
    return normalized + [path[: path.rindex("..") + 2] for path in joined]


def _choose_entry(catalog: Catalog, call: ParsedCall) -> ParsedCall:
    """Parse the call again if one of its options selects another entry (`git branch --list`)."""
    named = next((parsed for parsed in call.options if parsed.option.entry), None)
    other = None if named is None else catalog.variant(call.entry, named.option.entry)
    if named is None or other is None:
        return call
    again, spelling = parse_call(other, call.words), named.spelling
    if all(parsed.spelling != spelling for parsed in again.options):
        doubt = Doubt("option", f"{call.entry.name} takes {spelling} as the value of the option before it")
        again = replace(again, doubts=(*again.doubts, doubt))
    return again


def _read_unknown(draft: Draft, reason: str, words: Sequence[Value], *, hides: bool = False) -> CommandResult:
    draft.effects.add(Effect.RUNS)
    draft.doubt("program", reason, hides=hides)
    for value in words:
        draft.mention(value)
    return CommandResult((draft.report(),), unknown_value(draft.source))


def _name_parameters(values: Sequence[Value]) -> dict[str, Value]:
    """Return a script's variables `$0`, `$1`, …, up to the first value that can become several words."""
    certain = list(takewhile(lambda value: not value.many, values))
    return {str(place): replace(value, splits=False) for place, value in enumerate(certain[:10])}


def _use_options(draft: Draft, call: ParsedCall) -> None:
    """Record the effects of the call's options in `draft`."""
    if draft.name == "read" and all(option.spelling != "-r" for option in call.options):
        draft.doubt("value", "`read` without -r removes backslashes from its input")
    # An option such as `-C FOLDER` changes the folder of all file names, so it comes first.
    for parsed in sorted(call.options, key=lambda parsed: parsed.option.means != "enter"):
        option = parsed.option
        if parsed.word is None or parsed.word.known not in option.harmless_values:
            draft.effects |= option.effects
        if parsed.word is not None and option is UNLISTED:
            draft.mention(parsed.word)
        elif parsed.word is not None and option.means != "setting":
            draft.use(option.means, parsed.word)
        if parsed.second is not None and option.second is not None:
            draft.use(option.second, parsed.second)


def _use_operands(draft: Draft, call: ParsedCall, operands: Operands) -> None:
    used = _from_link_folder(operands.used) if _makes_symbolic_link(draft, call) else operands.used
    for place, (meaning, value) in enumerate(used):
        draft.use(
            "path filter" if meaning == "revision or path" and place >= call.guarded else meaning, value
        )
    default = call.entry.program.default_operand
    if operands.missing not in (None, "command") and default:
        draft.use(operands.missing, known_value(default))
    prints = any(Effect.PRINTS_SECRETS in parsed.option.effects for parsed in call.options)
    if draft.name == "git config" and len(operands.used) == 2 and not (draft.doubts or prints):
        draft.effects.discard(
            Effect.PRINTS_SECRETS
        )  # A setting's name and value: git changes it and prints nothing.
    processes = [value for meaning, value in operands.used if meaning == "process"]
    # `kill %1` and `kill $!` end only what the same shell has started.
    if processes and not draft.doubts and all(map(_is_background_job, processes)):
        draft.effects.discard(Effect.ENDS_PROCESSES)


def _makes_symbolic_link(draft: Draft, call: ParsedCall) -> bool:
    """Return True for `ln -s` if the last operand is certainly the link, which it is not after `-t`."""
    spellings = {option.spelling for option in call.options}
    return (
        draft.name == "ln"
        and not call.doubts
        and not spellings.isdisjoint({"-s", "--symbolic"})
        and spellings.isdisjoint(_LN_RELATIVE)
    )


def _from_link_folder(used: Sequence[tuple[Meaning, Value]]) -> list[tuple[Meaning, Value]]:
    """Return the operands of `ln -s`. Certain targets are joined to the link's folder, to which they are relative."""
    link = used[-1][1].known if used else None
    folder = posixpath.dirname(link or "")
    return [
        (meaning, replace(value, text=posixpath.join(folder, value.text)))
        if meaning == "read" and folder and value.known and not value.known.startswith("~")
        else (meaning, value)
        for meaning, value in used
    ]


def _is_background_job(value: Value) -> bool:
    return value.background_job or _JOB.fullmatch(value.known or "") is not None


def _use_scripts(draft: Draft, call: ParsedCall, operands: Operands, stdin: Value) -> None:
    """Record in the draft if the program reads a script from standard input."""
    has_script = any(parsed.option.means == "shell script" for parsed in call.options if parsed.word)
    names = [value.known or "" for meaning, value in operands.used if meaning == "script file"]
    missing = operands.missing == "script file" and not call.entry.program.default_operand
    from_input = missing or not _INPUT.isdisjoint(names)
    if from_input or any(name.startswith(("/dev/fd/", "/proc/")) for name in names):
        text = replace(stdin if from_input else UNKNOWN_INPUT, source=_input_of(draft))
        is_shell = any(option.means == "shell script" for option in call.entry.options.values())
        draft.use("shell script" if is_shell else "code", text)
        has_script = has_script or is_shell
    if has_script:
        draft.effects.discard(Effect.RUNS)
    if Effect.RUNS in draft.effects:
        # The code may use its arguments as file names.
        for meaning, value in operands.used:
            if meaning == "text":
                draft.mention(value)


def _note_shown(draft: Draft, call: ParsedCall) -> None:
    if draft.name in _SHOW_ALL and not call.words:
        draft.show_secret("all variables")
    # A test prints its words only in an error about a word that is not a number.
    if draft.name not in _TESTS or any(value.known in _NUMERIC_TESTS for value in call.words):
        for value in call.words:
            draft.note_shown(value)


def _find_local_program(draft: Draft, call: ParsedCall, operands: Operands) -> str:
    """Return the path of the local program that `npx` or a similar program prefers (`node_modules/.bin/tsc`).

    The file may be missing. Return an empty string if there is no local program or if its path is not certain.
    """
    folder, words = call.entry.program.local_programs, operands.rest
    if not folder or not words or words[0].many or not _FILE_NAME.fullmatch(words[0].known or ""):
        return ""
    flags = {spelling for spelling, option in call.entry.options.items() if option.word == "none"}
    before = {word.known for word in draft.words[1 : len(draft.words) - len(words)]}
    is_plain = not draft.doubts and before <= {*draft.name.split(), "--", *flags}
    return f"{folder}/{words[0].known}" if is_plain else ""


def _read_arguments(draft: Draft, call: ParsedCall, operands: Operands, stdin: Value) -> ArgumentReport:
    name = stdin.known is not None and _ONE_NAME.fullmatch(stdin.text)
    piped = stdin if name or stdin.certainty is Certainty.BOUNDED else None
    parsed = tuple((option.spelling, option.word) for option in call.options)
    reading = _ARGUMENT_READERS[operands.taker or ""](Call(call.words, parsed, operands.rest, piped))
    for use in reading.files:
        draft.add_use(use)
    draft.effects |= reading.effects
    if reading.doubt:
        draft.doubt("language", reading.doubt)
    return reading
