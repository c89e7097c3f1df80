"""Writes docs/pictures/main.svg from the real app: `python -m docs.make_picture`.

The app plays the bugfix demo in a throw-away workspace, answers its approvals, and is drawn when the turn is over.
"""

import asyncio
import os
import re
import shutil
import tempfile
from pathlib import Path

from tui_agent.cli.run.demo import bundled_demos, make_workspace
from tui_agent.config.options import SessionOptions
from tui_agent.tui.app import AgentApp

PICTURE = Path(__file__).parent / "pictures" / "main.svg"
SIZE = (132, 38)
PATIENCE = 60.0


async def draw(folder: Path) -> str:
    """The app's screen after the demo, as SVG."""
    demo = bundled_demos()["bugfix"]
    workspace, _ = make_workspace(demo, folder / "timesheet")
    options = SessionOptions(
        cwd=workspace,
        client="demo",
        model="demo:bugfix",
        policy="ask",
        prompt=demo.prompt,
        data_dir=folder / "data",
    )
    app = AgentApp(options)
    async with app.run_test(size=SIZE) as pilot:
        for _ in range(int(PATIENCE / 0.2)):
            await pilot.pause(0.2)
            if app.live is not None and app.live.asking.scope == "approval":
                await pilot.pause(1.5)  # a key that comes at once is not taken for an answer
                await pilot.press("y")
            if any("Fixed." in strip.text for strip in app.screen._compositor.render_strips()):
                break
        await pilot.pause(1.0)
        return app.export_screenshot(title="tui-agent")


def plain(svg: str) -> str:
    """The picture without fonts from elsewhere, and without names that differ from one drawing to the next."""
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.S)
    # Else leading blanks are lost, and columns shift.
    svg = svg.replace("<text ", '<text xml:space="preserve" ')
    svg = svg.replace("Fira Code,", "Fira Code, Menlo, Consolas, DejaVu Sans Mono,")
    names = sorted(set(re.findall(r"terminal-\d+", svg)))
    for name in names:
        svg = svg.replace(name, "terminal")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def main() -> None:
    """Draw and write the picture."""
    os.environ.update({"COLORTERM": "truecolor", "TERM": "xterm-256color", "LANG": "C.UTF-8", "TZ": "UTC"})
    os.environ.pop("NO_COLOR", None)
    folder = Path(tempfile.mkdtemp(prefix="picture-"))
    try:
        os.environ["HOME"] = str(folder)
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(plain(asyncio.run(draw(folder))), encoding="utf-8")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
