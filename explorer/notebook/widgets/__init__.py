"""What lives in a notebook's page: widgets; imported late."""
