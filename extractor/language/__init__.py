"""English and Chinese: script, sentences, words."""
