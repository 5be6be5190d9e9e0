"""What lives in a notebook's page: widgets, each in a package of its own, and imported late."""
