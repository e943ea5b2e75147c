/** Sends requests to the API. Every request of the page, apart from the live stream, goes through `request`. */
import { problemOf, Unreachable } from "./problem";

export type Query = Record<string, string | number | boolean | null | undefined>;

export interface Options {
  query?: Query;
  body?: unknown;
  /** Makes a repeated creation return the first one. */
  idempotencyKey?: string;
  /** Makes an edit fail with 412 if the object has changed since. */
  ifMatch?: string;
  signal?: AbortSignal;
}

export interface Result<T> {
  data: T;
  etag: string | null;
  /** `true` if an earlier request with the same idempotency key made the object. */
  isReplay: boolean;
}

type Listener = (event: "unauthenticated" | "reached" | "unreachable" | "version") => void;
const listeners = new Set<Listener>();
let apiVersion: string | null = null;

/** Calls `listener` when a response shows that the caller is signed out, or that the server is there or not. */
export function onResponse(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function report(event: Parameters<Listener>[0]): void {
  for (const listener of listeners) listener(event);
}

export function apiPath(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return `/api/v1${path}${text === "" ? "" : `?${text}`}`;
}

/**
 * Sends a request and returns the response, with its body unread.
 *
 * Throws `ApiProblem` if the server refuses the request, and `Unreachable` if it does not answer.
 */
export async function send(method: string, path: string, options: Options = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  if (options.idempotencyKey !== undefined) headers["Idempotency-Key"] = options.idempotencyKey;
  if (options.ifMatch !== undefined) headers["If-Match"] = options.ifMatch;
  let response: Response;
  try {
    response = await fetch(apiPath(path, options.query), {
      method,
      headers,
      credentials: "same-origin",
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    report("unreachable");
    throw new Unreachable();
  }
  report("reached");
  const version = response.headers.get("Matins-API-Version");
  if (version !== null) {
    if (apiVersion !== null && version !== apiVersion) report("version");
    apiVersion ??= version;
  }
  if (!response.ok) {
    if (response.status === 401) report("unauthenticated");
    throw await problemOf(response);
  }
  return response;
}

/** Longer than the 30 s after which the server answers most requests with 503. */
const TIMEOUT_MS = 45_000;
/** Longer than the ten and a half minutes that the server gives a request of the agent routes. */
const AGENT_TIMEOUT_MS = 11 * 60_000;
/** The paths at which a change may start an agent to read its capabilities. */
const AGENT_PATHS =
  /^\/(agents\/[^/]+\/check|sessions|automations|automations\/(?!(preview|dry-run)$)[^/]+)$/;

/**
 * Returns the time limit of a request. The server gives reads of the agent routes the long limit as well, but a read
 * starts no agent: one that takes longer than others counts as unanswered.
 */
function timeoutMs(method: string, path: string): number {
  return method !== "GET" && AGENT_PATHS.test(path) ? AGENT_TIMEOUT_MS : TIMEOUT_MS;
}

/**
 * Sends a request as `send` does, and returns the body and the `ETag` of the response.
 *
 * A request without a response in time counts as unanswered, so that a lost connection holds neither a later read nor a
 * form back. The change that it asks for may take effect. A creation is safe to repeat with the same idempotency key.
 */
export async function request<T>(method: string, path: string, options: Options = {}): Promise<Result<T>> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs(method, path));
  const signal = AbortSignal.any(options.signal ? [options.signal, late.signal] : [late.signal]);
  try {
    return await read<T>(await send(method, path, { ...options, signal }));
  } catch (error) {
    if (!late.signal.aborted || options.signal?.aborted) throw error;
    report("unreachable");
    throw new Unreachable();
  } finally {
    clearTimeout(timer);
  }
}

async function read<T>(response: Response): Promise<Result<T>> {
  const text = await response.text();
  return {
    data: (text === "" ? undefined : JSON.parse(text)) as T,
    etag: response.headers.get("ETag"),
    isReplay: response.headers.get("Idempotency-Replayed") === "true",
  };
}

export async function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  const options = { ...(query && { query }), ...(signal && { signal }) };
  return (await request<T>("GET", path, options)).data;
}

export async function post<T>(path: string, options: Options = {}): Promise<T> {
  return (await request<T>("POST", path, options)).data;
}

/** Returns a new key for one creation. Repeat the creation with the same key. */
export function newKey(): string {
  // `randomUUID` is missing on pages that come over HTTP from another machine.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
