"""`gateway-memory serve`: the memory over HTTP, for gateways that are not in this process.

The service is a caller of `GatewayMemory` and never a second way in. Its packages are those of the extra `serve`.
"""
