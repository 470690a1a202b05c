"""Model servers as child processes."""
