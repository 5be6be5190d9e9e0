"""Sources of metadata: readers of databases, files and dbt projects, which return proposals."""
