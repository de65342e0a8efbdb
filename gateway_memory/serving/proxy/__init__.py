"""A memory in front of the model: a proxy of OpenAI's, Anthropic's and Ollama's protocols. See README.md."""
