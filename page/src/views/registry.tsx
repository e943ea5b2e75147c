/**
 * The views of the page, in the order of the navigation. Only a view that is here is shown.
 *
 * To add one: put it into `src/views/<name>/`, add an entry, and load it with `lazy`, so that the first view stays
 * small.
 */
import {
  History,
  House,
  MessageSquare,
  Repeat,
  Settings as SettingsIcon,
  ShieldQuestionMark,
  Target,
} from "lucide-react";
import { type ComponentType, lazy } from "react";
import { useLocation } from "wouter";
import { useApprovals, useQuestions, useWaitingGoals } from "../api/queries";
import { Approvals } from "./approvals/Approvals";
import { Conversations } from "./conversations/Conversations";
import { Overview } from "./overview/Overview";
import { Runs } from "./runs/Runs";

const ArtifactList = lazy(() => import("./artifacts/ArtifactList"));
const Automations = lazy(() => import("./automations/Automations"));
const AutomationDetail = lazy(() => import("./automations/AutomationDetail"));
const AutomationEditor = lazy(() => import("./automations/Editor"));
const GoalDetail = lazy(() => import("./goals/GoalDetail"));
const Goals = lazy(() => import("./goals/Goals"));
const NewGoal = lazy(() => import("./goals/NewGoal"));
const Settings = lazy(() => import("./settings/Settings"));

export interface View {
  label: string;
  /** The address of the view's start. */
  href: string;
  /** The route, as wouter writes it. A view with several addresses has several entries; only those with `icon` are
   * in the navigation. */
  pattern: string;
  // biome-ignore lint/suspicious/noExplicitAny: the parameters differ from route to route.
  component: ComponentType<any>;
  icon?: ComponentType<{ size?: number; "aria-hidden"?: boolean }>;
  /** The letter after `g`. */
  key?: string;
  /** Returns the number of things on which somebody must act. */
  useCount?: () => number;
}

export const views: View[] = [
  { label: "Overview", href: "/", pattern: "/", component: Overview, icon: House, key: "o" },
  {
    label: "Approvals",
    href: "/approvals",
    pattern: "/approvals/:id?",
    component: Approvals,
    icon: ShieldQuestionMark,
    key: "a",
    useCount: () => {
      // The overview brings these and the number of goals with it.
      const isElsewhere = useLocation()[0] !== "/";
      const [approvals, questions] = [useApprovals(isElsewhere), useQuestions(isElsewhere)];
      return (approvals.data?.items.length ?? 0) + (questions.data?.items.length ?? 0);
    },
  },
  {
    label: "Conversations",
    href: "/conversations",
    pattern: "/conversations/:id?",
    component: Conversations,
    icon: MessageSquare,
    key: "c",
  },
  {
    label: "Artifacts of a conversation",
    href: "/conversations",
    pattern: "/conversations/:id/artifacts",
    component: ArtifactList,
  },
  {
    label: "Automations",
    href: "/automations",
    pattern: "/automations",
    component: Automations,
    icon: Repeat,
    key: "u",
  },
  {
    label: "New automation",
    href: "/automations/new",
    pattern: "/automations/new",
    component: AutomationEditor,
  },
  {
    label: "Edit automation",
    href: "/automations",
    pattern: "/automations/:name/edit",
    component: AutomationEditor,
  },
  { label: "Automation", href: "/automations", pattern: "/automations/:name", component: AutomationDetail },
  { label: "Runs", href: "/runs", pattern: "/runs/:id?", component: Runs, icon: History, key: "r" },
  {
    label: "Goals",
    href: "/goals",
    pattern: "/goals",
    component: Goals,
    icon: Target,
    key: "l",
    useCount: () => useWaitingGoals(useLocation()[0] !== "/").data ?? 0,
  },
  { label: "New goal", href: "/goals/new", pattern: "/goals/new", component: NewGoal },
  { label: "Goal", href: "/goals", pattern: "/goals/:id", component: GoalDetail },
  {
    label: "Settings",
    href: "/settings",
    pattern: "/settings/:section?",
    component: Settings,
    icon: SettingsIcon,
    key: "s",
  },
];
