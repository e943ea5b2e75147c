/** The SharedWorker: one for all tabs of the browser, so that ten tabs need one connection. */
import { Hub, type Subscriber } from "./hub";
import type { ToWorker } from "./protocol";

const hub = new Hub();
const scope = self as unknown as { onconnect: (event: MessageEvent) => void };

scope.onconnect = (event) => {
  const port = event.ports[0];
  if (port === undefined) return;
  const subscriber: Subscriber = { send: (message) => port.postMessage(message) };
  port.onmessage = (sent: MessageEvent<ToWorker>) => hub.handle(subscriber, sent.data);
  // A closed or crashed tab releases its lock, and its name is the first message.
  port.addEventListener("message", (sent: MessageEvent<{ lock?: string }>) => {
    const lock = sent.data.lock;
    if (lock === undefined) return;
    navigator.locks?.request(lock, () => hub.handle(subscriber, { kind: "close" }));
  });
  port.start();
};
