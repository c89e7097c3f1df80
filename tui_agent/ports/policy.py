"""Permission decisions over effects."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from tui_agent.ports.environment import SecretFile, WorkspaceLink
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.events.policy import Choice, Deed
from tui_agent.protocol.settings import PolicyName


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """What a decision may depend on besides the effects. Paths in `resolved` are absolute, links followed."""

    workspace: str
    policy: PolicyName
    resolved: dict[str, str] = field(default_factory=dict)
    """As a tool was given a path → the file it really is."""
    granted: tuple[str, ...] = ()
    """Rules that the user allowed for this session, as written in `permission.decided.rule`."""
    allowed_tools: frozenset[str] | None = None
    interactive: bool = True
    own_programs: frozenset[str] = frozenset()
    """Names of programs that are found in the workspace, where anyone may have put them: of them nothing is known."""
    git_steered: bool = False
    """In the workspace, or in another folder that the call runs git in, git may run programs or read files that nobody named,
    also where it only looks: what lies with the repository says so, or there is no work tree."""
    sandboxed: bool = False
    """Commands of this environment are confined: they write only the workspace and reach no network, and do not read
    `secrets`."""
    own_files: frozenset[str] = frozenset()
    """Absolute paths in temporary folders at which a confined command finds only what such commands made."""
    secrets: tuple[SecretFile, ...] = ()
    """The files of the workspace that may hold secrets, as far as they were looked for."""
    public_files: frozenset[str] = frozenset()
    """Absolute paths of certificates that hold no private key, though files of their names may."""
    links: tuple[WorkspaceLink, ...] = ()
    """The symbolic links of the workspace, as far as they were looked for."""
    option_names: tuple[str, ...] = ()
    """Files of the workspace whose names a program may take for an option, as seen from it; a folder's ends with a slash."""
    odd_names: tuple[str, ...] = ()
    """The same for names that fall into pieces where a list is cut at blanks, or that a program may take for something else:
    those with a blank, a quote, a backslash or one of `: * ? [`."""
    steering_files: tuple[str, ...] = ()
    """Files of the workspace that decide what some programs do, as seen from it."""
    unscanned: tuple[str, ...] = ()
    """Folders of the workspace that were not looked into for such links and names, as seen from it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """`ask` carries the choices that an approval offers. `rule_id` names the rule; `reason` is a sentence.

    `by_profile`: it is only the profile that asks, no rule and no danger, so that a hook may answer for the user.
    `named`: the user's own rule for this very command line allows it, so that it may read what it names. `below`: the files
    of `PolicyFacts.secrets` that its commands would read without naming them. `sealed`: allowed only because a sandbox bounds
    what does not follow from its words, so that it may not write the repository. `own`: the paths that it was judged to find
    only its own files at, so that nothing else may be there. `unanswered`: a question that is a no because no one is there.
    `may_try`: a question only because it is not understood what the command does, so that a sandbox may find it out.
    """

    verdict: Literal["allow", "ask", "deny"]
    rule_id: str
    reason: str
    classes: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    risk: str = ""
    default_no: bool = False
    by_profile: bool = False
    named: bool = False
    below: tuple[str, ...] = ()
    sealed: bool = False
    own: tuple[str, ...] = ()
    unanswered: bool = False
    may_try: bool = False


class Policy(Protocol):
    """Pure: the same call with the same facts is judged the same. No matching rule means ask."""

    def decide(self, tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision: ...

    def paths(self, effects: Sequence[Effect], granted: Sequence[str]) -> tuple[str, ...]:
        """Every path whose real file a decision depends on: the effects', and those that rules name. Keys for
        `PolicyFacts.resolved`."""
        ...

    def deeds(self, effects: Sequence[Effect], new: Collection[str], facts: PolicyFacts) -> tuple[Deed, ...]:
        """What the effects do, a row each, as `decide` judges them with these facts. `new` are the written files that are
        not there yet."""
        ...

    def programs(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """The programs that commands start by a bare name, to be looked for before `decide` (`own_programs`)."""
        ...

    def git_folders(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """The folders that commands run git in, relative to the workspace, absolute or of a home. Some are patterns; `**` is one
        that is not certain. To be looked at before `decide` (`git_steered`)."""
        ...

    def written(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """The files that commands write, as seen from the workspace."""
        ...

    def touched(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """The files and folders that commands read or write, as far as that is certain, as seen from the workspace. Some are
        patterns."""
        ...
