"""L3: where tools act: files and programs of one workspace."""
