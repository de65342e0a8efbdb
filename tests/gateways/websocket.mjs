// A client of OpenClaw's websocket: a line of JSON {id, method, params} in is a request, each frame is a line out.
import { createInterface } from "node:readline";

const [url, token, scopes] = process.argv.slice(2);
const socket = new WebSocket(url);
const request = (frame) => socket.send(JSON.stringify({ type: "req", ...frame }));

socket.onmessage = ({ data }) => {
  const frame = JSON.parse(data);
  if (frame.event === "connect.challenge") {
    request({
      id: "connect",
      method: "connect",
      params: {
        minProtocol: 4,
        maxProtocol: 4,
        client: { id: "gateway-client", version: "1.0.0", platform: "linux", mode: "backend" },
        role: "operator",
        scopes: scopes.split(","),
        caps: [],
        auth: { token },
      },
    });
  } else {
    process.stdout.write(`${JSON.stringify(frame)}\n`);
  }
};
socket.onclose = () => process.exit(0);
for await (const line of createInterface({ input: process.stdin })) request(JSON.parse(line));
socket.close();
