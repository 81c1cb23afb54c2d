"""The parser of server-sent events, in the browser that it is for."""

from tests.browser.driving import Visit

STREAM = (
    "\ufeff: hello\r\n\r\n"
    'id: 1\r\nevent: a\r\ndata: {"x":\r\ndata: 1}\r\n\r\n'
    "id:2\rdata:é\n\n"
    ": keep-alive\n\n"
    "data\n\n"
    "id: 3\ndata: cut off"
)
EXPECTED = [
    {"id": "1", "event": "a", "data": '{"x":\n1}'},
    {"id": "2", "event": "message", "data": "é"},
    {"id": "2", "event": "message", "data": ""},
]
READ = """async ({bytes, sizes}) => {
  const { events } = await import("/static/js/sse.js");
  const results = [];
  for (const size of sizes) {
    const body = new ReadableStream({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(new Uint8Array(bytes.slice(at, at + size)));
        controller.close();
      },
    });
    const found = [];
    for await (const event of events(body)) found.push(event);
    results.push(found);
  }
  return results;
}"""


async def test_events_are_the_same_wherever_the_chunks_are_cut(visit: Visit) -> None:
    page = await visit("/accounts/login/", None)
    data = list(STREAM.encode())
    sizes = list(range(1, len(data) + 1))
    results = await page.evaluate(READ, {"bytes": data, "sizes": sizes})
    assert len(results) == len(sizes)
    assert all(found == EXPECTED for found in results)


async def test_a_stream_that_falls_silent_is_given_up(visit: Visit) -> None:
    page = await visit("/accounts/login/", None)
    name = await page.evaluate(
        """async () => {
          const { events } = await import("/static/js/sse.js");
          try {
            for await (const event of events(new ReadableStream(), { silentFor: 20 })) return event;
          } catch (error) {
            return error.constructor.name;
          }
        }"""
    )
    assert name == "Silence"
