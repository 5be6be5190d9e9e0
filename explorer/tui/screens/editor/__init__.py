"""The editor of descriptions, drafts and links."""
