// What the client of the npm SDK sees of a server: a list of cases on stdin, a list of observations on stdout.
//
//   node npm_client.cjs NODE_MODULES_PARENT < cases.json
//
// A case is {"name", "command": [...] or "url", "headers"?, "answers"?, "steps": [...]}; see `step` for what a step can
// be. The answers are those to questions of the server: {"elicitation", "sampling"}.

const { createRequire } = require("node:module");
const path = require("node:path");

const sdk = createRequire(path.join(path.resolve(process.argv[2]), "package.json"));
const { Client } = sdk("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = sdk("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = sdk("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { CreateMessageRequestSchema, ElicitRequestSchema } = sdk("@modelcontextprotocol/sdk/types.js");

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// How a promise ended: a result, a timeout, an error of the server, or a broken connection.
async function outcome(promise) {
  const start = Date.now();
  const ended = (fields) => ({ ...fields, ms: Date.now() - start });
  try {
    const result = await promise;
    return ended({ kind: "result", ...seen(result) });
  } catch (error) {
    const message = String(error.message ?? error);
    if (error.code === -32001 && /timed out|abort/i.test(message)) return ended({ kind: "timeout", message });
    if (/not needed any more/.test(message) || error.name === "AbortError" || /abort/i.test(message)) return ended({ kind: "cancelled", message });
    if (error.code === -32000 && /closed/i.test(message)) return ended({ kind: "closed", message });
    if (typeof error.code === "number" && error.name === "McpError") return ended({ kind: "error", code: error.code, message });
    return ended({ kind: "broken", code: error.code, message: `${error.name}: ${message}` });
  }
}

function seen(result) {
  if (!Array.isArray(result?.content)) return {};
  const text = result.content.filter((content) => content.type === "text").map((content) => content.text).join("");
  return {
    isError: result.isError === true,
    blocks: result.content.length,
    length: text.length,
    text: text.slice(0, 100),
    structured: result.structuredContent ?? null,
  };
}

// A client that answers what the case has answers for.
function answering(answers) {
  const asked = [
    ["elicitation", ElicitRequestSchema],
    ["sampling", CreateMessageRequestSchema],
  ].filter(([name]) => answers?.[name]);
  const capabilities = Object.fromEntries(asked.map(([name]) => [name, {}]));
  const client = new Client({ name: "npm-client", version: "1.0.0" }, { capabilities });
  for (const [name, schema] of asked) client.setRequestHandler(schema, async () => answers[name]);
  return client;
}

async function step(client, given, noted) {
  const call = (tool, args, options) => client.callTool({ name: tool, arguments: args }, undefined, options);
  switch (given.do) {
    case "list":
      return { tools: (await client.listTools()).tools.map((tool) => tool.name) };
    case "ping":
      return outcome(client.ping({ timeout: given.timeout_ms }));
    case "ask":
    case "call":
      return outcome(
        call(given.tool, given.args, {
          timeout: given.timeout_ms,
          ...(given.progress ? { onprogress: () => (noted.progress += 1) } : {}),
        }),
      );
    case "together": {
      const start = Date.now();
      const order = [];
      const one = async (args, index) => {
        const seen = await outcome(call(given.tool, args, { timeout: given.timeout_ms }));
        order.push(index);
        return seen;
      };
      const calls = [];
      for (const [index, args] of given.args.entries()) {
        calls.push(one(args, index));
        await wait(given.apart_ms ?? 0);
      }
      return { calls: await Promise.all(calls), order, ms: Date.now() - start };
    }
    case "cancel": {
      const abort = new AbortController();
      const ended = outcome(call(given.tool, given.args, { timeout: given.timeout_ms, signal: abort.signal }));
      await wait(given.after_ms);
      abort.abort("not needed any more");
      return ended;
    }
    // Begins a call; the next thing that the client does is to leave.
    case "leave":
      outcome(call(given.tool, given.args, { timeout: given.timeout_ms }));
      await wait(given.after_ms);
      return {};
    case "read": {
      const read = await client.readResource({ uri: given.uri });
      return { text: read.contents[0].text, mimeType: read.contents[0].mimeType };
    }
    case "wait":
      await wait(given.ms);
      return {};
    default:
      throw new Error(`unknown step ${given.do}`);
  }
}

async function observe(given) {
  const noted = { progress: 0, strays: [] };
  const client = answering(given.answers);
  const transport = given.url
    ? new StreamableHTTPClientTransport(new URL(given.url), { requestInit: { headers: given.headers ?? {} } })
    : new StdioClientTransport({ command: given.command[0], args: given.command.slice(1), stderr: "ignore" });
  const steps = [];
  const start = Date.now();
  try {
    await client.connect(transport);
    // After connecting, so that only what the fault does is noted.
    client.onerror = (error) => noted.strays.push(String(error.message ?? error).slice(0, 200));
    for (const one of given.steps) {
      try {
        steps.push(await step(client, one, noted));
      } catch (error) {
        steps.push({ kind: "broken", message: String(error.message ?? error) });
      }
    }
  } catch (error) {
    return { name: given.name, failed: `${error.name}: ${error.message ?? error}`, code: error.code, ms: Date.now() - start };
  } finally {
    await Promise.race([client.close().catch(() => {}), wait(2000)]);
  }
  return { name: given.name, steps, progress: noted.progress, strays: noted.strays };
}

let text = "";
process.stdin.on("data", (data) => (text += data));
process.stdin.on("end", async () => {
  const observations = [];
  const cases = JSON.parse(text);
  // A few at a time: the machine is small.
  const next = async () => {
    for (let one = cases.shift(); one; one = cases.shift()) observations.push(await observe(one));
  };
  await Promise.all([next(), next(), next(), next()]);
  process.stdout.write(JSON.stringify(observations), () => process.exit(0));
});
