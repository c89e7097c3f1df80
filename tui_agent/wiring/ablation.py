"""Features that are turned off in a session (`SessionOptions.without`), to measure their effect.

Invariant: the names are recorded in `session.started` and apply to the whole session.
"""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from tui_agent.engine.turns.loop import POLICY_RETRY
from tui_agent.errors import ConfigError

COMPACTION = "context:compaction"
KINDS = ("section", "tool", "skill", "prompt")


class Ablation:
    """The features to turn off, and the names of the session's features."""

    def __init__(self, without: Collection[str]) -> None:
        """Store the features to turn off; raise `ConfigError` for a name with an unknown kind, such as `hook:lint`."""
        self._without = frozenset(without)
        self._known: set[str] = {COMPACTION, POLICY_RETRY}
        for name in sorted(self._without - self._known):
            if name.partition(":")[0] not in KINDS or not name.partition(":")[2]:
                raise ConfigError(
                    f"{name!r} cannot be turned off in a session.",
                    hint=f"Use {', '.join(f'{kind}:NAME' for kind in KINDS)}, {COMPACTION} or {POLICY_RETRY}.",
                )

    @property
    def leaves_out_compaction(self) -> bool:
        """True if the history is never compacted automatically."""
        return COMPACTION in self._without

    def leaves_out(self, kind: str, name: str) -> bool:
        """Return True if a feature is turned off, and remember the feature's name for `require_known`."""
        self._known.add(f"{kind}:{name}")
        return f"{kind}:{name}" in self._without

    def require_known(self, tools: Collection[str], allowed: Iterable[str] | None) -> None:
        """Raise `ConfigError` if a feature to turn off, or one of the `allowed` tools, does not exist."""
        unknown = sorted(self._without - self._known)
        if unknown:
            kind, _, name = unknown[0].partition(":")
            known = sorted(name for name in self._known if name.startswith(f"{kind}:"))
            near = get_close_matches(name, [name.partition(":")[2] for name in known], n=2)
            suggestion = f"Did you mean {' or '.join(f'{kind}:{name}' for name in near)}? " if near else ""
            raise ConfigError(
                f"There is no {unknown[0]!r}.", hint=f"{suggestion}Known: {', '.join(known) or 'none'}."
            )
        missing = sorted(name for name in allowed or () if name not in tools and not name.startswith("mcp_"))
        if missing:
            raise ConfigError(
                f"allowed_tools: there is no tool {missing[0]!r}.", hint=f"Known: {', '.join(sorted(tools))}."
            )
