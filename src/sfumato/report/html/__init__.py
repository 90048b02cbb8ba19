"""Pages that open offline: templates, charts, and nothing that is fetched from elsewhere."""
