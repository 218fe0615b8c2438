# Tests of the room plog.
