# Tests of the room queue.
