# SPDX-License-Identifier: Apache-2.0
"""Receivers that do not behave: a long poll sent by hand, and ways to leave it."""
import json
import socket
import struct


def poller(port, queue="q", wait=20, visibility=600):
    """A raw receiver that has sent its long poll and has not read the answer."""
    body = json.dumps({"QueueUrl": queue, "WaitTimeSeconds": wait, "VisibilityTimeout": visibility}).encode()
    s = socket.create_connection(("127.0.0.1", port), timeout=30)
    s.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-amz-json-1.0\r\n"
              b"X-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    return s


def abort(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close sends a reset
    s.close()


def polls(client):
    """How many receivers wait at the server."""
    return client.get("/v1")["stats"]["waiting_receivers"]
