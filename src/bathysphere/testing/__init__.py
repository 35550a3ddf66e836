"""The public test kit: a scripted model, a scripted model server, a small real model, contracts."""
