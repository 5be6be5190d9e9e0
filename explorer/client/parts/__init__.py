"""The methods of the client, grouped by capability."""
