"""The exception tree. Adapters translate exceptions of other libraries into these exceptions.

    TuiAgentError
    ├── UsageError            the command line or a slash command was used wrongly   (exit 2)
    ├── BudgetExceeded        a limit that the user set is reached                       (exit 3)
    ├── ConfigError           a configuration file, profile or key is wrong or missing   (exit 2)
    │   └── CaseRefused       an evaluation case passes before the agent acts
    ├── StoreError            an operation of the session store failed
    │   ├── StoreFull         a write was incomplete or refused; none of it is in the log
    │   ├── StoreUnusable     the data folder cannot be read or written                  (exit 2)
    │   ├── SessionVersionError another version of tui-agent wrote the session       (exit 2)
    │   ├── SessionLocked     another process uses the session
    │   ├── SessionNotFound   no session has this id
    │   └── BlobNotFound      a blob that an event refers to is missing or damaged
    ├── ModelError            the model or its provider failed, retries included         (exit 5)
    │   └── ContextOverflow   the request is longer than the model's context window
    ├── AgentLoopDetected     the agent keeps repeating the same calls; its turn ends
    ├── ToolError             a tool call failed; the message is for the model
    ├── LoginNeeded           an MCP server wants a login
    ├── EnvironmentFault      the environment (files, processes) failed
    │   ├── EnvironmentLost   the machine is gone or its provider failed; a new one can work
    │   └── StaleFile         the file changed after it was read; nothing was written
    ├── CheckpointError       a checkpoint or restore failed; the workspace is unchanged
    ├── PluginError           a plugin cannot be loaded or misbehaves
    └── ScriptError           a scripted model got a request that its script does not expect

Every message says what happened, to which file, session or other thing, and what to do.
"""

from collections.abc import Iterator
from contextlib import contextmanager

_SENTENCE_ENDS = (".", "!", "?", ":", "…", '."', ".)", ".`")


class TuiAgentError(Exception):
    """Base class of every exception that tui-agent itself raises.

    `hint`: a sentence, shown after the message, that tells the user what to do.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        if not (self.message and self.hint):
            return self.message or self.hint
        stop = "" if self.message.endswith(_SENTENCE_ENDS) else "."
        return f"{self.message}{stop} {self.hint}"


class UsageError(TuiAgentError):
    """The command line, a slash command or a client's request was used wrongly, or is refused."""


class BudgetExceeded(TuiAgentError):
    """A limit that the user set, such as a maximum cost, is reached."""


class ConfigError(TuiAgentError):
    """A configuration value, file, profile or key is wrong or missing."""


class CaseRefused(ConfigError):
    """A case of an evaluation is not run, because its checks pass even before the agent acts."""


class StoreError(TuiAgentError):
    """An operation of the session store failed."""


class StoreFull(StoreError):
    """The disk accepted only part of a write, or nothing; the log is unchanged."""


class StoreUnusable(StoreError):
    """The data folder cannot be used: missing permissions, a file in its place, or a read-only disk."""


class SessionVersionError(StoreError):
    """Another version of tui-agent wrote the session, so this version cannot use it."""


class SessionLocked(StoreError):
    """Another process holds the session's lock."""


class SessionNotFound(StoreError):
    """No session has this id."""


class BlobNotFound(StoreError):
    """A blob that an event refers to is missing, or its content does not match its digest."""


class ModelError(TuiAgentError):
    """The model or its provider failed, and retrying does not help."""


class ContextOverflow(ModelError):
    """The request is longer than the model's context window."""


class AgentLoopDetected(TuiAgentError):
    """The agent repeats the same calls, because each compaction removes their results."""


class ToolError(TuiAgentError):
    """A tool call failed; the message is for the model."""


class ToolCrash(ToolError):
    """A tool's own code failed with an unexpected error; the message names the tool and its plugin."""


class ToolUnavailable(ToolError):
    """The server of a tool is not running; the message says why."""


class LoginNeeded(TuiAgentError):
    """An MCP server needs a login, because none is saved or the saved one is no longer accepted."""

    def __init__(self, server: str) -> None:
        super().__init__(f"needs login: tui-agent mcp login {server}")


class EnvironmentFault(TuiAgentError):
    """Files or processes of the environment failed."""


class EnvironmentLost(EnvironmentFault):
    """The machine or container is gone, or its provider does not answer; a new machine can work."""


class StaleFile(EnvironmentFault):
    """A write was refused because the file has changed since it was read."""


class CheckpointError(TuiAgentError):
    """A checkpoint or restore failed; the workspace is unchanged."""


class PluginError(TuiAgentError):
    """A plugin cannot be loaded, or used the plugin API wrongly."""


class ScriptError(TuiAgentError):
    """A scripted model got an unexpected request."""


@contextmanager
def os_errors_as(kind: type[TuiAgentError], problem: str, *, hint: str = "") -> Iterator[None]:
    """Convert an `OSError` in the `with` block to an exception of the class `kind`.

    `problem`: start of the message. The message ends with the system's reason.
    """
    try:
        yield
    except OSError as error:
        raise kind(f"{problem}: {error.strerror or error}.", hint=hint) from error
