"""The GraphQL endpoint: the schema in `sdl`, its resolvers, and the execution of documents.

Modules that import graphql-core are not imported before the first GraphQL request, because it takes
longer to load than the rest of the service.
"""
