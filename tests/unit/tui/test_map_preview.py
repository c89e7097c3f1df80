"""The code that the map's page shows: a symbol whole, or the beginnings of a file's shown symbols."""

from pathlib import Path

from tui_agent.tui.screens.map.map_rows import code_preview
from tui_agent.tui.screens.map.queries import MapFile, MapLine, MapSymbol
from tui_agent.tui.screens.map.screen import read_text

TEXT = "".join(f"line {number}\n" for number in range(1, 101))


def symbol(line: int, end: int) -> MapSymbol:
    return MapSymbol(line, end, f"def f{line}()", f"f{line}")


def numbers(preview: str) -> list[str]:
    return [
        line.removeprefix(" line ") if line[0] == " " else line.split()[2] for line in preview.splitlines()
    ]


def test_a_symbol_is_shown_whole_up_to_a_limit() -> None:
    file = MapFile("a.py", symbols=(symbol(3, 5), symbol(10, 90)))
    assert numbers(code_preview(MapLine(file, file.symbols[0]), TEXT)) == ["+3", "3", "4", "5"]
    assert numbers(code_preview(MapLine(file, file.symbols[1]), TEXT))[-1] == "49"


def test_a_file_is_shown_around_its_symbols_without_repeating_a_line() -> None:
    file = MapFile("a.py", symbols=(symbol(3, 5), symbol(5, 6), symbol(60, 99)))
    assert numbers(code_preview(MapLine(file), TEXT)) == [
        "+3", "3", "4", "5", "6", "7", "8", "9", "+60", "60", "61", "62", "63", "64",
    ]  # fmt: skip


def test_a_file_without_symbols_is_shown_from_its_beginning_and_lines_that_are_gone_are_left_out() -> None:
    assert numbers(code_preview(MapLine(MapFile("a.py")), TEXT))[:3] == ["+1", "1", "2"]
    assert len(code_preview(MapLine(MapFile("a.py")), TEXT).splitlines()) == 41
    file = MapFile("a.py", symbols=(symbol(200, 210),))
    assert code_preview(MapLine(file), TEXT) == code_preview(MapLine(file, file.symbols[0]), TEXT) == ""
    assert code_preview(MapLine(MapFile("a.py")), "") == ""


def test_a_file_that_is_gone_or_binary_or_a_link_says_so(tmp_path: Path) -> None:
    (tmp_path / "b.bin").write_bytes(b"\0")
    (tmp_path / "link").symlink_to("b.bin")
    (tmp_path / "a.py").write_text("pass\n")
    found = {name: read_text(tmp_path / name) for name in ("a.py", "gone.py", "b.bin", "link")}
    assert found["a.py"] == ("pass\n", "")
    assert [found[name][1] for name in ("gone.py", "b.bin")] == ["The file no longer exists.", "Binary file."]
    assert found["link"][0] is None and found["link"][1].startswith("The file cannot be read: ")
    assert read_text(tmp_path)[0] is None
