"""Every aspect as it is kept."""
