"""What the engines that speak SQL share: the statements that read and change the tables."""
