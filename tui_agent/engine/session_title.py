"""The automatic title of a session: its first message, later the first sentence of the first answer.

If the first message is a greeting and the answer has no suitable sentence, the title is the next message.

Invariant: a title that the user gave is never replaced. No model is asked for a title.
"""

import re
from typing import Final

from tui_agent.engine.agents import INIT_SOURCE
from tui_agent.engine.recorder import Recorder
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.events.session import SessionTitled
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.messages import AssistantMessage
from tui_agent.protocol.parts import TextPart

MAX_MESSAGE_CHARS: Final = 48
MAX_SENTENCE_CHARS: Final = 60
MIN_WORDS: Final = 3
MIN_MESSAGE_WORDS: Final = 2
MAX_GREETING_WORDS: Final = 3
_GREETING = re.compile(
    r"(?:hi|hello|hey|hallo|good (?:morning|day|afternoon|evening)|thanks|test)\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?:](?=\s|$)|\n")
_NOT_A_TITLE = re.compile(
    r"[`?:{}<>|=*\\]|//|\(\)"
    r"|^(?:I|I['’]\w+|Let|Let['’]s|Sure|Ok|Okay|Yes|No|Great|Now|First|Here|Here['’]s|You|Your|Thanks|Sorry)\b",
    re.IGNORECASE,
)
"""Matches text that is not a title: code, Markdown, questions, announced lists, and words to the user."""


def title_from_message(recorder: Recorder, message: UserMessageReceived) -> None:
    """Use a message as the session's title.

    Does nothing if there is a title, unless the title is only a greeting or comes from an undone message.
    """
    state, words = recorder.state, message.own_words or message.text
    is_undone = state.titled_by in ("auto", "answer") and not state.root_task
    is_weak = not is_undone and state.titled_by == "auto" and is_greeting(state.title)
    if (
        (state.title and not is_weak and not is_undone)
        or not isinstance(words, str)
        or message.source == INIT_SOURCE
    ):
        return
    text = " ".join(words.split())
    if is_weak:
        end = _SENTENCE_END.search(text)
        sentence = text[: end.start()] if end is not None else text
        text = text if is_greeting(sentence) else sentence
    if text and not (is_weak and is_greeting(text)):
        is_short = len(text) <= MAX_MESSAGE_CHARS
        title = text if is_short else text[:MAX_MESSAGE_CHARS].rsplit(" ", 1)[0] + "…"
        recorder.append(SessionTitled(title=title, titled_by="auto"))


def is_greeting(text: str) -> bool:
    """Return True for a single word, and for a text of up to three words that begins with a greeting."""
    words = len(text.split())
    return words < MIN_MESSAGE_WORDS or (words <= MAX_GREETING_WORDS and _GREETING.match(text) is not None)


def title_from_answer(recorder: Recorder) -> None:
    """Use the first sentence of the first turn's answer as the title.

    Does nothing if the user gave a title, or if the sentence is not suitable.
    """
    state = recorder.state
    if state.turn != 1 or state.titled_by != "auto":
        return
    answer = next(
        (message for message in reversed(recorder.messages()) if isinstance(message, AssistantMessage)), None
    )
    text = (
        "".join(text_preview(part.text) for part in answer.parts if isinstance(part, TextPart))
        if answer is not None
        else ""
    )
    title = first_sentence(text)
    if title:
        recorder.append(SessionTitled(title=title, titled_by="answer"))


def first_sentence(text: str) -> str:
    """Return the first sentence of an answer without its full stop.

    Returns an empty string if the sentence is not suitable as a title.
    """
    text = text.strip()[: 2 * MAX_SENTENCE_CHARS].lstrip("#-*> ")
    end = _SENTENCE_END.search(text)
    sentence = text[: end.start()] if end is not None else text
    is_good = len(sentence.split()) >= MIN_WORDS and len(sentence) <= MAX_SENTENCE_CHARS
    ends_well = end is None or end.group() not in "?:"
    return sentence if is_good and ends_well and not _NOT_A_TITLE.search(sentence) else ""
