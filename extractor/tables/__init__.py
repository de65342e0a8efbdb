"""What the extractor knows of languages: plain-text tables, which `reader.py` reads."""
