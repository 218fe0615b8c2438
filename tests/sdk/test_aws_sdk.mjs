// SPDX-License-Identifier: Apache-2.0
// The real @aws-sdk/client-sqs against a server whose URL is the first argument. Any wrong or missing digest
// makes this SDK throw.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import * as sqs from "@aws-sdk/client-sqs";

const { version } = createRequire(import.meta.url)("@aws-sdk/client-sqs/package.json");
const client = new sqs.SQSClient({
  endpoint: process.argv[2], region: "eu-west-1", maxAttempts: 1,
  credentials: { accessKeyId: "x", secretAccessKey: "y" },
});
const call = (name, input) => client.send(new sqs[name + "Command"](input));
let passed = 0, failed = 0;
async function test(name, f) {
  try { await f(); passed++; console.log(`ok - ${name}`); }
  catch (e) { failed++; console.log(`not ok - ${name}: ${e.stack}`); }
}

await test("the JavaScript SDK sends, receives, extends and deletes", async () => {
  const { QueueUrl } = await call("CreateQueue", { QueueName: "js", tags: { team: "a" } });
  const MessageAttributes = {
    n: { DataType: "Number.int", StringValue: "7" },
    b: { DataType: "Binary", BinaryValue: new Uint8Array([1, 2, 255]) },
  };
  const sent = await call("SendMessage", { QueueUrl, MessageBody: "a<&\"\r\n é 😀", MessageAttributes });
  const { Messages } = await call("ReceiveMessage", {
    QueueUrl, WaitTimeSeconds: 5, MessageAttributeNames: ["All"], MessageSystemAttributeNames: ["All"] });
  assert.equal(Messages.length, 1);
  assert.equal(Messages[0].Body, "a<&\"\r\n é 😀");
  assert.equal(Messages[0].MD5OfMessageAttributes, sent.MD5OfMessageAttributes);
  assert.deepEqual([...Messages[0].MessageAttributes.b.BinaryValue], [1, 2, 255]);
  const { ReceiptHandle } = Messages[0];
  await call("ChangeMessageVisibility", { QueueUrl, ReceiptHandle, VisibilityTimeout: 60 });
  await call("DeleteMessage", { QueueUrl, ReceiptHandle });
  assert.equal((await call("ReceiveMessage", { QueueUrl })).Messages, undefined);
});

await test("the JavaScript SDK uses batches, attributes, lists and purge", async () => {
  const { QueueUrl } = await call("CreateQueue", { QueueName: "js.fifo", Attributes: { FifoQueue: "true" } });
  const sent = await call("SendMessageBatch", { QueueUrl, Entries: [0, 1, 2].map((i) => (
    { Id: `e${i}`, MessageBody: `m${i}`, MessageGroupId: "g", MessageDeduplicationId: `d${i}` })) });
  assert.equal(sent.Successful.length, 3);
  assert.equal(sent.Failed, undefined);
  const { Messages } = await call("ReceiveMessage", { QueueUrl, MaxNumberOfMessages: 10 });
  assert.deepEqual(Messages.map((m) => m.Body), ["m0", "m1", "m2"]);
  const Entries = Messages.map((m, i) => ({ Id: `e${i}`, ReceiptHandle: m.ReceiptHandle }));
  await call("ChangeMessageVisibilityBatch", { QueueUrl, Entries: Entries.map((e) => ({ ...e, VisibilityTimeout: 9 })) });
  assert.equal((await call("DeleteMessageBatch", { QueueUrl, Entries })).Successful.length, 3);
  await call("SetQueueAttributes", { QueueUrl, Attributes: { VisibilityTimeout: "77" } });
  const { Attributes } = await call("GetQueueAttributes", { QueueUrl, AttributeNames: ["All"] });
  assert.equal(Attributes.VisibilityTimeout, "77");
  assert.deepEqual((await call("ListQueues", { QueueNamePrefix: "js." })).QueueUrls, [QueueUrl]);
  assert.equal((await call("GetQueueUrl", { QueueName: "js.fifo" })).QueueUrl, QueueUrl);
  await call("PurgeQueue", { QueueUrl });
  await call("DeleteQueue", { QueueUrl });
});

await test("the JavaScript SDK knows our faults by name, code and status", async () => {
  await assert.rejects(call("GetQueueUrl", { QueueName: "none" }), (e) => {
    assert.equal(e.name, "QueueDoesNotExist");
    assert.equal(e.Code, "AWS.SimpleQueueService.NonExistentQueue");
    assert.equal(e.$metadata.httpStatusCode, 400);
    return true;
  });
});

console.log(`@aws-sdk/client-sqs ${version}`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
