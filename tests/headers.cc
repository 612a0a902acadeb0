// Nothing: a target has to have a source, and this one's is for its precompiled headers.
