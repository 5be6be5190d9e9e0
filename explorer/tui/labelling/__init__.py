"""Labels of an entity and of its columns, and its life: deprecated, taken away, brought back."""
