"""The escalations: named reasons to ask about a command although it only reads.

Invariant: an escalation never allows a command, and does not depend on other escalations. A folder that was not
searched is assumed to contain links.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.decision.file_judge import SECRETS_RISK
from tui_agent.policy.decision.judgement import Judgement
from tui_agent.policy.decision.line_uses import Uses
from tui_agent.policy.decision.path_patterns import matches_path, may_choose, means_name
from tui_agent.policy.decision.repository_contents import reads_commits, shows_repository
from tui_agent.policy.interpreter.command_report import Certainty, CommandReport, FileUse
from tui_agent.policy.places.path_places import place
from tui_agent.ports.environment import SecretFile, WorkspaceLink
from tui_agent.ports.policy import PolicyFacts

GIT = "git"
_INSTALLED = frozenset({"node_modules", "site-packages"})
"""Names of folders with installed packages, which the scan of the workspace skips."""


@dataclass(frozen=True, slots=True)
class Escalation:
    """A named check for commands that only read.

    `check`: function that returns a reason to ask about a command, or an empty string.
    """

    name: str
    check: Callable[[CommandReport, Uses, PolicyFacts], str]
    risk: str = ""
    default_no: bool = False


def escalate(command: CommandReport, uses: Uses, facts: PolicyFacts) -> Iterator[Judgement]:
    """Yield a judgement for each escalation that applies, in the order of `ESCALATIONS`."""
    for escalation in ESCALATIONS:
        reason = escalation.check(command, uses, facts)
        if reason:
            name, risk = f"guard.{escalation.name}", escalation.risk
            yield Judgement("ask", name, reason, risk, escalation.default_no, needs_person=True)


def program_name(command: CommandReport) -> str:
    """Return the name or path by which a command starts its program."""
    return (command.words[0].known if command.words else None) or command.name


def runs_git(command: CommandReport) -> bool:
    """Return True if a command starts git, possibly by a path or as `git-push`."""
    bare = program_name(command).rpartition("/")[2]
    return bare == GIT or bare.startswith(f"{GIT}-")


def is_workspace_program(command: CommandReport, uses: Uses, facts: PolicyFacts) -> str:
    """Return a reason to ask if the command's program is a file of the workspace; otherwise empty."""
    name = program_name(command)
    if command.program.builtin or name not in facts.workspace_programs:
        return ""
    return f"{name} is a program in this workspace"


def runs_configured_programs(command: CommandReport, uses: Uses, facts: PolicyFacts) -> str:
    """Return a reason to ask if git can run programs named in its configuration; otherwise empty."""
    if not (facts.git_is_steered and runs_git(command)):
        return ""
    return "git may run programs or read files that the command does not name"


def is_steered_by_project(command: CommandReport, uses: Uses, facts: PolicyFacts) -> str:
    """Return a reason to ask if a project file may decide what the command does; otherwise empty.

    In a sandbox, there is no reason to ask.
    """
    if facts.sandboxed:
        return ""
    name = next(
        (path for path in facts.steering_files if path.rpartition("/")[2] in command.program.steered_by), ""
    )
    if name:
        return f"{name} may decide what {command.name} runs, reads or writes"
    unseen = next(
        (folder for folder in command.folders if folder is not None and _is_unseen(folder, facts)), None
    )
    if unseen is None or not command.program.steered_by:
        return ""
    return f"{unseen or 'this folder'} was not searched for files that decide what {command.name} runs"


def _is_unseen(folder: str, facts: PolicyFacts) -> bool:
    unscanned = any(name == "" or f"{folder}/".startswith(f"{name}/") for name in facts.unscanned)
    return unscanned or not _INSTALLED.isdisjoint(folder.split("/"))


def reads_secrets_below(command: CommandReport, uses: Uses, facts: PolicyFacts) -> str:
    """Return a reason to ask the user if a command would read secret files that it does not name."""
    # A sandbox hides secret files, so there only secrets in git's commits are a reason.
    committed = _committed_secrets(command, uses, facts)
    if committed:
        return f"it may show {_name_first(committed)}, which may hold secrets, from git's commits"
    if facts.sandboxed:
        return ""
    if runs_git(command):
        uses = [
            (use if _is_inside(use, command) else replace(use, skips=frozenset()), path) for use, path in uses
        ]
    names = secrets_read(uses, [secret for secret in facts.secrets if not secret.in_git], facts)
    if not names:
        folder = next((folder for folder in facts.unscanned if _reads_below(folder, uses, facts)), None)
        return "" if folder is None else f"{folder or 'this folder'} was not searched for secrets"
    return f"it would also read {_name_first(names)}, which may hold secrets"


def _name_first(names: Sequence[str]) -> str:
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]


def _committed_secrets(command: CommandReport, uses: Uses, facts: PolicyFacts) -> tuple[str, ...]:
    """Return the names of the secret files that a git command can print from commits."""
    tracked = [file for file in facts.secrets if file.in_git or file.committed_size_and_mtime is not None]
    if not tracked or not reads_commits(command):
        return ()
    if shows_repository(command):
        return tuple(file.name for file in tracked)
    # Options that skip files in the working folder do not skip them in commits.
    below = [(replace(use, below=True, skips=frozenset()), path) for use, path in uses]
    return secrets_read(below, tracked, facts)


def _is_inside(use: FileUse, command: CommandReport) -> bool:
    """Return True if the file of `use` is inside every possible working folder of the command."""
    return all(
        not folder or f"{use.path}/".startswith(f"{folder}/")
        for folder in command.folders
        if folder is not None
    )


def _reads_below(folder: str, uses: Uses, facts: PolicyFacts) -> bool:
    read = ((use, place(path, facts).relative) for use, path in uses if use.action == "read" and use.below)
    return any(relative is not None and _goes_below(relative, folder, use) for use, relative in read)


def secrets_read(uses: Uses, secrets: Sequence[SecretFile], facts: PolicyFacts) -> tuple[str, ...]:
    """Return the names of the secret files that a command reads without naming them, as `grep -r` does."""
    return tuple(
        secret.name
        for secret in secrets
        if any(_reads_secret(use, path, secret, facts) for use, path in uses)
    )


def _reads_secret(use: FileUse, path: str, secret: SecretFile, facts: PolicyFacts) -> bool:
    relative = place(path, facts).relative
    if use.action != "read" or relative is None or _skips(use, secret, relative):
        return False
    # For a folder of secret files, any file in it is compared.
    name = f"{secret.name}any" if secret.name.endswith("/") else secret.name
    if use.certainty is Certainty.BOUNDED:
        return matches_path(relative, name, below=use.below)
    return use.below and (relative == "" or name.startswith(f"{relative}/"))


def _skips(use: FileUse, secret: SecretFile, start: str) -> bool:
    """Return True if the command leaves out the secret file when it reads the folder `start`, as `use` describes."""
    names = _names_below(start, secret.name)
    if not names:
        return False
    hidden = "hidden" in use.skips and any(name.startswith(".") for name in names)
    # The ignore file may be about the folder that the program is told to read, so `start` must be the workspace.
    ignored = "ignored" in use.skips and secret.ignored and not start
    if (hidden or ignored) and not secret.maybe_reincluded:
        return True
    if "untracked" in use.skips and not secret.in_git:
        return True
    folders = names if secret.name.endswith("/") else names[:-1]
    if any(means_name(shape, names, folders) for shape in use.excludes):
        return True
    return bool(use.only) and not any(may_choose(shape, names[-1]) for shape in use.only)


def _names_below(start: str, path: str) -> Sequence[str]:
    """Return the part of `path` below the folder `start`, split into names; empty if `start` contains `**`."""
    shapes = start.split("/") if start else []
    return () if "**" in shapes else path.rstrip("/").split("/")[len(shapes) :]


def follows_link(command: CommandReport, uses: Uses, facts: PolicyFacts) -> str:
    """Return a reason to ask if a link can lead a command to secret files or out of the workspace; otherwise empty."""
    for use, path in uses:
        relative = place(path, facts).relative
        follows = use.follows_links and use.below
        if use.action == "mention" or not (follows or use.certainty is Certainty.BOUNDED):
            continue
        if relative is None:
            return f"{path} was not searched for links"
        for link in facts.links:
            reason = _link_reason(link, relative, use, follows, facts)
            if reason:
                return reason
        for folder in facts.unscanned:
            if _goes_below(relative, folder, use):
                return f"{folder or 'this folder'} was not searched for links"
    return ""


def _link_reason(link: WorkspaceLink, relative: str, use: FileUse, follows: bool, facts: PolicyFacts) -> str:
    through = _goes_below(relative, link.name, use)
    if not through and not _ends_at(relative, link.name, use):
        return ""
    inside = place(link.target, facts).relative
    if inside is None:
        return f"{link.name} is a link to {link.target}, outside this workspace"
    if link.secret:
        return f"{link.name} is a link to {inside}, which may hold secrets"
    # There may be further links in a folder that a link leads to.
    pattern = use.certainty is Certainty.BOUNDED
    base = "" if pattern else relative
    elsewhere = follows and bool(base) and not f"{inside}/".startswith(f"{base}/")
    if elsewhere or (pattern and through and "**" not in relative.split("/")):
        return f"it reaches files through the link {link.name}"
    return ""


def _ends_at(relative: str, name: str, use: FileUse) -> bool:
    """Return True if the path or pattern `relative` can name the link `name`, or a folder above the link."""
    if use.certainty is Certainty.BOUNDED:
        return matches_path(relative, name, below=use.below)
    return relative == "" or f"{name}/".startswith(f"{relative}/")


def _goes_below(relative: str, folder: str, use: FileUse) -> bool:
    """Return True if a command that uses the path or pattern `relative` can reach files below `folder`."""
    if use.certainty is not Certainty.BOUNDED:
        return (
            relative == ""
            or not folder
            or f"{folder}/".startswith(f"{relative}/")
            or f"{relative}/".startswith(f"{folder}/")
        )
    shapes, names = relative.split("/"), folder.split("/") if folder else []
    if "**" in shapes:
        return not folder or matches_path(relative, f"{folder}/any")
    if len(shapes) > len(names):
        return not names or matches_path("/".join(shapes[: len(names)]), folder)
    return use.below and matches_path(relative, "/".join(names[: len(shapes)]))


ESCALATIONS: tuple[Escalation, ...] = (
    Escalation("workspace-program", is_workspace_program),
    Escalation("git-configuration", runs_configured_programs),
    Escalation("project-file", is_steered_by_project),
    Escalation("link", follows_link, "It may read files that it does not name.", True),
    Escalation("below", reads_secrets_below, SECRETS_RISK, True),
)
"""All escalations, in the order of their checks."""
