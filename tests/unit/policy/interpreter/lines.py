"""A small catalog and short spellings of reports, for tests of the interpreter."""

from tui_agent.policy.catalog.catalog import Catalog, Layer
from tui_agent.policy.interpreter.command_report import Certainty, CommandReport, FileUse, LineReport
from tui_agent.policy.interpreter.line import read_line
from tui_agent.protocol.effects import RunEffect

PROGRAMS = """
[programs.show]
about = "Reads files."
effects = ["reads"]
flags = ["-l"]
operands = ["read..."]
reads_below = false
options_are_harmless = true
options = { "-n" = "number", "-C" = "enter", "-r" = { word = "none", below = true }, "--help" = { word = "none", ends = true } }
default_operand = "."

[programs.put]
about = "Writes the last of its files."
effects = ["writes"]
operands = ["read...", "write"]
reads_below = false

[programs.seek]
about = "Finds a pattern in files."
effects = ["reads"]
operands = ["text", "read..."]
options = { "-e" = { replaces_operand = true }, "-I" = { means = "include", repeats = true }, "-X" = "exclude", "-G" = { means = "include", reads_hidden = true } }
reads_below = true
skips = ["hidden", "ignored"]

[programs.files]
about = "Lists files."
effects = ["reads"]
operands = ["list..."]
default_operand = "."
reads_below = true
prints = "paths"
options = { "-z" = { word = "none", prints = "text" } }

[programs.filter]
about = "Prints some lines."
effects = ["reads"]
operands = ["read..."]
reads_below = false
prints = "lines"

[programs.hash]
about = "Prints a hash."
effects = ["reads"]
prints = "hashes"

[programs.name]
about = "Prints the name of a branch."
effects = ["reads"]
prints = "revisions"

[programs.count]
about = "Prints a number."
effects = ["reads"]
prints = "numbers"

[programs.within]
about = "Runs a command for some time."
effects = ["reads"]
operands = ["number", "command"]
option_style = "first"

[programs.env]
about = "Runs a command with other variables."
effects = ["reads"]
operands = ["assignment...", "command"]
default_operand = "printenv"
option_style = "first"
options = { "-C" = "enter" }

[programs.printenv]
about = "Shows variables."
effects = ["prints secrets"]

[programs.shell]
about = "Runs bash."
effects = ["runs"]
options = { "-c" = { means = "shell script", replaces_operand = true } }
operands = ["script file", "text..."]

[programs.script]
about = "Runs code."
effects = ["runs"]
options = { "-e" = { means = "code", replaces_operand = true } }
operands = ["script file", "text..."]

[programs.call]
about = "Talks to a host."
effects = ["connects"]
operands = ["host"]

[programs.halt]
about = "Stops the machine."
forbidden = "it stops the machine"

[programs.xargs]
about = "Runs a command on names."
effects = ["reads"]
operands = ["xargs"]
option_style = "first"
flags = ["-0", "-r"]

[programs.awk]
about = "Runs awk."
effects = ["reads"]
operands = ["awk", "read..."]
reads_below = false

[programs.git]
about = "Version control."
option_style = "first"
options = { "-C" = "enter", "-c" = { means = "setting", values = ["color.*"], repeats = true } }

[programs.git.subcommands.log]
about = "Shows commits."
effects = ["reads"]
operands = ["revision or path..."]
flags = ["-p", "-q"]
options = { "-x" = "number" }
certain_outputs = [{ prints = "hashes", options = ["-x=1"], others = ["-q"], operands = ["HEAD"] }]

[programs.git.subcommands.restore]
about = "Restores files."
effects = ["writes"]
operands = ["path filter..."]
changes_paths = true

[programs.git.subcommands.branch]
about = "Makes a branch."
effects = ["writes"]
operands = ["text..."]
options = { "--list -l" = { word = "none", entry = "branch --list" } }

[programs.git.subcommands."branch --list"]
about = "Lists branches."
effects = ["reads"]
flags = ["--list -l", "-a"]
operands = ["text..."]
options = { "--sort" = "text" }
"""
CATALOG = Catalog([Layer("user", "test", PROGRAMS)])


def read(line: str) -> LineReport:
    """Read a line by the small catalog."""
    return read_line(RunEffect(script=line), CATALOG)


def files(line: str) -> list[str]:
    """All files that a line uses: "read a", a pattern with `~` in front, `?` where it is not certain."""
    return [show_file(use) for command in read(line).commands for use in command.files]


def show_file(use: FileUse) -> str:
    """One use in short: `/**` behind it where all below is meant."""
    mark = {Certainty.KNOWN: "", Certainty.BOUNDED: "≈", Certainty.UNKNOWN: "?"}[use.certainty]
    return f"{use.action} {mark}{use.path}{'/**' if use.below else ''}"


def doubts(line: str) -> list[str]:
    """The reasons of all doubts of a line."""
    return [doubt.reason for command in read(line).commands for doubt in command.doubts]


def settled_by_names(line: str) -> list[str]:
    """The doubts of a line that names in the workspace can settle: "option-like *"."""
    found = [doubt for command in read(line).commands for doubt in command.doubts]
    return [f"{doubt.name} {doubt.value.text}" for doubt in found if doubt.value and doubt.value.names_files]


def effects(line: str) -> set[str]:
    """All effects of a line besides reading."""
    return {effect.value for command in read(line).commands for effect in command.effects} - {"reads"}


def calls(line: str) -> list[str]:
    """Each command of a line with its folders: "show a", "src: show a"."""
    return [show_call(command) for command in read(line).commands if command.words]


def show_call(command: CommandReport) -> str:
    """A command by the texts of its words; what is not known by its source."""
    folders = (
        ""
        if command.folders == ("",)
        else f"{'|'.join(folder or ('.' if folder == '' else '?') for folder in command.folders)}: "
    )
    return folders + " ".join(word.text if word.known is not None else word.source for word in command.words)
