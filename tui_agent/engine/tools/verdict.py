"""The gate's verdict on a call.

Invariant: frozen data; the permissions of the call's commands are exactly those that were decided.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tui_agent.engine.tools.sandbox_retry import Granted


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict on a call; if it is denied, with the message for the model and the summary for the row."""

    allowed: bool
    for_model: str = ""
    summary: str = ""
    judged: Mapping[str, str] = field(default_factory=dict)
    """The targets of the call's paths when it was judged. The call uses these files, wherever the paths lead then."""
    network: bool = False
    """True if its commands may use the network."""
    writable: tuple[str, ...] = ()
    """Files outside the workspace that its commands may write."""
    looks: bool = False
    """True if its commands only look at files, and nobody was asked about them."""
    shown: tuple[str, ...] = ()
    """Files with secrets that its commands name and may read."""
    below: tuple[str, ...] = ()
    """Files with secrets that it would read without naming them."""
    sealed: bool = False
    """True if its commands may not write the repository."""
    own: tuple[str, ...] = ()
    """Paths where its commands see only files of their own."""
    read_only: bool = False
    """True if the sandbox mounts the workspace read-only for its commands."""
    trial: bool = False
    """True if its commands are tried in the sandbox first; the user is asked only if that fails."""

    def granted(self) -> Granted:
        """Return the permissions of its commands."""
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
