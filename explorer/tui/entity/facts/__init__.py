"""What is known of an entity, in words: its aspects as facts, and facts as lines of the screen."""
