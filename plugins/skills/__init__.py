"""Plugin: reads skills. A skill is an instruction for certain tasks, written by the user or a project."""

from .read_skill import read_skill

__all__ = ["read_skill"]
