"""L6: composition: what a start knows, and what plugins offer, to the policy that judges its calls.

Invariant: a fault in the user's files or a trusted project's stops the start; one in a plugin's table leaves it out.
"""

from collections.abc import Collection, Sequence
from pathlib import Path

from tui_agent.config.paths import PROJECT_FOLDER
from tui_agent.errors import ConfigError
from tui_agent.plugin_host.offers import OfferedPolicyTable
from tui_agent.policy.judge import RulePolicy
from tui_agent.policy.programs.layers import ProgramLayer, merged, user_layer
from tui_agent.policy.programs.table import Table
from tui_agent.policy.rule_file import all_rules
from tui_agent.policy.rules.grammar import Rule
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.protocol.events.policy import Deed
from tui_agent.wiring.ground import Ground

RULES = "policy.toml"
PROGRAMS = "programs.toml"


def policy(base: Ground, tables: Sequence[OfferedPolicyTable] = ()) -> tuple[RulePolicy, list[PluginFailed]]:
    """The policy of this start, by the user's rules and programs, a trusted project's, and the programs of plugins; and
    which plugin's tables were refused. Raises `ConfigError`."""
    table, refused = programs(base, tables)
    return ruled_by(rules(base), base, table), refused


class FollowingPolicy:
    """The policy of a session that stays open: rules that the user writes into their file count from the next call on.

    While the file cannot be read, the rules that were known still ask and deny, and none of them allows.
    """

    def __init__(self, base: Ground, table: Table | None) -> None:
        self._base = base
        self._table = table
        self._path = base.config.paths.config_dir / RULES
        self._seen = _stamp(self._path)
        self._policy = ruled_by(rules(base), base, table)

    def decide(self, tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        """See `ports.policy`."""
        return self._now().decide(tool, effects, facts)

    def paths(self, effects: Sequence[Effect], granted: Sequence[str]) -> tuple[str, ...]:
        """See `ports.policy`."""
        return self._now().paths(effects, granted)

    def deeds(self, effects: Sequence[Effect], new: Collection[str], facts: PolicyFacts) -> tuple[Deed, ...]:
        """See `ports.policy`."""
        return self._policy.deeds(effects, new, facts)

    def programs(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """See `ports.policy`."""
        return self._policy.programs(effects)

    def git_folders(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """See `ports.policy`."""
        return self._policy.git_folders(effects)

    def written(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """See `ports.policy`."""
        return self._policy.written(effects)

    def touched(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """See `ports.policy`."""
        return self._policy.touched(effects)

    def _now(self) -> RulePolicy:
        stamp = _stamp(self._path)
        if stamp != self._seen:
            self._seen = stamp
            try:
                found = rules(self._base)
            except ConfigError:
                found = tuple(rule for rule in self._policy.rules if rule.verdict != "allow")
            self._policy = ruled_by(found, self._base, self._table)
        return self._policy


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """What tells one content of a file from another; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def following(
    base: Ground, tables: Sequence[OfferedPolicyTable] = ()
) -> tuple[FollowingPolicy, list[PluginFailed]]:
    """As `policy`, for a session that stays open."""
    table, refused = programs(base, tables)
    return FollowingPolicy(base, table), refused


def ruled_by(found: Sequence[Rule], base: Ground, table: Table | None) -> RulePolicy:
    """A policy with these rules."""
    own = (str(base.config.paths.config_dir), str(base.store.root))
    return RulePolicy(found, own=own, programs=table)


def rules(base: Ground) -> tuple[Rule, ...]:
    """The user's rules, and a trusted project's. Raises `ConfigError` that names the file and the rule."""
    paths, own = base.config.paths, base.config.project
    trusted = None if own is None else own.own(RULES)
    return all_rules(paths.config_dir / RULES, paths.project / PROJECT_FOLDER / RULES, trusted)


def programs(
    base: Ground, tables: Sequence[OfferedPolicyTable] = ()
) -> tuple[Table | None, list[PluginFailed]]:
    """The table that command lines are read by; None is the product's own, where nothing is added to it."""
    paths, own = base.config.paths, base.config.project
    layers = [layer] if (layer := user_layer(paths.config_dir / PROGRAMS)) is not None else []
    trusted = None if own is None else own.own(PROGRAMS)
    if trusted is not None:
        layers.append(ProgramLayer("project", str(paths.project / PROJECT_FOLDER / PROGRAMS), trusted))
    refused = []
    for offered in tables:
        layer = ProgramLayer("plugin", f"the plugin {offered.owner} ({offered.path.name})", offered.text)
        try:
            merged([layer])
        except ConfigError as error:
            refused.append(PluginFailed(plugin=offered.owner, message=str(error)))
        else:
            layers.append(layer)
    return (merged(layers) if layers else None), refused
