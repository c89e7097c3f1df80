"""Resources of MCP servers: completed after `@` in the prompt, and named by `/mcp`."""

from tests.tui.app.driving import golden, open_app
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded

NOTES = PluginLoaded(plugin="mcp:notes", version="1.0", source="mcp", contributions=("resource:notes",))


async def test_resources_and_templates_complete_after_the_at_sign() -> None:
    for size in ((120, 40), (80, 24)):
        async with open_app(golden("night_shift"), size=size) as driven:
            driven.session.completions = ["notes:note:hello", "notes:note:two words", "notes:day:{month}"]
            driven.session.feed(NOTES)
            await driven.settle()
            await driven.type("see @notes:note:h")
            await driven.until(lambda: "notes:note:hello" in driven.text())
            await driven.press("tab")
            assert driven.app.prompt.editor.text == "see @notes:note:hello "
            await driven.type("@notes:note:two")
            await driven.until(lambda: "notes:note:two words" in driven.text())
            await driven.press("tab")
            assert driven.app.prompt.editor.text == 'see @notes:note:hello @"notes:note:two words" '
            await driven.type("@notes:da")
            await driven.until(lambda: "notes:day:{month}" in driven.text())
            await driven.press("tab")
            assert driven.app.prompt.editor.text.endswith(" @notes:day:")
            assert {command for command, _ in driven.session.completed} == {"@"}


async def test_without_a_server_that_offers_resources_the_engine_is_not_asked() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("see @notes:note:h")
        await driven.settle()
        assert driven.session.completed == []


async def test_the_list_of_servers_names_resources_and_logins() -> None:
    async with open_app(golden("night_shift")) as driven:
        failed = PluginFailed(plugin="mcp:locked", message="Needs login: tui-agent mcp login locked")
        driven.session.feed(NOTES, failed)
        await driven.settle()
        assert "The MCP server locked needs login." in driven.text()
        await driven.type("/mcp")
        await driven.press("enter")
        await driven.until(lambda: "resources (@notes:…)" in driven.text())
        assert "needs login: tui-agent mcp login locked" in driven.text()
