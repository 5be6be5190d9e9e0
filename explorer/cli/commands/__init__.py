"""The commands, a module for each family; a module is imported when one of its commands is
called.
"""
