"""Print a man page, or a shell script that completes tui-agent's commands and options."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module

from tui_agent import __version__
from tui_agent.cli.console.output import say
from tui_agent.cli.console.shared_options import Parser
from tui_agent.cli.main import APP, VERBS, parser_for
from tui_agent.fast_dataclass import dataclass

EXAMPLES = """\
examples:
  tui-agent completion bash > ~/.local/share/bash-completion/completions/tui-agent
  tui-agent completion zsh > ~/.zfunc/_tui-agent       with ~/.zfunc in your fpath
  tui-agent completion fish > ~/.config/fish/completions/tui-agent.fish
  tui-agent completion man > ~/.local/share/man/man1/tui-agent.1
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A possible next word: a command or an option, with its help.

    `takes_value`: True for an option that needs a value.
    `choices`: the option's allowed values; empty if any value is allowed.
    """

    word: str
    help: str
    takes_value: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """The commands before the cursor, such as `sessions list`, and the words that can follow these commands."""

    path: str
    summary: str
    entries: tuple[Entry, ...]


def configure(parser: Parser) -> None:
    """Add the argument of `completion`."""
    parser.add_argument("format", choices=tuple(WRITERS), help="the shell, or `man` for a man page")


def run(arguments: argparse.Namespace) -> None:
    """Print the completion script or the man page."""
    say(WRITERS[arguments.format](places()))


def places() -> list[Place]:
    """Return a `Place` for each command and subcommand."""
    top = parser_for("tui-agent", APP, import_module(APP.module))
    commands = tuple(Entry(name, verb.summary) for name, verb in VERBS.items())
    result = [Place("", "A terminal coding agent that records every event.", (*commands, *_options(top)))]
    for name, verb in VERBS.items():
        parser = parser_for(f"tui-agent {name}", verb, import_module(verb.module))
        inner = list(_verbs(parser))
        verbs = tuple(Entry(word, str(sub.description)) for word, sub in inner)
        result.append(Place(name, verb.summary, (*verbs, *_options(parser))))
        result += [Place(f"{name} {word}", str(sub.description), tuple(_options(sub))) for word, sub in inner]
    return result


def _verbs(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _options(parser: argparse.ArgumentParser) -> Iterator[Entry]:
    for action in parser._actions:
        text = " ".join(str(action.help or "").replace("%(default)s", str(action.default)).split())
        if not action.option_strings and action.choices and not isinstance(action.choices, dict):
            yield from (Entry(str(choice), "") for choice in action.choices)
        for word in action.option_strings:
            choices = tuple(map(str, action.choices or ()))
            yield Entry(word, text, takes_value=action.nargs not in (0, "?"), choices=choices)


def _value_options(places: list[Place]) -> str:
    """Return the options that always take a value, separated by spaces."""
    options = [entry for place in places for entry in place.entries]
    flags = {entry.word for entry in options if not entry.takes_value}
    return " ".join(sorted({entry.word for entry in options} - flags))


def _walk(places: list[Place], read_words: str) -> str:
    """Return shell code that sets `$where` (the commands before the cursor), `$before` (the previous word) and
    `$needs_value`."""
    known = "|".join(f'" {place.path}"' for place in places if place.path)
    return f"""  local where="" word before="" needs_value="" valued=" {_value_options(places)} "
  for word in {read_words}; do
    if [[ "$word" != "=" ]]; then
      if [[ -z "$needs_value" ]]; then
        case "$where $word" in
          {known}) where="$where $word" ;;
        esac
      fi
      before="$word"
      if [[ -z "$needs_value" && "$valued" == *" $word "* ]]; then needs_value=1; else needs_value=""; fi
    fi
  done"""


def _value_cases(places: list[Place], line: Callable[[Sequence[str]], str]) -> str:
    """Return the branches of a shell's `case` statement, each with the allowed values of one option."""
    return "\n".join(
        f'      "{f" {place.path}" if place.path else ""} {entry.word}") {line(entry.choices)} ;;'
        for place in places
        for entry in place.entries
        if entry.choices
    )


def bash_script(places: list[Place]) -> str:
    cases = "\n".join(
        f'    "{f" {place.path}" if place.path else ""}") words="{" ".join(entry.word for entry in place.entries)}" ;;'
        for place in places
    )
    # Bash makes "=" a word of its own, so the value of `--option=VALUE` is completed as the word after it.
    return f"""# bash completion for tui-agent {__version__}
_tui_agent() {{
{_walk(places, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}
  local words=""
  case "$where" in
{cases}
  esac
  if [[ -n "$needs_value" ]]; then
    words=""
    case "$where $before" in
{_value_cases(places, lambda choices: f'words="{" ".join(choices)}"')}
    esac
  fi
  [[ "${{COMP_WORDS[COMP_CWORD]}}" == "=" ]] && COMP_WORDS[COMP_CWORD]=""
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _tui_agent tui-agent"""


def zsh_script(places: list[Place]) -> str:

    def format_entry(entry: Entry) -> str:
        text = f"{entry.word}:{entry.help}" if entry.help else entry.word
        return "'" + text.replace("'", "'\\''") + "'"

    cases = "\n".join(
        f'    "{f" {place.path}" if place.path else ""}") entries=({" ".join(map(format_entry, place.entries))}) ;;'
        for place in places
    )
    # The last line works in both cases: loaded by `compinit` (the file is the function's body), or sourced.
    return f"""#compdef tui-agent
# zsh completion for tui-agent {__version__}
_tui_agent() {{
{_walk(places, '"${(@)words[2,CURRENT-1]}"')}
  local -a entries
  case "$where" in
{cases}
  esac
  if [[ "$words[CURRENT]" == --*=* ]]; then
    before="${{words[CURRENT]%%=*}}" needs_value=1
    compset -P '*='
  fi
  if [[ -n "$needs_value" ]]; then
    entries=()
    case "$where $before" in
{_value_cases(places, lambda choices: f"entries=({' '.join(choices)})")}
    esac
  fi
  _describe 'tui-agent' entries
  [[ -n "${{(@)entries:#-*}}" ]] || _files
}}
if [[ "$funcstack[1]" == "_tui-agent" ]]; then _tui_agent "$@"; else compdef _tui_agent tui-agent; fi"""


def fish_script(places: list[Place]) -> str:

    def quote(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    lines = [f"# fish completion for tui-agent {__version__}"]
    paths = [place.path for place in places if place.path]
    lines += [
        "function __tui_agent_at",
        "    set -l where",
        "    set -l needs_value",
        "    for word in (commandline -opc)[2..-1]",
        '        if test -n "$needs_value"',
        "            set needs_value",
        "            continue",
        "        end",
        f"        contains -- $word {_value_options(places)}; and set needs_value 1",
        f'        contains -- "$where $word" {" ".join(quote(f" {path}") for path in paths)}; and set where "$where $word"',
        "    end",
        '    test "$where" = "$argv[1]"',
        "end",
    ]
    for place in places:
        where = f" {place.path}" if place.path else ""
        for entry in place.entries:
            flag = "-a" if not entry.word.startswith("-") else "-l" if entry.word.startswith("--") else "-s"
            value = " -f" if flag == "-a" else " -r" if entry.takes_value else ""  # -f: no names of files
            value += f" -f -a {quote(' '.join(entry.choices))}" if entry.choices else ""
            lines.append(
                f"complete -c tui-agent -n {quote(f'__tui_agent_at {quote(where)}')} {flag} {quote(entry.word.lstrip('-'))}"
                f"{value} -d {quote(entry.help)}"
            )
    return "\n".join(lines)


def man_page(places: list[Place]) -> str:
    """Return the man page in roff."""

    def escape(text: str) -> str:
        text = text.replace("\\", "\\e").replace("-", "\\-")
        return f"\\&{text}" if text.startswith((".", "'")) else text

    lines = [f'.TH TUI\\-AGENT 1 "" "tui\\-agent {__version__}" "User Commands"', ".SH NAME"]
    lines += [f"tui\\-agent \\- {escape(places[0].summary)}", ".SH SYNOPSIS"]
    lines += [
        ".B tui\\-agent",
        "[\\fIoptions\\fR] [\\fIPROMPT\\fR]",
        ".br",
        ".B tui\\-agent",
        "\\fICOMMAND\\fR [\\fIoptions\\fR]",
    ]
    for place in places:
        lines += [".SH " + escape(f"tui-agent {place.path}".strip()), escape(place.summary.capitalize())]
        for entry in place.entries:
            lines += [".TP", f"\\fB{escape(entry.word)}\\fR", escape(entry.help or "a value")]
    return "\n".join(lines)


WRITERS = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script, "man": man_page}
