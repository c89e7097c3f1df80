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
    """Rules that the user allowed for this session, in the form of `permission.decided.rule`."""
    allowed_tools: frozenset[str] | None = None
    interactive: bool = True
    workspace_programs: frozenset[str] = frozenset()
    """Names of programs in the workspace. They are not trusted, because anyone could have put them there."""
    git_is_steered: bool = False
    """True if even a read-only git command can run programs or read files that it does not name.

    This includes the workspace and other folders where the call runs git. See `ProgramFinder.git_is_steered`.
    """
    sandboxed: bool = False
    """True if commands run in a sandbox.

    They then write only the workspace, have no network and cannot read `secrets`.
    """
    private_temp_paths: frozenset[str] = frozenset()
    """Absolute paths in temporary folders.

    At these paths, a sandboxed command sees only files that sandboxed commands created.
    """
    restorable_files: frozenset[str] = frozenset()
    """Absolute paths of files that `/undo` can restore: their current content is in the newest checkpoint."""
    secrets: tuple[SecretFile, ...] = ()
    """Files of the scanned part of the workspace that can hold secrets."""
    public_files: frozenset[str] = frozenset()
    """Absolute paths of certificates that contain no private key, although their names suggest secrets."""
    links: tuple[WorkspaceLink, ...] = ()
    """Symbolic links in the scanned part of the workspace."""
    option_names: tuple[str, ...] = ()
    """Names that a program can misread as an option (see `WorkspaceScan`)."""
    odd_names: tuple[str, ...] = ()
    """Names that are misread if a list is split at blanks, or that have a special meaning (see `WorkspaceScan`)."""
    steering_files: tuple[str, ...] = ()
    """Files that configure programs (see `WorkspaceScan`)."""
    unscanned: tuple[str, ...] = ()
    """Folders of the workspace that were not scanned for links and names."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The policy's decision. `choices` are the answers that the approval offers if the verdict is `ask`.

    - `by_profile`: the permission profile is the only reason to ask, so a hook can answer for the user.
    - `allowed_by_exact_rule`: a rule of the user allows exactly this command line, so the command can read the secrets
      in its arguments.
    - `unnamed_secrets`: files of `PolicyFacts.secrets` that the commands would read without naming them.
    - `repository_read_only`: the call is allowed only if the sandbox mounts the repository read-only, because the
      command line does not show everything that the command changes.
    - `repository_conflict`: the reason, as a sentence, why the command line would fail if the repository is read-only;
      empty if it would not fail.
    - `private_temp_paths`: the policy assumed that the command finds only files of sandboxed commands at these paths.
      The command must not see any other files there.
    - `nobody_to_ask`: the call is denied only because there is no user to ask.
    - `can_try_in_sandbox`: the user is asked only because the policy cannot analyse the command, so the command can run
      as a trial in a sandbox.
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
    can_try_in_sandbox: bool = False


class Policy(Protocol):
    """Judges tool calls. The same call with the same facts gets the same decision.

    If no rule matches, the verdict is `ask`.
    """

    def decide(self, tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        """Decide if a call with these effects is allowed."""
        ...

    def decision_paths(self, effects: Sequence[Effect], granted: Sequence[str]) -> tuple[str, ...]:
        """Return the paths in a call's effects and in rules. The caller resolves them for `PolicyFacts.resolved`.

        `granted` are the rules that the user allowed for this session.
        """
        ...

    def describe_effects(
        self, effects: Sequence[Effect], new: Collection[str], facts: PolicyFacts
    ) -> tuple[CommandEffects, ...]:
        """Return rows that describe a call's effects to the user. The effects are judged as by `decide`.

        `new` are the files to write that do not exist yet.
        """
        ...

    def started_programs(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """Return the programs that commands start by a bare name. They are the input for
        `PolicyFacts.workspace_programs`.
        """
        ...

    def git_folders(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """Return the folders in which commands run git. They are the input for `PolicyFacts.git_is_steered`.

        The folders are relative to the workspace, absolute, or below a home folder. Some are patterns, in which `**` is
        an unknown folder.
        """
        ...

    def written_paths(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """Return the files that the commands of a call write, relative to the workspace."""
        ...

    def deleted_files(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """Return the files that commands delete by name. They are the input for `PolicyFacts.restorable_files`.

        The paths are relative to the workspace. If the commands also move files, nothing is returned, because a moved
        file can have the deleted name.
        """
        ...

    def touched_paths(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """Return the files and folders that commands certainly read or write, relative to the workspace.

        Some of the paths are patterns.
        """
        ...
