"""Composition of the policy: rules and program tables of the user, a trusted project and plugins.

Invariant: an error in the user's or a trusted project's files prevents the start.
"""

from collections.abc import Sequence
from pathlib import Path

from tui_agent.config.extensions.note_files import notes_folder
from tui_agent.config.paths import PROJECT_FOLDER
from tui_agent.errors import ConfigError
from tui_agent.plugin_host.registered_objects import OfferedPolicyTable
from tui_agent.policy.catalog.catalog import Catalog, Layer, built_in_catalog
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.decision.rule_file import all_rules
from tui_agent.policy.rules.grammar import Rule
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.wiring.startup_context import StartupContext

RULES_FILE = "policy.toml"
PROGRAMS_FILE = "programs.toml"


def build_policy(
    base: StartupContext, tables: Sequence[OfferedPolicyTable] = (), *, reloading: bool = False
) -> tuple[RulePolicy, list[PluginFailed]]:
    """Build the policy from the rules and program tables.

    Return the policy, and an event for each plugin with a refused program table. Raise `ConfigError` if a file of the
    user or project is wrong.
    """
    catalog, refused = load_catalog(base, tables)
    if reloading:
        return ReloadingPolicy(base, catalog), refused
    return make_policy(load_rules(base), base, catalog), refused


class ReloadingPolicy(RulePolicy):
    """The policy of an open session. It reloads the user's rules after a change.

    If the changed rules cannot be read, only the previous `ask` and `deny` rules still apply.
    """

    def __init__(self, base: StartupContext, catalog: Catalog) -> None:
        self._base = base
        self._path = base.config.paths.config_dir / RULES_FILE
        self._stamp = _file_stamp(self._path)
        self._notes = _notes(base)
        super().__init__(load_rules(base), own=_own_folders(base), notes=self._notes, catalog=catalog)

    def decide(self, tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        self._reload()
        return super().decide(tool, effects, facts)

    def decision_paths(self, effects: Sequence[Effect], granted: Sequence[str]) -> tuple[str, ...]:
        self._reload()
        return super().decision_paths(effects, granted)

    def _reload(self) -> None:
        stamp = _file_stamp(self._path)
        if stamp == self._stamp:
            return
        # Noted before reading: a file that is broken is not read again for each decision.
        self._stamp = stamp
        try:
            rules = load_rules(self._base)
        except ConfigError:
            rules = tuple(rule for rule in self.rules if rule.verdict != "allow")
        super().__init__(rules, own=_own_folders(self._base), notes=self._notes, catalog=self._catalog)


def _file_stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def make_policy(rule_list: Sequence[Rule], base: StartupContext, catalog: Catalog) -> RulePolicy:
    """Return a policy with these rules that protects tui-agent's own folders too."""
    return RulePolicy(rule_list, own=_own_folders(base), notes=_notes(base), catalog=catalog)


def _own_folders(base: StartupContext) -> tuple[str, str]:
    return str(base.config.paths.config_dir), str(base.store.root)


def _notes(base: StartupContext) -> str:
    return str(notes_folder(base.config).resolve())


def load_rules(base: StartupContext) -> tuple[Rule, ...]:
    """Load the rules of the user and of a trusted project.

    Raise `ConfigError` with the file and the rule if a rule is wrong.
    """
    paths, project = base.config.paths, base.config.project
    trusted = None if project is None else project.read_own(RULES_FILE)
    return all_rules(paths.config_dir / RULES_FILE, paths.project / PROJECT_FOLDER / RULES_FILE, trusted)


def load_catalog(
    base: StartupContext, tables: Sequence[OfferedPolicyTable] = ()
) -> tuple[Catalog, list[PluginFailed]]:
    """Load all program tables; return their catalog, and an event for each plugin whose table was refused."""
    paths, project = base.config.paths, base.config.project
    layers = _user_layer(paths.config_dir / PROGRAMS_FILE)
    trusted = None if project is None else project.read_own(PROGRAMS_FILE)
    if trusted is not None:
        layers.append(Layer("project", str(paths.project / PROJECT_FOLDER / PROGRAMS_FILE), trusted))
    refused = []
    for offered in tables:
        layer = Layer("plugin", f"the plugin {offered.owner} ({offered.path.name})", offered.text)
        try:
            Catalog([layer])
        except ConfigError as error:
            part = f"program table {offered.path.name}"
            refused.append(PluginFailed(plugin=offered.owner, message=str(error), part=part))
        else:
            layers.append(layer)
    return (Catalog(layers) if layers else built_in_catalog()), refused


def _user_layer(path: Path) -> list[Layer]:
    try:
        return [Layer("user", str(path), path.read_text(encoding="utf-8"))]
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"The program table {path} cannot be read: {error}.",
            hint="Check the file's permissions and encoding.",
        ) from error
