"""View models: what is shown of a thing, independent of where it is shown.

The terminal, the notebook and the command line render these records; nothing here reads from a
server or draws.
"""
