"""The rules for a model's answers, for loops of your own. No I/O."""
