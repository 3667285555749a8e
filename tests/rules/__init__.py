"""Rules about the repository itself: imports, sizes, public names, the page of the requirements."""
