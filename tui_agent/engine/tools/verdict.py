"""The answer of the gate about one call.

Invariant: frozen data; what is open to the call's commands is just what was decided.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tui_agent.engine.tools.sandbox_retry import Granted


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a call may run; where not, what the model is told and what the row says."""

    allowed: bool
    for_model: str = ""
    summary: str = ""
    judged: Mapping[str, str] = field(default_factory=dict)
    """Where the call's paths led when it was judged: it is run with these files, wherever the paths lead by then."""
    network: bool = False
    """What it runs may reach the network: that was among what was allowed."""
    writable: tuple[str, ...] = ()
    """The files outside the workspace that its commands were allowed to write."""
    looks: bool = False
    """Its commands only look at files, and nobody was asked about them."""
    shown: tuple[str, ...] = ()
    """The files that it names and may read though they hold secrets: the user allowed it, or this command line."""
    below: tuple[str, ...] = ()
    """Files with secrets that it would read without naming them."""
    sealed: bool = False
    """Its commands may not write the repository."""
    own: tuple[str, ...] = ()
    """Where its commands find only files of their own."""
    read_only: bool = False
    """The sandbox mounts the workspace read-only for its commands."""
    trial: bool = False
    """Its commands are tried in the sandbox first; the user is asked only if that fails."""

    def granted(self) -> Granted:
        """What of the sandbox is open to its commands."""
        return Granted(
            self.network,
            self.writable,
            self.judged,
            self.looks,
            self.shown,
            self.below,
            self.sealed,
            self.own,
            self.read_only,
            self.trial,
        )
