"""What administrators see and do with the browser: operations of all tenants, never contents."""
