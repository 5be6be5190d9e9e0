"""What commands read and print for people and programs; imported when a command runs."""
