"""L3: what one command does: its values are looked up in the catalog and become reports, of what it runs as well.

Invariant: a command gets a report without a doubt only if its program, options and operands are all in the catalog.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tui_agent.policy.catalog.catalog import Catalog
from tui_agent.policy.catalog.entries import Entry
from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.interpreter.draft import Draft
from tui_agent.policy.interpreter.expansion import known_value, unknown_value
from tui_agent.policy.interpreter.languages import fd, find, test, xargs
from tui_agent.policy.interpreter.languages.protocol import ArgumentReader, ArgumentReading, Call
from tui_agent.policy.interpreter.operands import Operands, assign_operands
from tui_agent.policy.interpreter.options import ParsedCall, parse_call
from tui_agent.policy.interpreter.output import bound_output
from tui_agent.policy.interpreter.reach import measure_reach
from tui_agent.policy.interpreter.report import Certainty, CommandReport, Doubt, FileUse, Value
from tui_agent.policy.interpreter.state import Folders

MAX_DEPTH: Final = 5
"""Commands that run one another."""
MAX_TEXT_DEPTH: Final = 3
"""The same for those that run a text of bash."""
_SYSTEM_FOLDERS: Final = frozenset({"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"})
UNKNOWN_INPUT: Final = unknown_value("")
_ONE_NAME: Final = re.compile(r"[\w./@:+-]+\n?")
_INPUT: Final = re.compile(r"-|/dev/stdin|/proc/self/fd/0|/dev/fd/.*", re.DOTALL)
_ARGUMENT_READERS: Final[Mapping[str, ArgumentReader]] = {
    "fd": fd.read_arguments,
    "find": find.read_arguments,
    "test": test.read_arguments,
    "xargs": xargs.read_arguments,
}
_TESTS: Final = frozenset({"test", "[", "[["})
_NUMERIC_TESTS: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-t"})
_SHOW_ALL: Final = frozenset({"export", "set"})


@dataclass(frozen=True, slots=True)
class Context:
    """The surroundings of a command. `stdin` is its standard input: `KNOWN` the whole text, `BOUNDED` a pattern of each line.
    `settings` are variables in front of it. `parameters` are `$0`, `$1` and so on of a text of bash that it runs."""

    source: str
    folders: Folders = ("",)
    stdin: Value = UNKNOWN_INPUT
    settings: tuple[tuple[str, Value], ...] = ()
    parameters: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Reports of a command and of all that it runs, in order; `output` bounds what it prints. `builtin` is the call of a
    builtin, which may change the shell itself."""

    reports: tuple[CommandReport, ...]
    output: Value
    builtin: tuple[str, ParsedCall] | None = None


RunText = Callable[[str, Context], tuple[tuple[CommandReport, ...], Value, Doubt | None]]
"""Reads a text of bash that a command runs: its reports, its output, and a doubt where it cannot be read."""


@dataclass
class CommandReader:
    """Reads commands by a catalog."""

    _catalog: Catalog
    _run_text: RunText
    _depth: int = 0

    def read(self, words: Sequence[Value], context: Context) -> CommandResult:
        """Read a command; the first word is its program."""
        draft = Draft(self._catalog, context.source, words, context.folders)
        program = None if words[0].many else words[0].known
        for name, value in context.settings:
            if name != "IFS" or program != "read":
                draft.set_variable(name, value)
        if self._depth > MAX_DEPTH:
            return _read_unknown(draft, "too many commands run one another", (), hides=True)
        if program is None:
            reason = f"it is not certain which program {words[0].source} is"
            return _read_unknown(draft, reason, words[1:], hides=True)
        entry = self._look_up(draft, program)
        if entry is None:
            return _read_unknown(draft, f"it is not known what {program or 'an empty name'} does", words[1:])
        call = parse_call(entry, words[1:], stops=bool(entry.program.subcommands))
        if entry.program.subcommands and call.operands and not call.ends:
            return self._read_subcommand(draft, call, context)
        return self._read_known(draft, call, context)

    def _look_up(self, draft: Draft, program: str) -> Entry | None:
        draft.name = program
        if " " in program:
            return None  # the catalog names subcommands so
        folder, slash, name = program.rpartition("/")
        if not slash:
            return self._catalog.entry(program)
        draft.add_use(FileUse(program, "read"))
        folder = re.sub(r"^(//|(\.\./)+)", "/", posixpath.normpath(folder))
        if folder not in _SYSTEM_FOLDERS:
            return None
        draft.name = name
        if program.startswith("."):
            draft.effects.add(Effect.RUNS)
        entry = self._catalog.entry(name)
        # Nobody but the system writes these folders; a builtin differs from the file of its name.
        if entry is None or entry.program.builtin or program not in (f"/bin/{name}", f"/usr/bin/{name}"):
            draft.doubt("program", f"{program} is a file, which need not be the usual {name}")
        return entry

    def _read_subcommand(self, draft: Draft, front: ParsedCall, context: Context) -> CommandResult:
        entry, (first, *behind) = front.entry, front.operands
        draft.name, draft.entry = entry.name, entry
        draft.doubts += front.doubts
        _use_options(draft, front)
        sub = self._catalog.subcommand(entry, list(_plain_texts([first, *behind[:1]])))
        if sub is None:
            reason = f"it is not known what {entry.name} {first.known or first.source} does"
            return _read_unknown(draft, reason, behind, hides=first.known is None)
        arguments = [first, *behind][sub.name.count(" ") :]
        return self._read_known(draft, parse_call(sub, arguments), context)

    def _read_known(self, draft: Draft, call: ParsedCall, context: Context) -> CommandResult:
        """Read a call of a known program."""
        call = self._choose_entry(call)
        draft.entry, draft.name, program = call.entry, call.entry.name, call.entry.program
        replaced = any(
            option.option is not None and option.option.replaces_operand for option in call.options
        )
        expected = program.operands[replaced:]
        operands = Operands() if call.ends else assign_operands(draft.name, expected, call.operands)
        draft.doubts += (*call.doubts, *operands.doubts)
        draft.effects |= {Effect.READS} if call.ends else program.effects
        draft.reach = measure_reach(program, call.options, operands)
        _use_options(draft, call)
        _use_operands(draft, call, operands)
        _use_scripts(draft, call, operands, context.stdin)
        _note_shown(draft, call)
        inner, output = self._run(draft, call, operands, context)
        output = output or bound_output(draft, call, context.stdin)
        if output.names_files and output.found_in is None:
            output = replace(output, found_in=draft.folders)
        builtin = (draft.name, call) if program.builtin else None
        if draft.name in ("command", "builtin") and inner:
            builtin = inner[0].builtin
        reports = (draft.report(), *(report for reading in inner for report in reading.reports))
        return CommandResult(reports, output, builtin)

    def _choose_entry(self, call: ParsedCall) -> ParsedCall:
        """Return a call as the entry parses it that counts with its options."""
        named = [option for option in call.options if option.option is not None and option.option.entry]
        name = named[0].option.entry if named and named[0].option is not None else ""
        other = self._catalog.variant(call.entry, name) if name else None
        if other is None:
            return call
        again, spelling = parse_call(other, call.words), named[0].spelling
        if all(parsed.spelling != spelling for parsed in again.options):
            doubt = Doubt("option", f"{spelling} of {call.entry.name} stands where a word is expected")
            again = replace(again, doubts=(*again.doubts, doubt))
        return again

    def _run(
        self, draft: Draft, call: ParsedCall, operands: Operands, context: Context
    ) -> tuple[list[CommandResult], Value | None]:
        """Read what the command runs: a command behind it, texts of bash, what a language of arguments starts. Return what
        bounds its output, too, where that tells."""
        inside = Context(draft.source, draft.folders, context.stdin, tuple(draft.settings))
        commands: Sequence[Sequence[Value]] = ()
        output: Value | None = None
        if operands.taker == "command":
            default = call.entry.program.default_operand
            commands = [operands.rest] if operands.rest else [[known_value(default)]] if default else []
        elif operands.taker is not None and not call.ends:
            reading = _read_arguments(draft, call, operands, context)
            commands, output = reading.commands, reading.prints or unknown_value(draft.source)
            inside = replace(inside, stdin=UNKNOWN_INPUT)
        self._depth += 1
        inner = [self.read(words, inside) for words in commands]
        if call.entry.program.operands[:1] == ("script file",):
            inside = replace(inside, parameters=call.operands)
        texts = [text.known for text in draft.scripts]
        if draft.name == "eval" and None not in texts and texts:
            draft.scripts = [known_value(" ".join(text or "" for text in texts))]
        inner += [self._read_text(draft, text, inside) for text in draft.scripts]
        self._depth -= 1
        draft.runs_next = bool(inner)
        if operands.taker == "command" or (draft.scripts and len(inner) == 1):
            output = inner[0].output if inner else None
        return inner, output

    def _read_text(self, draft: Draft, text: Value, inside: Context) -> CommandResult:
        if text.known is None or self._depth > MAX_TEXT_DEPTH:
            draft.effects.add(Effect.RUNS)
            draft.doubt("value", f"it is not certain which commands {text.source} holds", hides=True)
            return CommandResult((), unknown_value(draft.source))
        draft.code.append(text.known)
        reports, output, doubt = self._run_text(text.known, inside)
        if doubt is not None:
            draft.effects.add(Effect.RUNS)
            draft.doubts.append(doubt)
        return CommandResult(reports, output)


def _read_unknown(draft: Draft, reason: str, words: Sequence[Value], *, hides: bool = False) -> CommandResult:
    draft.effects.add(Effect.RUNS)
    draft.doubt("program", reason, hides=hides)
    for value in words:
        draft.mention(value)
    return CommandResult((draft.report(),), unknown_value(draft.source))


def _plain_texts(values: Sequence[Value]) -> Iterator[str]:
    """The texts of words up to the first that is an option or not certain."""
    for value in values:
        if value.known is None or value.many or value.known.startswith("-") or " " in value.known:
            return
        yield value.known


def _use_options(draft: Draft, call: ParsedCall) -> None:
    """Note what options mean; folders first, as other words are relative to them."""
    if draft.name == "read" and all(option.spelling != "-r" for option in call.options):
        draft.doubt("value", "read without -r takes the backslashes out of what it reads")
    for parsed in sorted(
        call.options, key=lambda parsed: parsed.option is None or parsed.option.means != "enter"
    ):
        option = parsed.option
        if option is None:
            if parsed.word is not None:
                draft.mention(parsed.word)
            continue
        draft.effects |= option.effects
        if parsed.word is not None and option.means != "setting":
            draft.use(option.means, parsed.word)
        if parsed.second is not None and option.second is not None:
            draft.use(option.second, parsed.second)


def _use_operands(draft: Draft, call: ParsedCall, operands: Operands) -> None:
    for place, (meaning, value) in enumerate(operands.used):
        if meaning == "enter" and call.entry.program.builtin:
            continue  # `cd` itself shows nothing, and what follows is judged in its folder
        draft.use(
            "path filter" if meaning == "revision or path" and place >= call.guarded else meaning, value
        )
    default = call.entry.program.default_operand
    if operands.missing not in (None, "command") and default:
        draft.use(operands.missing, known_value(default))


def _use_scripts(draft: Draft, call: ParsedCall, operands: Operands, stdin: Value) -> None:
    """Note a script that the program reads from its input. All that a shell does is what its script does."""
    given = [
        parsed.option.means
        for parsed in call.options
        if parsed.option is not None and parsed.word is not None
    ]
    has_script = "shell script" in given
    names = [value.known or "" for meaning, value in operands.used if meaning == "script file"]
    missing = operands.missing == "script file" and not call.entry.program.default_operand
    if missing or any(map(_INPUT.fullmatch, names)):
        text = replace(stdin, source="its input")
        is_shell = any(option.means == "shell script" for option in call.entry.options.values())
        draft.use("shell script" if is_shell else "code", text)
        has_script = has_script or is_shell
    if has_script:
        draft.effects.discard(Effect.RUNS)
    if Effect.RUNS in draft.effects:
        # What the code does with its words is not known: they may name files.
        for meaning, value in operands.used:
            if meaning == "text":
                draft.mention(value)


def _note_shown(draft: Draft, call: ParsedCall) -> None:
    """Note variables that the command shows."""
    if draft.name in _SHOW_ALL and not call.words:
        draft.show_secret("all variables")
    # A test prints none of its words, but in the error about one that is not a number.
    if draft.name not in _TESTS or any(value.known in _NUMERIC_TESTS for value in call.words):
        for value in call.words:
            draft.note_shown(value)


def _read_arguments(draft: Draft, call: ParsedCall, operands: Operands, context: Context) -> ArgumentReading:
    """Read a call of find, fd, xargs or test."""
    name = context.stdin.known is not None and _ONE_NAME.fullmatch(context.stdin.text)
    piped = context.stdin if name or context.stdin.certainty is Certainty.BOUNDED else None
    parsed = tuple((option.spelling, option.word) for option in call.options)
    reading = _ARGUMENT_READERS[operands.taker or ""](Call(call.words, parsed, operands.rest, piped))
    for use in reading.files:
        draft.add_use(use)
    draft.effects |= reading.effects
    if reading.doubt:
        draft.doubt("language", reading.doubt)
    return reading
