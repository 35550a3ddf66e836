"""The models of this server, and the loading of a local one."""
