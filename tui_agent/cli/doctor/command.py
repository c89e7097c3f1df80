"""Check the installation and this machine, and suggest fixes."""

import argparse
import locale
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
from textwrap import wrap
from typing import Literal, NamedTuple

import anyio

from tui_agent import __version__
from tui_agent.cli.console.output import say, say_json_lines, terminal_width
from tui_agent.cli.console.shared_options import add_flag, add_groups, add_option, session_options
from tui_agent.cli.console.theme_names import require_theme
from tui_agent.cli.doctor import python_startup_files
from tui_agent.config.extensions.claude_hooks import load_claude_hooks
from tui_agent.config.project.repository import find_repository
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.user_choices import load_choices
from tui_agent.errors import TuiAgentError
from tui_agent.plugin_host.bundled_files import bundled_folder
from tui_agent.ports.environment import ExecSpec, ProcessControl, SecretFile
from tui_agent.protocol.unicode_text import format_count
from tui_agent.store.store_cleanup import measure_session
from tui_agent.tui.widgets.key_settings import apply_key_settings
from tui_agent.units import MEGABYTE, format_bytes, format_number
from tui_agent.wiring.environments import build_confinement, find_sandbox, start_environments
from tui_agent.wiring.models import build_model_factory
from tui_agent.wiring.plugins import load_external_plugins, plugin_host
from tui_agent.wiring.policy import load_catalog, load_rules
from tui_agent.wiring.startup_context import StartupContext, load_startup_context
from tui_agent.workspace.checkpoints.checkpoint_limits import find_git, unavailable_reason
from tui_agent.workspace.local.environment import LocalEnvironment

EXAMPLES = """\
examples:
  tui-agent doctor
  tui-agent doctor --model fast --json
  tui-agent doctor --only sandbox
"""


class CheckResult(NamedTuple):
    """The result of one check.

    `advice`: suggestion of a fix.
    `state`: `ok`, `bad` for an error, or `note` for a limitation.
    """

    state: Literal["ok", "note", "bad"]
    message: str
    advice: str = ""


ok = partial(CheckResult, "ok")
note = partial(CheckResult, "note")
bad = partial(CheckResult, "bad")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `doctor`."""
    add_flag(parser, "--json", "print JSON lines")
    add_option(parser, "--only CHECK", f"run only one check: {', '.join(CHECKS)}", choices=sorted(CHECKS))
    add_groups(parser, ("folders", "model", "extensions"))


def run(arguments: argparse.Namespace) -> int:
    """Run the checks and print their results; return 1 if any of them is bad."""
    options, only = session_options(arguments, client="headless", interactive=True), arguments.only
    results = [run_check(only, load_startup_context(options))] if only else list(run_checks(options))
    if arguments.json:
        say_json_lines({"check": name, **result._asdict()} for name, result in results)
    else:
        say(describe_results(results, max(60, terminal_width()) if sys.stdout.isatty() else 0))
    return 1 if any(result.state == "bad" for _, result in results) else 0


def describe_results(results: Sequence[tuple[str, CheckResult]], width: int = 0) -> str:
    """Return the results as text: problems, then limitations, then passed checks.

    `width`: number of columns to wrap at; 0 for no wrapping.
    """
    lines: list[str] = []
    for state, title in ("bad", "To fix"), ("note", "Worth knowing"), ("ok", "Working"):
        group = [(name, result) for name, result in results if result.state == state]
        lines += [*([""] if lines else []), title] if group else []
        for name, result in group:
            texts = [
                line
                for text in result[1:]
                if text
                for line in (wrap(text, width - 18, break_on_hyphens=False) if width else [text])
            ]
            names = [name, *[""] * len(texts)]
            lines += [f"  {label:<15} {text}" for label, text in zip(names, texts, strict=False)]
    return "\n".join(lines)


def run_checks(options: SessionOptions) -> Iterator[tuple[str, CheckResult]]:
    """Run all checks, and yield (name, result). A check that raises `TuiAgentError` has the result `bad`."""
    yield "version", version()
    yield "terminal", terminal()
    yield "locale", check_locale()
    yield "git", check_program("git", "Checkpoints and git tools need git.")
    yield "rg", check_program("rg", "Searching is slower without ripgrep.")
    yield "installation", check_installation()
    yield "startup", startup(python_startup_files.package_folders())
    try:
        base = load_startup_context(options)
    except TuiAgentError as error:
        yield "configuration", bad(error.message, error.hint)
        return
    path = base.config.paths.user_config
    yield "configuration", ok(str(path) if path.exists() else f"no file (defaults): {path}")
    for path in base.config.ignored_files:
        yield "trust", note(f"{path} is not used.", "To trust or ignore the file: tui-agent trust")
    for name in CHECKS:
        yield run_check(name, base)


def run_check(name: str, base: StartupContext) -> tuple[str, CheckResult]:
    """Run the check `name`, and return (name, result)."""
    try:
        return name, CHECKS[name](base)
    except TuiAgentError as error:
        return name, bad(error.message, error.hint)


def version() -> CheckResult:
    """Report the versions of tui-agent, Python and the system."""
    python = ".".join(str(part) for part in sys.version_info[:3])
    return ok(f"tui-agent {__version__}, Python {python}, {platform.system()} {platform.machine()}")


def terminal() -> CheckResult:
    """Check that the app can be drawn on standard output."""
    if not sys.stdout.isatty():
        return note(
            "This is not a terminal.",
            "The app needs a terminal; `tui-agent run` and `tui-agent demo --headless` do not.",
        )
    columns, lines = shutil.get_terminal_size()
    colours = os.environ.get("COLORTERM") or os.environ.get("TERM", "unknown")
    if columns < 40 or lines < 8:
        return bad(f"{columns}×{lines} is too small.", "Enlarge the terminal to at least 40×8.")
    return ok(f"{columns}×{lines}, {colours}")


def check_locale() -> CheckResult:
    """Check that the locale can show the app's characters."""
    encoding = locale.getpreferredencoding(False)
    if encoding.lower().replace("-", "") != "utf8":
        return note(f"{encoding}", "The app draws with ASCII only. To use Unicode, set LANG=C.UTF-8.")
    return ok(encoding)


def check_program(name: str, purpose: str) -> CheckResult:
    """Check that an optional program is installed. If it is missing, report its `purpose` as advice."""
    path = shutil.which(name)
    return ok(path) if path else note("not found.", purpose)


def check_installation() -> CheckResult:
    """Check that plugins, themes and demos are installed, and report the version of litellm."""
    missing = [kind for kind in ("plugins", "themes", "demos") if bundled_folder(kind) is None]
    if missing:
        return bad(f"{', '.join(missing)} are missing.", "Install tui-agent again.")
    try:
        litellm = metadata.version("litellm")
    except metadata.PackageNotFoundError:
        litellm = "not installed"
    return ok(f"complete; litellm {litellm}")


def startup(folders: Iterable[Path]) -> CheckResult:
    """Report files that run at every start of Python but belong to no installed package."""
    files = python_startup_files.find_foreign_files(folders)
    if not files:
        return ok("only installed packages run code when Python starts.")
    report = bad if any(file.runs for file in files) else note
    return report(*python_startup_files.describe_foreign_files(files))


def sessions(base: StartupContext) -> CheckResult:
    """Check that sessions can be written to the session folder, and that other users cannot read them."""
    folder = base.config.data_dir
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        return bad(f"{folder} cannot be written: {error.strerror}.", "Choose another folder with --data-dir.")
    session_folder = folder / "sessions"
    if session_folder.exists() and session_folder.stat().st_mode & 0o077:
        return note(
            f"Other users can read {session_folder}.", f"To restrict the folder: chmod 700 {session_folder}"
        )
    known = base.store.list()
    used = format_bytes(sum(sum(measure_session(session).values()) for session in base.store.folders()))
    return ok(
        f"{folder}: {format_count(len(known), 'session')}, {used}; {format_bytes(shutil.disk_usage(existing).free)} free",
    )


def model(base: StartupContext) -> CheckResult:
    """Check that the configured model can be used; if no model is configured, list the usable models."""
    config = base.config
    if config.model or config.base_url:
        info = build_model_factory(base).resolve(config.model, config.base_url, config.reasoning_effort)
        return ok(f"{info.profile} ({info.provider})", "To test the model: tui-agent models check")
    usable = [
        info.profile for info in build_model_factory(base).usable_models() if info.provider != "scripted"
    ]
    if usable:
        return note(
            f"No model is set. Available: {', '.join(usable[:6])}.", "Choose a model with --model NAME."
        )
    return note("No model is set and no key was found.", "Set a key, or try: tui-agent demo")


def plugins(base: StartupContext) -> CheckResult:
    """Check that every plugin loads."""
    loaded = plugin_host(base).load()
    if loaded.failed:
        broken = "; ".join(f"{event.plugin}: {event.message}" for event in loaded.failed)
        return bad(broken, "See: tui-agent plugins check PATH")
    return ok(", ".join(loaded.loaded))


def hooks(base: StartupContext) -> CheckResult:
    """List the hooks of the configuration and of Claude Code's settings; report invalid settings."""
    config = base.config
    claude = load_claude_hooks(config.paths, config.project)
    if claude.faults:
        return bad(" ".join(claude.faults), "Correct that file.")
    descriptions = [
        f"{hook.event} {hook.command}{' (from the project)' * (origin == 'project')}"
        for hook, origin in (*config.hooks, *claude.hooks)
    ]
    return ok("; ".join(descriptions) or "none")


def workspace(base: StartupContext) -> CheckResult:
    """Check that the workspace can be read and written."""
    folder: Path = base.options.cwd
    if not os.access(folder, os.R_OK | os.X_OK):
        return bad(f"{folder} cannot be read.", "Check the folder's permissions.")
    if not os.access(folder, os.W_OK):
        return note(f"{folder} cannot be written.", "The agent cannot change files in this folder.")
    return ok(str(folder))


def checkpoints(base: StartupContext) -> CheckResult:
    """Check that checkpoints are possible in the workspace, and show their size limits."""
    workspace = base.options.cwd.resolve()
    reason = unavailable_reason(workspace, find_git(workspace), base.store.root)
    if reason:
        return note(reason)
    limits = base.config.checkpoints
    copied = f", including {format_bytes(round(limits.borrowed_mb * MEGABYTE))} copied from the repository"
    return ok(
        f"up to {format_bytes(round(limits.total_mb * MEGABYTE))} per session{copied if find_repository(workspace) else ''}"
    )


def processes(base: StartupContext) -> CheckResult:
    """Start a command; report how its leftover processes are stopped, and how many processes a command can start."""
    limits = anyio.run(probe_limits)
    if limits is None:
        return bad(
            "Commands cannot be started.",
            f"Check that the temporary folder is writable and that {sys.executable} starts.",
        )
    bound = describe_process_limit(limits)
    if not bound:
        message = f"Leftover processes are stopped {describe_cleanup(limits)}. The number of processes is not limited."
        return note(message, process_limit_advice())
    report = ok if limits.reaper else note
    return report(f"leftover processes are stopped {describe_cleanup(limits)}; {bound}")


def environment(base: StartupContext) -> CheckResult:
    """Start the environment that runs commands, and stop it again."""
    loaded = load_external_plugins(base)

    async def probe() -> str:
        environments = await start_environments(base, loaded, base.options.cwd, "")
        await environments.aclose()
        return environments.started_event().details

    return ok(anyio.run(probe) or "commands run on this machine")


def sandbox(base: StartupContext) -> CheckResult:
    """Describe the sandbox for commands, or the reason why there is none."""
    status = find_sandbox(base, base.options.cwd)
    if status.kind:
        return ok(f"{status.kind}. {' '.join(status.lines)}")
    return note(
        status.unavailable_reason,
        "Commands run without a sandbox, so accept-edits asks before each command that does more than read.",
    )


def secrets(base: StartupContext) -> CheckResult:
    """List the secret files that are hidden from commands."""
    confined = build_confinement(base, base.options.cwd)
    files = confined.secret_files()
    if not find_sandbox(base, base.options.cwd).kind:
        consequence = (
            "; they are not hidden, because there is no sandbox."
            " Commands that would read them need your approval."
        )
        message = f"{_describe_files(files)}{consequence if files else '.'}"
        return (note if files else ok)(message + _describe_variables(base))
    in_git = sum(file.in_git for file in files)
    message = f"{'Hidden from commands: ' if files else ''}{_describe_files(files)}"
    message += f", {in_git} of them also stored in git." if in_git else "."
    readable = base.config.sandbox.readable
    message += f" Commands can read {', '.join(readable)} (set in [sandbox] readable)." if readable else ""
    message += _describe_variables(base)
    if confined.secrets_incomplete:
        return note(
            message, f"{confined.secrets_incomplete} Secret files that were not found are not hidden."
        )
    return ok(message)


def _describe_variables(base: StartupContext) -> str:
    shown = base.config.sandbox.variables
    return (
        f" Commands can read these variables: {', '.join(shown)} (set in [sandbox] variables)."
        if shown
        else ""
    )


def _describe_files(files: Sequence[SecretFile]) -> str:
    if not files:
        return "no files that may contain secrets"
    names = ", ".join(file.name for file in files[:3])
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return f"{format_count(len(files), 'file')} that may contain secrets ({names}{more})"


def keys(base: StartupContext) -> CheckResult:
    """Check the user's own key bindings for the app."""
    settings = apply_key_settings(base.config.keys)
    if settings.faults:
        return bad(
            " ".join(settings.messages),
            "Correct [keys] in config.toml; until then these actions keep their default keys.",
        )
    if settings.rare_keys:
        return note(" ".join(settings.rare_keys), "/keys shows what your terminal sends for a key.")
    changed = len(base.config.keys)
    return ok(
        f"{format_count(changed, 'key of your own', 'keys of your own')}" if changed else "the default keys"
    )


def policy(base: StartupContext) -> CheckResult:
    """Check the files with rules and with tables of known programs."""
    rules = load_rules(base)
    load_catalog(base)
    return ok(format_count(len(rules), "rule") if rules else "no rules")


def theme(base: StartupContext) -> CheckResult:
    """Check that the theme in use exists."""
    name = base.config.theme or load_choices(base.config.data_dir)[0].theme
    if name:
        require_theme(replace(base.options, theme=name))
    return ok(name or "the default")


CHECKS: dict[str, Callable[[StartupContext], CheckResult]] = {
    "workspace": workspace,
    "theme": theme,
    "keys": keys,
    "policy": policy,
    "sessions": sessions,
    "checkpoints": checkpoints,
    "model": model,
    "plugins": plugins,
    "hooks": hooks,
    "environment": environment,
    "sandbox": sandbox,
    "secrets": secrets,
    "processes": processes,
}


async def probe_limits() -> ProcessControl | None:
    """Run a command that does nothing, and return its process limits; None if the command could not start."""
    with tempfile.TemporaryDirectory(prefix="tui-agent-") as folder:
        env = LocalEnvironment(Path(folder))
        try:
            result = await env.exec(ExecSpec(argv=(sys.executable, "-I", "-S", "-c", "")), lambda data: None)
        finally:
            await env.aclose()
    return env.limits_in_force if result.outcome == "exited" else None


def describe_cleanup(held: ProcessControl) -> str:
    """Describe in a phrase how a command's leftover processes are stopped."""
    if not held.reaper:
        return "by process group; those that left their group are found by an environment variable in /proc"
    kernel = " or by the kernel (cgroup.kill)" if held.cgroup_kill else ""
    return f"reliably, by a parent process (subreaper){kernel}"


def describe_process_limit(held: ProcessControl) -> str:
    """Return a phrase about the process limit; empty if there is no limit."""
    match held.limited_by:
        case "cgroup":
            return f"at most {format_number(held.max_processes)} processes per command (pids.max of a control group)"
        case "uid":
            return (
                f"at most {format_number(held.max_processes)} processes of this user in total (RLIMIT_NPROC)"
            )
        case _:
            return ""


def process_limit_advice() -> str:
    """Return advice for a machine without a limit on processes."""
    if os.getuid() == 0:
        return "To limit the number of processes, run tui-agent as a user other than root, or on a system that lets it create control groups."
    return "To limit the number of processes, run tui-agent on a system that lets it create control groups."
