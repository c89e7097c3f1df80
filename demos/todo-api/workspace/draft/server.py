"""An old draft: one list without ids."""

TODOS = []
