"""One person's data in all tables: to export, and to delete."""
