"""Entry point: runs the command named on the command line, prints errors as one line and returns an exit status.

Invariant: only the called command's module is imported, and every exit goes through `main`. Secrets are removed from
everything that is written on standard error.
"""

import difflib
import errno
import io
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stderr, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, TextIO

from tui_agent import __version__
from tui_agent.cli.console import exit_codes
from tui_agent.cli.console.shared_options import Parser
from tui_agent.errors import TuiAgentError, UsageError
from tui_agent.lazy_import import load_module
from tui_agent.protocol.unicode_text import replace_invisible

if TYPE_CHECKING:
    from tui_agent.store.redaction.redactor import Redactor


class Verb(NamedTuple):
    """One command of tui-agent, such as `run`: its module and its line in the list of commands.

    The module has the functions `configure(parser)` and `run(arguments) -> int`.
    """

    module: str
    summary: str


VERBS: dict[str, Verb] = {
    "run": Verb("tui_agent.cli.run.command", "run one turn without the app and print the answer"),
    "demo": Verb("tui_agent.cli.run.demo", "watch a built-in scenario, offline"),
    "sessions": Verb("tui_agent.cli.sessions.command", "list, show and manage recorded sessions"),
    "trace": Verb("tui_agent.cli.trace.command", "summarise a session: events, tools, files, tokens, cost"),
    "query": Verb("tui_agent.cli.query", "query all sessions with SQL"),
    "checkout-part": Verb(
        "tui_agent.cli.checkout_part",
        "copy the workspace's files, as they were after one message, answer, call or result",
    ),
    "compare": Verb("tui_agent.cli.compare", "compare two sessions or branches"),
    "replay": Verb("tui_agent.cli.replay.command", "show a recorded session at any of its events"),
    "eval": Verb("tui_agent.cli.evals.command", "run suites of tasks, and compare models and configurations"),
    "deploy": Verb("tui_agent.cli.deploy", "serve an environment's tests over HTTP, or as an MCP server"),
    "sim": Verb("tui_agent.cli.sim.command", "measure an agent with a simulated user"),
    "view": Verb("tui_agent.cli.sim.view", "show the history of a simulation"),
    "tasktree": Verb(
        "tui_agent.cli.sim.tasktree", "let a model split a task into a tree of goals and details"
    ),
    "map": Verb("tui_agent.cli.map", "rank a repository's files for a question"),
    "policy": Verb("tui_agent.cli.policy.command", "show what the policy decides about a command line"),
    "redact": Verb("tui_agent.cli.redact", "remove secrets from text on standard input"),
    "models": Verb("tui_agent.cli.models", "list the models, or test one"),
    "agents": Verb("tui_agent.cli.agents", "list the agents"),
    "plugins": Verb("tui_agent.cli.plugins.command", "list, create, check or disable plugins"),
    "mcp": Verb("tui_agent.cli.mcp", "list the MCP servers, or start one to see its tools"),
    "acp": Verb("tui_agent.cli.acp", "let an editor use tui-agent (Agent Client Protocol)"),
    "serve": Verb("tui_agent.cli.serve", "serve the app to browsers, and an HTTP API to programs"),
    "themes": Verb("tui_agent.cli.themes", "list or preview themes"),
    "config": Verb("tui_agent.cli.config", "show settings and where they come from"),
    "trust": Verb("tui_agent.cli.trust", "trust or ignore a folder's own config, hooks and instructions"),
    "completion": Verb("tui_agent.cli.completion", "print a shell completion script, or a man page"),
    "bug": Verb("tui_agent.cli.bug", "write a bug report to a file; nothing is sent"),
    "doctor": Verb("tui_agent.cli.doctor.command", "check the installation and suggest fixes"),
}

APP = Verb("tui_agent.cli.app", "open the app in the current directory")


EXAMPLES = """\
examples:
  tui-agent                                  open the app on the current directory
  tui-agent "why does test_login fail?"      open it with a first message
  tui-agent demo                             watch the agent work, without account or network
  tui-agent run "add a --json flag" --policy accept-edits
  tui-agent -- run                           a prompt that looks like a command or an option
"""


MIN_REDACTED_CHARS = 8
"""Minimum length of a text to be redacted, in characters; a shorter text cannot contain a secret."""
OUTPUT_FAULTS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF))


class ErrorStream(io.TextIOBase):
    """Text stream that removes the secrets from each text, and writes the text to `out`.

    `words`: the words of the command line after the program's name. An option among them, such as `-C`, can name the
    folder whose `.env` file has secrets.
    """

    def __init__(self, out: TextIO, words: Sequence[str] = ()) -> None:
        self._out = out
        self._words = words
        self._redactor: Redactor | None = None

    def write(self, text: str) -> int:
        """Write the text without its secrets."""
        self._out.write(text if len(text) < MIN_REDACTED_CHARS else self._load_redactor().redact_text(text))
        return len(text)

    def _load_redactor(self) -> "Redactor":
        if self._redactor is None:
            # Imported only here: the redactor is slow to load, and only errors need it.
            redactor: Redactor = import_module("tui_agent.session.fault_redaction").build_fault_redactor(
                dict(os.environ), working_folder(self._words)
            )
            self._redactor = redactor
        return self._redactor

    def flush(self) -> None:
        self._out.flush()

    def fileno(self) -> int:
        return self._out.fileno()

    def isatty(self) -> bool:
        return self._out.isatty()

    def writable(self) -> bool:
        return True


def working_folder(words: Sequence[str] = ()) -> Path:
    """Return the folder that the command line gives by `-C` or `--cwd`; by default, the current folder.

    If the current folder was deleted, `/` is used in its place.
    """
    # The command line can be invalid, so argparse is not used.
    try:
        current = Path.cwd()
    except OSError:
        current = Path("/")
    requested = None
    for index, word in enumerate(words):
        if word == "--":
            break
        option, equals, value = word.partition("=")
        if option == "--cwd":
            requested = value if equals else next(iter(words[index + 1 :]), None)
        elif word.startswith("-C"):
            requested = word[2:] or next(iter(words[index + 1 :]), None)
    return current / requested if requested else current


class ClosedOutput(io.TextIOBase):
    """Standard output for a process that has none: every write fails."""

    # Keeps the file descriptor of standard output in use, so that no other opened file gets it.

    def __init__(self) -> None:
        self._null = Path(os.devnull).open("wb")  # noqa: SIM115 - open as long as the program runs

    def fileno(self) -> int:
        return self._null.fileno()

    def write(self, text: str) -> int:
        """Raise `OSError`, because standard output is closed."""
        raise OSError(errno.EBADF, "standard output is closed")


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit status; errors are printed as one line on standard error."""
    words = list(argv)
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open as long as the program runs
    with redirect_stderr(ErrorStream(sys.stderr, words)):
        return run_command_line(words)


def run_command_line(words: list[str]) -> int:
    """Run the command on the command line `words`; print errors on standard error."""
    debug = "--debug" in options_part(words)
    try:
        status = dispatch(words)
        sys.stdout.flush()  # a failure to write must be reported here, not at interpreter exit
        return status
    except SystemExit as exit_request:  # argparse raises this for --help
        return int(exit_request.code or 0)
    except BaseException as raised:  # noqa: BLE001
        error = innermost_error(raised)
        with suppress(KeyboardInterrupt):  # Ctrl+C again, while the redactor for the message is loaded
            report(error, debug=debug)
        return exit_codes.error_exit_status(error)


def innermost_error(error: BaseException) -> BaseException:
    """Return the first error inside nested exception groups; a `TuiAgentError` is preferred to other errors."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    inner = [innermost_error(nested) for nested in error.exceptions]
    return next((nested for nested in inner if isinstance(nested, TuiAgentError)), inner[0])


def report(error: BaseException, *, debug: bool) -> None:
    """Print an error on standard error; print nothing for a `BrokenPipeError`."""
    if isinstance(error, BrokenPipeError):
        drop_output()  # The reader of standard output is gone.
    elif isinstance(error, KeyboardInterrupt):
        sys.stderr.write("tui-agent: Interrupted.\n")
    elif debug:
        sys.stderr.write(replace_invisible("".join(traceback.format_exception(error)), "�"))
    else:
        if is_output_fault(error):
            drop_output()
        sys.stderr.write(f"{format_error(error)}\n")


def is_output_fault(error: BaseException) -> bool:
    """Return True if the error came from writing to standard output."""
    return isinstance(error, OSError) and error.filename is None and error.errno in OUTPUT_FAULTS


def drop_output() -> None:
    """Redirect standard output to the null device, so that flushing its buffer at exit causes no error."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def format_error(error: BaseException) -> str:
    """Return one line with an error and the advice for it."""
    if isinstance(error, TuiAgentError):
        text = str(error)
    elif is_output_fault(error):
        text = f"The output could not be written: {getattr(error, 'strerror', '')}. The output is incomplete."
    elif isinstance(error, OSError) and exit_codes.is_path_error(error):
        text = f"{error.filename} cannot be used: {error.strerror}. Check its permissions and its parent folders."
    else:
        text = f"Unexpected {type(error).__name__}: {str(error).rstrip('.')}. For details, run the command again with --debug."
    return "tui-agent: " + " ".join(replace_invisible(text, " ", "").split())


def dispatch(words: list[str]) -> int:
    """Find the command's name in the command line, and run the command with the other words."""
    top = top_parser()
    position = position_of_command(words, top.options_with_value())
    if position is None:
        if {"-h", "--help"} & set(options_part(words)):
            top.print_help()
            return exit_codes.Exit.DONE
        return call("tui-agent", APP, words)
    name = words[position]
    if name in VERBS:
        before, after = words[:position], words[position + 1 :]
        end = len(
            options_part(after)
        )  # options before the command are its own, so they must stay before `--`
        return call(f"tui-agent {name}", VERBS[name], [*after[:end], *before, *after[end:]])
    reject_mistyped_command(name)
    if {"-h", "--help"} & set(words):
        top.print_help()
        return exit_codes.Exit.DONE
    return call("tui-agent", APP, words)


def options_part(words: list[str]) -> list[str]:
    """Return the words before `--`. Later words are not options."""
    return words[: words.index("--")] if "--" in words else words


def position_of_command(words: list[str], options_with_value: set[str]) -> int | None:
    """Return the index of the command's name in `words`, or None if there is no name.

    `options_with_value`: options whose next word is their value.
    """
    index = 0
    while index < len(words):
        word = words[index]
        if word == "--":
            return None
        if not word.startswith("-") or word == "-":
            return index
        index += 2 if word in options_with_value else 1
    return None


def reject_mistyped_command(name: str) -> None:
    """Raise a `UsageError` if `name` is a single word that resembles a command's name."""
    close = difflib.get_close_matches(name, VERBS, n=1, cutoff=0.75)
    if close and " " not in name:
        raise UsageError(
            f"Unknown command {name!r}.",
            hint=f"Did you mean {close[0]!r}? To send {name!r} as a prompt: tui-agent -- {name}",
        )


def call(prog: str, verb: Verb, words: list[str]) -> int:
    """Parse `words` as the arguments of the command `verb`, and run the command."""
    module = load_module(verb.module)
    parser = parser_for(prog, verb, module)
    begins_with_option = not words or words[0].startswith("-")
    if "list" in parser.verbs and begins_with_option and not {"-h", "--help", *parser.verbs} & set(words):
        words = ["list", *words]
    elif parser.verbs and not words:
        parser.print_help()
        return 0
    arguments = parser.parse_args(words)
    # After parsing, so that --help also works in a deleted folder.
    require_current_folder()
    status: int | None = (getattr(arguments, "call", None) or module.run)(arguments)
    return (
        status or exit_codes.Exit.DONE
    )  # most commands either succeed or raise an error, and return nothing


def require_current_folder() -> None:
    """Raise `UsageError` if the current folder no longer exists."""
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise UsageError(
            "The current folder was deleted.",
            hint="Change to another folder, for example with `cd ~`, and start again.",
        ) from error


def parser_for(prog: str, verb: Verb, module: ModuleType) -> Parser:
    """Return the parser of one command."""
    parser = Parser(
        prog=prog,
        description=(module.__doc__ or verb.summary).strip().split("\n\n")[0],
        epilog=module.EXAMPLES,
    )
    module.configure(parser)
    return parser


def top_parser() -> Parser:
    """Return the parser for `tui-agent` without a command; its help lists the commands."""
    listed = "\n".join(f"  {name:<14} {verb.summary}" for name, verb in VERBS.items())
    parser = Parser(
        prog="tui-agent",
        usage="tui-agent [options] [PROMPT]\n       tui-agent COMMAND [options] …",
        description=f"A terminal coding agent that records every event.\n\ncommands:\n{listed}",
        epilog=EXAMPLES,
    )
    import_module(APP.module).configure(parser)
    parser.add_argument("-V", "--version", action="version", version=f"tui-agent {__version__}")
    return parser
