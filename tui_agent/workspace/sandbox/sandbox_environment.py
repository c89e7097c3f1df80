"""Environment variables of a sandboxed command: no access to the user's running services, and writable caches.

Invariant: this module is pure, and a cache folder that the user has set is not changed.
"""

from collections.abc import Mapping

_SERVICE_VARIABLES = frozenset(
    """SSH_AUTH_SOCK SSH_AGENT_PID SSH_ASKPASS GPG_AGENT_INFO GIT_ASKPASS SUDO_ASKPASS DBUS_SESSION_BUS_ADDRESS
    DBUS_SYSTEM_BUS_ADDRESS DBUS_STARTER_ADDRESS XDG_RUNTIME_DIR DISPLAY WAYLAND_DISPLAY WAYLAND_SOCKET XAUTHORITY
    ICEAUTHORITY SESSION_MANAGER DOCKER_HOST CONTAINER_HOST PODMAN_HOST LIBVIRT_DEFAULT_URI PULSE_SERVER TMUX
    TMUX_PANE STY NVIM NVIM_LISTEN_ADDRESS KITTY_LISTEN_ON WEZTERM_UNIX_SOCKET VSCODE_IPC_HOOK VSCODE_IPC_HOOK_CLI
    VSCODE_GIT_IPC_HANDLE VSCODE_GIT_ASKPASS_MAIN SYSTEMD_EXEC_PID NOTIFY_SOCKET LISTEN_FDS LISTEN_PID INVOCATION_ID""".split()  # noqa: SIM905 - read as a list of words
)
"""Variables with the address of a user's service. With it, any program could use the service."""
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")
_CACHES = {
    "GOCACHE": "go-build",
    "UV_CACHE_DIR": "uv",
    "PIP_CACHE_DIR": "pip",
    "npm_config_cache": "npm",
    "YARN_CACHE_FOLDER": "yarn",
    "CCACHE_DIR": "ccache",
    "DENO_DIR": "deno",
    "BLACK_CACHE_DIR": "black",
    "PRE_COMMIT_HOME": "pre-commit",
    "MPLCONFIGDIR": "matplotlib",
    "NUMBA_CACHE_DIR": "numba",
}
"""Maps a variable to the name of its cache folder."""
_CACHES_IN_WORKSPACE = {"RUFF_CACHE_DIR": "ruff", "MYPY_CACHE_DIR": "mypy"}
"""Maps a variable to the name of a cache folder that would otherwise be in the workspace."""
SANDBOX_VARIABLE = "TUI_AGENT_SANDBOX"
_SETTINGS = "GIT_CONFIG_PARAMETERS"
"""Name of a variable with additional settings for git, each in single quotes."""


def confined_variables(env: Mapping[str, str], temporary: str, *, read_only: bool = False) -> dict[str, str]:
    """Return the environment variables of a sandboxed command.

    - `temporary`: the command's folder for temporary files
    - `read_only`: True to move caches in the workspace to `temporary` (see `ExecSpec.read_only`)
    """
    inherited = {
        name: value
        for name, value in env.items()
        if name not in _SERVICE_VARIABLES and name not in _TEMPORARY
    }
    folders = {**_CACHES, **_CACHES_IN_WORKSPACE} if read_only else _CACHES
    caches = {name: f"{temporary}/cache/{folder}" for name, folder in folders.items()}
    return {**caches, **inherited, "TMPDIR": temporary, SANDBOX_VARIABLE: "1"}


def with_stat_comparison(env: Mapping[str, str]) -> dict[str, str]:
    """Return `env` with git settings to detect changes only by a file's size and time."""
    settings = (env.get(_SETTINGS, ""), "'core.checkStat=minimal'", "'core.trustctime=false'")
    return {**env, _SETTINGS: " ".join(filter(None, settings))}
