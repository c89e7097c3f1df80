"""The policy: allows, asks about or denies each tool call.

`bash` parses a command line. `interpreter` reports what the commands of the line do. `catalog` holds the known
programs, `places` the guarded files, and `rules` the grammar of rules. `decision` judges. Words used throughout:

- *Line*: the command line of a call, which can be a whole script.
- *Subset*: the bash syntax that the parser supports. Other syntax is never proven to be harmless.
- *Report*: the result of interpreting a command: its effects, files, hosts and doubts.
- *Doubt*: a reason why the effects of a command are not proven ("it is not known what foo does").
- *Use*: a file that a command uses, with an action such as read or delete.
- *Reading*: one possible interpretation of a text that bash or a program might understand in several ways.
- *Bound*: a pattern that matches every possible value of a text that is not known exactly, such as a command's output.
- *Guard*: a built-in refusal that no profile and no rule lifts, such as reading `~/.ssh`.
- *Escalation*: a reason to ask about a command although it only reads.
- *Profile*: the mode that the user chose (plan, ask, accept-edits, bypass).
- *Judgement*: one verdict (allow, ask or deny) of a guard, rule, escalation or profile. The strictest one decides.

A command that is not understood is allowed only by a rule, by `bypass` or in a sandbox. Programs and places are data
(catalog/programs, places.toml), not code.

Invariant: `decide` is pure and never raises.
"""
