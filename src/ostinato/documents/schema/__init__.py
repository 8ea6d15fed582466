"""What can occur in a document: schemas from DTDs, XML Schema and samples."""
