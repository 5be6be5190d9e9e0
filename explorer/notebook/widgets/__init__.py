"""The widgets of a notebook; imported lazily."""
