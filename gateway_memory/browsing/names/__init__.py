"""Names that memories tell: the people, pets, places and projects of a portrait."""
