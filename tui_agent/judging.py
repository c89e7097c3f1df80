"""Composition: what a start knows, and what plugins offer, to the policy that judges its calls.

Invariant: a fault in the user's files or a trusted project's stops the start; one in a plugin's table leaves it out.
"""

from collections.abc import Sequence

from tui_agent.config.paths import PROJECT_FOLDER
from tui_agent.errors import ConfigError
from tui_agent.ground import Ground
from tui_agent.plugin_host.offers import OfferedPolicyTable
from tui_agent.policy.grammar import Rule
from tui_agent.policy.program_layers import ProgramLayer, merged, user_layer
from tui_agent.policy.programs import Table
from tui_agent.policy.rule_file import all_rules
from tui_agent.policy.rules import RulePolicy
from tui_agent.protocol.events.plugin import PluginFailed

RULES = "policy.toml"
PROGRAMS = "programs.toml"


def policy(base: Ground, tables: Sequence[OfferedPolicyTable] = ()) -> tuple[RulePolicy, list[PluginFailed]]:
    """The policy of this start, by the user's rules and programs, a trusted project's, and the programs of plugins; and
    which plugin's tables were refused. Raises `ConfigError`."""
    table, refused = programs(base, tables)
    return ruled_by(rules(base), base, table), refused


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
