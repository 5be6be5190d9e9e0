"""Where metadata comes from: databases, files and dbt projects, read into proposals."""
