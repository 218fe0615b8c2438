# Tests of the room partition.
