"""Full-screen programs on a pseudo-terminal, to be measured."""
