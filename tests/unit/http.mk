# Tests of the room http.
