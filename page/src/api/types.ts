/** Short names of the types of the API. `schema.gen.ts` is generated from docs/openapi.json. */
import type { components, operations } from "./schema.gen";

type Schemas = components["schemas"];
export type Agent = Schemas["AgentView"];
export type Approval = Schemas["Approval"];
export type Automation = Schemas["AutomationItem"];
export type BlockedOn = Schemas["BlockedOn"];
export type BoundAutomation = Schemas["BoundAutomation"];
export type Message = Schemas["Message"];
export type Messages = Schemas["Messages"];
export type OpenRun = Schemas["OpenRun"];
export type Permission = Schemas["Permission"];
export type Problem = Schemas["Problem"];
export type Run = Schemas["Run"];
export type RunOutcome = Schemas["RunOutcome"];
export type RunStatus = Schemas["RunStatus"];
export type Seat = Schemas["Seat"];
export type ServerInfo = Schemas["ServerInfo"];
export type Session = Schemas["Session"];
export type SessionDeleted = Schemas["SessionDeleted"];
export type SessionStatus = Schemas["SessionStatus"];
export type SessionView = Schemas["SessionView"];
export type TraceEvent = Schemas["TraceEvent"];
export type Whoami = Schemas["Whoami"];
export type Page<T> = { items: T[]; next: string | null };
export type Operations = operations;
