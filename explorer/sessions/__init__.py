"""What people do in the catalog, step by step, independent of the front end.

A session carries out what somebody does when reviewing, editing, searching or walking a lineage.
The terminal, the notebook widgets and the commands use sessions: they show their state and call
their methods. See `explorer.sessions.base`.
"""
