"""CPU time and memory of ours and of a peer, measured in the same run."""
