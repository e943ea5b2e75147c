/**
 * Keeps reads that an invalidation would make useless.
 *
 * An event of the live stream invalidates queries, and TanStack Query then refetches them. The refetch cancels the read
 * of a further page, so that a click on "Show more" has no effect. It cancels an earlier refetch, so that a list stays
 * at an old state while events come faster than responses. It joins a first read, whose response can be older than the
 * change. `PagesClient` waits for a read under way and refetches once afterwards, however many events came. A failed read
 * is repeated twice, so that the wait lasts at most as long as three requests and the pauses between them.
 *
 * A gap in the stream and a sign-in wait for no read, because a read from before them can hang on a lost connection.
 */
import {
  type InvalidateOptions,
  type InvalidateQueryFilters,
  notifyManager,
  type Query,
  QueryClient,
  type QueryKey,
} from "@tanstack/react-query";

/** `forward` is the page after the last one, `backward` the page before the first one. */
export type Direction = "forward" | "backward";

/** `true` if a read is under way. A paused read is none, because it waits for the connection. */
const isRead = ({ state, promise }: Query): boolean =>
  state.fetchStatus === "fetching" && promise !== undefined;

export class PagesClient extends QueryClient {
  /** The further pages that persons have asked for, from the click to the answer. */
  readonly #pages = new WeakMap<Query, Map<Direction, Promise<void>>>();
  /** The refetches that wait for other reads of their queries. */
  readonly #refetches = new WeakMap<Query, Promise<void>>();
  /** The number of restarts of each query. */
  readonly #restarts = new WeakMap<Query, number>();

  /**
   * Reads a further page of a list. Waits for a refetch under way. If that page is asked for already, asks no second
   * time. The list shows the error of a failed read.
   */
  readMore(queryKey: QueryKey, direction: Direction): Promise<void> {
    const query = this.getQueryCache().find({ queryKey });
    if (query === undefined) return Promise.resolve();
    const pages = this.#pages.get(query) ?? new Map<Direction, Promise<void>>();
    const present = pages.get(direction);
    if (present !== undefined) return present;
    const page = this.#readPage(query, direction)
      .catch(() => undefined)
      .finally(() => {
        pages.delete(direction);
        if (pages.size === 0) this.#pages.delete(query);
      });
    this.#pages.set(query, pages.set(direction, page));
    return page;
  }

  async #readPage(query: Query, direction: Direction): Promise<void> {
    let restarts: number | undefined;
    do {
      // To read a page at once would cancel a refetch under way, and lose the change that the refetch brings.
      while (query.promise !== undefined) await query.promise.catch(() => undefined);
      // The person may have left the list meanwhile.
      if (!query.isActive()) return;
      restarts = this.#restarts.get(query);
      await query.fetch(undefined, { meta: { fetchMore: { direction } } });
      // A restart cancels the read of the page, and the person still waits for it.
    } while (restarts !== this.#restarts.get(query));
  }

  /** Cancels the reads under way, invalidates their queries, and refetches at once those that are shown. */
  restartQueries(filters?: InvalidateQueryFilters): Promise<void> {
    for (const query of this.getQueryCache().findAll(filters)) {
      this.#restarts.set(query, (this.#restarts.get(query) ?? 0) + 1);
    }
    return notifyManager.batch(() => {
      // Otherwise the refetch would join a first read under way.
      void this.cancelQueries(filters);
      return super.invalidateQueries(filters);
    });
  }

  /** Invalidates queries and refetches those that are shown, after their reads under way. */
  override invalidateQueries<TaggedKey extends QueryKey = QueryKey>(
    filters?: InvalidateQueryFilters<TaggedKey>,
    options?: InvalidateOptions,
  ): Promise<void> {
    const kept = new Set<Query>();
    for (const query of this.getQueryCache().findAll(filters)) if (this.#isKept(query)) kept.add(query);
    const predicate = (query: Query) => !kept.has(query) && (filters?.predicate?.(query) ?? true);
    const others = super.invalidateQueries({ ...filters, predicate }, options);
    const later = Array.from(kept, (query) => this.#invalidateLater(query));
    return Promise.all([others, ...later]).then(() => undefined);
  }

  #isKept(query: Query): boolean {
    return this.#pages.has(query) || isRead(query);
  }

  #invalidateLater(query: Query): Promise<void> {
    const refetch = this.#refetches.get(query) ?? this.#invalidateAfterReads(query);
    this.#refetches.set(query, refetch);
    return refetch;
  }

  async #invalidateAfterReads(query: Query): Promise<void> {
    while (this.#isKept(query)) {
      await Promise.allSettled([...(this.#pages.get(query)?.values() ?? []), query.promise]);
    }
    this.#refetches.delete(query);
    await this.invalidateQueries({ predicate: (each) => each === query });
  }
}
