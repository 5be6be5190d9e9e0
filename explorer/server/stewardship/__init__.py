"""What is documented and what is not, counted once and kept: worklist and coverage."""
