# Tests of the room sqs.
