"""How to add an extra to the program, however it was installed."""

import sys
from pathlib import Path

import pytest

from tui_agent.config.settings import optional_packages


class Installed:
    def __init__(self, url: str) -> None:
        self.url = url

    def read_text(self, name: str) -> str | None:
        return f'{{"url": "{self.url}"}}' if self.url else None


def test_the_hint_is_the_installers_own_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(optional_packages, "distribution", lambda _: Installed(f"file://{tmp_path}"))
    assert optional_packages.install_hint("web").endswith(f"-m pip install '{tmp_path}[web]'")
    assert optional_packages.package_install_command("pytest").endswith("-m pip install pytest")
    (tmp_path / "pipx_metadata.json").touch()
    assert optional_packages.install_hint("web") == f"Install it: pipx install --force '{tmp_path}[web]'"
    assert optional_packages.package_install_command("pytest") == "pipx inject tui-agent pytest"
    (tmp_path / "uv-receipt.toml").touch()
    assert optional_packages.install_hint("web") == f"Install it: uv tool install '{tmp_path}[web]'"
    assert optional_packages.package_install_command("pytest") == f"uv tool install --with pytest {tmp_path}"
    monkeypatch.setattr(optional_packages, "distribution", lambda _: Installed(""))
    assert optional_packages.install_hint("parquet") == "Install it: uv tool install 'tui-agent[parquet]'"
    assert optional_packages.package_install_command("pytest") == "uv tool install --with pytest tui-agent"
