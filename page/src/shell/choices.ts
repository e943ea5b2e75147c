/** The choices of the palette: which there are, and which a text finds. */
import {
  CornerDownLeft,
  type LucideIcon,
  MessageSquare,
  Pause,
  Play,
  Plus,
  Repeat,
  Target,
} from "lucide-react";
import type { Automation, GoalSummary, Permission, SessionItem } from "../api/types";
import { visible } from "../kit/visible";
import { addressOfAutomation, addressOfGoal, addressOfSession } from "../views/addresses";
import { fireAutomation, pauseAutomation, resumeAutomation } from "../views/automation-actions";
import { titleOf } from "../views/conversations/names";
import { moveGoal } from "../views/goals/actions";
import { titleOfGoal, toggleOf } from "../views/goals/words";
import type { View } from "../views/registry";

export interface Choice {
  /** Unique among all choices. */
  key: string;
  group: "Do" | "Go to";
  icon: View["icon"] | LucideIcon;
  label: string;
  note?: string;
  /** Words beside the label by which the choice is found, such as its kind. */
  more?: string;
  /** An ID that is found by its beginning alone, because a part of it says nothing. */
  id?: string;
  /** An address to go to, or an action. */
  act: string | (() => void);
}

const ID = /^(ses|aut|run|apr|que)_[0-9a-f]{6,}$/;

/** Returns the address of an ID's object. A goal has the ID of its session. */
function addressOfId(text: string, goals: readonly GoalSummary[]): string | null {
  const id = text.trim().toLowerCase();
  if (goals.some((goal) => goal.id === id)) return addressOfGoal(id);
  const kind = ID.exec(id)?.[1];
  const roots: Record<string, string> = {
    ses: "/conversations",
    aut: "/automations",
    run: "/runs",
    apr: "/approvals",
    que: "/approvals",
  };
  return kind === undefined ? null : `${roots[kind]}/${id}`;
}

function actionsOf(automation: Automation): Choice[] {
  const { id, name } = automation;
  const run: Choice = {
    key: `run ${id}`,
    group: "Do",
    icon: Play,
    label: `Run ${visible(name)} now`,
    note: "the next runs stay",
    act: () => void fireAutomation(automation),
  };
  if (automation.state === "paused") {
    const act = () => void resumeAutomation(automation);
    return [run, { key: `resume ${id}`, group: "Do", icon: Play, label: `Resume ${visible(name)}`, act }];
  }
  const act = () => void pauseAutomation(automation);
  const note = "can be undone";
  return [run, { key: `pause ${id}`, group: "Do", icon: Pause, label: `Pause ${visible(name)}`, note, act }];
}

function moveOf(goal: GoalSummary): Choice[] {
  const move = toggleOf(goal);
  if (move === null) return [];
  const [verb, icon] = move === "pause" ? ["Pause", Pause] : ["Resume", Play];
  const act = () => void moveGoal(goal, move);
  return [{ key: `${move} ${goal.id}`, group: "Do", icon, label: `${verb} ${titleOfGoal(goal)}`, act }];
}

const goToSession = (session: SessionItem): Choice => ({
  key: session.id,
  group: "Go to",
  icon: MessageSquare,
  label: titleOf(session),
  note: "conversation",
  id: session.id,
  act: addressOfSession(session.id),
});

const goToAutomation = ({ id, name }: Automation): Choice => ({
  key: id,
  group: "Go to",
  icon: Repeat,
  label: visible(name),
  note: "automation",
  id,
  act: addressOfAutomation(name),
});

const goToGoal = (goal: GoalSummary): Choice => ({
  key: goal.id,
  group: "Go to",
  icon: Target,
  label: titleOfGoal(goal),
  note: "goal",
  id: goal.id,
  act: addressOfGoal(goal.id),
});

const goToView = ({ label, icon, href }: View): Choice => ({
  key: href,
  group: "Go to",
  icon,
  label,
  more: "view",
  act: href,
});

export interface Findable {
  views: readonly View[];
  sessions: SessionItem[];
  automations: Automation[];
  goals: GoalSummary[];
  permissions: readonly Permission[];
}

/** Rows of each kind before a text chooses among all. */
const FIRST_ROWS = 5;
/** Rows that a text finds. A person types more rather than reads on, and each row delays the next key. */
const MAX_FOUND = 30;

/** Returns the choices that a text finds, the best group first. Without a text, the first of each kind. */
export function choicesFor(text: string, findable: Findable): Choice[] {
  const { views, sessions, automations, goals, permissions } = findable;
  const isFirst = text.trim() === "";
  const cut = <T>(items: T[]) => (isFirst ? items.slice(0, FIRST_ROWS) : items);
  const mayAutomate = permissions.includes("automations:write");
  const maySend = permissions.includes("sessions:write");
  const begin: Choice[] = [];
  if (maySend)
    begin.push({
      key: "new conversation",
      group: "Do",
      icon: Plus,
      label: "New conversation",
      act: "/conversations?new=1",
    });
  if (mayAutomate)
    begin.push({
      key: "new automation",
      group: "Do",
      icon: Plus,
      label: "New automation",
      act: "/automations/new",
    });
  if (maySend) begin.push({ key: "new goal", group: "Do", icon: Plus, label: "New goal", act: "/goals/new" });
  const all: Choice[] = [
    ...begin,
    ...(isFirst || !mayAutomate ? [] : automations.flatMap(actionsOf)),
    ...(isFirst || !maySend ? [] : goals.flatMap(moveOf)),
    ...views.filter((view) => view.icon).map(goToView),
    ...cut(sessions).map(goToSession),
    ...cut(automations).map(goToAutomation),
    ...cut(goals).map(goToGoal),
  ];
  const address = addressOfId(text, goals);
  const pasted: Choice[] =
    address === null
      ? []
      : [{ key: "pasted", group: "Go to", icon: CornerDownLeft, label: text.trim(), act: address }];
  return [...pasted, ...(isFirst ? all : best(all, text))];
}

/** Returns the choices that match, in groups: the group of the best choice first, and the best choice of each first. */
function best(choices: Choice[], text: string): Choice[] {
  const rated = choices
    .map((choice) => ({ choice, rating: ratingOf(choice, text) }))
    .filter(({ rating }) => rating > 0)
    .sort((a, b) => b.rating - a.rating)
    .slice(0, MAX_FOUND);
  const first = rated[0]?.choice.group;
  return [
    ...rated.filter(({ choice }) => choice.group === first),
    ...rated.filter(({ choice }) => choice.group !== first),
  ].map(({ choice }) => choice);
}

/**
 * Rates how well a text finds a choice. 0 means that a word of the text is nowhere in it: neither the beginning of a word
 * (3), nor within one (2), nor its letters in their order in one (1, from three letters on).
 */
export function ratingOf({ label, more, note, id }: Omit<Choice, "act" | "icon">, text: string): number {
  const lowered = label.toLowerCase();
  const names = lowered.split(/\s+/);
  const words = [...names, ...`${more ?? ""} ${note ?? ""}`.split(/\s+/).filter(Boolean)];
  let sum = 0;
  for (const part of text.trim().toLowerCase().split(/\s+/)) {
    const rating = Math.max(id?.startsWith(part) ? 3 : 0, ...words.map((word) => ratingOfWord(word, part)));
    if (rating === 0) return 0;
    // A name says more than a kind.
    sum += names.some((name) => ratingOfWord(name, part) === rating) ? rating + 0.5 : rating;
  }
  return lowered.startsWith(text.trim().toLowerCase()) ? sum + 1 : sum;
}

function ratingOfWord(word: string, part: string): number {
  if (word.startsWith(part)) return 3;
  if (word.includes(part)) return 2;
  if (part.length < 3) return 0;
  let next = 0;
  for (const letter of word) if (letter === part[next]) next += 1;
  return next === part.length ? 1 : 0;
}
