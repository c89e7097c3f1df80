"""Commands that use the clipboard: copy the last answer, and paste an image into the message."""

import asyncio
from importlib import import_module

from tui_agent.errors import TuiAgentError
from tui_agent.tui.app_context import AppContext


def copy_answer(context: AppContext, argument: str) -> None:
    """Copy the model's last answer to the clipboard."""

    async def copy() -> None:
        answer = await context.reader.last_answer()
        if not answer and context.sessions.load_progress:
            await context.sessions.wait_until_loaded()
            answer = await context.reader.last_answer()
        if answer:
            context.app.copy_text(answer)
        else:
            context.app.say("No answer to copy yet.")

    context.worker(copy(), "copy")


def paste_image(context: AppContext, argument: str) -> None:
    """Attach the image in the clipboard. If there is no image, paste the text last copied or cut in the app."""
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
