"""What is kept of conversations beside their checkpoints: words to search, titles."""
