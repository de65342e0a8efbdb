"""Run by nanobot's Python: the whole gateway, as `nanobot gateway` starts it, with Telegram's Bot API on loopback."""

import sys

from nanobot.cli.commands import app
from telegram.ext import Application

api, port = sys.argv[1:]
builder = Application.builder
Application.builder = staticmethod(lambda: builder().base_url(f"http://127.0.0.1:{api}/bot"))
sys.argv = ["nanobot", "gateway", "--foreground", "--port", port]
app()
