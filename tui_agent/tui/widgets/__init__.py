"""The widgets that panes, modals and screens share: rows, lists, fields and sheets."""
