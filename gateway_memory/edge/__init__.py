"""The interface to hosts: validation of their values, and of the installed packages."""
