/** Short names of the types of the API. `schema.gen.ts` is generated from docs/openapi.json. */
import type { components, operations } from "./schema.gen";

type Schemas = components["schemas"];
export type Agent = Schemas["AgentView"];
export type Approval = Schemas["Approval"];
export type ApprovalInput = Schemas["ApprovalInput"];
export type Artifact = Schemas["Artifact"];
export type Automation = Schemas["AutomationItem"];
export type AutomationCounts = Schemas["AutomationCounts"];
export type AutomationDeleted = Schemas["AutomationDeleted"];
export type AutomationPage = Schemas["AutomationPage"];
export type AutomationRequest = Schemas["AutomationRequest"];
export type AutomationView = Schemas["AutomationView"];
export type Budget = Schemas["Budget"];
export type BudgetUsage = Schemas["BudgetUsage"];
export type CheckResponse = Schemas["CheckResponse"];
export type BlockedOn = Schemas["BlockedOn"] | BlockedOnDelivery | BlockedOnRuntime;
export type BoundAutomation = Schemas["BoundAutomation"];
export type Delivery = Schemas["Delivery"];
export type DryRun = Schemas["DryRun"];
export type Endpoint = Schemas["Endpoint"];
export type EndpointCreated = Schemas["EndpointCreated"];
export type FailureGroup = Schemas["FailureGroup"];
export type Instance = Schemas["Instance"] & InstanceFolder;
export type Lane = Schemas["Lane"];
export type MemoryEntry = Schemas["MemoryEntry"];
export type MemoryEntryRequest = Schemas["MemoryEntryRequest"];
export type Message = Schemas["Message"];
export type Messages = Schemas["Messages"];
export type Money = Schemas["Money"];
export type Needs = Schemas["Needs"];
export type NotificationKind = Schemas["NotificationKind"];
export type NextRun = Schemas["NextRun"];
export type OpenRun = Omit<Schemas["OpenRun"], "blocked_on"> & { blocked_on: BlockedOn | null };
export type Overview = Schemas["Overview"];
export type PermissionRule = Schemas["PermissionRule"];
export type Permission = Schemas["Permission"];
export type Policies = Schemas["Policies"];
export type Preview = Schemas["Preview"];
export type Problem = Schemas["Problem"];
export type Question = Schemas["Question"];
export type Role = Schemas["Role"];
export type Run = Schemas["Run"];
export type RunItem = Schemas["RunItem"];
export type RunOutcome = Schemas["RunOutcome"];
export type RunRecordView = Schemas["RunRecordView"];
export type RunStatus = Schemas["RunStatus"];
export type RunView = Omit<Schemas["RunView"], "blocked_on"> & {
  blocked_on: BlockedOn | null;
  delivery?: RunDelivery | null;
};
export type Seat = Schemas["Seat"];
export type SecretRotated = Schemas["SecretRotated"];
export type ServerInfo = Schemas["ServerInfo"];
export type RunCounts = Schemas["RunCounts"];
export type RunFilter = Partial<Schemas["RunFilterRequest"]>;
export type RunsCancelled = Schemas["RunsCancelled"];
export type RunsRetried = Schemas["RunsRetried"];
export type Session = Schemas["Session"];
export type SessionItem = Schemas["SessionItem"];
export type SessionDeleted = Schemas["SessionDeleted"];
export type SessionStatus = Schemas["SessionStatus"];
export type SessionView = Omit<Schemas["SessionView"], "open_runs"> & { open_runs: OpenRun[] };
export type Tenant = Schemas["Tenant"];
export type TenantCreated = Schemas["TenantCreated"];
export type Timeline = Schemas["Timeline"];
export type TimelineBucket = Schemas["TimelineBucket"];
export type Token = Schemas["Token"];
export type TokenCreated = Schemas["TokenCreated"];
export type TokenRevoked = Schemas["TokenRevoked"];
export type TraceEvent = Schemas["TraceEvent"];
export type WaitingApproval = Schemas["WaitingApproval"];
export type WaitingQuestion = Schemas["WaitingQuestion"];
export type Trigger = Schemas["Trigger"];
export type TriggerRequest = Schemas["TriggerRequest"];
export type TriggerSpec = Schemas["TriggerSpec"];
export type WebhookSecret = Schemas["WebhookSecret"];
export type Whoami = Schemas["Whoami"];
export type Page<T> = { items: T[]; next: string | null };
export type Operations = operations;

/** The folder of an instance. A server of an earlier version sends none of it. */
interface InstanceFolder {
  kind?: "host" | "directory" | "unknown";
  /** The path at which servers write trigger files. */
  folder?: string | null;
  /** The path of the same folder on the machine of the runtime, if it is another one. */
  runtime_folder?: string | null;
  /** The number of waiting runs whose trigger files are in the folder. */
  delivered_runs?: number;
}

/** The run waits until a server has written its trigger file. */
interface BlockedOnDelivery {
  for: "delivery";
  instance: string;
  name: string;
  /** The error of the last attempt. */
  reason: string | null;
  /** The instant of the next attempt. */
  until: string | null;
}

/** The trigger file of the run waits for the runtime. */
interface BlockedOnRuntime {
  for: "runtime";
  instance: string;
  name: string;
  /** `true` if a runtime watches the folder now. */
  online: boolean;
  delivered_at: string;
}

/** The delivery of a run as a trigger file. */
export interface RunDelivery {
  instance: string;
  file: string;
  delivered_at: string | null;
  writes: number;
  failures: number;
  error: string | null;
}

export interface InstanceFinding {
  check: string;
  ok: boolean;
  message: string;
  hint: string | null;
}

export interface InstanceCheck {
  instance: Instance;
  findings: InstanceFinding[];
}
