"""Options that several commands share, and their conversion to `SessionOptions`.

Invariant: no slow module is imported, so that --help is fast. The choices below equal the choices in
`protocol.settings`. A test compares them.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.config.options import Client, SessionOptions
from tui_agent.errors import UsageError

if TYPE_CHECKING:
    from tui_agent.config.settings.settings import Config
    from tui_agent.wiring.startup_context import StartupContext

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
POLICIES = ("plan", "ask", "accept-edits", "bypass")
CONTEXT_MODES = ("none", "pack", "memory")


class Parser(argparse.ArgumentParser):
    """Argument parser with `--debug`. It raises `UsageError` for a wrong command line instead of ending the program."""

    def __init__(self, prog: str, usage: str | None = None, description: str = "", epilog: str = "") -> None:
        formatter = argparse.RawDescriptionHelpFormatter
        super().__init__(prog, usage, description, epilog, formatter_class=formatter, allow_abbrev=False)
        self.add_argument("--debug", action="store_true", help="show a traceback for errors")
        self.verbs: set[str] = set()

    def options_with_value(self) -> set[str]:
        """Return the options that take a value, in every spelling, e.g. `-m` and `--model`."""
        return {word for word, action in self._option_string_actions.items() if action.nargs != 0}

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse arguments.

        Raises `UsageError` for an unknown argument here, so that the error names the subcommand's help.
        """
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


def add_folders(parser: argparse.ArgumentParser) -> None:
    """Add the options for the workspace and the session folder."""
    group = parser.add_argument_group("folders")
    group.add_argument(
        "-C", "--cwd", metavar="DIR", type=Path, help="work in DIR (default: the current directory)"
    )
    group.add_argument(
        "--data-dir", metavar="DIR", type=Path, help="the folder of the sessions (or set TUI_AGENT_HOME)"
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the options for the model and its reasoning."""
    group = parser.add_argument_group(
        "model", "for this start only; the app remembers a model that you choose with /model"
    )
    group.add_argument(
        "-m",
        "--model",
        metavar="NAME",
        help="the model: a profile, PROVIDER/MODEL, scripted:FILE, replay:SESSION or demo",
    )
    group.add_argument("--base-url", metavar="URL", help="the URL of an OpenAI-compatible server")
    group.add_argument(
        "--reasoning-effort", dest="effort", choices=EFFORTS, help="how hard a reasoning model thinks"
    )


def add_session(parser: argparse.ArgumentParser) -> None:
    """Add the options for the session and its behaviour."""
    group = parser.add_argument_group("session")
    group.add_argument("--session", metavar="ID", help="open or create this session")
    group.add_argument(
        "--continue",
        dest="continue_latest",
        action="store_true",
        help="open this workspace's newest session (`--session latest`: the newest of all workspaces)",
    )
    group.add_argument(
        "--carry-from",
        metavar="ID",
        help="start a new session that begins with a short summary of session ID",
    )
    group.add_argument("--policy", choices=POLICIES, help="what the agent may do without asking")
    group.add_argument(
        "--readable",
        metavar="FILE",
        action="append",
        default=[],
        help="let sandboxed commands read FILE (a path or pattern), even if FILE may contain secrets",
    )
    group.add_argument("--agent", metavar="NAME", help="the agent that answers (see: tui-agent agents list)")
    group.add_argument(
        "--environment", metavar="NAME", help="where commands run: local, docker, or a plugin's environment"
    )
    group.add_argument(
        "--context-mode", choices=CONTEXT_MODES, help="what the model gets besides the conversation"
    )
    group.add_argument(
        "--repo-map-mode",
        dest="repo_map",
        choices=("off", "auto"),
        help="auto: send the model a map of the code with its first request",
    )
    group.add_argument(
        "--investigator-model-profile",
        dest="investigator_profile",
        metavar="NAME",
        help="the model profile for investigator agents",
    )


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the options for the limits of a session."""
    group = parser.add_argument_group("limits of the whole session")
    group.add_argument(
        "--max-parts",
        metavar="N",
        type=count,
        help="stop after N parts (reasoning, text, calls, results)",
    )
    group.add_argument("--max-turns", metavar="N", type=count, help="stop after N turns")
    group.add_argument(
        "--max-iterations",
        metavar="N",
        type=count,
        help="stop after N iterations, including those of delegates",
    )
    group.add_argument(
        "--timeout-seconds",
        metavar="N",
        type=amount,
        help="stop when the turns have run for N seconds (default without the app: 7200 for each turn)",
    )
    group.add_argument(
        "--max-cost",
        dest="max_cost_usd",
        metavar="USD",
        type=amount,
        help="stop when the session has cost this much",
    )


def add_extensions(parser: argparse.ArgumentParser) -> None:
    """Add the options for plugins and the theme."""
    group = parser.add_argument_group("extensions")
    group.add_argument(
        "--plugin-dir",
        dest="plugin_dirs",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="also load plugins from DIR",
    )
    group.add_argument("--no-plugins", action="store_true", help="load only the bundled plugins")
    group.add_argument("--theme", metavar="NAME", help="the theme (see: tui-agent themes list)")


def add_project(parser: argparse.ArgumentParser) -> None:
    """Add the options for project files that are not trusted yet."""
    group = parser.add_argument_group("project files").add_mutually_exclusive_group()
    group.add_argument(
        "--trust-project",
        action="store_true",
        help="use this folder's own files (.tui_agent/, .env, .mcp.json) as they are now, for this run only",
    )
    group.add_argument(
        "--ignore-project",
        action="store_true",
        help="ignore project files that are not trusted, without asking (see: tui-agent trust)",
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
"""Help text of an argument that accepts a session, a run, or a log outside the session folder."""


def add_groups(parser: argparse.ArgumentParser, groups: Iterable[str]) -> None:
    """Add the options of the named `GROUPS` (e.g. `folders`) to the parser."""
    for group in groups:
        GROUPS[group](parser)


class Verbs:
    """The subcommands of one command, e.g. `list` in `tui-agent models list`.

    Each subcommand has `--json`, `--debug` and the options of its groups. Without a subcommand, a command that has
    `list` runs `list`, and any other command prints its help.
    """

    def __init__(self, parser: Parser, examples: str) -> None:
        self._parser = parser
        self._parsers = parser.add_subparsers(required=True)
        self._examples = examples

    def add(
        self,
        name: str,
        call: Callable[[argparse.Namespace], int],
        summary: str,
        *,
        examples: str = "",
        groups: tuple[str, ...] = ("folders",),
    ) -> Parser:
        """Add a subcommand that runs `call`, and return its parser.

        `groups` names the groups of options that the subcommand has. `examples` defaults to the command's examples.
        """
        parser = self._parsers.add_parser(
            name,
            help=summary,
            description=summary,
            epilog=examples or self._examples,
        )
        parser.add_argument("--json", action="store_true", help="print JSON lines")
        add_groups(parser, groups)
        parser.set_defaults(call=call)
        self._parser.verbs.add(name)
        self._parsers.metavar = " | ".join(self._parsers.choices)
        return parser


def session_options(arguments: argparse.Namespace, *, client: Client, interactive: bool) -> SessionOptions:
    """Convert parsed arguments to the options of a session.

    Raises `UsageError` if a folder or the theme does not exist, or if options contradict each other.
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
    given = {
        field.name: values[field.name]
        for field in fields(SessionOptions)
        if values.get(field.name) is not None
    }
    if data_dir:
        given["data_dir"] = data_dir.expanduser().resolve()
    if values.get("trust_project"):
        given["trusted_once"] = import_module("tui_agent.config.project.trust").current_trust_keys(
            cwd.resolve()
        )
    options = SessionOptions(
        **given
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
        import_module("tui_agent.cli.theme_names").require_theme(options)
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

    If `client` is "app", also use the theme and the policy that the app remembers. Raises `UsageError` or `ConfigError` if the
    arguments or the configuration are not valid.
    """
    options = session_options(arguments, client=client, interactive=interactive)
    context: StartupContext = import_module("tui_agent.wiring.startup_context").load_startup_context(options)
    return context


def ignored_file_notices(config: "Config", is_meant: Callable[[Path], bool] = lambda path: True) -> list[str]:
    """Return a sentence for each project file that is ignored because its folder is not trusted.

    A file is included only if `is_meant` returns True for it.
    """
    return [
        f"{path} is not used, because its folder is not trusted. To trust the folder: tui-agent trust"
        for path in config.ignored_files
        if is_meant(path)
    ]
