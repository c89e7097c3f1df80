"""Theme files: exactly the roles, readable pairs, and a refusal that names what is wrong."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from platformdirs.macos import MacOS
from rich.color import Color, ColorSystem

from tui_agent.config.paths import find_paths
from tui_agent.errors import ConfigError
from tui_agent.tui.theme import theme
from tui_agent.tui.theme.first_frame import theme_folders
from tui_agent.tui.theme.glyphs import ASCII, UNICODE, choose_symbols
from tui_agent.tui.theme.theme import Palette


@pytest.fixture(scope="module")
def bundled() -> dict[str, theme.ThemeFile]:
    found, faults = theme.discover([theme.bundled_folder()])
    assert faults == {}
    return found


HIGH_CONTRAST = {"beacon": 7.0, "ink": 7.0}


def test_the_eight_themes_ship_and_every_text_pair_of_theirs_is_readable(
    bundled: dict[str, theme.ThemeFile],
) -> None:
    assert sorted(bundled) == sorted(theme.BUNDLED)
    assert len(bundled) == 8
    for name, loaded in bundled.items():
        too_low = [
            pair
            for pair in theme.contrast_pairs(loaded)
            if pair.ratio < HIGH_CONTRAST.get(name, theme.MIN_CONTRAST)
        ]
        assert (too_low, loaded.warnings) == ([], ()), name
        assert bool(theme.contrast_pairs(loaded)) is (name != "terminal")


MACHADO = {
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
}
"""Linear RGB as such eyes see it (Machado, Oliveira and Fernandes 2009, severity 1)."""
OPPOSITES: list[tuple[theme.Role, theme.Role, float]] = [
    ("success", "error", 0.15),
    ("success", "warning", 0.15),
    ("warning", "error", 0.09),
    ("accent", "error", 0.09),
    ("diff-add", "diff-del", 0.06),
    ("diff-add-strong", "diff-del-strong", 0.09),
    ("diff-add-text", "diff-del-text", 0.09),
]
"""Roles that mean different things, and their smallest distance in OKLab; 0.02 is just noticeable."""


def as_seen_by(kind: str, color: str) -> tuple[float, ...]:
    """The OKLab colour that colour-blind eyes see."""
    channels = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    red, green, blue = (
        min(max(sum(weight * value for weight, value in zip(row, linear, strict=True)), 0), 1)
        for row in MACHADO[kind]
    )
    long = (0.4122 * red + 0.5363 * green + 0.0514 * blue) ** (1 / 3)
    medium = (0.2119 * red + 0.6807 * green + 0.1074 * blue) ** (1 / 3)
    short = (0.0883 * red + 0.2817 * green + 0.6300 * blue) ** (1 / 3)
    return (
        0.2105 * long + 0.7936 * medium - 0.0041 * short,
        1.9780 * long - 2.4286 * medium + 0.4506 * short,
        0.0259 * long + 0.7828 * medium - 0.8087 * short,
    )


@pytest.mark.parametrize("kind", list(MACHADO))
@pytest.mark.parametrize("name", ["harbour", "beacon"])
def test_colour_blind_eyes_tell_opposite_meanings_apart(
    bundled: dict[str, theme.ThemeFile], name: str, kind: str
) -> None:
    for first, second, least in OPPOSITES:
        colors = bundled[name].colors
        distance = math.dist(as_seen_by(kind, colors[first]), as_seen_by(kind, colors[second]))
        assert distance >= least, (first, second, distance)


def test_the_terminals_own_theme_has_no_colour_but_the_sixteen_named_ones(
    bundled: dict[str, theme.ThemeFile],
) -> None:
    loaded = bundled["terminal"]
    palette = Palette(loaded)
    assert (palette.mode, Palette(loaded, "none").mode) == ("16", "none")
    for role in theme.ROLES:
        assert palette.color(role).startswith("ansi_"), role
        style = palette.style(role, "s2")
        assert style.bgcolor is None
        assert style.color is None or style.color.type.name == "STANDARD", role
    made = theme.textual_theme(loaded)
    assert (made.ansi, made.background) == (True, "ansi_default")


def as_in_256_colours(color: str) -> str:
    """The colour that a terminal with 256 colours shows instead."""
    return Color.parse(color).downgrade(ColorSystem.EIGHT_BIT).get_truecolor().hex


def test_in_256_colours_every_text_is_readable_and_the_selection_of_the_night_is_grey(
    bundled: dict[str, theme.ThemeFile],
) -> None:
    for loaded in bundled.values():
        if not loaded.colors:
            continue
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
        ('about = "Dark, the default."', 'about = "\\u001b[31m"', "about"),
        ('about = "Dark, the default."', 'about = "a\x1bb"', "TOML"),
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
    assert palette.style("error", "s0").color is None
    assert palette.style("t1", "selection").reverse
    assert palette.style("diff-add-text", "diff-add-strong").underline


def test_sixteen_colours_leave_surfaces_to_the_terminal(bundled: dict[str, theme.ThemeFile]) -> None:
    palette = Palette(bundled["night"], "16")
    assert palette.style("error", "s2").bgcolor is None
    assert palette.style("error", "s2").color is not None


def test_styles_are_shared(bundled: dict[str, theme.ThemeFile]) -> None:
    palette = Palette(bundled["night"])
    assert palette.style("t1", "s0") is palette.style("t1", "s0")


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
    said = "import os; from tui_agent.tui.theme.glyphs import choose_symbols; print(choose_symbols('auto', os.environ).name)"
    for locale, expected in (("C", "ascii"), ("C.UTF-8", "unicode")):
        environ = {"PATH": os.environ["PATH"], "TERM": "xterm", "LANG": locale}
        done = subprocess.run(
            [sys.executable, "-c", said], env=environ, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == expected


def test_the_users_themes_are_in_the_folder_of_the_configuration_on_a_mac_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr("platformdirs.PlatformDirs", MacOS)
    monkeypatch.setenv("HOME", str(tmp_path))
    environ = {"HOME": str(tmp_path)}
    assert theme_folders(environ)[1] == find_paths(tmp_path, environ).config_dir / "themes"
