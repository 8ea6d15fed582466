"""XML and JSON documents as streams of tokens, and their schemas."""
