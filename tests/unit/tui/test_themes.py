"""Theme files: exactly the roles, readable pairs, and a refusal that names what is wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.color import Color, ColorSystem

from tui_agent.errors import ConfigError
from tui_agent.tui.theme import theme
from tui_agent.tui.theme.palette import Palette
from tui_agent.tui.theme.symbols import ASCII, UNICODE, choose_symbols


@pytest.fixture(scope="module")
def bundled() -> dict[str, theme.ThemeFile]:
    found, faults = theme.discover([theme.bundled_folder()])
    assert faults == []
    return found


def test_the_three_themes_ship_and_every_text_pair_of_theirs_is_readable(
    bundled: dict[str, theme.ThemeFile],
) -> None:
    assert set(theme.BUNDLED) <= set(bundled)
    for name in theme.BUNDLED:
        assert bundled[name].warnings == ()
        assert theme.contrast_pairs(bundled[name])[0].ratio >= theme.MIN_CONTRAST


def as_in_256_colours(color: str) -> str:
    """The colour that a terminal with 256 colours shows instead."""
    return Color.parse(color).downgrade(ColorSystem.EIGHT_BIT).get_truecolor().hex


def test_in_256_colours_every_text_is_readable_and_the_selection_of_the_night_is_grey(
    bundled: dict[str, theme.ThemeFile],
) -> None:
    for loaded in bundled.values():
        few = loaded.for_256_colours()
        shown = few._replace(colors={role: as_in_256_colours(color) for role, color in few.colors.items()})
        assert shown.warnings == (), loaded.name
        grounds = {shown.colors[role] for role in ("s0", "s2", "selection")}
        assert len(grounds) == 3, f"{loaded.name}: a selected row looks like every row"
    night = bundled["night"].for_256_colours().colors
    texts = {role: as_in_256_colours(night[role]) for role in ("t1", "t2", "t3", "selection")}  # type: ignore[index]
    assert texts == {"t1": "#e4e4e4", "t2": "#bcbcbc", "t3": "#a8a8a8", "selection": "#3a3a3a"}


def test_every_role_is_a_css_variable_of_the_textual_theme(bundled: dict[str, theme.ThemeFile]) -> None:
    made = theme.textual_theme(bundled["night"])
    variables = {**made.to_color_system().generate(), **made.variables}
    for role in theme.ROLES:
        assert variables[role].lower() == bundled["night"].colors[role]


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('t3 = "#98a2b0"\n', "", "t3"),
        ('t3 = "#98a2b0"', 't3 = "grey"', "grey"),
        ('t3 = "#98a2b0"', 't3 = "#98a2b0"\nt4 = "#000000"', "t4"),
        ('name = "night"', 'name = "Night!"', "name"),
        ("[colors]", "[colours]", "colours"),
        ("dark = true", "dark = ", "TOML"),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path: Path, old: str, new: str, named: str) -> None:
    source = (theme.bundled_folder() / "night.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(source.replace(old, new), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mine\.toml") as refusal:
        theme.load_theme(path)
    assert named in str(refusal.value)
    found, faults = theme.discover([tmp_path])
    assert (found, len(faults)) == ({}, 1)


def test_a_pair_that_is_hard_to_read_is_a_warning_that_names_it(tmp_path: Path) -> None:
    source = (theme.bundled_folder() / "night.toml").read_text(encoding="utf-8")
    path = tmp_path / "dim.toml"
    path.write_text(source.replace('t3 = "#98a2b0"', 't3 = "#404a58"'), encoding="utf-8")
    loaded = theme.load_theme(path)
    assert any(line.startswith("t3 on s0 has a contrast of") for line in loaded.warnings)


def test_without_colour_a_state_still_shows_by_weight(bundled: dict[str, theme.ThemeFile]) -> None:
    palette = Palette(bundled["night"], "none")
    assert palette.rich("error", "s0").color is None
    assert palette.rich("t1", "selection").reverse
    assert palette.rich("diff-add-text", "diff-add-strong").underline


def test_sixteen_colours_leave_surfaces_to_the_terminal(bundled: dict[str, theme.ThemeFile]) -> None:
    palette = Palette(bundled["night"], "16")
    assert palette.rich("error", "s2").bgcolor is None
    assert palette.rich("error", "s2").color is not None


def test_styles_are_shared(bundled: dict[str, theme.ThemeFile]) -> None:
    palette = Palette(bundled["night"])
    assert palette.rich("t1", "s0") is palette.rich("t1", "s0")


@pytest.mark.parametrize(
    ("wanted", "environ", "expected"),
    [
        ("auto", {"TERM": "linux", "LANG": "C.UTF-8"}, ASCII),
        ("auto", {"TERM": "xterm", "LANG": "en_GB.ISO-8859-1"}, ASCII),
        ("auto", {"TERM": "xterm", "LANG": "en_GB.UTF-8"}, UNICODE),
        ("auto", {"TERM": "xterm", "LANG": "C", "LC_CTYPE": "C.UTF-8"}, ASCII),
        ("auto", {"TERM": "xterm", "LANG": "C"}, ASCII),
        ("auto", {"TERM": "xterm", "LC_ALL": "C", "LC_CTYPE": "C.UTF-8", "LANG": "en_GB.UTF-8"}, ASCII),
        ("auto", {"TERM": "xterm", "LC_ALL": "C.UTF-8", "LC_CTYPE": "C.UTF-8", "LANG": "C"}, UNICODE),
        ("auto", {"TERM": "xterm", "LC_CTYPE": "en_GB.UTF-8", "LANG": "C"}, UNICODE),
        ("auto", {"TERM": "xterm", "LC_CTYPE": "C.UTF-8"}, UNICODE),
        ("auto", {"TERM": "xterm"}, UNICODE),
        ("ascii", {"LANG": "en_GB.UTF-8"}, ASCII),
    ],
)
def test_symbols_follow_the_terminal(wanted: str, environ: dict[str, str], expected: object) -> None:
    assert choose_symbols(wanted, environ) is expected  # type: ignore[arg-type]


def test_the_c_locale_is_told_apart_from_what_python_makes_of_it() -> None:
    said = "import os; from tui_agent.tui.theme.symbols import choose_symbols; print(choose_symbols('auto', os.environ).name)"
    for locale, expected in (("C", "ascii"), ("C.UTF-8", "unicode")):
        environ = {"PATH": os.environ["PATH"], "TERM": "xterm", "LANG": locale}
        done = subprocess.run(
            [sys.executable, "-c", said], env=environ, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == expected
