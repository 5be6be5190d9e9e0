"""Widgets that depend on no particular screen: lists, input lines and text areas, charts, diffs,
dialogs."""
