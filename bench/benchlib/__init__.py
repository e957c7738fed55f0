"""What the programs of bench/ share: processes' counters, an icecast of their own, made-up music, tables and plots."""
