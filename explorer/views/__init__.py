"""View models: what each front end shows, independent of how it is rendered.

The terminal, the notebook and the command line render these records. Nothing here sends requests or
draws.
"""
