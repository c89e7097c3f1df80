"""The list of all actions of the user: slash command, keys, help text, and word in the footer.

Each action also says when it is available.

Invariant: the palette, the footer, F1 help, `/help` and docs/keys.md are generated from `ACTIONS`.
"""
# A test checks that every action of scope `app` has a handler of the same name.

import os
import re
import string
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, Literal, NamedTuple, TypeAlias

When: TypeAlias = Literal["always", "idle", "running"]
Scope: TypeAlias = Literal[
    "app", "prompt", "menu", "transcript", "chat", "turn", "find", "start",
    "approval", "reason", "rule", "question", "confirm", "keys", "trust", "policy", "provider", "files", "list", "viewer", "diff", "context",
    "trace", "replay", "compare", "tree", "checkpoints", "jobs", "evals", "pane", "history", "map", "map_find", "fork", "sessions", "sessions_find",
    "sheet", "page", "rows", "field",
]  # fmt: skip
"""The part of the app in which a key works.

- `sheet`: all modal sheets.
- `page`: all list pages with a details pane.
- `rows`: everything that scrolls by pages.
- `field`: text fields without a scope of their own.
"""


class Action(NamedTuple):
    """An action of the user.

    - `keys`: Textual key names.
    - `footer`: the word for the action in the footer. Esc is called `close` in texts and lists, `back` if it leads to
      the screen or field below, and `cancel` in forms.
    - `rank`: position in the footer (0: not shown).
    - `ground`: True if the action cannot run during a turn.
    - `args`: the arguments, as shown in the help. Words in capitals stand for values that the user types.
    """

    name: str
    help: str
    group: str
    slash: str = ""
    """The action's slash command, as menus and help show it; empty if the action has none."""
    args: str = ""
    aliases: tuple[str, ...] = ()
    """Other words that run the same action when typed, such as `/exit`.

    An alias can contain an argument: `/plan plan` makes `/plan` short for `/policy plan`.
    """
    synonyms: str = ""
    """More words for finding the action in F1 and the palette."""
    keys: tuple[str, ...] = ()
    when: When = "always"
    scope: Scope = "app"
    footer: str = ""
    rank: int = 0
    ground: bool = False
    footer_when: When | None = None
    """The state of the app in which the footer shows the action (None: any state)."""
    choices: int = 1
    """Number of choices that the action's keys offer, e.g. 2 for up and down.

    The keys take turns: with `up, down, k, j`, the first choice has the keys `up` and `k`.
    """
    typed: str = ""
    """The character that triggers the action in a message. The user cannot rebind this character."""
    method: str | tuple[Any, ...] = ""
    """The method that the key calls in the widget or screen, or a tuple of the method and its arguments."""

    @property
    def typed_words(self) -> list[tuple[str, str]]:
        """The words that can be typed, as (word, argument) pairs. The alias `/plan plan` gives `("/plan", "plan")`."""
        texts = (self.slash, *self.aliases) if self.slash else self.aliases
        return [(word, argument) for word, _, argument in (text.partition(" ") for text in texts)]

    @property
    def options(self) -> list[str]:
        """The words in `args` that are typed literally, e.g. `list` in `[FOCUS|list]`."""
        return [word for word in re.findall(r"[\w-]+", self.args) if word.islower()]

    def args_of(self, word: str) -> str:
        """Return the arguments that can follow a typed word, e.g. `[LEVEL]` after `/reasoning`."""
        argument = dict(self.typed_words)[word]
        options = dict(option.partition(" ")[::2] for option in self.args[1:-1].split("|"))
        return options.get(argument, "") if argument else self.args

    def meaning_of(self, word: str) -> str:
        """Return the command for a typed word, including the alias's argument, e.g. `/policy plan` for `/plan`.

        If the action has no slash command, return the word itself.
        """
        argument = dict(self.typed_words)[word]
        return f"{self.slash} {argument}".strip() if self.slash else word

    @property
    def label(self) -> str:
        """The main keys of the action as printed on a keyboard: `F1`, `Up/Down`, `1–6`."""
        return self.typed or _join_keys(self.keys[: self.choices])

    @property
    def all_keys(self) -> str:
        """All keys of the action as printed on a keyboard: `Shift+Enter, Alt+Enter or Ctrl+J`."""
        starts = range(0, len(self.keys), self.choices)
        names = [_join_keys(self.keys[start : start + self.choices]) for start in starts]
        return self.typed or " or ".join(", ".join(names).rsplit(", ", 1))


class KeyHint(NamedTuple):
    """A key as printed on a keyboard, with its word in the footer and the name of its action."""

    key: str
    word: str
    action: str

    @property
    def leaves(self) -> bool:
        """True if the key leaves the screen, e.g. Esc. If a footer is too narrow for all keys, these keys are kept longest."""
        return self.action in LEAVE_ACTIONS


_PRINTED: Final = {
    "escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn", "space": "Space",
    "slash": "/", "backslash": "\\", "at": "@", "plus": "+", "minus": "-", "underscore": "_",
}  # fmt: skip


def key_name(key: str) -> str:
    """Return a Textual key name as it is printed on a keyboard: `ctrl+p` becomes `Ctrl+P`."""
    if " " in key:
        return " ".join(key_name(part) for part in key.split())
    return "+".join(_part_name(part) for part in key.split("+"))


def _part_name(part: str) -> str:
    if part in _PRINTED or len(part) == 1:
        return _PRINTED.get(part, part.upper())
    try:
        sign = unicodedata.lookup(part.replace("_", " "))
    except KeyError:
        sign = ""
    return sign if sign.isprintable() and sign else part.capitalize()


def _join_keys(keys: Sequence[str]) -> str:
    """Return a short text for several keys of an action, e.g. for up and down: `Up/Down`, `[ ]`, `1–6`."""
    names = [key_name(key) for key in keys]
    if len(names) > 2 and "".join(names) in string.digits:
        return f"{names[0]}–{names[-1]}"
    if len(names) > 1 and all(name.startswith("Ctrl+") and "+" not in name[5:] for name in names):
        return f"Ctrl+{'/'.join(name[5:] for name in names)}"
    signs = all(len(name) == 1 and not name.isalnum() for name in names)
    return (" " if signs else "/").join(names)


def _a(name: str, help: str, group: str, **rest: object) -> Action:
    return Action(name, help, group, **rest)  # type: ignore[arg-type]


_COMMANDS: Final[tuple[Action, ...]] = (
    _a("new", "start a new session; this one is saved", "Commands", slash="/new", args="[summary [ID]]", aliases=("/clear", "/reset", "/reset-session summary"), synonyms="restart empty", ground=True),
    _a("model", "switch model, or set the reasoning effort", "Commands", slash="/model", args="[NAME|reasoning [LEVEL]|url [URL]]", aliases=("/models", "/reasoning reasoning", "/effort reasoning", "/think reasoning", "/base-url url"), synonyms="local server ollama", ground=True),
    _a("undo", "undo the last turn and its file changes", "Commands", slash="/undo", args="[turn N]", synonyms="back restore", ground=True),
    _a("redo", "redo what you last undid or reverted", "Commands", slash="/redo", ground=True),
    _a("diff", "show changed files, of the session or a turn", "Commands", slash="/diff", args="[PATH|turn N]", aliases=("/review", "/changes")),
    _a("compact", "summarise old turns, or list what was summarised", "Commands", slash="/compact", args="[FOCUS|list]", aliases=("/summarise", "/summarize")),
    _a("context", "show what fills the context", "Commands", slash="/context", keys=("f4",), synonyms="window tokens"),
    _a("cost", "show spending, or set a cost limit", "Commands", slash="/cost", args="[USD]", aliases=("/usage",), synonyms="money budget dollars price tokens spent"),
    _a("policy", "show or set what the agent may do without asking", "Commands", slash="/policy", args="[NAME]", aliases=("/permissions", "/plan plan", "/accept-edits accept-edits"), synonyms="approvals allow deny rules bypass mode"),
    _a("sessions", "find, open, compare, rename or delete sessions", "Commands", slash="/sessions", args="[ID|WORDS|rename TITLE]", aliases=("/history", "/session", "/rename rename"), synonyms="continue open title"),
    _a("status", "show model, policy, sandbox, context and cost", "Commands", slash="/status", args="[tools|plugins [enable NAME|disable NAME]|mcp]", aliases=("/tools tools", "/plugins plugins", "/mcp mcp")),
    _a("help", "search keys and commands", "Commands", slash="/help", args="[WORDS]", keys=("f1",), footer="help", synonyms="shortcuts", method="open_help"),
    _a("find", "find text in the transcript", "Commands", slash="/find", args="TEXT", keys=("ctrl+f3",), synonyms="search"),
    _a("copy", "copy the last answer", "Commands", slash="/copy", synonyms="clipboard yank"),
    _a("map", "show the repository map, and why files are in it", "Commands", slash="/map", args="[QUESTION]", keys=("f5",), synonyms="repo files symbols"),
    _a("trace", "show every turn and call: time, tokens, cost", "Commands", slash="/trace", args="[latest|ID|PATH]", keys=("f3",), footer="trace", rank=7, synonyms="log events"),
    _a("replay", "replay the session from any event", "Commands", slash="/replay", args="[EVENT]"),
    _a("fork", "fork a new session from an event", "Commands", slash="/fork", args="[EVENT]", synonyms="branch copy"),
    _a("what_if", "repeat a message with one change, and compare", "Commands", slash="/what-if", args="[EVENT]", synonyms="again retry", ground=True),
    _a("tree", "show, switch and compare branches and forks", "Commands", slash="/tree", args="[checkpoints|compare [ID]]", aliases=("/branches", "/compare compare", "/checkpoints checkpoints"), synonyms="snapshots"),
    _a("agent", "switch to another agent, or give an agent a task", "Commands", slash="/agent", args="[NAME|delegate [AGENT TASK]]", aliases=("/agents", "/delegate delegate"), synonyms="subagent mode", ground=True),
    _a("provider", "switch to another provider, or enter an API key", "Commands", slash="/provider", args="[NAME]", aliases=("/login",), synonyms="account sign in token", ground=True),
    _a("skills", "list skills; choosing one adds it to your message", "Commands", slash="/skills"),
    _a("memory", "show the working memory and earlier notes", "Commands", slash="/memory", args="[NOTE]", aliases=("/notes",)),
    _a("init", "write a first AGENTS.md about this repository", "Commands", slash="/init", synonyms="instructions guide", ground=True),
    _a("jobs", "show or stop background jobs", "Commands", slash="/jobs", synonyms="processes servers"),
    _a("export", "save the session as a file: html, markdown, …", "Commands", slash="/export", args="[html|markdown|jsonl|atif|otel|bundle|archive|trajectory]", synonyms="share save write"),
    _a("theme", "switch to another theme", "Commands", slash="/theme", args="[NAME]", synonyms="dark light day night colours colors looks"),
    _a("settings", "show and change settings", "Commands", slash="/settings", args="[WORDS]", aliases=("/config",), synonyms="preferences options configuration vim mouse symbols motion keys"),
    _a("doctor", "check the installation; `report` saves a bug report", "Commands", slash="/doctor", args="[report]", aliases=("/bug report",), synonyms="problem debug diagnose terminal"),
    _a("own_commands", "list the commands that plugins and Markdown files add", "Commands", slash="/commands", synonyms="custom markdown slash"),
    _a("reload", "reload plugins that have changed", "Commands", slash="/reload", synonyms="plugin extension"),
    _a("quit", "quit; your session is saved", "Commands", slash="/quit", aliases=("/exit", "/q"), keys=("ctrl+q",), synonyms="leave close end"),
)  # fmt: skip
"""The slash commands that the app lists, in the order of its menu."""
# Order: the most used first. The first commands are harmless if chosen by mistake, because the user can undo them.

_FURTHER: Final[tuple[Action, ...]] = (
    _a("todo", "show the whole task list", "App", aliases=("/todo",), keys=("f2",), synonyms="tasks plan"),
    _a("evals", "list the results of an evaluation run", "App", args="[FOLDER]", aliases=("/evals",), synonyms="evaluation bench suite matrix board"),
    _a("pane", "show a pane of a plugin", "App", args="[NAME]", aliases=("/pane",), synonyms="plugin view section"),
    _a("sidebar", "show or hide the side panes", "App", keys=("f6",), synonyms="panel layout"),
    _a("palette", "find any action by name", "App", keys=("ctrl+p",), footer="palette", rank=6),
    _a("next_policy", "switch between plan, ask and accept-edits", "App", keys=("shift+tab",), footer="policy", rank=5, footer_when="idle", synonyms="mode"),
    _a("revert", "revert to a point before a message: conversation, files, or both", "App", args="[EVENT]", aliases=("/revert", "/rewind"), keys=("escape escape",), synonyms="back restore", ground=True),
    _a("pause", "pause the turn before its next call, or continue it", "App", args="[resume [ID]]", aliases=("/pause", "/resume resume"), synonyms="hold continue"),
    _a("editor", "write the message in your editor", "App", aliases=("/editor",), keys=("ctrl+g",), synonyms="external vim emacs nano"),
    _a("keys", "change keys, or test what a key sends", "App", args="[ACTION]", aliases=("/keys",), synonyms="remap rebind bindings tester"),
    _a("vim", "turn vim keys in the message on or off", "App", aliases=("/vim",), synonyms="vi modal"),
    _a("trust", "trust this folder's configuration, or stop trusting it", "App", aliases=("/trust",), ground=True),
    _a("stop", "close the menu, or leave vim's insert mode; otherwise stop the turn", "App", keys=("escape",), footer="stop", rank=3, when="running", synonyms="interrupt cancel"),
    _a("quit_empty", "quit, if the message is empty", "App", keys=("ctrl+d",), scope="transcript"),
    _a("copy_or_stop", "copy the selection, else stop the turn, else clear the message; press twice to quit", "App", keys=("ctrl+c",), synonyms="interrupt cancel"),
)  # fmt: skip

_PROMPT: Final[tuple[Action, ...]] = (
    _a("send", "send the message", "Prompt", keys=("enter",), scope="prompt", when="idle", footer="send", rank=1, method=("enter", False)),
    _a("steer", "send the message to the running turn", "Prompt", keys=("enter",), scope="prompt", when="running", footer="steer now", rank=1, method=("enter", True)),
    _a("queue", "queue the message until the turn ends", "Prompt", keys=("tab",), scope="prompt", when="running", footer="queue for after", rank=2, method="queue"),
    _a("commands", "choose a command", "Prompt", scope="prompt", when="idle", footer="commands", rank=2, typed="/"),
    _a("files", "mention a file, folder or symbol", "Prompt", scope="prompt", typed="@"),
    _a("newline", "start a new line", "Prompt", keys=("shift+enter", "alt+enter", "ctrl+j", "ctrl+enter"), scope="prompt", footer="new line", rank=4, footer_when="idle", method="start_line"),
    _a("history", "recall an earlier or later message; an empty prompt recalls the newest queued message first", "Prompt", keys=("up", "down"), scope="prompt", choices=2, method=("run_choice", ("action_cursor_up", "action_cursor_down"))),
    _a("search_history", "search earlier messages", "Prompt", keys=("ctrl+r",), scope="prompt", method="search_history"),
    _a("undo_typing", "undo or redo typing", "Prompt", keys=("ctrl+z", "ctrl+shift+z"), scope="prompt", choices=2, method=("run_choice", ("action_undo", "action_redo"))),
    _a("put_back", "restore what you erased", "Prompt", keys=("ctrl+y",), scope="prompt", method="action_put_back"),
    _a("paste_image", "paste an image from the clipboard", "Prompt", aliases=("/paste",), keys=("ctrl+v",), scope="prompt", synonyms="screenshot picture", method=("ask_app", "paste_image")),
    _a("line_end", "go to the end of the line; in an empty prompt, to the end of the transcript", "Prompt", keys=("end",), scope="prompt", method="go_to_end"),
    _a("line_start", "go to the start or end of the line", "Prompt", keys=("ctrl+a", "ctrl+e"), scope="prompt", choices=2, method=("run_choice", ("action_cursor_line_start", "action_cursor_line_end"))),
    _a("erase", "erase to the start or end of the line, or one word back", "Prompt", keys=("ctrl+u", "ctrl+k", "ctrl+w"), scope="prompt", choices=3, method=("run_choice", ("action_delete_to_start_of_line", "erase_to_end", "action_delete_word_left"))),
    _a("shell", "run a command (!! hides its output from the model)", "Prompt", args="COMMAND", aliases=("/run",), scope="prompt", typed="!", ground=True),
    _a("read_file", "show a file in the chat and to the model", "Prompt", args="PATH", aliases=("/read",), synonyms="cat view open", ground=True),
    _a("search_files", "search for text in the files", "Prompt", args="TEXT", aliases=("/search",), synonyms="grep find code", ground=True),
    _a("unqueue", "move a queued message back into the prompt (default: the newest)", "Prompt", args="[NUMBER]", aliases=("/unqueue",)),
    _a("send_queued", "send a queued message now (default: the oldest)", "Prompt", args="[NUMBER]", aliases=("/send-queued",)),
    _a("choose", "choose", "Menu", keys=("up", "down"), scope="menu", footer="choose", rank=1, choices=2, method="choose_in_menu"),
    _a("complete", "complete", "Menu", keys=("tab",), scope="menu", footer="complete", rank=2, method=("take_candidate", False)),
    _a("accept", "use the chosen entry", "Menu", keys=("enter",), scope="menu", footer="run", rank=3, method=("take_candidate", True)),
    _a("close_menu", "close the menu", "Menu", keys=("escape",), scope="menu", footer="close", rank=4, method="close_menu"),
    _a("open_block", "show a shortened notice or folded paste in full; otherwise fold or expand a block", "Transcript", keys=("ctrl+o",), scope="transcript", when="running", footer="expand", rank=4),
    _a("to_chat", "move between the empty prompt and the transcript", "Transcript", keys=("tab",), scope="prompt", method="leave_for_chat"),
    _a("chat_entry", "choose the previous or next entry", "Transcript", keys=("up", "down"), scope="chat", footer="choose", rank=3, choices=2, method="action_cursor"),
    _a("chat_fold", "fold or expand the chosen entry", "Transcript", keys=("enter",), scope="chat", footer="fold or expand", rank=4, method="action_toggle_entry"),
    _a("turn_diff", "show the changes of the chosen turn", "Transcript", keys=("enter",), scope="turn", footer="changes", rank=4, method="show_turn_diff"),
    _a("chat_ends", "go to the first or newest entry", "Transcript", keys=("home", "end"), scope="chat", choices=2, method="go_to_end"),
    _a("to_prompt", "go back to the message", "Transcript", keys=("tab",), scope="chat", footer="message", rank=4, method="leave"),
    _a("find_next", "go to the previous or next match", "Transcript", keys=("shift+n", "n"), scope="find", footer="previous, next", rank=1, choices=2, method="find_next"),
    _a("find_close", "close the search", "Transcript", keys=("escape",), scope="find", footer="close search", rank=2, method="close_find"),
    _a("scroll", "scroll by a page", "Transcript", keys=("pageup", "pagedown"), scope="transcript", choices=2),
    _a("to_end", "go to the end of the transcript", "Transcript", keys=("ctrl+end",), scope="transcript"),
)  # fmt: skip

_SCREENS: Final[tuple[Action, ...]] = (
    _a("yes", "allow this once", "Approval", keys=("y",), scope="approval", footer="once", rank=1, method=("press", "y")),
    _a("yes_session", "select “this session”; press again to allow", "Approval", keys=("s",), scope="approval", footer="session", rank=2, method=("press", "s")),
    _a("always", "select “always”, which saves a rule; press again to allow", "Approval", keys=("a",), scope="approval", footer="always", rank=3, method=("press", "a")),
    _a("no", "refuse, and say why", "Approval", keys=("n",), scope="approval", footer="no", rank=4, method=("answer", "n")),
    _a("whole_file", "show the whole change", "Approval", keys=("d", "ctrl+o"), scope="approval", footer="whole change", rank=5, method=("show_whole", "whole_file")),
    _a("whole_command", "show the whole command and all its effects", "Approval", keys=("d", "ctrl+o"), scope="approval", footer="whole command", rank=5, method=("show_whole", "whole_command")),
    _a("edit_rule", "edit the rule that `always` saves", "Approval", keys=("e",), scope="approval", footer="edit the rule", rank=6, method="press_edit"),
    _a("show_policy", "show what each policy allows, and the session's rules", "Approval", keys=("p",), scope="approval", footer="policies", rank=7, method="toggle_policy"),
    _a("refuse", "refuse", "Approval", keys=("escape",), scope="approval", footer="no", rank=8, method="refuse"),
    _a("approval_choose", "select the previous or next answer", "Approval", keys=("up", "down", "k", "j", "shift+tab", "tab"), scope="approval", choices=2, method="move"),
    _a("approval_give", "give the chosen answer", "Approval", keys=("enter",), scope="approval", footer="answer", method="give_chosen"),
    _a("approval_read", "scroll down one page", "Approval", keys=("space",), scope="approval", method="scroll_screenful"),
    _a("approval_scroll", "scroll the request", "Approval", keys=("ctrl+up", "ctrl+down"), scope="approval", choices=2, method="scroll_rows"),
    _a("say_it", "refuse, with this reason", "Approval", keys=("enter",), scope="reason", footer="send reason", rank=1, method="give_typed"),
    _a("to_answers", "go back to the answers", "Approval", keys=("escape",), scope="reason", footer="back", rank=2, method="close_field"),
    _a("keep_rule", "allow this call and save the rule", "Approval", keys=("enter",), scope="rule", footer="allow", rank=1, method="give_typed"),
    _a("from_rule", "go back to the answers", "Approval", keys=("escape",), scope="rule", footer="back", rank=3, method="close_field"),
    _a("rule_scope", "save the rule for every project, or only for this project", "Approval", keys=("tab",), scope="rule", footer="every project", rank=2, method="toggle_scope"),
    _a("pick", "choose", "Question", keys=("up", "down", "shift+tab", "tab"), scope="question", footer="choose", rank=1, choices=2, method="move"),
    _a("answer", "answer", "Question", keys=("enter",), scope="question", footer="answer", rank=2, method="answer"),
    _a("later", "close; you can answer later", "Question", keys=("escape",), scope="question", footer="later", rank=3, method="close"),
    _a("answer_number", "select the answer with this number; press again to give it", "Question", keys=("1", "2", "3", "4", "5", "6", "7", "8", "9"), scope="question", choices=9, method="answer_number"),
    _a("edit_plan", "edit the plan in your editor", "Question", keys=("ctrl+g",), scope="question", method="edit_plan"),
    _a("span", "choose the previous or next span", "Trace", keys=("up", "down"), scope="trace", footer="span", rank=1, choices=2, method="move"),
    _a("fold", "fold or expand", "Trace", keys=("left", "right"), scope="trace", footer="fold", rank=2, choices=2, method="fold"),
    _a("fold_or_open", "fold or expand the chosen span", "Trace", keys=("space",), scope="trace", method="fold"),
    _a("filter", "filter: all, model, tools, failed, denied, slow", "Trace", keys=("1", "2", "3", "4", "5", "6"), scope="trace", footer="filter", rank=3, choices=6, method="show_only"),
    _a("json", "show the span's events as JSON", "Trace", keys=("j",), scope="trace", footer="JSON", rank=4, method=("on_chosen", "show_events")),
    _a("show_in_chat", "show the span in the chat", "Trace", keys=("enter",), scope="trace", footer="show in chat", rank=5, method=("on_chosen", "show_in_chat")),
    _a("copy_span", "copy", "Trace", keys=("c",), scope="trace", footer="copy", rank=6, method=("on_chosen", "copy")),
    _a("leave_trace", "go back", "Trace", keys=("escape", "q"), scope="trace", footer="back", rank=7, method="leave"),
    _a("stop_span", "stop only the chosen subtask", "Trace", keys=("x",), when="running", scope="trace", footer="stop subtask", rank=2, method=("on_chosen", "stop")),
    _a("replay_play", "play or pause", "Replay", keys=("space",), scope="replay", footer="play", rank=1, method="toggle_play"),
    _a("replay_event", "go to the previous or next event", "Replay", keys=("left", "right"), scope="replay", footer="event", rank=2, choices=2, method=("go", "event")),
    _a("replay_marker", "go to the previous or next marker", "Replay", keys=("left_square_bracket", "right_square_bracket"), scope="replay", footer="marker", rank=3, choices=2, method=("go", "marker")),
    _a("replay_speed", "play faster or slower", "Replay", keys=("plus", "minus", "equals_sign", "underscore"), scope="replay", footer="speed", rank=4, choices=2, method="change_speed"),
    _a("replay_find", "find an event by its text", "Replay", keys=("slash",), scope="replay", footer="find", rank=5, method="find"),
    _a("replay_fork", "fork a new session from here", "Replay", keys=("f",), scope="replay", footer="fork from here", rank=6, method="fork"),
    _a("replay_revert", "revert the open session to here", "Replay", keys=("v", "r"), scope="replay", footer="revert to here", rank=7, method="revert"),
    _a("replay_copy", "copy the selection, else the event", "Replay", keys=("c",), scope="replay", footer="copy", rank=9, method="copy"),
    _a("replay_export", "save the session as a file", "Replay", keys=("e",), scope="replay", footer="export", rank=10, method="export"),
    _a("replay_leave", "go back", "Replay", keys=("escape", "q"), scope="replay", footer="back", rank=12, method="leave"),
    _a("replay_what_if", "continue from here with one change, and compare", "Replay", keys=("w",), scope="replay", footer="what if", rank=11, method="what_if"),
    _a("replay_files", "list the files changed up to here", "Replay", keys=("d",), scope="replay", method=("show_sheet", "files")),
    _a("replay_jobs", "show the background jobs at this event", "Replay", keys=("j",), scope="replay", method=("show_sheet", "jobs")),
    _a("replay_put_away", "list the messages shortened or summarised up to this event", "Replay", keys=("a",), scope="replay", method="show_compacted_messages"),
    _a("replay_todo", "show the whole task list at this event", "Replay", keys=("f2",), scope="replay", method=("show_sheet", "todo")),
    _a("replay_pane", "show a pane of a plugin at this event", "Replay", keys=("p",), scope="replay", method="show_pane"),
    _a("replay_panes", "open todo, trace or context on a small screen", "Replay", keys=("f3", "f4", "f6"), scope="replay", method="toggle_panes"),
    _a("replay_part", "go to the previous or next model answer or tool call", "Replay", keys=("shift+left", "shift+right"), scope="replay", choices=2, method=("go", "part")),
    _a("replay_turn", "go to the previous or next turn", "Replay", keys=("ctrl+left", "ctrl+right"), scope="replay", choices=2, method=("go", "turn")),
    _a("replay_ends", "go to the first or last event", "Replay", keys=("home", "end"), scope="replay", choices=2, method="go_to_end"),
    _a("replay_tenth", "jump to 0 %, 10 %, … 90 % of the session", "Replay", keys=("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"), scope="replay", choices=10, method="go_to_tenth"),
    _a("replay_again", "go to the previous or next match", "Replay", keys=("shift+n", "n"), scope="replay", choices=2, method="find_again"),
    _a("replay_scroll", "scroll the chat", "Replay", keys=("up", "down"), scope="replay", choices=2, method="scroll_chat"),
    _a("replay_page", "scroll the chat by a page", "Replay", keys=("pageup", "pagedown"), scope="replay", choices=2, method="scroll_page"),
    _a("tree_go", "revert to the chosen row, or open its session", "Tree", keys=("enter",), scope="tree", footer="go there", rank=1, method="enter"),
    _a("tree_row", "choose the previous or next row", "Tree", keys=("up", "down"), scope="tree", choices=2, method="move"),
    _a("tree_fork", "fork a new session from the chosen row", "Tree", keys=("f",), scope="tree", footer="fork", rank=2, method=("on_chosen", "fork")),
    _a("tree_what_if", "repeat the message with one change", "Tree", keys=("w",), scope="tree", footer="what if", rank=3, method=("on_chosen", "what_if")),
    _a("tree_compare", "compare the chosen branch with the current branch", "Tree", keys=("c",), scope="tree", footer="compare", rank=4, method=("on_chosen", "compare")),
    _a("tree_replay", "replay the session from the chosen row", "Tree", keys=("r",), scope="tree", footer="replay", rank=6, method=("on_chosen", "replay")),
    _a("tree_leave", "go back", "Tree", keys=("escape", "q"), scope="tree", footer="back", rank=7, method="close_detail_or_leave"),
    _a("checkpoint_go", "revert to the chosen checkpoint: conversation, files, or both", "Checkpoints", keys=("enter",), scope="checkpoints", footer="revert to it", rank=1, method="enter"),
    _a("checkpoint_row", "choose the previous or next checkpoint", "Checkpoints", keys=("up", "down"), scope="checkpoints", choices=2, method="move"),
    _a("checkpoint_author", "show all changes, or only changes by the agent, by commands or by others", "Checkpoints", keys=("1", "2", "3", "4"), scope="checkpoints", footer="author", rank=3, choices=4, method="show_author"),
    _a("checkpoint_leave", "go back", "Checkpoints", keys=("escape", "q"), scope="checkpoints", footer="back", rank=4, method="close_detail_or_leave"),
    _a("map_row", "choose the previous or next row", "Map", keys=("up", "down"), scope="map", choices=2, method="move"),
    _a("map_mention", "mention the file in the message (on a narrow screen, show its details first)", "Map", keys=("enter",), scope="map", footer="mention it", rank=1, method="enter"),
    _a("map_insert", "mention the file in the message without showing its details first", "Map", keys=("at",), scope="map", method="use"),
    _a("map_pin", "pin or unpin the file (pinned files come first)", "Map", keys=("p",), scope="map", footer="pin", rank=2, method=("toggle", "pinned")),
    _a("map_hide", "hide the file from the map, or show it again", "Map", keys=("h",), scope="map", footer="hide", rank=3, method=("toggle", "hidden")),
    _a("map_budget", "make the map longer or shorter", "Map", keys=("plus", "minus", "equals_sign", "underscore"), scope="map", footer="budget", rank=4, choices=2, method="change_length"),
    _a("map_inject", "turn the automatic map for the model on or off", "Map", keys=("i",), scope="map", footer="auto map on/off", rank=5, method="switch_injection"),
    _a("map_refresh", "read all files again", "Map", keys=("r",), scope="map", footer="refresh", rank=7, method="read_again"),
    _a("map_find", "ask another question", "Map", keys=("slash",), scope="map", footer="new question", rank=6, method="start_typing"),
    _a("map_leave", "go back", "Map", keys=("escape", "q"), scope="map", footer="back", rank=8, method="close_detail_or_leave"),
    _a("map_ask", "make a map for the typed question", "Map", keys=("enter",), scope="map_find", footer="map it", rank=1, method="ask"),
    _a("map_keep", "close the field", "Map", keys=("escape",), scope="map_find", footer="back", rank=2, method="stop_typing"),
    _a("map_rows", "leave the field and choose a row", "Map", keys=("up", "down"), scope="map_find", choices=2, method="leave_field_for_rows"),
    _a("job_row", "choose the previous or next job", "Jobs", keys=("up", "down"), scope="jobs", footer="job", rank=1, choices=2, method="move"),
    _a("job_output", "show the job's whole output", "Jobs", keys=("enter",), scope="jobs", footer="whole output", rank=2, method="enter"),
    _a("job_end", "stop the job and all its processes", "Jobs", keys=("e",), scope="jobs", footer="stop it", rank=3, method=("on_chosen", "end_job")),
    _a("jobs_end", "stop all jobs (asks first)", "Jobs", keys=("a",), scope="jobs", footer="stop all", rank=4, method="end_all"),
    _a("jobs_leave", "go back", "Jobs", keys=("escape", "q"), scope="jobs", footer="back", rank=5, method="close_detail_or_leave"),
    _a("cell_row", "choose the previous or next cell", "Evaluation", keys=("up", "down"), scope="evals", footer="cell", rank=1, choices=2, method="move"),
    _a("cell_open", "open the cell's session, even while the cell runs", "Evaluation", keys=("enter",), scope="evals", footer="open session", rank=2, method="enter"),
    _a("evals_leave", "go back", "Evaluation", keys=("escape", "q"), scope="evals", footer="back", rank=3, method="close_detail_or_leave"),
    _a("fork_line", "go to the previous or next line", "Fork", keys=("up", "down", "shift+tab", "tab"), scope="fork", footer="line", rank=2, choices=2, method="move"),
    _a("fork_choose", "change the option on this line", "Fork", keys=("left", "right"), scope="fork", footer="choose", rank=3, choices=2, method="turn"),
    _a("fork_begin", "create the fork; on the model line, choose a model", "Fork", keys=("enter",), scope="fork", footer="fork", rank=1, method="begin"),
    _a("fork_edit", "write the message or the result in your editor", "Fork", keys=("ctrl+g",), scope="fork", footer="editor", rank=4, method="edit_text"),
    _a("fork_close", "cancel the fork", "Fork", keys=("escape",), scope="fork", footer="cancel", rank=5, method="close"),
    _a("compare_side", "switch to the other branch", "Comparison", keys=("tab", "shift+tab"), scope="compare", footer="other branch", rank=1, method="choose_other"),
    _a("compare_file", "choose the previous or next file that differs", "Comparison", keys=("up", "down"), scope="compare", footer="file", rank=2, choices=2, method="show_file"),
    _a("compare_play", "play or pause both timelines", "Comparison", keys=("space",), scope="compare", footer="play both", rank=3, method="toggle_play"),
    _a("compare_keep", "continue with this branch", "Comparison", keys=("k",), scope="compare", footer="keep this branch", rank=4, method="keep"),
    _a("compare_export", "save the comparison as a Markdown file", "Comparison", keys=("x",), scope="compare", footer="export", rank=5, method="export"),
    _a("compare_leave", "go back", "Comparison", keys=("escape", "q"), scope="compare", footer="back", rank=6, method="leave"),
    _a("compare_event", "show both branches at their previous or next event", "Comparison", keys=("left", "right"), scope="compare", choices=2, method=("go", "event")),
    _a("compare_ends", "show both branches at the fork point, or at their ends", "Comparison", keys=("home", "end"), scope="compare", choices=2, method="go_to_end"),
    _a("compare_speed", "play faster or slower", "Comparison", keys=("plus", "minus", "equals_sign", "underscore"), scope="compare", choices=2, method="change_speed"),
    _a("compare_scroll", "scroll the file and the answers", "Comparison", keys=("pageup", "pagedown"), scope="compare", choices=2, method="scroll_page"),
    _a("sessions_open", "open the session", "Sessions", keys=("enter",), scope="sessions", footer="open", rank=1, method="enter"),
    _a("sessions_replay", "replay the session from any event", "Sessions", keys=("r",), scope="sessions", footer="replay", rank=2, method=("on_chosen", "replay")),
    _a("sessions_fork", "fork a new session from the end of the chosen session", "Sessions", keys=("f",), scope="sessions", footer="fork", rank=3, method=("on_chosen", "fork")),
    _a("sessions_compare", "compare with another session (choose it next)", "Sessions", keys=("c",), scope="sessions", footer="compare", rank=4, method=("on_chosen", "compare")),
    _a("sessions_export", "save the session as a file", "Sessions", keys=("x",), scope="sessions", footer="export", rank=7, method=("on_chosen", "export")),
    _a("sessions_rename", "rename the session", "Sessions", keys=("n",), scope="sessions", footer="rename", rank=5, method=("on_chosen", "rename")),
    _a("sessions_search", "search", "Sessions", keys=("slash", "backspace"), scope="sessions", footer="search", rank=8, method="start_typing"),
    _a("sessions_row", "choose the previous or next session", "Sessions", keys=("up", "down"), scope="sessions", choices=2, method="move"),
    _a("sessions_place", "show only this folder's sessions, or all", "Sessions", keys=("tab",), scope="sessions", footer="here", rank=10, method="switch_folder"),
    _a("sessions_sort", "sort by last use, name, cost or size", "Sessions", keys=("s",), scope="sessions", footer="sort", rank=9, method="sort_by"),
    _a("sessions_delete", "delete the session (asks first)", "Sessions", keys=("delete",), scope="sessions", footer="delete", rank=6, method=("on_chosen", "delete")),
    _a("sessions_leave", "clear the search, else go back", "Sessions", keys=("escape",), scope="sessions", footer="back", rank=11, method="clear_or_leave"),
    _a("sessions_use", "open the chosen session", "Sessions", keys=("enter",), scope="sessions_find", footer="open", rank=1, method="enter"),
    _a("sessions_choose", "move to the list; letter keys become shortcuts", "Sessions", keys=("up", "down"), scope="sessions_find", footer="choose", rank=2, choices=2, method="move"),
    _a("sessions_folder", "show only this folder's sessions, or all", "Sessions", keys=("tab",), scope="sessions_find", footer="this folder only", rank=3, method="switch_folder"),
    _a("sessions_clear", "clear the search, else go back", "Sessions", keys=("escape",), scope="sessions_find", footer="back", rank=4, method="clear_or_leave"),
    _a("list_choose", "choose", "List", keys=("up", "down", "shift+tab", "tab"), scope="list", footer="choose", rank=1, choices=2, method="move"),
    _a("list_open", "use the chosen entry", "List", keys=("enter",), scope="list", footer="use it", rank=2, method="use"),
    _a("list_close", "close", "List", keys=("escape",), scope="list", footer="close", rank=3, method="clear_or_close"),
    _a("view_scroll", "scroll", "Viewer", keys=("up", "down", "k", "j"), scope="viewer", footer="scroll", rank=1, choices=2, method="scroll_rows"),
    _a("view_copy", "copy", "Viewer", keys=("c",), scope="viewer", footer="copy", rank=2, method="copy"),
    _a("view_close", "close", "Viewer", keys=("escape", "q"), scope="viewer", footer="close", rank=3, method="close"),
    _a("view_line", "scroll down one line", "Viewer", keys=("enter",), scope="viewer", method=("scroll_rows", 1)),
    _a("view_page", "scroll down one page", "Viewer", keys=("space",), scope="viewer", method="scroll_screenful"),
    _a("pane_side", "show or hide this pane at the side of the chat", "Viewer", keys=("s",), scope="pane", footer="side pane", rank=4, method="toggle_side"),
    _a("history_viewer", "show the history as the next participant sees it", "Viewer", keys=("v",), scope="history", footer="viewer", rank=1, method="choose_viewer"),
    _a("history_message", "go to the previous or next message", "Viewer", keys=("p", "n"), scope="history", footer="message", rank=2, choices=2, method="move_message"),
    _a("view_ends", "go to the beginning or the end", "Viewer", keys=("home", "end", "g", "shift+g"), scope="viewer", choices=2, method="scroll_to_end"),
    _a("diff_file", "go to the previous or next file", "Changes", keys=("p", "n"), scope="diff", footer="file", rank=1, choices=2, method="go_to_file"),
    _a("diff_hunk", "go to the previous or next change", "Changes", keys=("left", "right", "shift+tab", "tab"), scope="diff", footer="change", rank=2, choices=2, method="go_to_hunk"),
    _a("diff_revert", "revert the chosen change (asks first)", "Changes", keys=("r",), scope="diff", footer="revert it", rank=3, method="revert"),
    _a("context_summarise", "summarise old turns now", "Context", keys=("s",), scope="context", footer="summarise", rank=1, method=("go_on", "context_summarise")),
    _a("context_put_away", "restore or pin messages that were shortened or summarised", "Context", keys=("l",), scope="context", footer="restore", rank=2, method=("go_on", "context_put_away")),
    _a("context_map", "show the repository map", "Context", keys=("m",), scope="context", footer="map", rank=3, method=("go_on", "context_map")),
    _a("trust_choose", "choose a file or an answer", "Trust", keys=("up", "down", "k", "j", "shift+tab", "tab"), scope="trust", footer="choose", rank=1, choices=2, method="move"),
    _a("trust_use", "give the chosen answer, or open the chosen file", "Trust", keys=("enter",), scope="trust", footer="use it", rank=2, method="use"),
    _a("trust_look", "open the chosen file", "Trust", keys=("v", "right"), scope="trust", footer="open file", rank=3, method="look_inside"),
    _a("trust_these", "trust these files until one of them changes", "Trust", keys=("t",), scope="trust", footer="trust", rank=4, method=("press", "trust")),
    _a("trust_without", "ignore these files until one of them changes", "Trust", keys=("w",), scope="trust", footer="ignore", rank=5, method=("press", "without")),
    _a("trust_forget", "forget the decision", "Trust", keys=("f",), scope="trust", footer="forget", rank=6, method=("press", "forget")),
    _a("trust_quit", "quit", "Trust", keys=("q",), scope="trust", footer="quit", rank=7, method=("press", "quit")),
    _a("trust_later", "ignore these files for now; ask at the next start", "Trust", keys=("escape",), scope="trust", footer="later", rank=8, method="close"),
    _a("start_pick", "choose", "Start", keys=("1", "2", "3", "4", "5", "6", "7", "8", "9"), scope="start", footer="choose", rank=1, choices=9, method="pick"),
    _a("start_use", "use the chosen entry", "Start", keys=("enter",), scope="start", footer="use it", rank=2, method="use"),
    _a("start_row", "choose the previous or next row", "Start", keys=("up", "down"), scope="start", choices=2, method="move"),
    _a("start_leave", "go to the message", "Start", keys=("tab",), scope="start", footer="message", rank=3, method="leave"),
    _a("policy_choose", "choose a policy or a rule", "Policy sheet", keys=("up", "down"), scope="policy", choices=2, footer="choose", method="move"),
    _a("policy_use", "use the chosen policy", "Policy sheet", keys=("enter",), scope="policy", footer="use it", method="use"),
    _a("policy_next", "use the next policy", "Policy sheet", keys=("shift+tab",), scope="policy", footer="next policy", method="use_next"),
    _a("policy_revoke", "revoke the chosen rule", "Policy sheet", keys=("d", "delete", "backspace"), scope="policy", footer="revoke", method="revoke"),
    _a("policy_close", "close", "Policy sheet", keys=("escape",), scope="policy", footer="close", method="close"),
    _a("provider_line", "go to the previous or next line", "Provider", keys=("up", "down", "shift+tab", "tab"), scope="provider", choices=2, footer="line", method="move"),
    _a("provider_go", "go to the next line; on the last line, use the provider", "Provider", keys=("enter",), scope="provider", footer="next, then use", method="go_on"),
    _a("provider_tick", "tick or clear the box", "Provider", keys=("space",), scope="provider", footer="tick", method="tick"),
    _a("provider_close", "go back", "Provider", keys=("escape",), scope="provider", footer="back", method="close"),
    _a("files_go", "undo the ticked files", "Files to undo", keys=("enter",), scope="files", footer="undo", rank=1, method="finish"),
    _a("files_tick", "tick or clear the box of the chosen file", "Files to undo", keys=("space",), scope="files", footer="tick", rank=2, method="tick"),
    _a("files_choose", "choose a file", "Files to undo", keys=("up", "down"), scope="files", footer="choose", rank=3, choices=2, method="move"),
    _a("files_close", "cancel the undo", "Files to undo", keys=("escape",), scope="files", footer="cancel", rank=4, method="close"),
    _a("confirm_yes", "confirm an action that cannot be undone", "Confirm", keys=("y",), scope="confirm", method=("answer", "confirm_yes")),
    _a("confirm_go", "confirm an action that can be undone", "Confirm", keys=("enter",), scope="confirm", method=("answer", "confirm_go")),
    _a("confirm_no", "cancel", "Confirm", keys=("escape", "n"), scope="confirm", method="close"),
    _a("key_save", "use the pressed key for the action", "Keys", keys=("enter",), scope="keys", footer="save", rank=1, method="save"),
    _a("key_leave", "close without a change", "Keys", keys=("escape",), scope="keys", footer="cancel", rank=2, method="close"),
    _a("field_use", "use what you typed", "Field", keys=("enter",), scope="field", method=("end_typing", True)),
    _a("field_leave", "close the field and discard your text", "Field", keys=("escape",), scope="field", method=("end_typing", False)),
    _a("sheet_page", "scroll a sheet by a page", "Everywhere", keys=("pageup", "pagedown"), scope="sheet", choices=2, method="scroll_page"),
    _a("page_scroll", "move by a page in a list", "Everywhere", keys=("pageup", "pagedown"), scope="rows", choices=2, method="move_page"),
    _a("page_ends", "go to the first or last row of a list", "Everywhere", keys=("home", "end"), scope="rows", choices=2, method="move_to_end"),
    _a("whole_note", "show the full text of a shortened notice", "Everywhere", keys=("d", "ctrl+o"), scope="page", method="show_whole_note"),
)  # fmt: skip

ACTIONS: Final[tuple[Action, ...]] = (*_PROMPT, *_COMMANDS, *_FURTHER, *_SCREENS)
BY_NAME: Final[Mapping[str, Action]] = {action.name: action for action in ACTIONS}
TYPED: Final[Mapping[str, tuple[Action, str]]] = {
    word: (action, argument) for action in ACTIONS for word, argument in action.typed_words
}
"""Maps every word that can be typed as a command to its (action, argument)."""
LEAVE_ACTIONS: Final = frozenset(action.name for action in ACTIONS if "escape" in action.keys)
"""Names of the actions whose default keys include Esc. The user cannot remove the last key of such an action."""


def is_shell_line(text: str) -> bool:
    """Return True if the prompt's text is a shell command, such as `!ls` or `!!ls`."""
    return text.lstrip().startswith("!") and bool(text.strip("! \n"))


def command_word(text: str) -> str:
    """Return the first word of a message if it looks like a slash command and not like a path; otherwise ""."""
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    if not word.startswith("/"):
        return ""
    # `/usr/bin` is a path. `/modle/x` is a command with a typing error, unless there is a folder `/modle`.
    name, has_more, _ = word[1:].partition("/")
    is_path = bool(has_more) and (
        not get_close_matches(f"/{name}", TYPED, n=1, cutoff=0.8) or os.path.lexists(f"/{name}")
    )
    return "" if is_path else word


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ` Did you mean …?` with up to two known words that resemble `word`, or an empty string."""
    words = list(known)
    begun = [name for name in words if len(word) > 1 and name.startswith(word)]
    near = begun[:2] or get_close_matches(word, words, n=2, cutoff=0.7)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def suggest_command(word: str, further: Iterable[str] = ()) -> str:
    """Return ` Did you mean …?` with commands that resemble the unknown command `word`, or an empty string.

    `further`: commands that are not in the registry, such as the commands of plugins.
    """
    meant = [action for action in ACTIONS if action.typed_words and word[1:] in action.synonyms.split()]
    if meant:
        return f" Did you mean {meant[0].typed_words[0][0]}?"
    return did_you_mean(word, [*TYPED, *further])


def footer(actions: Iterable[Action], scopes: Sequence[Scope], *, running: bool) -> list[KeyHint]:
    """Return the footer's keys and words, in order of `rank`. `running`: True while a turn runs."""
    now: When = "running" if running else "idle"
    rows = [
        action
        for action in actions
        if action.rank
        and action.footer
        and action.scope in scopes
        and (action.footer_when or action.when) in ("always", now)
    ]
    rows.sort(key=lambda action: action.rank)
    return [KeyHint(action.label, action.footer, action.name) for action in rows if action.label]


def groups(actions: Iterable[Action] = ACTIONS) -> dict[str, list[Action]]:
    """Map the name of each group to the group's actions, in the order of the registry."""
    grouped: dict[str, list[Action]] = {}
    for action in actions:
        grouped.setdefault(action.group, []).append(action)
    return grouped
