# Tests of the room catalog.
