"""Finding entities and reading what is known of them."""
