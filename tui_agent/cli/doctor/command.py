"""What works here, what does not, and what to do about it."""

import argparse
import locale
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple

from tui_agent import __version__
from tui_agent.cli.doctor import startup as doctor_startup
from tui_agent.cli.doctor.child_processes import bounded_by, ended_by, holding, why_unbounded
from tui_agent.cli.options import GROUPS, session_options
from tui_agent.cli.output import say, say_json, size
from tui_agent.config.options import SessionOptions
from tui_agent.errors import TuiAgentError
from tui_agent.plugin_host.bundled import bundled
from tui_agent.plugin_host.loader import PluginHost
from tui_agent.ports.environment import SecretFile
from tui_agent.wiring import sandbox as confining
from tui_agent.wiring.base import Ground, ground
from tui_agent.wiring.models import model_factory
from tui_agent.wiring.plugins import plugin_places
from tui_agent.workspace.checkpoints.limits import git_program, why_unavailable

EXAMPLES = """\
examples:
  tui-agent doctor
  tui-agent doctor --model fast --json
  tui-agent doctor --only sandbox
"""


class Finding(NamedTuple):
    """One thing that was looked at. `do` says what would help."""

    what: str
    state: Literal["ok", "note", "bad"]
    found: str
    do: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    """Where to look."""
    parser.add_argument("--json", action="store_true", help="JSON lines")
    parser.add_argument("--only", choices=sorted(LOOKS), metavar="WHAT", help=f"only: {', '.join(LOOKS)}")
    for group in ("place", "model", "extensions"):
        GROUPS[group](parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; exit status 1 if anything is bad."""
    options, only = session_options(arguments, client="headless", interactive=True), arguments.only
    findings = [attempt(only, LOOKS[only], ground(options))] if only else list(examine(options))
    for finding in findings:
        if arguments.json:
            say_json(finding._asdict())
        else:
            mark = {"ok": "ok  ", "note": "note", "bad": "BAD "}[finding.state]
            say(f"{mark}  {finding.what:<14} {finding.found}{f' {finding.do}' if finding.do else ''}")
    return 1 if any(finding.state == "bad" for finding in findings) else 0


def examine(options: SessionOptions) -> Iterator[Finding]:
    """Look at one thing after the other; a thing that fails is a finding, not the end."""
    yield from (version(), terminal(), words(), programs("git"), programs("rg"))
    yield shipped()
    yield startup(doctor_startup.folders())
    try:
        base = ground(options)
    except TuiAgentError as error:
        yield Finding("configuration", "bad", error.message, error.hint)
        return
    path = base.config.paths.user_config
    yield Finding("configuration", "ok", str(path) if path.exists() else f"no file (defaults): {path}")
    for path in base.config.ignored:
        yield Finding("trust", "note", f"{path} is not used.", "tui-agent trust shows and decides.")
    for what, look in LOOKS.items():
        yield attempt(what, look, base)


def attempt(what: str, look: Callable[[Ground], Finding], base: Ground) -> Finding:
    """A look that may fail with an error of ours."""
    try:
        return look(base)
    except TuiAgentError as error:
        return Finding(what, "bad", error.message, error.hint)


def version() -> Finding:
    """What runs on what."""
    python = ".".join(str(part) for part in sys.version_info[:3])
    return Finding(
        "version", "ok", f"tui-agent {__version__}, Python {python}, {platform.system()} {platform.machine()}"
    )


def terminal() -> Finding:
    """Whether the app could be drawn."""
    if not sys.stdout.isatty():
        return Finding(
            "terminal", "note", "This is no terminal.", "The app needs one; run and demo --headless do not."
        )
    columns, lines = shutil.get_terminal_size()
    colours = os.environ.get("COLORTERM") or os.environ.get("TERM", "unknown")
    if columns < 40 or lines < 8:
        return Finding("terminal", "bad", f"{columns}×{lines} is too small.", "Make it at least 40×8.")
    return Finding("terminal", "ok", f"{columns}×{lines}, {colours}")


def words() -> Finding:
    """Whether the locale can show what the app draws."""
    encoding = locale.getpreferredencoding(False)
    if encoding.lower().replace("-", "") != "utf8":
        return Finding("locale", "note", f"{encoding}", "The app draws with ASCII. For more: LANG=C.UTF-8")
    return Finding("locale", "ok", encoding)


def programs(name: str) -> Finding:
    """Programs that make things better where they are there."""
    why = {"git": "Checkpoints and git tools need it.", "rg": "Searching is slower without ripgrep."}[name]
    path = shutil.which(name)
    return Finding(name, "ok", path) if path else Finding(name, "note", "not found.", why)


def shipped() -> Finding:
    """Whether this copy of the product is whole."""
    missing = [kind for kind in ("plugins", "themes", "demos") if bundled(kind) is None]
    if missing:
        return Finding(
            "installation", "bad", f"{', '.join(missing)} are missing.", "Install tui-agent again."
        )
    litellm = next(iter(_versions("litellm")), "absent")
    return Finding("installation", "ok", f"whole; litellm {litellm}")


def startup(folders: Iterable[Path]) -> Finding:
    """Whether anything runs at the interpreter's start that no package brought, of what lies in these folders."""
    found = doctor_startup.foreign(folders)
    if not found:
        return Finding("startup", "ok", "nothing runs at the interpreter's start that no package brought.")
    return Finding(
        "startup", "bad" if any(one.runs for one in found) else "note", *doctor_startup.told(found)
    )


def _versions(name: str) -> Iterator[str]:
    try:
        yield metadata.version(name)
    except metadata.PackageNotFoundError:
        return


def sessions(base: Ground) -> Finding:
    """Whether sessions can be written."""
    folder = base.config.data_dir
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        return Finding(
            "sessions", "bad", f"{folder} cannot be written: {error.strerror}.", "Move it with --data-dir."
        )
    kept = folder / "sessions"
    if kept.exists() and kept.stat().st_mode & 0o077:
        return Finding("sessions", "note", f"{kept} can be read by others.", f"Close it: chmod 700 {kept}")
    known = base.store.list()
    used = size(sum(summary.size_bytes for summary in known))
    return Finding(
        "sessions", "ok", f"{folder}: {len(known)}, {used}; {size(shutil.disk_usage(there).free)} free"
    )


def model(base: Ground) -> Finding:
    """Whether the chosen model can be used, or which could."""
    config = base.config
    if config.model or config.base_url:
        info = model_factory(base).resolve(config.model, config.base_url, config.reasoning_effort)
        return Finding("model", "ok", f"{info.profile} ({info.provider})", "Ask it: tui-agent models check")
    usable = [info.profile for info in model_factory(base).available() if info.provider != "scripted"]
    if usable:
        return Finding(
            "model", "note", f"None is set; there are {', '.join(usable[:6])}.", "Set one: --model NAME"
        )
    return Finding(
        "model", "note", "None is set and no key is found.", "Set a key, or try it: tui-agent demo"
    )


def plugins(base: Ground) -> Finding:
    """Whether every plugin loads."""
    loaded = PluginHost(plugin_places(base), base.config.plugins_disabled).load()
    if loaded.failed:
        broken = "; ".join(f"{event.plugin}: {event.message}" for event in loaded.failed)
        return Finding("plugins", "bad", broken, "See: tui-agent plugins check PATH")
    return Finding("plugins", "ok", ", ".join(loaded.loaded))


def hooks(base: Ground) -> Finding:
    """Which commands are asked or told, and whose they are."""
    named = [
        f"{one.event} {one.command}{' (the project)' * (whose == 'project')}"
        for one, whose in base.config.hooks
    ]
    return Finding("hooks", "ok", "; ".join(named) or "none")


def workspace(base: Ground) -> Finding:
    """Whether the agent could work here."""
    folder: Path = base.options.cwd
    if not os.access(folder, os.R_OK | os.X_OK):
        return Finding("workspace", "bad", f"{folder} cannot be read.", "Check its permissions.")
    if not os.access(folder, os.W_OK):
        return Finding("workspace", "note", f"{folder} cannot be written.", "The agent can only read here.")
    return Finding("workspace", "ok", str(folder))


def checkpoints(base: Ground) -> Finding:
    """Whether files can be put back here, and how much is kept for that."""
    workspace = base.options.cwd.resolve()
    why = why_unavailable(workspace, git_program(workspace), base.store.root)
    if why:
        return Finding("checkpoints", "note", why)
    limits = base.config.checkpoints
    return Finding(
        "checkpoints",
        "ok",
        f"up to {limits.total_mb:g} MB a session, {limits.borrowed_mb:g} MB of them copied from a repository",
    )


def processes(base: Ground) -> Finding:
    """How what commands leave behind is ended, and what keeps them from filling the machine."""
    held = holding()
    if held is None:
        return Finding(
            "processes",
            "bad",
            "No command can be started.",
            "Check the temporary folder, and the Python that runs this.",
        )
    bounded = bounded_by(held)
    if not bounded:
        found = f"Ended {ended_by(held)}. Nothing bounds how many a command may start."
        return Finding("processes", "note", found, why_unbounded())
    return Finding("processes", "ok" if held.reaper else "note", f"ended {ended_by(held)}; {bounded}")


def sandbox(base: Ground) -> Finding:
    """What confines commands here, or why nothing does."""
    found = confining.confinement(base, base.options.cwd).sandbox
    if found.kind:
        return Finding("sandbox", "ok", f"{found.kind}. {' '.join(found.lines)}")
    return Finding(
        "sandbox",
        "note",
        found.why_not,
        "Commands run unconfined; accept-edits asks about each that does more than read.",
    )


def secrets(base: Ground) -> Finding:
    """What of the workspace is covered from commands, and what was not looked at."""
    confined = confining.confinement(base, base.options.cwd)
    found = confined.secret_files()
    if not confined.sandbox.kind:
        why = "Commands that would read them are asked about." if found else ""
        told = f"{_files(found)}; nothing covers them. {why}".strip() + _passed_on(base)
        return Finding("secrets", "note" if found else "ok", told)
    held = sum(one.in_git for one in found)
    told = f"{_files(found)} {'is' if len(found) == 1 else 'are'} covered while a command runs"
    told += f", {held} of them only from those that look, for git holds the same." if held else "."
    opened = base.config.sandbox.readable
    told += f" Commands may read {', '.join(opened)} ([sandbox] readable)." if opened else ""
    told += _passed_on(base)
    if confined.secrets_cut:
        return Finding("secrets", "note", told, f"{confined.secrets_cut} What lies further is not covered.")
    return Finding("secrets", "ok", told)


def _passed_on(base: Ground) -> str:
    """Which variables with secrets commands are shown."""
    shown = base.config.sandbox.variables
    return f" Commands are shown {', '.join(shown)} ([sandbox] variables)." if shown else ""


def _files(found: Sequence[SecretFile]) -> str:
    if not found:
        return "no files that may hold secrets"
    named = ", ".join(one.name for one in found[:3])
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return f"{len(found)} {'file' if len(found) == 1 else 'files'} that may hold secrets ({named}{more})"


LOOKS: dict[str, Callable[[Ground], Finding]] = {
    "workspace": workspace,
    "sessions": sessions,
    "checkpoints": checkpoints,
    "model": model,
    "plugins": plugins,
    "hooks": hooks,
    "sandbox": sandbox,
    "secrets": secrets,
    "processes": processes,
}
