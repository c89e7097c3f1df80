"""A picture of the transcript, for the eye: `python tests/tui/screenshot.py --size 120x40 --out x.svg`.

With `--golden LOG` the entries come from a recorded session, else from the sample of the design pictures. A name that
ends in .png is made with rsvg-convert where that is installed.
"""

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tui.transcript.samples import TranscriptApp, every_state, night_shift
from tui_agent.folds.transcript.entries import Entry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.envelope import Envelope
from tui_agent.store.log_line import decode_line
from tui_agent.tui.theme.glyphs import ASCII, UNICODE
from tui_agent.tui.theme.theme import BUNDLED, ColourMode

SAMPLES = {"night_shift": night_shift, "every_state": every_state}


def entries_of(log: Path) -> Sequence[Entry]:
    """The transcript of a recorded session."""
    fold = Transcript()
    for line in log.read_bytes().splitlines():
        event = decode_line(line)
        if isinstance(event, Envelope):
            fold.apply(event)
    return fold.view().entries


async def shoot(arguments: argparse.Namespace, entries: Sequence[Entry]) -> str:
    """The screen as SVG."""
    width, height = (int(part) for part in arguments.size.split("x"))
    app = TranscriptApp(
        entries,
        theme=arguments.theme,
        mode=arguments.mode,
        symbols=ASCII if arguments.ascii else UNICODE,
        now=lambda: max((entry.time for entry in entries), default=0.0) + 4,
    )
    async with app.run_test(size=(width, height)) as pilot:
        if arguments.top:
            app.transcript.go_to_end(-1)
        if not arguments.focus:
            app.set_focus(None)
        await pilot.pause()
        return app.export_screenshot()


def save(svg: str, out: Path) -> None:
    """Write the SVG, or the picture that it makes."""
    # The converter drops leading spaces and joins letters unless it is told not to.
    # Rich stretches each text to its cells, which moves words in runs of spaces: a font of that width is exact.
    svg = re.sub(r' textLength="[^"]*"', "", svg).replace("font-size: 20px", "font-size: 20.3333px")
    svg = svg.replace("<text ", '<text xml:space="preserve" style="font-variant-ligatures: none" ')
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL).replace("Fira Code", "JetBrains Mono")
    if out.suffix != ".png":
        out.write_text(svg, encoding="utf-8")
        return
    converter = shutil.which("rsvg-convert")
    if converter is None:
        raise SystemExit("rsvg-convert is not installed: write to a name that ends in .svg instead.")
    with tempfile.NamedTemporaryFile("w", suffix=".svg", encoding="utf-8") as held:
        held.write(svg)
        held.flush()
        subprocess.run([converter, held.name, "-o", str(out)], check=True)


def main() -> None:
    """Parse, draw, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--golden", type=Path)
    parser.add_argument("--sample", choices=list(SAMPLES), default="night_shift")
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--theme", default="night", choices=BUNDLED)
    parser.add_argument("--mode", default="full", choices=get_args(ColourMode))
    parser.add_argument("--ascii", action="store_true")
    parser.add_argument("--top", action="store_true", help="from the first entry, not the last")
    parser.add_argument("--focus", action="store_true", help="with the cursor shown")
    parser.add_argument("--out", type=Path, default=Path("transcript.svg"))
    arguments = parser.parse_args()
    os.environ.setdefault("TZ", "UTC")
    time.tzset()
    entries = entries_of(arguments.golden) if arguments.golden else SAMPLES[arguments.sample]().entries
    save(asyncio.run(shoot(arguments, entries)), arguments.out)


if __name__ == "__main__":
    main()
