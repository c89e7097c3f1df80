"""L3: a command line as bash reads it: its words, its parts, what is certain of them.

Invariant: knows the shell's language and no program.
"""
