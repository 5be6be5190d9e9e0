"""Widgets that know no screen: lists, lines to type in, charts, differences, dialogs."""
