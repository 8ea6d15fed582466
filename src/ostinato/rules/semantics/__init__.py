"""The declarative twin of event rules: model theory and fixpoint (CERA paper, section 4.2)."""
