"""From words on the command line to one command, and from what went wrong to one line and an exit status.

Invariant: only the called command's module is imported; every way out goes through `main`.
"""

import argparse
import difflib
import errno
import io
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stderr
from importlib import import_module
from pathlib import Path
from types import ModuleType

from tui_agent import __version__
from tui_agent.cli import exit_codes
from tui_agent.cli.error_stream import ErrorStream
from tui_agent.cli.options import Parser
from tui_agent.cli.verbs import APP, VERBS, Verb
from tui_agent.errors import TuiAgentError, UsageError
from tui_agent.lazy_import import load
from tui_agent.protocol.unicode_text import replaced

EXAMPLES = """\
examples:
  tui-agent                                  open the app on the current directory
  tui-agent "why does test_login fail?"      the same, with a first message
  tui-agent demo                             see it work, with no account and no network
  tui-agent run "add a --json flag" --policy accept-edits
  tui-agent -- run                           a prompt that looks like a command or an option
"""


OUTPUT_FAULTS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF))


class ClosedOutput(io.TextIOBase):
    """In place of a standard output that was closed at the start: printing is a fault, so that no answer is lost.

    Holds the descriptor, lest a file of ours gets it and a child program writes into that.
    """

    def __init__(self) -> None:
        self._held = Path(os.devnull).open("wb")  # noqa: SIM115 - as long as the program runs

    def fileno(self) -> int:
        """The descriptor that is held."""
        return self._held.fileno()

    def write(self, text: str) -> int:
        """Raises OSError."""
        raise OSError(errno.EBADF, "standard output is closed")


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit status. Errors end as one line on standard error."""
    words = list(argv)
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - as long as the program runs
    with redirect_stderr(ErrorStream(sys.stderr, words)):
        return called(words)


def called(words: list[str]) -> int:
    """Run one command; what goes wrong is told on standard error."""
    debug = "--debug" in words[: words.index("--") if "--" in words else None]
    try:
        status = dispatch(words)
        sys.stdout.flush()  # what cannot be written is told while there is someone to tell it
        return status
    except SystemExit as leaving:  # argparse's way out of --help
        return int(leaving.code or 0)
    except BaseException as raised:  # noqa: BLE001
        error = innermost(raised)
        report(error, debug=debug)
        return exit_codes.of_error(error)


def innermost(error: BaseException) -> BaseException:
    """What really happened, where a task group has wrapped it: an error of ours before a foreign one."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    inner = [innermost(each) for each in error.exceptions]
    return next((each for each in inner if isinstance(each, TuiAgentError)), inner[0])


def report(error: BaseException, *, debug: bool) -> None:
    """Say on standard error what went wrong; nothing where nobody reads any more."""
    if isinstance(error, BrokenPipeError):
        drop_output()  # whoever read it has gone
    elif isinstance(error, KeyboardInterrupt):
        sys.stderr.write("tui-agent: Interrupted.\n")
    elif debug:
        sys.stderr.write(replaced("".join(traceback.format_exception(error)), "�"))
    else:
        if is_output_fault(error):
            drop_output()
        sys.stderr.write(f"{one_line(error)}\n")


def is_output_fault(error: BaseException) -> bool:
    """Whether it is standard output that took no more: a fault of writing that names no file."""
    return isinstance(error, OSError) and error.filename is None and error.errno in OUTPUT_FAULTS


def drop_output() -> None:
    """What is left in the buffer must not be flushed into nothing at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def one_line(error: BaseException) -> str:
    """What happened, to what, and what to do, without a line break."""
    if isinstance(error, TuiAgentError):
        text = str(error)
    elif is_output_fault(error):
        text = f"The output could not be written: {getattr(error, 'strerror', '')}. It is not whole."
    elif isinstance(error, OSError) and exit_codes.is_place_fault(error):
        text = f"{error.filename} cannot be used: {error.strerror}. Check its permissions and the folders above it."
    else:
        text = f"Unexpected {type(error).__name__}: {error}. Run it again with --debug to see where."
    return "tui-agent: " + " ".join(replaced(text, " ", "").split())


def dispatch(words: list[str]) -> int:
    """Find the command among the words, parse the rest for it, and run it."""
    top = top_parser()
    at = position_of_command(words, top.options_with_value())
    if at is None:
        if any(word in ("-h", "--help") for word in words[: words.index("--") if "--" in words else None]):
            top.print_help()
            return exit_codes.Exit.DONE
        return call("tui-agent", APP, words)
    name = words[at]
    if name in VERBS:
        before, after = words[:at], words[at + 1 :]
        end = after.index("--") if "--" in after else len(after)
        return call(f"tui-agent {name}", VERBS[name], [*after[:end], *before, *after[end:]])
    guess_wrong_name(name, words)
    if any(word in ("-h", "--help") for word in words):
        top.print_help()
        return exit_codes.Exit.DONE
    return call("tui-agent", APP, words)


def position_of_command(words: list[str], options_with_value: set[str]) -> int | None:
    """Where the first word stands that is neither an option nor an option's value; None after `--`."""
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return None
        if not word.startswith("-") or word == "-":
            return at
        at += 2 if word in options_with_value else 1
    return None


def guess_wrong_name(name: str, words: list[str]) -> None:
    """A single word that nearly is a command is a slip of the finger, not a prompt."""
    close = difflib.get_close_matches(name, VERBS, n=1, cutoff=0.75)
    if close and " " not in name:
        raise UsageError(
            f"There is no command {name!r}.",
            hint=f"Did you mean {close[0]!r}? A prompt of this word: tui-agent -- {name}",
        )


def call(prog: str, verb: Verb, words: list[str]) -> int:
    """Parse `words` for a command and run it."""
    module = load(verb.module)
    arguments = parser_for(prog, verb, module).parse_args(words)
    status: int = (getattr(arguments, "call", None) or module.run)(arguments)
    return status


def parser_for(prog: str, verb: Verb, module: ModuleType) -> Parser:
    """The parser of one command: its own arguments and the common options it has a use for."""
    parser = Parser(
        prog=prog,
        description=(module.__doc__ or verb.summary).strip().split("\n\n")[0],
        epilog=module.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--debug", action="store_true", help="show a traceback where something fails")
    module.configure(parser)
    return parser


def top_parser() -> Parser:
    """The parser whose help lists the commands, and which knows every common option."""
    listed = "\n".join(f"  {name:<12} {verb.summary}" for name, verb in VERBS.items())
    parser = Parser(
        prog="tui-agent",
        usage="tui-agent [options] [PROMPT]\n       tui-agent COMMAND [options] …",
        description=f"A terminal coding agent that records every event.\n\ncommands:\n{listed}",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    import_module(APP.module).configure(parser)
    parser.add_argument("-V", "--version", action="version", version=f"tui-agent {__version__}")
    parser.add_argument("--debug", action="store_true", help="show a traceback where something fails")
    return parser
