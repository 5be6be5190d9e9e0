"""GraphQL: the schema is a file beside this one, the rest is how its fields are answered.

Nothing here is imported before the first GraphQL request, for its library takes longer to load
than the whole service otherwise.
"""
