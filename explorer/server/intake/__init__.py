"""Taking changes in: a proposal is checked as a whole before the writer sees it, and written as
one step of the writer's transaction."""
