"""What frames every screen: the header, the line of keys, help."""
