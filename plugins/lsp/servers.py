"""The known language servers, and which one to use for a file."""

import shlex
import shutil
from pathlib import PurePosixPath

from pydantic import Field

import tui_agent.plugin_api as api

PYTHON = ("basedpyright-langserver --stdio", "pyright-langserver --stdio", "pylsp", "jedi-language-server")
TYPESCRIPT = ("typescript-language-server --stdio",)
CLANGD = ("clangd",)
COMMANDS: dict[str, tuple[str, ...]] = {
    "py": PYTHON,
    "pyi": PYTHON,
    **dict.fromkeys(("ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"), TYPESCRIPT),
    "go": ("gopls",),
    "rs": ("rust-analyzer",),
    **dict.fromkeys(("c", "h", "cc", "cpp", "cxx", "hpp"), CLANGD),
}
"""Maps a file suffix to the commands to try; the first installed one is used."""
LANGUAGES = {
    "py": "python", "pyi": "python", "ts": "typescript", "mts": "typescript", "cts": "typescript",
    "tsx": "typescriptreact", "js": "javascript", "mjs": "javascript", "cjs": "javascript",
    "jsx": "javascriptreact", "rs": "rust", "h": "c", "cc": "cpp", "cxx": "cpp", "hpp": "cpp",
}  # fmt: skip
"""Maps a file suffix to the protocol's name of the language. A suffix that is missing here is the name itself."""


class LspSettings(api.FrozenModel):
    """The settings of the plugin."""

    commands: dict[str, str] = Field(
        {}, description='Commands by file suffix, such as py = "pyright-langserver --stdio".'
    )
    timeout: float = Field(30.0, gt=0, description="Maximum seconds to wait for a server's answer.")


def language_of(path: str) -> str:
    """Return the protocol's name for the language of a file."""
    suffix = _suffix(path)
    return LANGUAGES.get(suffix, suffix)


def find_command(path: str, settings: LspSettings) -> tuple[str, ...]:
    """Return the command of the language server for a file; this call blocks.

    Raise `ToolError` if no server for this kind of file is known or installed.
    """
    suffix = _suffix(path)
    configured = settings.commands.get(suffix)
    known = COMMANDS.get(suffix, ()) if configured is None else (configured,)
    if not any(known):
        raise api.ToolError(
            f"There is no language server for {f'{suffix} files' if suffix else 'files without a suffix'}.",
            hint="Use grep and run_command instead.",
        )
    for command in known:
        words = tuple(shlex.split(command))
        if configured is not None or shutil.which(words[0]):
            return words
    names = " or ".join(command.split()[0] for command in known)
    raise api.ToolError(
        f"No language server for {suffix} files is installed ({names}).",
        hint="Use grep and run_command instead.",
    )


def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix.removeprefix(".").lower()
