"""Widgets that know no screen: lists, lines and texts to type in, charts, differences, dialogs."""
