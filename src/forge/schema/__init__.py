"""Tools, their JSON Schemas, names, coercion and validation."""
