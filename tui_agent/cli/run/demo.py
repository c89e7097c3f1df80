"""Watch the agent work without account or network: a scripted model, real tools, a temporary workspace.

Invariant: after the redo at the end, conversation and files are the same as before the undo.
"""

import argparse
import shutil
import sys
import tempfile
import tomllib
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from tui_agent.cli.app import open_app, require_terminal
from tui_agent.cli.console.output import say, say_json_lines, table
from tui_agent.cli.console.shared_options import add_flag, add_groups, session_options
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError, TuiAgentError, UsageError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.branches import Branches
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.plugin_host.bundled_files import bundled_folder
from tui_agent.ports.log import Follower
from tui_agent.ports.session import Session
from tui_agent.protocol.commands import Redo, Revert
from tui_agent.protocol.envelope import known_events
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.session.headless_turn import Outcome, submit_and_wait

EXAMPLES = """\
examples:
  tui-agent demo                       the default scenario, in the app
  tui-agent demo bugfix                another scenario
  tui-agent demo todo-api --headless   without the app
  tui-agent demo --list
"""
DEFAULT = "todo-api"
UNATTENDED = "bypass"
"""Policy of a demo without the app. Nobody can approve calls in such a demo."""


@dataclass(frozen=True, slots=True)
class Demo:
    """A bundled demo scenario: a folder with `script.yaml` (the model's answers), `workspace/` and `demo.toml`."""

    name: str
    folder: Path
    description: str
    prompt: str
    steer: str
    policy: str


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the scenario and the output to the parser."""
    parser.add_argument(
        "name", nargs="?", metavar="NAME", default=DEFAULT, help=f"the scenario (default: {DEFAULT})"
    )
    add_flag(parser, "--headless", "run without the app, for scripts")
    add_flag(parser, "--json", "with --headless: print every event as a JSON line")
    add_flag(parser, "--list", "list the scenarios", dest="listing")
    add_groups(parser, ("folders", "extensions"))


def run(arguments: argparse.Namespace) -> int:
    """Play one scenario and return its exit status."""
    demos = bundled_demos()
    if arguments.listing:
        return list_demos(demos, as_json=arguments.json)
    if arguments.name not in demos:
        raise UsageError(f"Unknown demo {arguments.name!r}.", hint=f"Available: {', '.join(sorted(demos))}.")
    demo = demos[arguments.name]
    if arguments.json and not arguments.headless:
        raise UsageError(
            "--json needs --headless.", hint=f"Run: tui-agent demo {demo.name} --headless --json"
        )
    if not arguments.headless:
        require_terminal()
    is_temporary = arguments.cwd is None
    workspace = make_workspace(demo, arguments.cwd)
    try:
        arguments.cwd = workspace
        options = session_options(arguments, client="demo", interactive=not arguments.headless)
        options = replace(options, model=f"demo:{demo.name}", policy=demo.policy, ignore_project=True)
        if not arguments.headless:
            return open_app(replace(options, prompt=demo.prompt, steer=demo.steer))
        return run_headless(replace(options, policy=UNATTENDED), demo.prompt, as_json=arguments.json)
    finally:
        if is_temporary:
            shutil.rmtree(workspace, ignore_errors=True)


def run_headless(options: SessionOptions, prompt: str, *, as_json: bool) -> int:
    """Run the scenario like `tui-agent run`, then undo and redo its turn."""
    # Imported only here: the app's process must not load the engine.
    after_turn = undo_and_redo
    status: int = import_module("tui_agent.cli.run.command").one_turn(
        options, prompt, as_json=as_json, after_turn=after_turn
    )
    return status


def bundled_demos() -> dict[str, Demo]:
    """Return the bundled demos by name. Raise `ConfigError` if there are none."""
    folder = bundled_folder("demos")
    names = sorted(path.parent.name for path in folder.glob("*/demo.toml")) if folder is not None else []
    if folder is None or not names:
        raise ConfigError("This copy of tui-agent has no demos.", hint="Install tui-agent again.")
    return {name: read_demo(folder / name) for name in names}


def read_demo(folder: Path) -> Demo:
    """Read a demo scenario from its folder. Raise `ConfigError` if the description is invalid."""
    path = folder / "demo.toml"
    try:
        about = tomllib.loads(path.read_text(encoding="utf-8"))
        return Demo(
            name=folder.name,
            folder=folder,
            description=str(about["description"]),
            prompt=str(about["prompt"]),
            steer=str(about["steer"]),
            policy=str(about.get("policy", "accept-edits")),
        )
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise ConfigError(f"{path} is not a valid demo: {error}.", hint="Install tui-agent again.") from error


def list_demos(demos: dict[str, Demo], *, as_json: bool) -> int:
    """Print the name and the description of each demo scenario."""
    if as_json:
        say_json_lines(
            {"name": demo.name, "description": demo.description, "prompt": demo.prompt, "policy": demo.policy}
            for demo in demos.values()
        )
    else:
        table([[demo.name, demo.description] for demo in demos.values()], ["name", "what happens"])
    return 0


def make_workspace(demo: Demo, folder: Path | None) -> Path:
    """Copy the scenario's files to `folder`, or to a new temporary folder. Return the folder with the copies.

    Raise `UsageError` if `folder` is not empty.
    """
    if folder is None:
        target = Path(tempfile.mkdtemp(prefix=f"tui-agent-{demo.name}-"))
    else:
        target = folder.expanduser()
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise UsageError(f"{target} is not empty.", hint="Give a new or empty folder.")
    source = demo.folder / "workspace"
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    target.mkdir(parents=True, exist_ok=True)
    if folder is not None:
        say(f"The demo's workspace is {target}.", file=sys.stderr)
    return target


async def undo_and_redo(session: Session, outcome: Outcome) -> None:
    """Undo and redo the turn that has just ended. Do nothing if the turn is unfinished or changed no file."""
    if outcome.reason != "finished":
        return
    follower = session.follow()
    try:
        before = await _seq_before_turn(follower)
        if before is not None:
            await submit_and_wait(session, follower, Revert(to_seq=before))
            await submit_and_wait(session, follower, Redo())
    finally:
        follower.close()


async def _seq_before_turn(follower: Follower) -> int | None:
    """Wait until the turn ends, and return the number of the event before the turn. Return None if no file changed."""
    branches, files, ended = Branches(), FilesChanged(), False
    while not ended:
        batch = await follower.next_batch()
        if not batch:
            raise TuiAgentError("The session ended before the demo finished.")
        for record in known_events(batch):
            branches.apply(record)
            files.apply(record)
            ended = ended or isinstance(record.payload, TurnFinished)
    return branches.view().undo_to if files.view().turn_files else None
