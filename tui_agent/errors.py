"""The exception tree. Adapters translate foreign exceptions into it at their edge.

    TuiAgentError
    ├── UsageError            the command line or a slash command was used wrongly   (exit 2)
    ├── BudgetReached         a limit that the user set leaves no room for what was asked (exit 3)
    ├── ConfigError           a configuration file, profile or key is wrong or absent (exit 2)
    ├── StoreError            the session store could not do what was asked
    │   ├── StoreFull         a write was short or refused; nothing of it is in the log
    │   ├── StoreUnusable     the data folder cannot be used as it stands                (exit 2)
    │   ├── SessionTooNew     a newer version wrote the session; it can only be read      (exit 2)
    │   ├── SessionLocked     another process holds the session
    │   ├── SessionNotFound   there is no such session
    │   └── BlobMissing       a blob that an event names is not there, or not what it was
    ├── ModelError            the model or its provider failed (a fault that was not retried away; exit 5)
    ├── GoesInCircles         the agent only repeats itself; its turn ends
    ├── ToolError             a tool cannot do what was asked; its message is for the model
    ├── EnvironmentFault      the environment (files, processes) failed
    │   └── StaleFile         a write was based on content that is no longer there
    ├── CheckpointError       files could not be checkpointed or put back; the workspace is as it was
    ├── PluginError           a plugin cannot be loaded or misbehaves
    └── ScriptError           a scripted model's script does not fit what happened

Every message says what happened, to what, and what to do.
"""


class TuiAgentError(Exception):
    """Base of every exception that the product raises on purpose.

    `hint` is one sentence that tells the user what to do; it is shown after the message.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class UsageError(TuiAgentError):
    """The command line or a slash command was used wrongly."""


class BudgetReached(TuiAgentError):
    """A limit that the user set leaves no room for what was asked."""


class ConfigError(TuiAgentError):
    """A configuration value, file, profile or key is wrong or absent."""


class StoreError(TuiAgentError):
    """The session store could not do what was asked."""


class StoreFull(StoreError):
    """A write to the store was short or refused; the log ends where it ended before."""


class StoreUnusable(StoreError):
    """The data folder cannot be read or written as it stands: permissions, a file in its place, a read-only disk."""


class SessionTooNew(StoreError):
    """A newer version of the product wrote the session: this one would break what it cannot read."""


class SessionLocked(StoreError):
    """Another process holds the session's lock."""


class SessionNotFound(StoreError):
    """No session has this id."""


class BlobMissing(StoreError):
    """A blob that an event names is absent or its content does not match its digest."""


class ModelError(TuiAgentError):
    """The model or its provider failed for good."""


class ContextOverflow(ModelError):
    """The request is longer than the model's window."""


class GoesInCircles(TuiAgentError):
    """The agent makes the same calls again and again, and forgets what came of them each time."""


class ToolError(TuiAgentError):
    """A tool cannot do what was asked. The message is written for the model."""


class EnvironmentFault(TuiAgentError):
    """Files or processes of the environment failed."""


class StaleFile(EnvironmentFault):
    """A write was refused because the file is no longer what the writer had read."""


class CheckpointError(TuiAgentError):
    """Files could not be checkpointed or put back; the workspace is as it was."""


class PluginError(TuiAgentError):
    """A plugin cannot be loaded, or broke its contract."""


class ScriptError(TuiAgentError):
    """A scripted model met a request that its script does not expect."""
