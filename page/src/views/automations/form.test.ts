import { expect, test } from "vitest";
import type { AutomationView } from "../../api/types";
import { changed, EMPTY, FieldError, fieldOf, formOf, requestOf } from "./form";

const view = {
  name: "standup",
  agent: "claude",
  prompt: "Look.",
  session_mode: "continuous",
  bound_session_key: null,
  cwd: "/srv/project",
  settings: { mode: "plan", values: {} },
  permissions: [{ tool: "execute", title: "git log*", verdict: "allow" }],
  triggers: [
    { spec: { kind: "manual" } },
    { spec: { kind: "cron", expression: "0 9 * * 1-5", zone: "Europe/Lisbon" } },
    { spec: { kind: "every", period: "1h30m", anchor: "2026-11-19T08:00:00Z", zone: "Europe/Lisbon" } },
  ],
  policies: {
    ask_seconds: 600,
    budget: {
      run: { tokens: 5000, cost: null },
      day: { tokens: null, cost: { amount: "5", currency: "EUR" }, turns: 4, minutes: 90 },
      month: { tokens: null, cost: null, turns: null, minutes: null },
    },
    catch_up: "latest",
    catch_up_window_seconds: 43_200,
    inactivity_seconds: 90,
    jitter_seconds: 7,
    on_crash: "fail",
    on_unmatched: "ask",
    overlap: null,
    pause_after_failures: 5,
    precheck: { command: ["sh", "-c", "exit 0"], timeout_seconds: 9 },
    queue_limit: 11,
    quiet_hours: ["22:00-07:00"],
    retry: { attempts: 2, backoff_seconds: 1, backoff_max_seconds: 2 },
    timeout_seconds: 1800,
  },
} as unknown as AutomationView;

test("a form that nobody changed asks for the automation as it is", () => {
  const request = requestOf(formOf(view), view);
  expect(request.policies).toEqual(view.policies);
  expect(request.settings).toEqual(view.settings);
  expect(request.permissions).toEqual(view.permissions);
  expect(request.session).toBe("continuous");
  expect(request.zone).toBe("Europe/Lisbon");
  expect(request.triggers).toEqual([
    { kind: "cron", expression: "0 9 * * 1-5" },
    { kind: "every", period: "1h30m", anchor: "2026-11-19T08:00:00Z" },
  ]);
  expect(changed(formOf(view), formOf(view))).toEqual([]);
});

test("an automation without a schedule asks for no zone", () => {
  const form = formOf(view);
  expect(requestOf({ ...form, triggers: [{ kind: "webhook" }] }, view).zone).toBeNull();
  expect(requestOf({ ...form, triggers: [] }, null).zone).toBeNull();
});

test("a stored rule stays as it is, also one with a line break or blanks at its ends", () => {
  const permissions: AutomationView["permissions"] = [
    { tool: "read", title: "Read notes.md\nallow *", verdict: "allow" },
    { tool: "read", title: " b ", verdict: "allow" },
    { tool: "read", title: "", verdict: "deny" },
    { tool: "read\r\n", title: null, verdict: "deny" },
  ];
  const stored = { ...view, permissions };
  const form = formOf(stored);
  expect(form.rules.split("\n")).toHaveLength(permissions.length);
  expect(requestOf(form, stored).permissions).toEqual(permissions);
  const added = requestOf({ ...form, rules: `allow fetch\n${form.rules}\n` }, stored).permissions;
  expect(added).toEqual([{ tool: "fetch", title: null, verdict: "allow" }, ...permissions]);
  const removed = form.rules.split("\n").slice(1).join("\n");
  expect(requestOf({ ...form, rules: removed }, stored).permissions).toEqual(permissions.slice(1));
});

test("the text of a line break is refused in a rule that is not stored", () => {
  const rules = "allow read:Read notes.md\\u{a}allow *";
  expect(() => requestOf({ ...formOf(view), rules }, view)).toThrow(`“${rules}” is no stored rule`);
  expect(() => requestOf({ ...EMPTY, rules }, null)).toThrow(FieldError);
});

test("a field that makes no sense is named", () => {
  for (const [field, value] of [
    ["timeoutMinutes", "soon"],
    ["attempts", ""],
    ["rules", "permit everything"],
    ["precheck", "[not json"],
  ] as const) {
    try {
      requestOf({ ...EMPTY, agent: "claude", [field]: value }, null);
      expect.unreachable(field);
    } catch (error) {
      expect(error).toBeInstanceOf(FieldError);
      expect((error as FieldError).field).toBe(field);
    }
  }
});

test("a field of the server has its place in the form", () => {
  expect(fieldOf("triggers[0].expression")).toBe("triggers");
  expect(fieldOf("policies.budget.month.cost")).toBe("monthCost");
  expect(fieldOf("triggers[1].zone")).toBe("zone");
  expect(fieldOf("nothing")).toBeNull();
  expect(fieldOf(null)).toBeNull();
});

test("changed fields are counted", () => {
  const before = formOf(view);
  expect(changed({ ...before, name: "other", triggers: [] }, before)).toEqual(["name", "triggers"]);
});

test("a count that is no whole number is refused and not rounded", () => {
  for (const field of ["attempts", "pauseAfter", "dayTurns"] as const) {
    for (const text of ["2.5", "0,4", "200k"]) {
      expect(() => requestOf({ ...EMPTY, [field]: text }, null), `${field} ${text}`).toThrow(FieldError);
    }
  }
  expect(requestOf({ ...EMPTY, timeoutMinutes: "1,5" }, null).policies?.timeout_seconds).toBe(90);
});
