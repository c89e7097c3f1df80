"""The command that pastes an image from the clipboard into the message."""

import asyncio
from importlib import import_module

from tui_agent.errors import TuiAgentError
from tui_agent.tui.context import AppContext


def paste_image(context: AppContext, argument: str) -> None:
    """Attach the image in the clipboard to the message; without an image, paste the text that was cut in the app."""
    context.worker(_paste(context), "paste")


async def _paste(context: AppContext) -> None:
    app, config = context.app, context.config
    if config is None:
        return
    # Imported here, since only a paste needs this module.
    clipboard = await asyncio.to_thread(import_module, "tui_agent.tui.terminal.clipboard_image")
    try:
        image = await asyncio.to_thread(clipboard.read_clipboard_image, app.environ)
        if image is not None:
            folder = config.data_dir / "drafts" / "images"
            context.editor.insert_picture(await asyncio.to_thread(clipboard.save_image, image, folder))
        elif app.clipboard:
            context.editor.action_paste()
        else:
            app.say("The clipboard holds no image.")
    except (TuiAgentError, OSError) as fault:
        app.say(str(fault), "warning")
