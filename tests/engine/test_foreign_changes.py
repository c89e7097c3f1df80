"""What the model is told if somebody else changed a file that it edits."""

from pathlib import Path

from tests.engine.harness import call, say
from tests.engine.test_rewind import told, turn
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.parts import text_previews

NOTE = "The file had changed since it was last read."


async def test_a_foreign_change_is_told_once_and_the_models_own_edits_are_not(tmp_path: Path) -> None:
    file = tmp_path / "workspace" / "a.txt"
    file.parent.mkdir()
    file.write_text("1\n2\n3\n4\n")
    answers: list[object] = [call(("read_file", '{"path": "a.txt"}')), say("Read.")]
    for number in "1234":
        edit = f'{{"path": "a.txt", "old_text": "{number}\\n", "new_text": "{number}{number}\\n"}}'
        answers += [call(("edit_file", edit)), say("Edited.")]
    async with told(tmp_path, *answers) as bench:
        await turn(bench, "read")
        file.write_text("0\n1\n2\n3\n4\n")
        for number in "1234":
            if number == "4":
                file.write_text(f"{file.read_text()}5\n")
            await turn(bench, "edit")
        assert file.read_text() == "0\n11\n22\n33\n44\n5\n"
        results = [" ".join(text_previews(end.content)) for end in bench.of(ToolFinished)[1:]]
        assert [NOTE in result for result in results] == [True, False, False, True]
