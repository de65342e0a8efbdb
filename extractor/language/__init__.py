"""What the other folders know of English and Chinese: script, sentences, words."""
