/** The addresses of objects on the page. */

export const addressOfRun = (id: string): string => `/runs/${id}`;

export const addressOfAutomation = (name: string): string => `/automations/${encodeURIComponent(name)}`;

export const addressOfSession = (id: string): string => `/conversations/${id}`;

/** The list of the artifacts of a session, or with a name the versions of that one. */
export const addressOfArtifacts = (session: string, name?: string): string =>
  `/conversations/${session}/artifacts${name === undefined ? "" : `?name=${encodeURIComponent(name)}`}`;

export const addressOfApproval = (id: string): string => `/approvals/${id}`;

/** Questions are in the inbox of the approvals. */
export const addressOfQuestion = (id: string): string => `/approvals/${id}`;

export const addressOfGoal = (id: string): string => `/goals/${id}`;
