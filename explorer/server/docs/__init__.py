"""The documentation page of a service: made from its endpoints, its schema and its registry."""
