"""Each third party has one door: only the modules named here import it."""

import pytest

from tests.architecture.source import Source, product

DOORS: dict[str, tuple[str, ...]] = {
    "textual": ("tui_agent/tui/",),
    "rich": ("tui_agent/tui/",),
    "litellm": ("tui_agent/models/litellm_client.py",),
    "tree_sitter": ("tui_agent/context/repomap/", "tui_agent/policy/bash"),
    "tiktoken": ("tui_agent/context/token_counter.py",),
    "watchfiles": ("tui_agent/tui/controller/startup.py", "tui_agent/plugin_host/"),
    "tomlkit": ("tui_agent/config/settings/config_toml_edits.py", "tui_agent/evals/frozen/freeze.py"),
    "httpx": (
        "tui_agent/models/",
        "tui_agent/evals/environments/environment_client.py",
        "plugins/web/page_client.py",
    ),
    "bs4": ("plugins/web/browse_url.py",),
    "markdownify": ("plugins/web/browse_url.py",),
    "idna": ("tui_agent/policy/rules/hosts.py",),
    "platformdirs": ("tui_agent/config/",),
    "keyring": ("tui_agent/config/",),
    "mcp": ("tui_agent/mcp/",),
    "acp": ("tui_agent/acp/",),
    "aiohttp": ("tui_agent/serve/",),
    "textual_serve": ("tui_agent/serve/",),
    "jsonschema": ("tui_agent/engine/tools/arguments.py",),
    "jinja2": ("tui_agent/simulation/mode_settings.py",),
    "duckdb": ("tui_agent/export/",),
    "boto3": ("tui_agent/export/",),
    "e2b": ("tui_agent/workspace/remote/e2b_machine.py",),
    "modal": ("tui_agent/workspace/remote/modal_machine.py",),
    "ray": ("tui_agent/evals/runs/ray_cluster.py",),
    "jupyter_client": ("plugins/notebook/kernel_runner.py",),
}

LAZY = {
    "litellm",
    "tiktoken",
    "tree_sitter",
    "watchfiles",
    "tomlkit",
    "keyring",
    "httpx",
    "bs4",
    "markdownify",
    "idna",
    "jinja2",
    "jsonschema",
    "duckdb",
    "boto3",
    "ray",
    "jupyter_client",
}
"""Slow ones: they may be imported inside a function."""


def passes(source: Source, third_party: str) -> bool:
    in_a_plugins_screen = source.name.startswith("plugins/") and "/tui/" in source.name
    return source.name.startswith(DOORS[third_party]) or (
        in_a_plugins_screen and third_party in {"textual", "rich"}
    )


@pytest.mark.parametrize("third_party", sorted(DOORS))
def test_only_its_door_imports(third_party: str) -> None:
    found = [
        f"{source.name}:{line}"
        for source in product()
        for module, line in source.imports
        if (module.split(".")[0] == third_party or module.split(".")[0].startswith(f"{third_party}_"))
        and not passes(source, third_party)
    ]
    assert not found
