"""Programs that are refused, the words of the hint that are followed, what follows them, and what the user meant: by subject."""
