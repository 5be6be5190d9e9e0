"""The statements that read and change the tables, shared by the SQL engines."""
