"""Wire formats: each is encoded and decoded here and nowhere else. No I/O."""
