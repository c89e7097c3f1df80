"""Check the installation and this machine, and suggest fixes."""

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

import anyio

from tui_agent import __version__
from tui_agent.cli.doctor import startup as doctor_startup
from tui_agent.cli.options import add_groups, session_options
from tui_agent.cli.output import say, say_json
from tui_agent.config.options import SessionOptions
from tui_agent.errors import TuiAgentError
from tui_agent.plugin_host.bundled import bundled_folder
from tui_agent.plugin_host.loader import PluginHost
from tui_agent.ports.environment import ExecSpec, ProcessControl, SecretFile
from tui_agent.units import format_bytes
from tui_agent.wiring import sandbox as confining
from tui_agent.wiring.models import build_model_factory
from tui_agent.wiring.plugins import plugin_places
from tui_agent.wiring.startup_context import StartupContext, load_startup_context
from tui_agent.workspace.checkpoints.checkpoint_limits import find_git, unavailable_reason
from tui_agent.workspace.local.environment import LocalEnvironment

EXAMPLES = """\
examples:
  tui-agent doctor
  tui-agent doctor --model fast --json
  tui-agent doctor --only sandbox
"""


class Finding(NamedTuple):
    """The result of one check. `advice` suggests a fix."""

    check: str
    state: Literal["ok", "note", "bad"]
    message: str
    advice: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `doctor`."""
    parser.add_argument("--json", action="store_true", help="JSON lines")
    parser.add_argument("--only", choices=sorted(CHECKS), metavar="WHAT", help=f"only: {', '.join(CHECKS)}")
    add_groups(parser, ("place", "model", "extensions"))


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; return 1 if any of them is bad."""
    options, only = session_options(arguments, client="headless", interactive=True), arguments.only
    findings = (
        [run_check(only, CHECKS[only], load_startup_context(options))] if only else list(run_checks(options))
    )
    for finding in findings:
        if arguments.json:
            say_json(finding._asdict())
        else:
            mark = {"ok": "ok  ", "note": "note", "bad": "BAD "}[finding.state]
            say(
                f"{mark}  {finding.check:<14} {finding.message}{f' {finding.advice}' if finding.advice else ''}"
            )
    return 1 if any(finding.state == "bad" for finding in findings) else 0


def run_checks(options: SessionOptions) -> Iterator[Finding]:
    """Run all checks; a check that fails becomes a finding and does not stop the others."""
    yield from (version(), terminal(), check_locale(), check_programs("git"), check_programs("rg"))
    yield check_installation()
    yield startup(doctor_startup.package_folders())
    try:
        base = load_startup_context(options)
    except TuiAgentError as error:
        yield Finding("configuration", "bad", error.message, error.hint)
        return
    path = base.config.paths.user_config
    yield Finding("configuration", "ok", str(path) if path.exists() else f"no file (defaults): {path}")
    for path in base.config.ignored_files:
        yield Finding("trust", "note", f"{path} is not used.", "Decide with: tui-agent trust")
    for what, look in CHECKS.items():
        yield run_check(what, look, base)


def run_check(what: str, look: Callable[[StartupContext], Finding], base: StartupContext) -> Finding:
    """Run one check; turn a `TuiAgentError` into a finding."""
    try:
        return look(base)
    except TuiAgentError as error:
        return Finding(what, "bad", error.message, error.hint)


def version() -> Finding:
    """Report the versions of tui-agent, Python and the system."""
    python = ".".join(str(part) for part in sys.version_info[:3])
    return Finding(
        "version", "ok", f"tui-agent {__version__}, Python {python}, {platform.system()} {platform.machine()}"
    )


def terminal() -> Finding:
    """Check that the app can be drawn here."""
    if not sys.stdout.isatty():
        return Finding(
            "terminal",
            "note",
            "This is not a terminal.",
            "The app needs one; run and demo --headless do not.",
        )
    columns, lines = shutil.get_terminal_size()
    colours = os.environ.get("COLORTERM") or os.environ.get("TERM", "unknown")
    if columns < 40 or lines < 8:
        return Finding("terminal", "bad", f"{columns}×{lines} is too small.", "Enlarge it to at least 40×8.")
    return Finding("terminal", "ok", f"{columns}×{lines}, {colours}")


def check_locale() -> Finding:
    """Check that the locale can show the app's characters."""
    encoding = locale.getpreferredencoding(False)
    if encoding.lower().replace("-", "") != "utf8":
        return Finding(
            "locale", "note", f"{encoding}", "The app draws with ASCII only. To change that: LANG=C.UTF-8"
        )
    return Finding("locale", "ok", encoding)


def check_programs(name: str) -> Finding:
    """Check for a program that is optional but useful."""
    reason = {"git": "Checkpoints and git tools need it.", "rg": "Searching is slower without ripgrep."}[name]
    path = shutil.which(name)
    return Finding(name, "ok", path) if path else Finding(name, "note", "not found.", reason)


def check_installation() -> Finding:
    """Check that the installation is complete."""
    missing = [kind for kind in ("plugins", "themes", "demos") if bundled_folder(kind) is None]
    if missing:
        return Finding(
            "installation", "bad", f"{', '.join(missing)} are missing.", "Install tui-agent again."
        )
    litellm = next(iter(_versions("litellm")), "absent")
    return Finding("installation", "ok", f"complete; litellm {litellm}")


def startup(folders: Iterable[Path]) -> Finding:
    """Check for start-up code in these folders that no installed package brought."""
    files = doctor_startup.find_foreign_files(folders)
    if not files:
        return Finding("startup", "ok", "only installed packages run code at the interpreter's start.")
    return Finding(
        "startup",
        "bad" if any(file.runs for file in files) else "note",
        *doctor_startup.describe_foreign_files(files),
    )


def _versions(name: str) -> Iterator[str]:
    try:
        yield metadata.version(name)
    except metadata.PackageNotFoundError:
        return


def sessions(base: StartupContext) -> Finding:
    """Check that sessions can be written, and by whom they can be read."""
    folder = base.config.data_dir
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        return Finding(
            "sessions",
            "bad",
            f"{folder} cannot be written: {error.strerror}.",
            "Choose another with --data-dir.",
        )
    session_folder = folder / "sessions"
    if session_folder.exists() and session_folder.stat().st_mode & 0o077:
        return Finding(
            "sessions",
            "note",
            f"Other users can read {session_folder}.",
            f"Restrict it with: chmod 700 {session_folder}",
        )
    known = base.store.list()
    used = format_bytes(sum(summary.size_bytes for summary in known))
    return Finding(
        "sessions",
        "ok",
        f"{folder}: {len(known)}, {used}; {format_bytes(shutil.disk_usage(existing).free)} free",
    )


def model(base: StartupContext) -> Finding:
    """Check that the chosen model can be used, or list usable ones."""
    config = base.config
    if config.model or config.base_url:
        info = build_model_factory(base).resolve(config.model, config.base_url, config.reasoning_effort)
        return Finding(
            "model", "ok", f"{info.profile} ({info.provider})", "To test it: tui-agent models check"
        )
    usable = [
        info.profile for info in build_model_factory(base).usable_models() if info.provider != "scripted"
    ]
    if usable:
        return Finding(
            "model",
            "note",
            f"No model is set. Available: {', '.join(usable[:6])}.",
            "Choose one with --model NAME.",
        )
    return Finding(
        "model", "note", "No model is set and no key was found.", "Set a key, or try: tui-agent demo"
    )


def plugins(base: StartupContext) -> Finding:
    """Check that every plugin loads."""
    loaded = PluginHost(plugin_places(base), base.config.plugins_disabled).load()
    if loaded.failed:
        broken = "; ".join(f"{event.plugin}: {event.message}" for event in loaded.failed)
        return Finding("plugins", "bad", broken, "See: tui-agent plugins check PATH")
    return Finding("plugins", "ok", ", ".join(loaded.loaded))


def hooks(base: StartupContext) -> Finding:
    """List the configured hooks and their origin."""
    descriptions = [
        f"{hook.event} {hook.command}{' (from the project)' * (origin == 'project')}"
        for hook, origin in base.config.hooks
    ]
    return Finding("hooks", "ok", "; ".join(descriptions) or "none")


def workspace(base: StartupContext) -> Finding:
    """Check the agent's access to the workspace."""
    folder: Path = base.options.cwd
    if not os.access(folder, os.R_OK | os.X_OK):
        return Finding("workspace", "bad", f"{folder} cannot be read.", "Check its permissions.")
    if not os.access(folder, os.W_OK):
        return Finding("workspace", "note", f"{folder} cannot be written.", "The agent can only read here.")
    return Finding("workspace", "ok", str(folder))


def checkpoints(base: StartupContext) -> Finding:
    """Check that files can be restored here, and show the space limits."""
    workspace = base.options.cwd.resolve()
    reason = unavailable_reason(workspace, find_git(workspace), base.store.root)
    if reason:
        return Finding("checkpoints", "note", reason)
    limits = base.config.checkpoints
    return Finding(
        "checkpoints",
        "ok",
        f"up to {limits.total_mb:g} MB per session, {limits.borrowed_mb:g} MB of it copied from a repository",
    )


def processes(base: StartupContext) -> Finding:
    """Check how leftover processes are stopped and how their number is limited."""
    limits = probe_limits()
    if limits is None:
        return Finding(
            "processes",
            "bad",
            "Commands cannot be started.",
            "Check the temporary folder and the Python that runs tui-agent.",
        )
    bound = describe_process_limit(limits)
    if not bound:
        message = f"Leftover processes are stopped {describe_cleanup(limits)}. Their number is not limited."
        return Finding("processes", "note", message, process_limit_advice())
    return Finding(
        "processes",
        "ok" if limits.reaper else "note",
        f"leftover processes are stopped {describe_cleanup(limits)}; {bound}",
    )


def sandbox(base: StartupContext) -> Finding:
    """Describe the sandbox for commands, or why there is none."""
    status = confining.build_confinement(base, base.options.cwd).sandbox
    if status.kind:
        return Finding("sandbox", "ok", f"{status.kind}. {' '.join(status.lines)}")
    return Finding(
        "sandbox",
        "note",
        status.unavailable_reason,
        "Commands run without a sandbox; accept-edits asks before each command that does more than read.",
    )


def secrets(base: StartupContext) -> Finding:
    """List secret files that are hidden from commands, and limits of the search for them."""
    confined = confining.build_confinement(base, base.options.cwd)
    files = confined.secret_files()
    if not confined.sandbox.kind:
        consequence = "Commands that would read them need your approval." if files else ""
        message = (
            f"{_describe_files(files)}; no sandbox hides them. {consequence}".strip()
            + _describe_variables(base)
        )
        return Finding("secrets", "note" if files else "ok", message)
    in_git = sum(file.in_git for file in files)
    message = f"Hidden from commands: {_describe_files(files)}"
    message += f", {in_git} of them also stored in git." if in_git else "."
    readable = base.config.sandbox.readable
    message += f" Commands may read {', '.join(readable)} ([sandbox] readable)." if readable else ""
    message += _describe_variables(base)
    if confined.secrets_incomplete:
        return Finding(
            "secrets", "note", message, f"{confined.secrets_incomplete} Files further down are not hidden."
        )
    return Finding("secrets", "ok", message)


def _describe_variables(base: StartupContext) -> str:
    """Return a sentence with the secret variables that commands get; empty if there are none."""
    shown = base.config.sandbox.variables
    return f" Commands get {', '.join(shown)} ([sandbox] variables)." if shown else ""


def _describe_files(files: Sequence[SecretFile]) -> str:
    if not files:
        return "no files that may contain secrets"
    names = ", ".join(file.name for file in files[:3])
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return f"{len(files)} {'file' if len(files) == 1 else 'files'} that may contain secrets ({names}{more})"


CHECKS: dict[str, Callable[[StartupContext], Finding]] = {
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


def probe_limits() -> ProcessControl | None:
    """Return the limits that apply to commands here; None if no command can be started."""
    return anyio.run(_run_probe)


async def _run_probe() -> ProcessControl | None:
    with tempfile.TemporaryDirectory(prefix="tui-agent-") as folder:
        env = LocalEnvironment(Path(folder))
        try:
            result = await env.exec(ExecSpec(argv=(sys.executable, "-I", "-S", "-c", "")), lambda data: None)
        finally:
            await env.aclose()
    return env.limits_in_force if result.outcome == "exited" else None


def describe_cleanup(held: ProcessControl) -> str:
    """Describe how processes that a command leaves behind are stopped."""
    if not held.reaper:
        return "by their process group; one that leaves the group is found by an environment variable, if /proc exists"
    kernel = ", and together by the kernel (cgroup.kill)" if held.cgroup_kill else ""
    return f"reliably, by a parent process (subreaper){kernel}"


def describe_process_limit(held: ProcessControl) -> str:
    """Describe the limit on the number of processes; empty if there is none."""
    match held.limited_by:
        case "cgroup":
            return f"at most {held.max_processes:,} per command (pids.max of a control group)"
        case "uid":
            return f"at most {held.max_processes:,} of this user in total (RLIMIT_NPROC)"
        case _:
            return ""


def process_limit_advice() -> str:
    """Return advice on how to get a limit on the number of processes."""
    if os.getuid() == 0:
        return "Run it as a user other than root, or where it may create control groups."
    return "Run it where it may create control groups."
