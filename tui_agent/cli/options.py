"""The options that mean the same for every command, and what they say as `SessionOptions`.

Invariant: loads only argparse and dataclasses, so that help is quick; the lists of words are those of
`protocol.settings` (a test compares them).
"""

import argparse
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from tui_agent.config.options import Client, SessionOptions
from tui_agent.errors import UsageError

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
POLICIES = ("plan", "ask", "accept-edits", "bypass")
CONTEXT_MODES = ("none", "pack", "memory")
HEADLESS_SECONDS = 7200.0


class Parser(argparse.ArgumentParser):
    """Raises `UsageError` where argparse would print and leave."""

    def options_with_value(self) -> set[str]:
        """The option words that are followed by a value of their own."""
        return {word for word, action in self._option_string_actions.items() if action.nargs != 0}

    def error(self, message: str) -> None:  # type: ignore[override]
        raise UsageError(f"{message}.", hint=f"See: {self.prog} --help")


def count(text: str) -> int:
    """A whole number of at least one."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def amount(text: str) -> float:
    """A number above zero."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def add_place(parser: argparse.ArgumentParser) -> None:
    """Where the work is and where the sessions lie."""
    group = parser.add_argument_group("place")
    group.add_argument(
        "-C", "--cwd", metavar="DIR", type=Path, help="work in DIR (default: the current directory)"
    )
    group.add_argument(
        "--data-dir", metavar="DIR", type=Path, help="keep sessions in DIR (or TUI_AGENT_HOME)"
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Which model answers, and how hard it thinks."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "-m",
        "--model",
        metavar="NAME",
        help="a profile, PROVIDER/MODEL, scripted:FILE, replay:SESSION or demo",
    )
    group.add_argument("--base-url", metavar="URL", help="the address of an OpenAI-compatible server")
    group.add_argument(
        "--reasoning-effort", dest="effort", choices=EFFORTS, help="how hard a reasoning model thinks"
    )


def add_session(parser: argparse.ArgumentParser) -> None:
    """Which session is opened, and how it behaves."""
    group = parser.add_argument_group("session")
    group.add_argument("--session", metavar="ID", help="open this session, make it where it is absent")
    group.add_argument(
        "--continue",
        dest="continue_latest",
        action="store_true",
        help="open this workspace's newest session (the word `latest` means the newest of all workspaces)",
    )
    group.add_argument(
        "--carry-from",
        metavar="ID",
        help="begin a new session with a bounded summary of that one's turns",
    )
    group.add_argument("--policy", choices=POLICIES, help="what the agent may do without asking")
    group.add_argument(
        "--readable",
        metavar="FILE",
        action="append",
        default=[],
        help="let commands in the sandbox read FILE, though it may hold secrets (a pattern)",
    )
    group.add_argument("--agent", metavar="NAME", help="which agent answers (see: tui-agent agents list)")
    group.add_argument(
        "--context-mode", choices=CONTEXT_MODES, help="how much of what was said goes to the model"
    )
    group.add_argument(
        "--repo-map-mode",
        dest="repo_map",
        choices=("off", "auto"),
        help="whether a map of the code is offered",
    )
    group.add_argument(
        "--investigator-model-profile",
        metavar="NAME",
        help="the model profile of investigating delegates",
    )


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Budgets that end a turn."""
    group = parser.add_argument_group("limits")
    group.add_argument(
        "--max-parts",
        metavar="N",
        type=count,
        help="end after N parts (reasoning, text, calls, results)",
    )
    group.add_argument("--max-turns", metavar="N", type=count, help="end after N turns of the session")
    group.add_argument("--max-iterations", metavar="N", type=count, help="end a turn after N model calls")
    group.add_argument(
        "--timeout-seconds",
        metavar="N",
        type=amount,
        help=f"end a turn after N seconds ({HEADLESS_SECONDS:.0f} headless)",
    )
    group.add_argument(
        "--max-cost", metavar="USD", type=amount, help="end when the session has cost this much"
    )


def add_extensions(parser: argparse.ArgumentParser) -> None:
    """Plugins and looks."""
    group = parser.add_argument_group("extensions")
    group.add_argument(
        "--plugin-dir",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="load plugins from DIR too",
    )
    group.add_argument("--no-plugins", action="store_true", help="load no plugins but the bundled ones")
    group.add_argument("--theme", metavar="NAME", help="the theme (see: tui-agent themes list)")


def add_project(parser: argparse.ArgumentParser) -> None:
    """What becomes of a project's own files that nothing was decided about."""
    group = parser.add_argument_group("project files").add_mutually_exclusive_group()
    group.add_argument(
        "--trust-project",
        action="store_true",
        help="use the folder's own files (.tui_agent/, .env, .mcp.json) as they are now, for this run",
    )
    group.add_argument(
        "--ignore-project",
        action="store_true",
        help="go on without those that are not trusted, and do not ask (see: tui-agent trust)",
    )


GROUPS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "place": add_place,
    "model": add_model,
    "session": add_session,
    "limits": add_limits,
    "extensions": add_extensions,
    "project": add_project,
}
EVERYTHING = tuple(GROUPS)


def add_verb(
    verbs: "argparse._SubParsersAction[Parser]",
    name: str,
    call: Callable[[argparse.Namespace], int],
    *,
    help: str,
    examples: str,
    groups: tuple[str, ...] = ("place",),
) -> argparse.ArgumentParser:
    """A verb below a command, with `--json` and the common options that mean something for it."""
    parser = verbs.add_parser(
        name,
        help=help,
        description=help,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="JSON lines")
    parser.add_argument("--debug", action="store_true", help="show a traceback where something fails")
    for group in groups:
        GROUPS[group](parser)
    parser.set_defaults(call=call)
    return parser


def session_options(arguments: argparse.Namespace, *, client: Client, interactive: bool) -> SessionOptions:
    """The options of one start. Raises `UsageError` where the folder to work in, or the theme, is none."""
    said = vars(arguments)
    cwd = (said.get("cwd") or Path.cwd()).expanduser()
    if not cwd.is_dir():
        raise UsageError(f"There is no folder {cwd}.", hint="Give an existing one with --cwd.")
    named = "--session" if said.get("session") else "--resume" if said.get("resume") is not None else ""
    if named and said.get("continue_latest"):
        raise UsageError(f"{named} and --continue name two sessions.", hint="Give one of them.")
    if said.get("carry_from") and (said.get("continue_latest") or named == "--resume"):
        raise UsageError(
            "--carry-from begins a new session; --continue and --resume open an earlier one.",
            hint="Give one of them.",
        )
    data_dir: Path | None = said.get("data_dir")
    if said.get("theme"):
        import_module("tui_agent.cli.theme_names").require(said["theme"], cwd, data_dir)
    timeout = said.get("timeout_seconds")
    once = (
        import_module("tui_agent.cli.trust_once").keys_now(cwd.resolve()) if said.get("trust_project") else ()
    )
    return SessionOptions(
        cwd=cwd.resolve(),
        cwd_given=said.get("cwd") is not None,
        client=client,
        interactive=interactive,
        model=said.get("model"),
        base_url=said.get("base_url"),
        effort=said.get("effort"),
        policy=said.get("policy"),
        agent=said.get("agent"),
        session=said.get("session"),
        prompt=said.get("prompt"),
        continue_latest=bool(said.get("continue_latest")),
        carry_from=said.get("carry_from"),
        context_mode=said.get("context_mode"),
        repo_map=said.get("repo_map"),
        max_parts=said.get("max_parts"),
        max_iterations=said.get("max_iterations"),
        max_turns=said.get("max_turns"),
        timeout_seconds=timeout if timeout or interactive else HEADLESS_SECONDS,
        max_cost_usd=said.get("max_cost"),
        investigator_profile=said.get("investigator_model_profile"),
        data_dir=data_dir.expanduser().resolve() if data_dir else None,
        plugin_dirs=tuple(_plugin_dir(path) for path in said.get("plugin_dir") or ()),
        no_plugins=bool(said.get("no_plugins")),
        readable=tuple(said.get("readable") or ()),
        theme=said.get("theme"),
        trusted_once=once,
        ignore_project=bool(said.get("ignore_project")),
    )


def _plugin_dir(path: Path) -> Path:
    """The place that `--plugin-dir` names. Raises `UsageError` where nothing is there."""
    place = path.expanduser().resolve()
    if not place.exists():
        raise UsageError(
            f"--plugin-dir: there is no {place}.",
            hint="Name a plugin's folder or file, or a folder of plugins.",
        )
    return place
