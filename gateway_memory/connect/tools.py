"""The tools that plugins in a gateway's process give its model: {name: (description, its one argument)}."""

from typing import Final

__all__ = ["TOOLS"]

TOOLS: Final = {
    "search_memory": (
        (
            "Search the long-term memory of the person who is speaking, over all their chats. "
            "Use it when something was said in another conversation, or a while ago."
        ),
        "query",
    ),
    "save_memory": (
        "Save one lasting fact, as one sentence, into the long-term memory of the person who is speaking.",
        "content",
    ),
    "memory_command": (
        (
            "Run a command on the long-term memory for the user, only if the user asks for it: "
            '"search WORDS", "forget WORDS", "undo", "off", "on", "status", "list". '
            "Give the answer to the user unchanged."
        ),
        "command",
    ),
}
