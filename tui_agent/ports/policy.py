"""The policy protocol: permission decisions on the effects of tool calls."""

from collections.abc import Collection, Sequence
from dataclasses import field
from typing import Literal, Protocol

from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.environment import SecretFile, WorkspaceLink
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.events.policy import CommandEffects, PermissionChoice
from tui_agent.protocol.settings import PolicyName


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """Facts for the decision about a call, in addition to the call's effects."""

    workspace: str
    policy: PolicyName
    resolved: dict[str, str] = field(default_factory=dict)
    """Maps a path in the tool's arguments to the absolute path with links resolved."""
    session_rules: tuple[str, ...] = ()
    """Rules that the user allowed for this session, written like `rule` in the event `permission.decided`."""
    allowed_tools: frozenset[str] | None = None
    interactive: bool = True
    workspace_programs: frozenset[str] = frozenset()
    """Names of programs in the workspace."""
    local_programs: frozenset[str] = frozenset()
    """The paths from `Policy.local_programs` that really exist as files in the workspace."""
    git_is_steered: bool = False
    """True if read-only git commands could run programs, or read files that their arguments do not name."""
    sandboxed: bool = False
    """True if commands run in a sandbox: they write only the workspace, have no network and cannot read `secrets`."""
    writable_folders: tuple[str, ...] = ()
    """Absolute paths of folders outside the workspace in which sandboxed commands can write."""
    private_temp_paths: frozenset[str] = frozenset()
    """Absolute paths such as `/tmp/x`. In the sandbox, they lead to its own temporary folder."""
    restorable_files: frozenset[str] = frozenset()
    """Absolute paths of files that `/undo` can restore: their current content is in the newest checkpoint."""
    unrestorable_files: frozenset[str] = frozenset()
    """Absolute paths of files that the call writes or moves by name and that `/undo` cannot restore."""
    secrets: tuple[SecretFile, ...] = ()
    """Possible secret files in the scanned part of the workspace."""
    public_files: frozenset[str] = frozenset()
    """Absolute paths of certificates without a private key. Their names look like names of secret files."""
    links: tuple[WorkspaceLink, ...] = ()
    """Symbolic links in the scanned part of the workspace."""
    option_names: tuple[str, ...] = ()
    """Names that a program can misread as an option (see `WorkspaceScan`)."""
    odd_names: tuple[str, ...] = ()
    """Names that a program can misread, e.g. with blanks (see `WorkspaceScan`)."""
    steering_files: tuple[str, ...] = ()
    """Files that configure programs (see `WorkspaceScan`)."""
    unscanned: tuple[str, ...] = ()
    """Folders of the workspace that were not scanned."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The policy's decision.

    - `choices`: answers that the approval offers if the verdict is `ask`.
    - `by_profile`: True if the user is asked only because of the permission profile (such as `ask`). A hook can
      then answer instead of the user.
    - `allowed_by_exact_rule`: True if a rule of the user allows exactly this command line. The command can then
      read the secrets in its arguments.
    - `unnamed_secrets`: secret files that the commands would read without naming them, as in `grep -r x .`.
    - `repository_read_only`: True if the sandbox must make the git repository read-only for this call.
    - `repository_conflict`: why the command would fail with a read-only git repository, and what to do; otherwise empty.
    - `private_temp_paths`: paths such as `/tmp/x`. The sandbox must map them to its own temporary folder when the
      call runs.
    - `nobody_to_ask`: True if the call is denied only because there is no user to ask.
    - `leaves_sandbox`: True if the approved commands run outside the sandbox, because the sandbox would refuse what
      they do. `risk` then warns the user.
    - `can_try_in_sandbox`: True if the policy asks or denies only because it cannot analyse the command. The
      command can then be tried in the sandbox first.
    """

    verdict: Literal["allow", "ask", "deny"]
    rule_id: str
    reason: str
    classes: tuple[str, ...] = ()
    choices: tuple[PermissionChoice, ...] = ()
    risk: str = ""
    default_no: bool = False
    by_profile: bool = False
    allowed_by_exact_rule: bool = False
    unnamed_secrets: tuple[str, ...] = ()
    repository_read_only: bool = False
    repository_conflict: str = ""
    private_temp_paths: tuple[str, ...] = ()
    nobody_to_ask: bool = False
    leaves_sandbox: bool = False
    can_try_in_sandbox: bool = False


class Policy(Protocol):
    """Judges tool calls. Equal calls with equal facts get the same decision.

    If no rule matches, the verdict is `ask`.
    """

    def decide(self, tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        """Decide if a call with these effects is allowed."""
        ...

    def decision_paths(self, effects: Sequence[Effect], granted: Sequence[str]) -> tuple[str, ...]:
        """Return all paths that the policy must resolve to judge a call: paths in the effects and paths in rules.

        `granted`: rules that the user allowed for this session. The caller stores the resolved paths in
        `PolicyFacts.resolved`.
        """
        ...

    def describe_effects(
        self, effects: Sequence[Effect], new: Collection[str], facts: PolicyFacts
    ) -> tuple[CommandEffects, ...]:
        """Return the rows of an approval that show the user what a call does.

        `new`: files that the call creates.
        """
        ...

    def started_programs(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """Return the programs that commands start by a plain name, such as `make`.

        The environment then looks for these programs in the workspace (`PolicyFacts.workspace_programs`).
        """
        ...

    def local_programs(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """Return the paths at which `npx` and similar commands first look for a program, before a download."""
        ...

    def git_folders(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """Return the folders in which commands run git, from which the caller finds `PolicyFacts.git_is_steered`.

        A path is relative to the workspace, absolute, or below a home folder. The path `**` stands for an unknown
        folder.
        """
        ...

    def written_paths(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """Return the files that the commands of a call write, relative to the workspace."""
        ...

    def changed_files(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """Return the files that commands may write or move by name, relative to the workspace.

        For `cp a b`, these are `b` and, in case `b` is a folder, `b/a`.
        """
        ...

    def changed_patterns(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """Return the shell patterns of files that commands write or move, relative to the workspace.

        Patterns with `**`, which can match files in all folders, are left out.
        """
        ...

    def deleted_files(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """Return the files that commands delete by name, relative to the workspace.

        If the commands also move files, return nothing. The caller uses the result to find
        `PolicyFacts.restorable_files`.
        """
        # A moved file can get the name of a deleted file.
        ...

    def needed_paths(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """Return the files and folders that must exist for the commands to succeed, relative to the workspace.

        Paths that the commands themselves write are left out.
        """
        ...

    def touched_paths(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """Return the files, folders and patterns that commands certainly read or write, relative to the workspace."""
        ...
