"""What can be done with the lineage."""

from explorer.tui.actions.action import Action

__all__ = ["ACTIONS"]

ACTIONS: tuple[Action, ...] = (
    Action("lineage", "ask('open')", ("enter",), "Open its page, or show what is left out", "open"),
    Action("lineage", "ask('more')", ("plus", "equals_sign"), "One hop further", "hops", "+ -"),
    Action("lineage", "ask('fewer')", ("minus",), "One hop less"),
    Action("lineage", "ask('upstream')", ("u",), "Upstream only", "up, down, both", "u d B"),
    Action("lineage", "ask('downstream')", ("d",), "Downstream only"),
    Action("lineage", "ask('both')", ("B",), "Upstream and downstream"),
    Action("lineage", "ask('impact')", ("x",), "What depends on it, most used first", "impact"),
    Action("lineage", "ask('filter')", ("f",), "Filter the lineage", "filter"),
    Action("lineage", "ask('expand')", ("space",), "Show neighbours left out, or not", "expand"),
    Action("lineage", "mark", ("m",), "Mark it as one end of a path, or not", "mark"),
    Action("lineage", "ask('ways')", ("p",), "Shortest paths to the mark, or to a name", "paths"),
    Action("lineage", "ask('column')", ("c",), "Lineage of the column under Columns", "column"),
    Action("lineage", "ask('write')", ("w",), "Write the lineage to a file", "write file"),
    Action("lineage", "centre", ("z",), "Bring it to the middle", "centre"),
    Action("lineage", "fit", ("0",), "All of a large drawing at once, or not", "fit"),
    Action("lineage", "root", ("home", "g"), "Back to the entity of this page"),
    Action("lineage", "ask('forget')", ("escape",), "Clear the paths, the filter, the column"),
    Action("lineage", "move('left')", ("left", "h"), "Left"),
    Action("lineage", "move('right')", ("right", "l"), "Right"),
    Action("lineage", "move('up')", ("up", "k"), "Up"),
    Action("lineage", "move('down')", ("down", "j"), "Down"),
    Action("lineage", "pan(1, 0)", ("pagedown", "J"), "Half a screen down", called="pan-down"),
    Action("lineage", "pan(-1, 0)", ("pageup", "K"), "Half a screen up", called="pan-up"),
    Action("lineage", "pan(0, 1)", ("L",), "Half a screen to the right", called="pan-right"),
    Action("lineage", "pan(0, -1)", ("H",), "Half a screen to the left", called="pan-left"),
    Action("impact", "leave", ("escape", "x"), "Back to the drawing", "drawing"),
    Action("asking", "submit", ("enter",), "Take it", "take"),
    Action("asking", "leave", ("escape",), "Cancel", "leave"),
)
