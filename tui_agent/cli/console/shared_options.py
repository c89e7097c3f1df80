"""Options that several commands share, and their conversion to `SessionOptions`.

Invariant: no slow module is imported, so that --help is fast.
"""
# The constants with an option's allowed values are copies of those in `protocol.settings`.

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tui_agent.config.session_options import Client, SessionOptions
from tui_agent.errors import UsageError

if TYPE_CHECKING:
    from tui_agent.config.settings.settings import Config
    from tui_agent.wiring.startup_context import StartupContext

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
POLICIES = ("plan", "ask", "accept-edits", "bypass")
CONTEXT_MODES = ("none", "pack", "memory")


Options: TypeAlias = argparse._ActionsContainer
"""Type of an object with options: a parser, or a group of options in a parser."""


def load_formatter(*, prog: str) -> argparse.HelpFormatter:
    """Return the formatter of --help."""
    formatter: argparse.HelpFormatter = import_module("tui_agent.cli.console.help_format").HelpFormatter(prog)
    return formatter


class Parser(argparse.ArgumentParser):
    """Argument parser with the option `--debug`. Raises `UsageError` for a wrong command line."""

    def __init__(self, prog: str, usage: str | None = None, description: str = "", epilog: str = "") -> None:
        super().__init__(prog, usage, description, epilog, formatter_class=load_formatter, allow_abbrev=False)
        add_flag(self, "--debug", "show a traceback for errors")
        self.verbs: set[str] = set()

    def options_with_value(self) -> set[str]:
        """Return the options that take a value, in every spelling, such as `-m` and `--model`."""
        return {word for word, action in self._option_string_actions.items() if action.nargs != 0}

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse arguments, and raise `UsageError` if one is unknown."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown

    def error(self, message: str) -> None:  # type: ignore[override]
        raise UsageError(f"{message}.", hint=f"See: {self.prog} --help")


def count(text: str) -> int:
    """Parse a whole number of at least 1 from the command line."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def amount(text: str) -> float:
    """Parse a number above 0 from the command line."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def add_option(parser: Options, names: str, about: str, **settings: Any) -> None:
    """Add an option with a value, such as `"-m --model NAME"`."""
    *flags, last = names.split()
    if last.startswith("-"):
        parser.add_argument(*flags, last, help=about, **settings)
    else:
        parser.add_argument(*flags, metavar=last, help=about, **settings)


def add_list_option(parser: Options, names: str, about: str, **settings: Any) -> None:
    """Add an option that can be given several times. Its values form a list."""
    add_option(parser, names, about, action="append", default=[], **settings)


def add_flag(parser: Options, names: str, about: str, **settings: Any) -> None:
    """Add an option without a value."""
    parser.add_argument(*names.split(), help=about, action="store_true", **settings)


def add_effort(parser: Options, about: str, **settings: Any) -> None:
    """Add the option for the reasoning effort."""
    about = f"{about}: {', '.join(EFFORTS)}"
    add_option(parser, "--reasoning-effort LEVEL", about, choices=EFFORTS, **settings)


def add_folders(parser: argparse.ArgumentParser) -> None:
    """Add the options for the workspace and the session folder."""
    group = parser.add_argument_group("folders")
    add_option(group, "-C --cwd DIR", "work in DIR (default: the current directory)", type=Path)
    add_option(group, "--data-dir DIR", "the folder of the sessions (or set TUI_AGENT_HOME)", type=Path)


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the options for the model and its reasoning."""
    group = parser.add_argument_group(
        "model",
        "for this start only; a model that you choose with /model in the app also applies to later starts",
    )
    add_option(
        group,
        "-m --model NAME",
        "the model: a profile, PROVIDER/MODEL, scripted:FILE, replay:SESSION or demo",
    )
    add_option(group, "--base-url URL", "the URL of an OpenAI-compatible server")
    add_effort(group, "how hard a reasoning model thinks", dest="effort")


def add_session(parser: argparse.ArgumentParser) -> None:
    """Add the options for the session and its behaviour."""
    group = parser.add_argument_group("session")
    add_option(group, "--session ID", "open or create this session")
    add_flag(
        group,
        "--continue",
        "open this workspace's newest session (`--session latest`: the newest of all workspaces)",
        dest="continue_latest",
    )
    add_option(group, "--carry-from ID", "start a new session that begins with a short summary of session ID")
    add_option(group, "--policy", "what the agent may do without asking", choices=POLICIES)
    add_list_option(
        group,
        "--readable FILE",
        "let sandboxed commands read and change FILE (a path or pattern), even if FILE may contain secrets",
    )
    add_option(group, "--agent NAME", "the agent that answers (see: tui-agent agents list)")
    add_option(group, "--environment NAME", "where commands run: local, docker, or a plugin's environment")
    add_option(
        group, "--context-mode", "what to send to the model besides the conversation", choices=CONTEXT_MODES
    )
    add_option(
        group,
        "--repo-map-mode",
        "auto: send the model a map of the code with its first request",
        dest="repo_map",
        choices=("off", "auto"),
    )
    add_option(
        group,
        "--investigator-model-profile NAME",
        "the model profile for investigator agents",
        dest="investigator_profile",
    )


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the options for the limits of a session."""
    group = parser.add_argument_group("limits of the whole session")
    add_option(group, "--max-parts N", "stop after N parts (reasoning, text, calls, results)", type=count)
    add_option(group, "--max-turns N", "stop after N turns", type=count)
    add_option(
        group,
        "--max-iterations N",
        "stop after N iterations (a model call and its tool calls), including those of subtasks",
        type=count,
    )
    add_option(
        group,
        "--timeout-seconds N",
        "stop when the turns have run for N seconds in total (default: no limit in the app, otherwise 7200 per turn)",
        type=amount,
    )
    add_option(
        group, "--max-cost USD", "stop when the session has cost this much", dest="max_cost_usd", type=amount
    )


def add_extensions(parser: argparse.ArgumentParser) -> None:
    """Add the options for plugins and the theme."""
    group = parser.add_argument_group("extensions")
    add_list_option(group, "--plugin-dir DIR", "also load plugins from DIR", dest="plugin_dirs", type=Path)
    add_flag(group, "--no-plugins", "load only the bundled plugins")
    add_option(group, "--theme NAME", "the theme (see: tui-agent themes list)")


def add_project(parser: argparse.ArgumentParser) -> None:
    """Add the options for project files that are not trusted yet."""
    group = parser.add_argument_group("project files").add_mutually_exclusive_group()
    add_flag(
        group,
        "--trust-project",
        "trust this folder's own files (.tui_agent/, .env, .mcp.json) as they are now, for this run only",
    )
    add_flag(
        group,
        "--ignore-project",
        "ignore project files that are not trusted, without asking (see: tui-agent trust)",
    )


GROUPS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "folders": add_folders,
    "model": add_model,
    "session": add_session,
    "limits": add_limits,
    "extensions": add_extensions,
    "project": add_project,
}
EVERYTHING = tuple(GROUPS)
SESSION_HELP = "a session id or its beginning, or `latest`"
RECORDING_HELP = "a session id or its beginning, a run id, the path of a log, or `latest` (the newest session of any folder)"
"""Help text of an argument for a session id, a run id, or the path of a log."""


def add_groups(parser: argparse.ArgumentParser, groups: Iterable[str]) -> None:
    """Add the options of each group in `groups` to the parser. The groups, such as `folders`, are defined in `GROUPS`."""
    for group in groups:
        GROUPS[group](parser)


class Verbs:
    """The subcommands of one command, such as `list` in `tui-agent models list`."""

    # Without a subcommand, `list` runs if it exists; otherwise the help is printed.

    def __init__(self, parser: Parser, examples: str) -> None:
        self._parser = parser
        self._parsers = parser.add_subparsers(required=True)
        self._examples = examples

    def add(
        self,
        name: str,
        call: Callable[[argparse.Namespace], int | None],
        summary: str,
        *,
        examples: str = "",
        groups: tuple[str, ...] = ("folders",),
    ) -> Parser:
        """Add a subcommand that runs `call`, and return its parser.

        `groups`: names of the subcommand's groups of options.
        `examples`: text at the end of the subcommand's help; by default, the examples of the whole command.
        """
        parser = self._parsers.add_parser(
            name,
            help=summary,
            description=summary,
            epilog=examples or self._examples,
        )
        add_flag(parser, "--json", "print JSON lines")
        add_groups(parser, groups)
        parser.set_defaults(call=call)
        self._parser.verbs.add(name)
        self._parsers.metavar = " | ".join(self._parsers.choices)
        return parser


def session_options(arguments: argparse.Namespace, *, client: Client, interactive: bool) -> SessionOptions:
    """Convert parsed arguments to the options of a session.

    Raise `UsageError` if a folder or the theme does not exist, or if options contradict each other.
    """
    values = vars(arguments)
    cwd = (values.get("cwd") or Path.cwd()).expanduser()
    if not cwd.is_dir():
        raise UsageError(f"Folder not found: {cwd}.", hint="Give an existing folder with --cwd.")
    chosen_by = (
        "--session" if values.get("session") else "--resume" if values.get("resume") is not None else ""
    )
    if chosen_by and values.get("continue_latest"):
        raise UsageError(
            f"{chosen_by} and --continue select two different sessions.", hint="Use only one of them."
        )
    if values.get("carry_from") and (values.get("continue_latest") or chosen_by == "--resume"):
        raise UsageError(
            "--carry-from starts a new session; --continue and --resume open an earlier one.",
            hint="Use only one of them.",
        )
    data_dir: Path | None = values.get("data_dir")
    # An option with the name of a field is copied to that field; the other fields need a conversion.
    field_values = {
        field.name: values[field.name]
        for field in fields(SessionOptions)
        if values.get(field.name) is not None
    }
    if data_dir:
        field_values["data_dir"] = data_dir.expanduser().resolve()
    if values.get("trust_project"):
        field_values["trusted_once"] = import_module("tui_agent.config.project.trust").current_trust_keys(
            cwd.resolve()
        )
    options = SessionOptions(
        **field_values
        | {
            "cwd": cwd.resolve(),
            "cwd_given": values.get("cwd") is not None,
            "client": client,
            "interactive": interactive,
            "plugin_dirs": tuple(map(_resolve_plugin_dir, values.get("plugin_dirs") or ())),
            "readable": tuple(values.get("readable") or ()),
        }
    )
    if options.theme:
        import_module("tui_agent.cli.console.theme_names").require_theme(options)
    return options


def _resolve_plugin_dir(path: Path) -> Path:
    place = path.expanduser().resolve()
    if not place.exists():
        raise UsageError(
            f"--plugin-dir: {place} was not found.",
            hint="Give a plugin's folder or file, or a folder of plugins.",
        )
    return place


def load_context(
    arguments: argparse.Namespace, *, interactive: bool = False, client: Client = "headless"
) -> "StartupContext":
    """Load the configuration and the session store that the parsed arguments select.

    If `client` is "app", use the theme and the policy that the user last chose in the app. Raise `UsageError` or
    `ConfigError` for invalid arguments or an invalid configuration.
    """
    options = session_options(arguments, client=client, interactive=interactive)
    context: StartupContext = import_module("tui_agent.wiring.startup_context").load_startup_context(options)
    return context


def ignored_file_notices(config: "Config", is_meant: Callable[[Path], bool] = lambda path: True) -> list[str]:
    """Return a sentence for each project file that is ignored because its folder is not trusted.

    `is_meant`: returns True for a file to include.
    """
    return [
        f"{path} is not used, because its folder is not trusted. To trust the folder: tui-agent trust"
        for path in config.ignored_files
        if is_meant(path)
    ]
