"""The automatic title of a session, from the first sentence that is long enough.

The sentence comes from the user's first message, the first answer, or a later message.

Invariant: a title that the user gave is never replaced.
"""

import re
from typing import Final

from tui_agent.engine.recorder import Recorder
from tui_agent.engine.turns.engine_agents import INIT_SOURCE
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.protocol.events.session import SessionTitled
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.messages import AssistantMessage
from tui_agent.protocol.parts import text_previews
from tui_agent.protocol.stored_text import text_preview, text_size

MAX_TITLE_CHARS: Final = 60
"""Maximum length of an automatic title."""
MAX_SEARCHED_CHARS: Final = 2_000
MIN_WORDS: Final = 3
MIN_TWO_WORDS_CHARS: Final = 12
"""Minimum number of characters of a title that has only two words. For example, `run mypy` is too short."""
MAX_GREETING_WORDS: Final = 3
MAX_TYPED_CHARS: Final = 2_048
MAX_TYPED_LINES: Final = 20
"""A message with more lines than this counts as pasted, not as typed."""
_GREETING = re.compile(
    r"(?:hi|hello|hey|hallo|good (?:morning|day|afternoon|evening)|thanks|test)\b", re.IGNORECASE
)
_MENTION = re.compile(r"""(?<![^\s(\["'])@(?:"([^"\n]*)"|(\S+))""")
_LABEL_OR_COMMAND = re.compile(r"\[(?:image|pasted) [^\[\]\n]+\]|^/[\w:-]+(?!\S)")
"""Matches the label of a picture or a long paste, and the slash command at the beginning of a message."""
_SENTENCE_BORDER = re.compile(r"(?<=[.!?])(?<!\.\w\.)\s+|\n")
"""Matches the space between two sentences, but not the space after an abbreviation such as `e.g.`."""
_SENTENCE_END = re.compile(r"[.!?:](?=\s|$)|\n")
_NOT_A_TITLE = re.compile(
    r"[`?:{}<>|=*\\]|//|\(\)"
    r"|^(?:I|I['’]\w+|Let|Let['’]s|Sure|Ok|Okay|Yes|No|Great|Now|First|Here|Here['’]s|You|Your|Thanks|Sorry)\b",
    re.IGNORECASE,
)
"""Matches text that is not a title: code, Markdown, questions, announced lists, and words to the user."""


def record_message(recorder: Recorder, message: UserMessageReceived) -> None:
    """Record the message of a new turn and, if the session has no good title yet, a title from the message."""
    title = _title_from_message(recorder.state, message)
    # An undo takes back the message and what follows it. The first title comes before, so that the session keeps one.
    for payload in (message, title) if recorder.state.root_task else (title, message):
        if payload is not None:
            recorder.append(payload)


def _title_from_message(state: SessionStateView, message: UserMessageReceived) -> SessionTitled | None:
    is_undone = state.titled_by in ("auto", "answer") and not state.root_task
    is_weak = not is_undone and state.titled_by == "auto" and not informative_sentence(state.title)
    if (state.title and not is_weak and not is_undone) or message.source == INIT_SOURCE:
        return None
    sentence = informative_sentence(_own_words(message))
    if not sentence and not is_weak:
        text = message.own_words or message.command or text_preview(message.text)[:MAX_SEARCHED_CHARS]
        sentence = " ".join(text.split())
    return SessionTitled(title=shorten_title(sentence), titled_by="auto") if sentence else None


def title_from_answer(recorder: Recorder, message: UserMessageReceived | None) -> None:
    """Use the first answer's first sentence as the title, if the user's message says too little."""
    state = recorder.state
    if state.turn != 1 or state.titled_by != "auto" or message is None:
        return
    if informative_sentence(_own_words(message)):
        return
    answer = next(
        (message for message in reversed(recorder.messages()) if isinstance(message, AssistantMessage)), None
    )
    title = first_sentence("".join(text_previews(answer.parts)) if answer is not None else "")
    if title:
        recorder.append(SessionTitled(title=title, titled_by="answer"))


def informative_sentence(text: str) -> str:
    """Return the first sentence or line that is long enough for a title; empty if there is none."""
    for sentence in _SENTENCE_BORDER.split(_LABEL_OR_COMMAND.sub(" ", text[:MAX_SEARCHED_CHARS])):
        plain_sentence = " ".join(_MENTION.sub("", sentence).split())
        word_count = plain_sentence.count(" ") + 1
        is_long = word_count >= MIN_WORDS or (word_count == 2 and len(plain_sentence) >= MIN_TWO_WORDS_CHARS)
        if is_long and not (word_count <= MAX_GREETING_WORDS and _GREETING.match(plain_sentence)):
            named = _MENTION.sub(lambda mention: _file_name(mention[1] or mention[2]), sentence)
            return " ".join(named.split()).rstrip(".!:")
    return ""


def shorten_title(text: str) -> str:
    """Return the text, cut at a word if it is too long for a title."""
    is_short = len(text) <= MAX_TITLE_CHARS
    return text if is_short else text[: MAX_TITLE_CHARS - 1].rsplit(" ", 1)[0] + "…"


def _file_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _own_words(message: UserMessageReceived) -> str:
    """Return the words that the user typed."""
    text = text_preview(message.text)
    is_long = text_size(message.text) > MAX_TYPED_CHARS or text.count("\n") >= MAX_TYPED_LINES
    # Only the prompt of the app reports typed mentions, so a long message of a program is not taken for a paste.
    is_paste = is_long and message.typed_mentions is not None
    return message.own_words or message.command or ("" if is_paste else text)


def first_sentence(text: str) -> str:
    """Return the first sentence of an answer without its full stop. Empty if it would be a poor title."""
    text = text.strip()[: 2 * MAX_TITLE_CHARS].lstrip("#-*> ")
    end = _SENTENCE_END.search(text)
    sentence = text[: end.start()] if end is not None else text
    is_good = len(sentence.split()) >= MIN_WORDS and len(sentence) <= MAX_TITLE_CHARS
    ends_well = end is None or end.group() not in "?:"
    return sentence if is_good and ends_well and not _NOT_A_TITLE.search(sentence) else ""
