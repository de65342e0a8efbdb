"""Run by Hermes' Python: lines of JSON, each a message for an agent that is made as Hermes' gateway makes it."""

import json
import sys
import time
from typing import Any

from run_agent import AIAgent

agents: dict[str, Any] = {}
histories: dict[str, Any] = {}
for line in sys.stdin:
    said = json.loads(line)
    given, key = said["agent"], said["agent"]["session_id"]
    agent = agents.get(key) or agents.setdefault(
        key,
        AIAgent(
            base_url=said["base_url"],
            api_key="none",
            provider="custom",
            model="stub",
            quiet_mode=True,
            skip_context_files=True,
            max_iterations=5,
            enabled_toolsets=["memory"],
            **given,
        ),
    )
    start = time.monotonic()
    if said["text"] == "/end":
        agents.pop(key).shutdown_memory_provider(histories.get(key))
        reply = "ended"
    elif said["text"] == "/compress":
        histories[key], _ = agent._compress_context(histories[key], "", force=True)
        reply = f"{len(histories[key])} messages"
    else:
        result = agent.run_conversation(said["text"], conversation_history=histories.get(key))
        histories[key], reply = result["messages"], result["final_response"]
    answer = json.dumps({"reply": reply, "seconds": time.monotonic() - start})
    sys.stdout.write("\n@" + answer + "\n")
    sys.stdout.flush()
