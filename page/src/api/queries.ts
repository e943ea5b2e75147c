/** The queries that several views share. The keys are lists, so that one call can refetch all queries of an object. */
import { useQuery } from "@tanstack/react-query";
import { get } from "./client";
import { PagesClient } from "./pages";
import { ApiProblem } from "./problem";
import type {
  Agent,
  Approval,
  Automation,
  GoalSummary,
  Instance,
  Needs,
  Page,
  Permission,
  Question,
  ServerInfo,
  SessionItem,
  Whoami,
} from "./types";

export const queryClient = new PagesClient({
  defaultOptions: {
    queries: {
      // The live stream refetches what changed.
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      retry: (count, error) => !(error instanceof ApiProblem) && count < 2,
    },
  },
});

export const keys = {
  whoami: ["whoami"] as const,
  server: ["server"] as const,
  agents: ["agents"] as const,
  instances: ["instances"] as const,
  sessions: ["sessions"] as const,
  session: (id: string) => ["session", id] as const,
  automations: ["automations"] as const,
  approvals: ["approvals"] as const,
  questions: ["questions"] as const,
  runs: ["runs"] as const,
  overview: ["overview"] as const,
  timeline: ["timeline"] as const,
  /** The memory of an automation or of a session, by the ID of the owner. */
  memory: (owner: string) => ["memory", owner] as const,
  artifacts: (session: string) => ["artifacts", session] as const,
  /** The lists of goals. */
  goals: ["goals"] as const,
  /** A goal and all that belongs to it, by its ID. */
  goal: (id: string) => ["goal", id] as const,
  /** The number of goals that wait for a person. Apart from the lists, which each turn of a goal makes stale. */
  waitingGoals: ["waiting-goals"] as const,
};

export const useWhoami = () =>
  useQuery({
    queryKey: keys.whoami,
    queryFn: ({ signal }) => get<Whoami>("/whoami", {}, signal),
    staleTime: 300_000,
  });

export const useServer = () =>
  useQuery({ queryKey: keys.server, queryFn: ({ signal }) => get<ServerInfo>("/server", {}, signal) });

export const useAgents = () =>
  useQuery({ queryKey: keys.agents, queryFn: ({ signal }) => get<Page<Agent>>("/agents", {}, signal) });

/** `enabled` as with `useApprovals`. */
export const useInstances = (enabled = true) =>
  useQuery({
    enabled,
    queryKey: keys.instances,
    queryFn: ({ signal }) => get<Page<Instance>>("/instances", {}, signal),
  });

/** The conversations of people, the latest change first. Those of goals are left out: the view of the goal leads to each. */
export const useSessions = () =>
  useQuery({
    queryKey: keys.sessions,
    queryFn: ({ signal }) => {
      const query = { type: "regular", of_goal: false, order: "changed", limit: 100 };
      return get<Page<SessionItem>>("/sessions", query, signal);
    },
  });

/** The newest goals. `enabled` as with `useApprovals`. */
export const useGoals = (enabled = true) =>
  useQuery({
    enabled,
    queryKey: [...keys.goals, "newest"],
    queryFn: ({ signal }) => get<Page<GoalSummary>>("/goals", { limit: 100 }, signal),
  });

/** `enabled` as with `useApprovals`. */
export const useAutomations = (enabled = true) =>
  useQuery({
    enabled,
    queryKey: keys.automations,
    queryFn: ({ signal }) => get<Page<Automation>>("/automations", { limit: 100, outcomes: 0 }, signal),
  });

/** The approvals that wait for a decision. `enabled` says whether they are read, or only taken if they are there. */
export const useApprovals = (enabled = true) =>
  useQuery({
    queryKey: keys.approvals,
    queryFn: ({ signal }) => get<Page<Approval>>("/approvals", { limit: 100 }, signal),
    enabled,
  });

/** The questions that wait for an answer. `enabled` as with `useApprovals`. */
export const useQuestions = (enabled = true) =>
  useQuery({
    queryKey: keys.questions,
    queryFn: ({ signal }) => get<Page<Question>>("/questions", { limit: 100 }, signal),
    enabled,
  });

/** The questions of the agents of one session that wait for an answer. `enabled` as with `useApprovals`. */
export const useQuestionsOf = (session: string, enabled = true) =>
  useQuery({
    queryKey: [...keys.questions, "of", session],
    queryFn: ({ signal }) => get<Page<Question>>("/questions", { session, limit: 100 }, signal),
    enabled,
  });

/** The number of paused goals that only a person can move. `enabled` as with `useApprovals`. */
export const useWaitingGoals = (enabled = true) =>
  useQuery({
    queryKey: keys.waitingGoals,
    queryFn: async ({ signal }) => {
      const paused = await get<Page<GoalSummary>>("/goals", { state: "paused", limit: 100 }, signal);
      return paused.items.filter(({ reason }) => reason !== "person").length;
    },
    enabled,
  });

/** Keeps what the overview says of those three. The first view that needs more of them reads them. */
export function keepWaiting({ approvals, questions, goals }: Needs): void {
  const stale = { updatedAt: 1 };
  queryClient.setQueryData<Page<Approval>>(keys.approvals, { items: approvals, next: null }, stale);
  queryClient.setQueryData<Page<Question>>(keys.questions, { items: questions ?? [], next: null }, stale);
  queryClient.setQueryData<number>(
    keys.waitingGoals,
    (goals ?? []).filter(({ reason }) => reason !== "given_up").length,
    stale,
  );
}

/** Returns a function that tells whether the caller has a permission; while that is unknown, nothing is allowed. */
export function usePermission(): (permission: Permission) => boolean {
  const { data } = useWhoami();
  return (permission) => data?.permissions.includes(permission) ?? false;
}
