"""What people do in the catalog, in steps, without any front end.

A session does what happens when somebody reviews, edits, searches or walks a lineage. The terminal,
the widgets of notebooks and the commands bind it: they show its state, and call its methods. See
`explorer.sessions.base`.
"""
