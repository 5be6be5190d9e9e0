"""How an entity came to say what it says."""
