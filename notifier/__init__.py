"""Tells the other sessions what one of them has learnt: by a bus in the process, by MQTT between processes."""

from gateway_memory.ground import lazy

# What MQTT needs is loaded only where it is switched on.
__all__, __getattr__ = lazy(
    __name__,
    {
        ".bus": ("Bus", "Stream", "Subscription"),
        ".channels": ("Announcer", "BusChannel", "Channel"),
        ".events": ("Event", "MemoryChange", "NotifierError", "decode", "encode", "journal_of", "split"),
        ".inbox": ("Inbox",),
        ".messages": ("DroppedError", "EventMessage"),
        ".mqtt": ("MqttBroker",),
        ".mqtt_login": ("Credentials", "LinkError", "credentials"),
        ".notifier": ("Notifier",),
        ".ports": ("EventLog", "NotifierStatus", "Ports"),
        ".sender": ("Link",),
        ".settings": ("MqttSettings", "NotifierSettings"),
        ".wire": ("Wire", "read_secrets"),
    },
)
