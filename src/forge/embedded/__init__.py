"""The embedded default: a prebuilt llama.cpp server and a small model, fetched on demand."""
