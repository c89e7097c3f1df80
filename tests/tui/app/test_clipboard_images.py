"""Images that are pasted from the clipboard into a message."""

from pathlib import Path

from tests.tui.app.driving import golden, open_app
from tui_agent.protocol.commands import SubmitPrompt


def _content_and_mode(path: str) -> tuple[bytes, int]:
    return Path(path).read_bytes(), Path(path).stat().st_mode & 0o777


async def test_an_image_in_the_clipboard_is_attached_and_what_is_missing_is_named(tmp_path: Path) -> None:
    image = b"\x89PNG\r\n\x1a\n" + b"x" * 100
    (tmp_path / "shot").write_bytes(image)
    program = tmp_path / "xclip"
    environ = {"DISPLAY": ":0", "PATH": f"{tmp_path}:/usr/bin:/bin"}
    async with open_app(golden("night_shift"), environ=environ) as driven:
        await driven.press("ctrl+v")
        await driven.until(lambda: "Install xclip" in driven.text())
        program.write_text("#!/bin/sh\necho text\n")
        program.chmod(0o755)
        await driven.press("ctrl+v")
        await driven.until(lambda: "The clipboard holds no image." in driven.text())
        program.write_text(f"#!/bin/sh\ncat {tmp_path}/shot\n")
        await driven.press("ctrl+v")
        await driven.until(lambda: "[image pasted-" in driven.app.prompt.editor.text)
        await driven.press("enter")
        [command] = driven.session.submitted
        assert isinstance(command, SubmitPrompt)
        [picture] = command.attachments
        assert _content_and_mode(str(picture.path)) == (image, 0o600)
