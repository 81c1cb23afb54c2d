// The official TypeScript client: logs in by OAuth as the client of the first argument at the server of the second, with
// whatever answer comes on its standard input to the address that it prints, and calls a tool.
import { createInterface } from "node:readline";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [clientId, url] = process.argv.slice(2);
const kept = {};
const authProvider = {
  redirectUrl: "http://127.0.0.1:9/callback",
  clientMetadata: { redirect_uris: ["http://127.0.0.1:9/callback"], client_name: "Editor", token_endpoint_auth_method: "none" },
  clientInformation: () => ({ client_id: clientId }),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  redirectToAuthorization: (address) => { console.log(JSON.stringify({ open: String(address) })); },
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  codeVerifier: () => kept.verifier,
};

async function connected() {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
  const client = new Client({ name: "tests", version: "1" });
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    for await (const code of createInterface({ input: process.stdin })) {
      await transport.finishAuth(code.trim());
      return connected();
    }
    throw error;
  }
}

const client = await connected();
const called = await client.callTool({ name: "save_note", arguments: { title: "a", content: "b" } });
console.log(JSON.stringify({ failed: Boolean(called.isError), scope: kept.tokens.scope }));
await client.close();
process.exit(0);
