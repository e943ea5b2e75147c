import type { Problem } from "./types";

/** A refusal of the server, as its problem document (RFC 9457) describes it. */
export class ApiProblem extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.name = "ApiProblem";
    this.problem = problem;
  }

  get status(): number {
    return this.problem.status;
  }
}

/** The server did not answer: it is stopped, or the network is down. */
export class Unreachable extends Error {
  constructor() {
    super("The server cannot be reached.");
    this.name = "Unreachable";
  }
}

export function hasStatus(error: unknown, status: number): error is ApiProblem {
  return error instanceof ApiProblem && error.status === status;
}

/** Returns the problem of a response, also if its body is not a problem document, as from a proxy. */
export async function problemOf(response: Response): Promise<ApiProblem> {
  let body: Partial<Problem> = {};
  try {
    body = (await response.json()) as Partial<Problem>;
  } catch {
    // The status alone must do.
  }
  return new ApiProblem({
    type: body.type ?? "about:blank",
    kind: body.kind ?? "internal",
    title: body.title ?? `The server answered ${response.status}`,
    detail: body.detail ?? response.statusText,
    status: response.status,
    ...(body.field == null ? {} : { field: body.field }),
    ...(body.hint == null ? {} : { hint: body.hint }),
    ...(body.automations == null ? {} : { automations: body.automations }),
  });
}
