"""Archives of sessions, bundles of their checkpoints, and the storage to which archives and bundles can be sent."""
