"""What was measured: usage and profiles, as charts and tables."""
