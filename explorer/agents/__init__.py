"""The catalog for AI agents: the tools of a Model Context Protocol server, over standard input and
output or HTTP."""
