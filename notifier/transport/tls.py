"""The certificates of a connection."""

import ssl

from notifier.settings import MqttSettings
from notifier.transport.errors import LinkError

__all__ = ["tls_context"]


def tls_context(settings: MqttSettings) -> ssl.SSLContext:
    """Read the certificates that the settings name, and the system's. It blocks.

    Raises:
        LinkError: a file can't be read, or is no certificate.
    """
    try:
        context = ssl.create_default_context(cafile=settings.ca_file or None)
        if settings.cert_file:
            context.load_cert_chain(settings.cert_file, settings.key_file or None)
    except (OSError, ssl.SSLError) as error:
        raise LinkError("tls", f"caFile, certFile or keyFile can't be used: {error.strerror or error}") from error
    return context
