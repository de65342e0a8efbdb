"""`gateway-memory connect` and `disconnect`: install and configure the plugin of a gateway, and take it out again."""
