"""Composition of a session's context: prompt sections, instructions, skills, memory, repository map.

Invariant: the skills of an untrusted project are not used. Its instructions are, because they are only text.
"""

import platform
import sys
from collections.abc import Sequence
from functools import partial

from pydantic import BaseModel

from tui_agent.config.project.other_agents_files import user_folders
from tui_agent.context.instructions import InstructionFiles
from tui_agent.context.skills import FOLDER, SkillStore
from tui_agent.engine.middleware.instructions import Instructions
from tui_agent.engine.middleware.memory import WorkingMemory
from tui_agent.engine.middleware.prompt_sections import (
    READ_SKILL,
    PromptTexts,
    SkillsSection,
    prompt_sections,
    skills_event,
)
from tui_agent.engine.middleware.repetition_note import StuckNotice
from tui_agent.engine.middleware.repomap import RepoMapSection
from tui_agent.engine.plugins.wrappers import GuardedMiddleware
from tui_agent.engine.recorder import Recorder
from tui_agent.engine.tools.registry import ToolRegistry
from tui_agent.engine.tools.tool_access import denial_reason
from tui_agent.plugin_host.loader import LoadedPlugins
from tui_agent.ports.delegate import Role
from tui_agent.ports.environment import Environment
from tui_agent.ports.middleware import Middleware
from tui_agent.ports.policy import Policy
from tui_agent.ports.symbols_and_skills import Knowledge
from tui_agent.protocol.events.env import LOCAL_ENVIRONMENT
from tui_agent.protocol.parts import ToolCallPart
from tui_agent.store.session_log import SessionLog
from tui_agent.wiring.ablation import Ablation
from tui_agent.wiring.repomap import SessionMaps
from tui_agent.wiring.startup_context import StartupContext


class ContextComposition:
    """Builds the middlewares and lookup services of one session, and records the session's skills if they changed."""

    def __init__(
        self,
        base: StartupContext,
        recorder: Recorder,
        maps: SessionMaps,
        env: Environment,
        log: SessionLog,
        policy: Policy,
        roles: Sequence[Role],
    ) -> None:
        self._base = base
        self._recorder = recorder
        self._maps = maps
        self._roles = roles
        self.ablation = Ablation(recorder.state.without)
        is_local = env.name == LOCAL_ENVIRONMENT
        self._system = _describe_system() if is_local else " ".join(env.sandbox.lines) or env.name
        self._tools = ToolRegistry()
        self._instructions, self._others = self._lasting_middlewares(env, log, policy)
        self._skills = SkillStore(
            base.config.paths.config_dir / FOLDER,
            base.config.project,
            partial(self.ablation.leaves_out, "skill"),
            user_folders(base.config.paths, "skills"),
        )
        event = skills_event(self._skills.records, recorder.state)
        if event is not None:
            recorder.append(event)

    @property
    def knowledge(self) -> Knowledge:
        """The services that look up symbols and skills for mentions and tools."""
        return Knowledge(symbols=self._maps.find_definitions, skills=self._skills)

    def _lasting_middlewares(
        self, env: Environment, log: SessionLog, policy: Policy
    ) -> tuple[Instructions, Sequence[Middleware]]:
        """Create the middlewares for the whole session."""
        config, recorder = self._base.config, self._recorder
        files = InstructionFiles(
            env,
            config.paths.config_dir,
            may_read=lambda path, real: denial_reason(policy, recorder.state, env.root, path, real),
        )
        instructions = Instructions(
            files, recorder, log.blobs.read_text, lambda call: paths_of_call(self._tools, policy, call)
        )
        others = (
            StuckNotice(lambda: recorder.state),
            WorkingMemory(lambda: recorder.state, self._base.redactor.redact_text),
            RepoMapSection(self._maps),
        )
        return instructions, others

    def middlewares(self, tools: ToolRegistry, loaded: LoadedPlugins) -> list[Middleware]:
        """Return tui-agent's own middlewares in order, followed by the plugins' middlewares."""
        self._tools = tools
        config, recorder, names = self._base.config, self._recorder, tools.names()
        texts = PromptTexts((config.paths.config_dir / "prompts",))
        prompts = prompt_sections(
            texts, self._system, names, self._roles, attended=self._base.options.is_attended
        )
        sections = [
            self._instructions,
            SkillsSection(self._skills, readable=READ_SKILL in names),
            *self._others,
        ]
        leaves_out = self.ablation.leaves_out
        return [
            *(prompt for prompt in prompts if not leaves_out("prompt", prompt.name)),
            *(section for section in sections if not leaves_out("section", section.name)),
            *(
                GuardedMiddleware(offered.owner, offered.middleware, recorder.append)
                for offered in loaded.middlewares
            ),
        ]


def _describe_system() -> str:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return f"{platform.system()} {platform.machine()}, Python {version}"


def paths_of_call(tools: ToolRegistry, policy: Policy, call: ToolCallPart) -> tuple[str, ...]:
    """Return the files and folders that a call's commands read or write."""
    tool = tools.get(call.name)
    args = None if tool is None else tools.parse(call.name, call.arguments)
    if tool is None or not isinstance(args, BaseModel):
        return ()
    return policy.touched_paths(tool.effects(args))
