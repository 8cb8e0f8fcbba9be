// Tests the main flow against a running service. Set VQA_BASE_URL, VQA_API_KEY to a live key,
// and VQA_CLIP to the path of a clip that shows a stop sign.
import assert from "node:assert/strict";
import { openAsBlob } from "node:fs";
import { test } from "node:test";

import { type Analysis, type PublicEvent, type VqaClient, VqaError, createClient, unwrap, uploadVideo } from "../src/index.js";

function setting(name: string): string {
  const value = process.env[name];
  assert.ok(value, `${name} is not set`);
  return value;
}

const baseUrl = setting("VQA_BASE_URL");

/** eventsOf waits for the events of a resource: the feed is a few milliseconds behind. */
async function eventsOf(client: VqaClient, resourceId: string): Promise<PublicEvent[]> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const page = await unwrap(client.GET("/v1/events", { params: { query: { resource_id: resourceId } } }));
    if (page.data.length > 0 || Date.now() > deadline) {
      return page.data;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test("a sandbox key creates and lists analyses and events", async () => {
  const open = createClient({ baseUrl });
  const sandbox = await unwrap(open.POST("/v1/sandbox"));
  assert.ok(sandbox.fixture_video_id);
  const client = createClient({ baseUrl: `${baseUrl}/`, apiKey: sandbox.api_key });

  const answer = await unwrap(
    client.POST("/v1/analyses", {
      body: { video_id: sandbox.fixture_video_id, prompt: sandbox.fixture_prompt, metadata: { client: "typescript" } },
    }),
  );
  assert.equal(answer.object, "analysis");
  assert.equal(answer.livemode, false);
  assert.equal(answer.result?.answer, sandbox.expected_answer);

  const list = await unwrap(client.GET("/v1/analyses", { params: { query: { limit: 10, status: "completed" } } }));
  assert.deepEqual(
    list.data.map((a: Analysis) => [a.id, a.metadata]),
    [[answer.id, { client: "typescript" }]],
  );
  assert.equal(list.has_more, false);

  const events = await eventsOf(client, answer.id);
  assert.deepEqual(
    events.map((e) => [e.type, e.data.id]),
    [["analysis.completed", answer.id]],
  );
});

test("a live key uploads, asks and is billed", async () => {
  const client = createClient({ baseUrl, apiKey: setting("VQA_API_KEY") });
  const before = await unwrap(client.GET("/v1/credits"));
  const video = await uploadVideo(client, await openAsBlob(setting("VQA_CLIP")), {
    filename: "clip.mp4",
    content_type: "video/mp4",
  });
  assert.equal(video.status, "ready");
  assert.ok(video.duration_s);

  const body = { video_id: video.id, prompt: "Is there a stop sign?" };
  const preview = await unwrap(client.POST("/v1/analyses", { body: { ...body, validate_only: true } }));
  assert.equal(preview.object, "analysis_preview");
  assert.equal(preview.object === "analysis_preview" && preview.estimated_seconds, Math.ceil(video.duration_s));

  const header = { Prefer: "wait=60", "Idempotency-Key": `typescript-${video.id}` };
  const answer = await unwrap(client.POST("/v1/analyses", { params: { header }, body }));
  assert.ok(answer.object === "analysis");
  assert.equal(answer.status, "completed");
  assert.equal(answer.result?.answer, "yes");
  assert.ok(answer.result.clips.length > 0);
  const again = await unwrap(client.POST("/v1/analyses", { params: { header }, body }));
  assert.ok(again.object === "analysis");
  assert.equal(again.id, answer.id);

  const after = await unwrap(client.GET("/v1/credits"));
  assert.equal(before.balance_seconds - after.balance_seconds, Math.ceil(video.duration_s));
  assert.equal(after.transactions[0]?.source_id, answer.id);
});

test("errors have the fields of the response", async () => {
  const unknownKey = createClient({ baseUrl, apiKey: "svc_live_nobody" });
  await assert.rejects(unwrap(unknownKey.GET("/v1/credits")), (err: unknown) => {
    assert.ok(err instanceof VqaError);
    assert.deepEqual([err.status, err.code], [401, "invalid_api_key"]);
    assert.match(err.requestId ?? "", /^req_/);
    return true;
  });
  const client = createClient({ baseUrl, apiKey: setting("VQA_API_KEY") });
  // @ts-expect-error an unknown status does not compile
  await assert.rejects(unwrap(client.GET("/v1/analyses", { params: { query: { status: "done" } } })), { code: "validation_failed" });
  // @ts-expect-error a body without video_id does not compile
  await assert.rejects(unwrap(client.POST("/v1/analyses", { body: { prompt: "Is there a dog?" } })), (err: unknown) => {
    assert.ok(err instanceof VqaError);
    assert.deepEqual(err.violations.map((v) => [v.param, v.code]), [["video_id", "required"]]);
    return true;
  });
});
