/** Shares streams between subscribers. The hub runs in the SharedWorker, or in the leading tab. */
import { type Feed, type FromWorker, TENANT, type ToWorker } from "./protocol";
import { EventStream } from "./stream";

/** A feed that nobody reads stays for this long, because a reload subscribes again at once. */
const LINGER_MS = 2_000;

interface Shared {
  stream: EventStream;
  subscribers: Set<Subscriber>;
  linger: ReturnType<typeof setTimeout> | undefined;
}

export interface Subscriber {
  send(message: FromWorker): void;
}

export class Hub {
  private readonly feeds = new Map<Feed, Shared>();

  handle(subscriber: Subscriber, message: ToWorker): void {
    switch (message.kind) {
      case "subscribe":
        this.subscribe(subscriber, message.feed, message.after);
        break;
      case "unsubscribe":
        this.unsubscribe(subscriber, message.feed);
        break;
      case "connect":
        for (const shared of this.feeds.values()) shared.stream.wake();
        break;
      case "reached":
        for (const shared of this.feeds.values()) shared.stream.hurry();
        break;
      case "close":
        for (const feed of this.feeds.keys()) this.unsubscribe(subscriber, feed);
        break;
    }
  }

  private subscribe(subscriber: Subscriber, feed: Feed, after: string | null): void {
    const present = this.feeds.get(feed);
    // A tab that begins before the place of the shared stream would miss the events between. It reads the transcript
    // after it has subscribed, so only the text of a running turn could be missing, which it fetches.
    if (present !== undefined && present.stream.current.status !== "ended") {
      clearTimeout(present.linger);
      present.subscribers.add(subscriber);
      subscriber.send({ kind: "state", feed, state: present.stream.current });
      return;
    }
    const subscribers = new Set([subscriber]);
    const path = feed === TENANT ? "/api/v1/trace" : `/api/v1/sessions/${encodeURIComponent(feed)}/trace`;
    const send = (message: FromWorker) => {
      for (const each of subscribers) each.send(message);
    };
    const stream = new EventStream(path, after, {
      onEvent: (id, event) => send({ kind: "event", feed, id, event }),
      onState: (state) => send({ kind: "state", feed, state }),
      onGap: () => send({ kind: "gap", feed }),
    });
    this.feeds.set(feed, { stream, subscribers, linger: undefined });
    stream.connect();
  }

  private unsubscribe(subscriber: Subscriber, feed: Feed): void {
    const shared = this.feeds.get(feed);
    if (shared === undefined || !shared.subscribers.delete(subscriber)) return;
    if (shared.subscribers.size > 0) return;
    clearTimeout(shared.linger);
    shared.linger = setTimeout(() => {
      if (shared.subscribers.size > 0) return;
      shared.stream.close();
      if (this.feeds.get(feed) === shared) this.feeds.delete(feed);
    }, LINGER_MS);
  }
}
