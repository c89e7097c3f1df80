"""A question is found in the form of an issue that somebody filled in."""

import time

import pytest

from tests.stubs.rows import rows
from tui_agent.context.repomap.telling import told
from tui_agent.context.repomap.words import Query

QUESTION = "The lexer loses the last token of a line"
FORM = f"""<!-- Thanks for filing an issue!
Please read the contributing guide. -->
### Checklist
- [x] I have searched the existing issues
  and pull requests
- [ ] I have included a minimal test case

**Describe the bug**
A clear and concise description of what the bug is.

{QUESTION}

**To Reproduce**
Steps to reproduce the behavior:
1. Go to '...'
2. See error

### RuboCop version
```
1.56.0 (using Parser 3.2.2, rubocop-ast 1.29)
```
### Environment
```
System:
    OS: macOS 13.4
    Shell: 5.9 - /bin/zsh
```
**Desktop (please complete the following information):**
 - OS: Linux
 - Browser: Chrome, Safari

Python: 3.11.4
**Celery version**: 5.3
### Relevant log output
_No response_
### Code of Conduct
- [X] We agree to follow it
"""


def test_a_form_around_a_question_leaves_the_question() -> None:
    assert told(FORM).split() == QUESTION.split()
    assert Query(FORM).weights == Query(QUESTION).weights


@rows(
    "text",
    [
        QUESTION,
        "# Make the lexer faster\n\n## Support Unicode identifiers\nThey are cut.",
        "Version: the flag prints nothing in a shell that is not interactive\nPlease mend it.",
        "How is `<!-- x -->` parsed?\nIt is lost.",
        "Is <!-- ever closed?\nThe lexer runs on.",
        "- [ ] parse the header\n- [ ] write the tests",
        "Note: the cache: it is never emptied\nsee `a=1`",
        "```yaml\n# Environment\nkey: value\n```\nis read wrongly",
        "```python\nversion = system()\nos: Linux\n```\nversion = read() fails",
        "**Important**\nKeep the order.",
        "## 環境\n順序\n## Ошибка bug\nпорядок",
        "### Environment\n- OS: Linux",
        "version: 3.2.1\n",
        "",
    ],
)
def test_what_somebody_wrote_stays(text: str) -> None:
    assert told(text).split() == text.split()


@rows(
    "text, wanted",
    [
        ("## Steps to reproduce\nOpen a socket", "Open a socket"),
        ("Motivation:\nNames collide\n\nResult:\nThey do not", "Names collide They do not"),
        ("Names collide <!-- keep this --> often", "Names collide often"),
        ("It hangs\n- node: v18.12.1\n- npm: 9.5.0", "It hangs"),
        ("It hangs\n### Logs of the server\n_No response_", "It hangs"),
        ("It hangs\n### Logs of the server\n", "It hangs ### Logs of the server"),
        ("# Environment\nLinux of a friend\n# It hangs", "# It hangs"),
        ("- [x] cut the header\n- [ ] parse it", "- [ ] parse it"),
    ],
)
def test_what_a_form_adds_goes(text: str, wanted: str) -> None:
    assert told(text).split() == wanted.split()


@pytest.mark.parametrize(
    "part", ["<!--", "<!-- --> `<!--", "# # ", "**a", "a: ", "- [x] ", "x=v1.", "\n```", "Ab ", " :"]
)
def test_a_long_question_takes_little_time(part: str) -> None:
    started = time.process_time()
    told(f"\n{part * (20_000 // len(part))}\n")
    assert time.process_time() - started < 0.5
