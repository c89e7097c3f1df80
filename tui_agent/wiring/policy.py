"""Composition: what a start knows, and what plugins offer, to the policy that judges its calls.

Invariant: a fault in the user's files or a trusted project's stops the start; one in a plugin's table leaves it out.
"""

from collections.abc import Collection, Sequence
from pathlib import Path

from tui_agent.config.paths import PROJECT_FOLDER
from tui_agent.errors import ConfigError
from tui_agent.plugin_host.offers import OfferedPolicyTable
from tui_agent.policy.catalog.catalog import Catalog, Layer, built_in_catalog
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.decision.rule_file import all_rules
from tui_agent.policy.rules.grammar import Rule
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.protocol.events.policy import Deed
from tui_agent.wiring.base import Ground

RULES = "policy.toml"
PROGRAMS = "programs.toml"


def policy(base: Ground, tables: Sequence[OfferedPolicyTable] = ()) -> tuple[RulePolicy, list[PluginFailed]]:
    """Make the policy of this start from the user's rules and programs, a trusted project's, and the programs of plugins;
    also return the plugins whose tables were refused. Raises `ConfigError`."""
    catalog, refused = load_catalog(base, tables)
    return make_policy(rules(base), base, catalog), refused


class FollowingPolicy:
    """The policy of a session that stays open: rules that the user writes into their file count from the next call on.

    While the file cannot be read, the rules that were known still ask and deny, and none of them allows.
    """

    def __init__(self, base: Ground, catalog: Catalog) -> None:
        self._base = base
        self._catalog = catalog
        self._path = base.config.paths.config_dir / RULES
        self._seen = _stamp(self._path)
        self._policy = make_policy(rules(base), base, catalog)

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
            self._policy = make_policy(found, self._base, self._catalog)
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
    """Do the same as `policy` for a session that stays open."""
    catalog, refused = load_catalog(base, tables)
    return FollowingPolicy(base, catalog), refused


def make_policy(found: Sequence[Rule], base: Ground, catalog: Catalog) -> RulePolicy:
    """Make a policy with these rules."""
    own = (str(base.config.paths.config_dir), str(base.store.root))
    return RulePolicy(found, own=own, catalog=catalog)


def rules(base: Ground) -> tuple[Rule, ...]:
    """Load the user's rules, and a trusted project's. Raises `ConfigError` that names the file and the rule."""
    paths, own = base.config.paths, base.config.project
    trusted = None if own is None else own.own(RULES)
    return all_rules(paths.config_dir / RULES, paths.project / PROJECT_FOLDER / RULES, trusted)


def load_catalog(
    base: Ground, tables: Sequence[OfferedPolicyTable] = ()
) -> tuple[Catalog, list[PluginFailed]]:
    """Load what is known of programs: the product's files with the tables of the user, a trusted project and plugins."""
    paths, own = base.config.paths, base.config.project
    layers = _user_layer(paths.config_dir / PROGRAMS)
    trusted = None if own is None else own.own(PROGRAMS)
    if trusted is not None:
        layers.append(Layer("project", str(paths.project / PROJECT_FOLDER / PROGRAMS), trusted))
    refused = []
    for offered in tables:
        layer = Layer("plugin", f"the plugin {offered.owner} ({offered.path.name})", offered.text)
        try:
            Catalog([layer])
        except ConfigError as error:
            refused.append(PluginFailed(plugin=offered.owner, message=str(error)))
        else:
            layers.append(layer)
    return (Catalog(layers) if layers else built_in_catalog()), refused


def _user_layer(path: Path) -> list[Layer]:
    """The user's own table, if there is one. Raises `ConfigError` if it cannot be read."""
    try:
        return [Layer("user", str(path), path.read_text(encoding="utf-8"))]
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The programs in {path} cannot be read: {error}.") from error
