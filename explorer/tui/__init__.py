"""The terminal: a Textual application over the client."""
